//go:build unix

package world

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reprise/core"
)

// mostLoose is about how many objects our store may have in files of their own.
const mostLoose = 5_000

// Crowded reports whether our store has more loose objects than it may have; it counts one
// folder of 256, as git does.
func (r *Repo) Crowded() bool {
	list, _ := os.ReadDir(filepath.Join(r.own, "objects", "17")) //nolint:errcheck // there is none before the first object in it
	return len(list)*256 > mostLoose
}

// Pack keeps what our store has of some worlds, in one pack, and drops all else from it: what no
// record names any more, and what a dead git left. Nothing is dropped before the pack is
// durable, so that it can be made again if it is killed.
func (r *Repo) Pack(ctx context.Context, worlds []core.World) error {
	began, seen := time.Now(), map[core.World]bool{"": true}
	var roots strings.Builder
	all := append(worlds[:len(worlds):len(worlds)], r.last, r.staged)
	for _, s := range r.slots {
		all = append(all, s.last, s.staged)
	}
	for _, w := range all {
		if !seen[w] {
			seen[w] = true
			roots.WriteString(string(w) + "\n")
		}
	}
	have, err := r.have(ctx)
	if err != nil {
		return err
	}
	out, err := r.git(ctx, ours, []byte(roots.String()), "rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--ignore-missing", "--stdin")
	if err != nil {
		return err
	}
	var ids bytes.Buffer
	for line := range bytes.Lines(out) {
		if have[strings.TrimSpace(string(line))] {
			ids.Write(line)
		}
	}
	pack, store := "none", filepath.Join(r.own, "objects")
	if ids.Len() > 0 {
		out, err := r.git(ctx, ours, ids.Bytes(), "pack-objects", "-q", "--delta-base-offset", filepath.Join(store, "pack", "pack"))
		if err != nil {
			return err
		}
		pack = "pack-" + strings.TrimSpace(string(out))
	}
	if err := r.Sync(); err != nil {
		return err
	}
	return filepath.WalkDir(store, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), pack+".") {
			return err
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(began) {
			err = os.Remove(path)
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// have gives the objects that our own store has.
func (r *Repo) have(ctx context.Context) (map[string]bool, error) {
	have, store := map[string]bool{}, filepath.Join(r.own, "objects")
	if err := os.MkdirAll(filepath.Join(store, "pack"), 0o700); err != nil {
		return nil, err
	}
	loose, err := filepath.Glob(filepath.Join(store, "??", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range loose {
		have[filepath.Base(filepath.Dir(path))+filepath.Base(path)] = true
	}
	packs, err := filepath.Glob(filepath.Join(store, "pack", "*.idx"))
	if err != nil {
		return nil, err
	}
	for _, path := range packs {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out, err := r.git(ctx, ours, data, "show-index")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) > 1 {
				have[f[1]] = true
			}
		}
	}
	return have, nil
}
