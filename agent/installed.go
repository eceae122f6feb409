package agent

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Installed is a known agent on this machine.
type Installed struct {
	Preset  Preset
	Path    string // the program that would be started; "" if there is none
	Version string // "" if it does not say
	// Problem is what a person should know before it is used, "" if nothing.
	Problem string
}

var version = regexp.MustCompile(`\d+\.\d+\.\d+`)

// Look asks each known program for its version, with the environment agents get.
// It starts them with --version and nothing else.
func Look(ctx context.Context, env []string) []Installed {
	var out []Installed
	for _, p := range Presets() {
		if p.Name == Command {
			continue
		}
		i := Installed{Preset: p}
		at := behind(p.Program, p.native, env)
		if at == p.Program {
			at = find(at, env)
		}
		if filepath.IsAbs(at) {
			i.Path = at
			i.ask(ctx, env)
		} else {
			i.Problem = "not installed"
		}
		out = append(out, i)
	}
	return out
}

// ask reads the version and holds it against the one that was tested.
func (i *Installed) ask(ctx context.Context, env []string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, i.Path, "--version")
	cmd.Env, cmd.WaitDelay = env, time.Second
	text, err := cmd.Output()
	i.Version = version.FindString(string(text))
	switch {
	case i.Version == "" && err != nil:
		i.Problem = fmt.Sprintf("does not tell its version: %v", err)
	case i.Version == "":
		i.Problem = "does not tell its version"
	case series(i.Version) != series(i.Preset.Tested):
		i.Problem = "was tested with " + i.Preset.Tested + "; what it prints may have changed"
	}
}

// series is a version without its last part.
func series(v string) string {
	return v[:max(0, strings.LastIndexByte(v, '.'))]
}
