package gitx

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"reprise"
)

// stateTypes are the endings of files that programs keep their state in. What stands
// in other files is never asked for.
var stateTypes = []string{".md", ".json", ".jsonl", ".yaml", ".yml"}

// lost adds the files of which the checkout has less than the head: those that are not
// there, and those that end where the head's version continues. was are the objects that
// the head has of the changed files. It starts one process, and none where no file of
// state was changed.
func (r *Repo) lost(ctx context.Context, git *reprise.Git, was map[string]string) {
	var names, objects []string
	have := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if !slices.Contains(stateTypes, filepath.Ext(name)) {
			continue
		}
		at := filepath.Join(r.dir, filepath.FromSlash(name))
		info, err := os.Lstat(at)
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !gone {
			if err != nil || !info.Mode().IsRegular() || info.Size() > maxContent {
				continue // reading the run tells of it
			}
			if have[name], err = os.ReadFile(at); err != nil {
				continue // likewise
			}
		}
		names, objects = append(names, name), append(objects, was[name])
	}
	contents, err := r.objects(ctx, objects)
	if err != nil {
		r.missed("whether files of state are missing was not fully looked at", err)
	}
	for i, content := range contents {
		now, there := have[names[i]]
		if content == nil || there && !isCut(names[i], now, content) {
			continue
		}
		if git.Lost == nil {
			git.Lost = map[string][]byte{}
		}
		git.Lost[names[i]] = content
	}
}

// isCut reports whether a file ends where an earlier version of it continues: a log, which
// only ever grows, at any place, another text within a line. Whoever shortens a text on
// purpose takes whole lines away.
func isCut(name string, now, was []byte) bool {
	rest, ok := bytes.CutPrefix(was, now)
	if !ok || len(bytes.TrimSpace(rest)) == 0 {
		return false
	}
	return len(now) == 0 || strings.HasSuffix(name, ".jsonl") || now[len(now)-1] != '\n' && rest[0] != '\n' && rest[0] != '\r'
}
