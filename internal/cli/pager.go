package cli

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"

	"golang.org/x/term"

	"reprise/internal/proc"
)

// paged writes a text: as it is where it fits on the terminal or there is none, else
// through a pager. REPRISE_PAGER and PAGER are the person's own command lines, and cat
// means no pager; without one it is less, but none that lies in the project.
func (a *app) paged(text []byte) error {
	if pager := a.pager(bytes.Count(text, []byte("\n"))); pager != nil {
		pager.Stdin = bytes.NewReader(text)
		if err := pager.Start(); err == nil {
			return pager.Wait()
		}
	}
	_, err := a.out.Write(text)
	return err
}

// pager is the command to show so many lines with, nil where none is needed or there is
// none.
func (a *app) pager(lines int) *exec.Cmd {
	out, is := a.out.(*os.File)
	in, asked := a.in.(*os.File)
	if !is || !asked || !term.IsTerminal(int(in.Fd())) || a.env("TERM") == "dumb" {
		return nil
	}
	if _, rows, err := term.GetSize(int(out.Fd())); err != nil || lines < rows {
		return nil
	}
	environ, command := os.Environ(), []string{"sh", "-c"}
	switch own := cmp.Or(a.env("REPRISE_PAGER"), a.env("PAGER")); own {
	case "cat":
		return nil
	case "":
		at, err := proc.Find("less", environ, cmp.Or(a.site.root, "."))
		if err != nil {
			return nil
		}
		command = []string{at}
	default:
		command = append(command, own)
	}
	pager := exec.Command(command[0], command[1:]...)
	pager.Stdout, pager.Stderr, pager.Env = out, a.err, environ
	if a.env("LESS") == "" {
		pager.Env = append(environ, "LESS=FRX")
	}
	return pager
}
