package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise/internal/proc"
)

// Installed is a known agent on this machine.
type Installed struct {
	Preset  Preset
	Path    string // the program that would be started; "" if there is none
	Version string // "" if it does not say
	// Script tells that the program is a script that starts another one.
	Script bool
	// Problem is what a person should know before it is used, "" if nothing.
	Problem string
}

var version = lazily(`\d+\.\d+\.\d+`)

// asked is how long a program may take to tell its version.
const asked = 5 * time.Second

// Look asks each known program for its version, all at once, with the
// environment agents get. It starts them with --version and nothing else, none that is
// inside the project, and nothing of one that hangs is left.
func Look(ctx context.Context, env []string, project string) []Installed {
	var out []Installed
	for _, p := range Presets() {
		if p.Name != Command {
			out = append(out, Installed{Preset: p})
		}
	}
	var wg sync.WaitGroup
	env = proc.Environ(env, project)
	for n := range out {
		i := &out[n]
		at := behind(i.Preset.Program, i.Preset.native, env, project)
		if at == i.Preset.Program {
			var err error
			if at, err = proc.Find(at, env, project); err != nil {
				i.Problem = "not installed"
				continue
			}
		}
		i.Path, i.Script = at, isScript(at)
		wg.Go(func() { i.ask(ctx, env) })
	}
	wg.Wait()
	return out
}

// Hidden reports whether the program is a wrapper although the one behind it is
// known to exist: killed, it leaves that at work.
func (i Installed) Hidden() bool { return i.Script && len(i.Preset.native) > 0 }

// isScript reports whether a file begins as scripts do.
func isScript(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "#!"
}

// ask reads the version and holds it against those that the tests drive.
func (i *Installed) ask(ctx context.Context, env []string) {
	ctx, cancel := context.WithTimeout(ctx, asked)
	defer cancel()
	cmd := exec.CommandContext(ctx, i.Path, "--version")
	cmd.Env, cmd.WaitDelay = env, time.Second
	proc.Group(cmd)
	text, err := cmd.Output()
	i.Version = version().FindString(string(text))
	switch {
	case ctx.Err() != nil:
		i.Version, i.Problem = "", fmt.Sprintf("does not tell its version within %s", asked)
	case i.Version == "" && err != nil:
		i.Problem = fmt.Sprintf("does not report its version: %v", err)
	case i.Version == "":
		i.Problem = "does not tell its version"
	case !slices.Contains(i.Preset.Tested, i.Version):
		i.Problem = "was tested with " + strings.Join(i.Preset.Tested, " and ") + "; what it prints may have changed"
	}
}
