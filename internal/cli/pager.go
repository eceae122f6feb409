package cli

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"

	"golang.org/x/term"

	"reprise/internal/proc"
)

// paged writes a text, through a pager if it does not fit on the terminal. REPRISE_PAGER
// and PAGER are the user's own commands, and cat means no pager. The default is less, but
// never one inside the project.
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

// pager returns the command to show this many lines, nil if none is needed or available.
func (a *app) pager(lines int) *exec.Cmd {
	out, is := a.out.(*os.File)
	in, asked := a.in.(*os.File)
	if !is || !asked || !term.IsTerminal(int(in.Fd())) || a.env("TERM") == "dumb" {
		return nil
	}
	if _, rows, err := term.GetSize(int(out.Fd())); err != nil || lines < rows {
		return nil
	}
	root := cmp.Or(a.site.root, ".")
	environ := proc.Environ(os.Environ(), root)
	var command []string
	switch own := cmp.Or(a.env("REPRISE_PAGER"), a.env("PAGER")); own {
	case "cat":
		return nil
	case "":
		at, err := proc.Find("less", environ, root)
		if err != nil {
			return nil
		}
		command = []string{at}
	default:
		at, err := proc.Find("sh", environ, root)
		if err != nil {
			return nil
		}
		command = []string{at, "-c", own}
	}
	pager := exec.Command(command[0], command[1:]...)
	pager.Stdout, pager.Stderr, pager.Env = out, a.err, environ
	if a.env("LESS") == "" {
		pager.Env = append(environ, "LESS=FRX")
	}
	return pager
}
