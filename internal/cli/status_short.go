package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/project"
	"reprise/settings"
)

// How long a shell prompt waits. promptTime covers the whole project: with process start
// and exit, less than 30 ms. Only a project with very many runs, or a very busy machine,
// makes it wait until glanceTime. walkTime is then for finding out whether the glance saw
// everything.
var (
	promptTime = 20 * time.Millisecond
	walkTime   = 5 * time.Millisecond
	glanceTime = 125 * time.Millisecond
)

// short prints one line for a shell prompt: how many runs and agent sessions of the project around
// a folder are open, by state, and nothing if none is. A glance covers the folders that agents use
// and the places where an earlier look found runs. If checking for more takes too long,
// an ellipsis says so.
func (a *app) short(ctx context.Context, dir string) error {
	glance, cancel := context.WithDeadline(ctx, a.began.Add(glanceTime))
	defer cancel()
	glanced, looked := make(chan judgedOr, 1), make(chan judgedOr, 1)
	go func() {
		root, _ := project.Locate(dir)
		look := func(within []string) (seen judgedOr) {
			seen.found, seen.err = a.judgeAgain(glance, root, project.JudgeOptions{Alone: true, Sessions: true, SessionsTime: promptTime / 2, Options: project.Options{Within: within}})
			return seen
		}
		last := look(a.places(root))
		glanced <- last
		if last.err != nil || !last.found.Whole() {
			last = look(nil)
		}
		looked <- last
	}()
	var seen judgedOr
	more := "…"
	select {
	case seen = <-glanced:
		whole, cancel := context.WithTimeout(glance, max(time.Until(a.began.Add(promptTime)), walkTime))
		defer cancel()
		select {
		case all := <-looked:
			if whole.Err() == nil {
				seen, more = all, ""
			}
		case <-whole.Done():
		}
	case <-glance.Done():
	}
	if seen.err != nil && glance.Err() == nil {
		return seen.err
	}
	line := more
	if found := seen.found; found != nil {
		line = promptLine(found)
		if slices.ContainsFunc(found.Observed.FolderUnread, func(u reprise.UnreadSession) bool { return u.Left && reprise.Lately(u.Last, a.now()) }) {
			more = "…"
		}
		if to := found.Nothing(); to != reprise.OutcomeNothing {
			a.came(to)
			line = cmp.Or(line, symbols[reprise.Unreadable]+" "+clip(found.Hidden(), 60))
		}
		line = strings.TrimSpace(line + " " + more)
	}
	if line == "" {
		return nil
	}
	_, err := fmt.Fprintln(a.out, line)
	return err
}

type judgedOr struct {
	found *project.Judgement
	err   error
}

// promptLine counts the open runs by state, and the agent sessions that a person could want back.
// Where only git can tell the state, which is not asked, a run is open.
func promptLine(found *project.Judgement) string {
	var parts []string
	open := len(thatAre(found, func(r *reprise.Run) bool {
		return found.Decisions[r].State == reprise.Interrupted && gitTells(found, r)
	}))
	counts := states(found, found.Runs)
	counts[reprise.Interrupted] -= open
	for _, s := range found.Sessions(false) {
		counts[s.State(found.Observed.Now)]++
	}
	for _, state := range []reprise.State{reprise.Running, reprise.Interrupted, reprise.Waiting, reprise.Unreadable} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", symbols[state], n, words(state)))
		}
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("%s %d open", symbols[reprise.Waiting], open))
	}
	return strings.Join(parts, " ")
}

// places returns where an earlier look found the runs of a project, never nil. They are
// only places to look: a glance reads what is there now.
func (a *app) places(root string) []string {
	list := []string{}
	if root, err := filepath.Abs(root); err == nil {
		if data, err := durable.ReadPrivate(settings.PlacesFile(a.env, root)); err == nil {
			_ = json.Unmarshal(data, &list) // without them a glance shows less
		}
	}
	return slices.DeleteFunc(list, func(p string) bool { return !filepath.IsLocal(p) })
}

// keepPlaces remembers where the runs are that a glance does not find by itself, if
// finding them took longer than a prompt waits. They are kept in the user's cache:
// nothing is lost with it, so failures are ignored.
func (a *app) keepPlaces(found *project.Judgement, took time.Duration) {
	file := settings.PlacesFile(a.env, found.Root)
	if took < promptTime || file == "" {
		return
	}
	places, marks := []string{}, convention.Marks()
	for _, r := range found.Runs {
		top, _, below := strings.Cut(r.Path, "/")
		if below && filepath.IsLocal(r.Path) && !slices.Contains(marks, top) {
			places = append(places, r.Path)
		}
	}
	slices.Sort(places)
	if slices.Equal(places, a.places(found.Root)) {
		return
	}
	_ = durable.UpdatePrivate(file, func([]byte) ([]byte, error) { return json.Marshal(places) })
}
