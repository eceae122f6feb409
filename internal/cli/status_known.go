package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reprise"
	"reprise/project"
	"reprise/settings"
)

// promptTime is how long a shell prompt is made to wait.
const promptTime = 250 * time.Millisecond

// short prints one line for a shell prompt, from the files alone: how many runs of the
// project around a folder are open. Where none is it prints nothing.
func (a *app) short(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, promptTime)
	defer cancel()
	root, _ := project.Locate(dir)
	res, err := project.Read(ctx, root, project.Options{Now: a.now()})
	if ctx.Err() != nil {
		fmt.Fprintln(a.out, "…") // not nothing: it was not read in time
		return nil
	}
	if err != nil {
		return err
	}
	if res.Nothing() == reprise.OutcomeUnreadable {
		a.came(reprise.OutcomeUnreadable)
		_, err := fmt.Fprintln(a.out, symbols[reprise.Unreadable]+" "+clip(res.Hidden(), 60))
		return err
	}
	var parts []string
	for _, state := range []reprise.State{reprise.Running, reprise.Interrupted, reprise.Waiting, reprise.Unreadable} {
		n := 0
		for _, r := range res.Runs {
			if r.State == state {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", symbols[state], n, words(state)))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintln(a.out, strings.Join(parts, " "))
	}
	return nil
}

// known gives the folders of the projects that this person works in.
func (a *app) known(remember bool) ([]string, error) {
	list, err := settings.OpenProjects(settings.ProjectsFile(a.env))
	if err != nil {
		return nil, err
	}
	if remember {
		here, err := filepath.Abs(".")
		if err != nil {
			return nil, err
		}
		root, _ := project.Locate(here)
		if err := list.Note(root, a.now()); err != nil {
			return nil, err
		}
		if list, err = settings.OpenProjects(settings.ProjectsFile(a.env)); err != nil {
			return nil, err
		}
	}
	if !list.Kept() {
		return nil, fail(exitNothing, "`reprise status --known --remember` begins the list with this project; every project that is looked at from then on is added", "no list of projects is kept")
	}
	var here []string
	for _, path := range list.Paths() {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			here = append(here, path)
			continue
		}
		fmt.Fprintf(a.err, "reprise: %s is no longer here\n", plain(path))
	}
	if len(here) == 0 {
		return nil, fail(exitNothing, "`reprise status --known --remember` adds this one", "none of the projects in the list is here")
	}
	return here, nil
}

// noted adds a project to the list where one is kept. Who only wants to look is told
// where that fails, and looks all the same; a list that cannot be read is for --known.
func (a *app) noted(root string) {
	list, err := settings.OpenProjects(settings.ProjectsFile(a.env))
	if err != nil || !list.Kept() {
		return
	}
	if root, err = filepath.Abs(root); err == nil {
		err = list.Note(root, a.now())
	}
	if err != nil {
		fmt.Fprintf(a.err, "reprise: %s\n", plain(err.Error()))
	}
}
