//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"reprise/core"
	"reprise/core/journal"
	"reprise/core/world"
)

// Clean takes a run that is over away, with all that only it needs. It is refused while an
// attempt or a move of it is open. Killed in here, the run is there or gone; what is left of
// its objects goes when the store is packed next.
func Clean(ctx context.Context, dir, id string) error {
	repo, err := world.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer repo.Close()
	below, err := repo.Below(dir)
	if err != nil {
		return err
	}
	runs := runsOf(repo.Top, below)
	state, err := journal.Peek(filepath.Join(runs, id))
	if err != nil {
		return err
	}
	if state.Ended == nil || len(state.Open) > 0 || state.Due != nil {
		return fmt.Errorf("run %s is not over", id)
	}
	gone := filepath.Join(repo.Top, world.Folder, "worlds", "tmp", "run") // which is emptied at a start
	if err := errors.Join(os.Rename(filepath.Join(runs, id), gone), os.RemoveAll(gone)); err != nil {
		return err
	}
	return pack(ctx, repo)
}

// pack packs our store if it has become large. That it cannot is said once, and costs space.
func (e *Engine) pack(ctx context.Context) {
	if e.full || !e.Repo.Crowded() {
		return
	}
	if err := pack(ctx, e.Repo, e.at); err != nil {
		e.full = true
		e.Tell(Progress{Kind: Noticed, Text: "the worlds of this project are not packed: " + err.Error()})
	}
}

// pack bounds our store: what the journals of this checkout name is kept, in one file.
func pack(ctx context.Context, repo *world.Repo, also ...core.World) error {
	dirs, err := runDirs(repo.Top)
	for dir := range dirs {
		if err != nil {
			return err
		}
		err = journal.Read(dir, func(r core.Record) error {
			also = append(also, r.Worlds()...)
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		} else if err != nil {
			err = fmt.Errorf("run %s: %w", filepath.Base(dir), err)
		}
	}
	if err != nil {
		return err
	}
	return repo.Pack(ctx, also)
}

// runsOf gives where the runs of a folder of a checkout are kept: in that folder.
func runsOf(top, below string) string {
	return filepath.Join(top, filepath.FromSlash(below), world.Folder, "runs")
}

// runDirs gives the folders of all runs of a checkout, each with the folder that it works in.
func runDirs(top string) (map[string]string, error) {
	list, err := os.ReadFile(noted(top))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := map[string]string{}
	for _, line := range append([]string{`""`}, strings.Split(string(list), "\n")...) {
		below, err := strconv.Unquote(line)
		if err != nil || below != "" && !filepath.IsLocal(below) {
			continue // half a line, of one that was killed before its first record
		}
		runs, err := os.ReadDir(runsOf(top, below))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, run := range runs {
			if run.IsDir() {
				out[filepath.Join(runsOf(top, below), run.Name())] = below
			}
		}
	}
	return out, nil
}

// noted is the file that names the folders of a checkout, beside its top, in which runs are kept.
func noted(top string) string { return filepath.Join(top, world.Folder, "worlds", "folders") }

// note names a folder there, before anything of its runs is.
func note(top, below string) error {
	own, line := filepath.Join(top, filepath.FromSlash(below), world.Folder), strconv.Quote(below)+"\n"
	list, err := os.ReadFile(noted(top))
	if below == "" || err == nil && strings.Contains("\n"+string(list), "\n"+line) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(own, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		return err
	}
	f, err := os.OpenFile(noted(top), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + line)
	return errors.Join(err, f.Sync(), f.Close())
}
