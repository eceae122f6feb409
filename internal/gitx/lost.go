package gitx

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"reprise"
)

// stateTypes are the endings of files that programs keep their state in. What stands
// in other files is never asked for.
var stateTypes = []string{".md", ".json", ".jsonl", ".yaml", ".yml"}

// lost adds the files of which the checkout has less than the head: those that are not
// there, as it has them, and those that end where the head's version continues, with what
// follows there. was are the objects that
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
	contents, err := r.objects(ctx, "blob", objects)
	r.missed("whether files of state are missing was not fully looked at", err)
	for i, content := range contents {
		if content == nil {
			continue
		}
		if now, there := have[names[i]]; there {
			after := beyond(names[i], now, content)
			if after == nil {
				continue
			}
			content = slices.Concat(now, after)
		}
		if git.Lost == nil {
			git.Lost = map[string][]byte{}
		}
		git.Lost[names[i]] = content
	}
}

// beyond returns what an earlier version of a file has after the end of it, wherever that
// end is; nil if the file is no beginning of that version. In Markdown and YAML values may
// have changed since, as long as the lines are still the same ones: marks in boxes, and
// what comes after a colon where no item begins.
func beyond(name string, now, was []byte) []byte {
	after, ok := bytes.CutPrefix(was, now)
	if !ok && !strings.HasPrefix(filepath.Ext(name), ".json") {
		after, ok = was, true
		for line := range bytes.Lines(now) {
			var old []byte
			if at := bytes.IndexByte(after, '\n') + 1; at > 0 {
				old, after = after[:at], after[at:]
			} else {
				old, after = after, nil
			}
			rest, same := bytes.CutPrefix(constant(old), constant(line))
			if line[len(line)-1] != '\n' { // the end, perhaps in the middle of it
				after = slices.Concat(rest, []byte{'\n'}, after)
			} else {
				same = same && len(rest) == 0
			}
			ok = ok && same
		}
	}
	if !ok || len(bytes.TrimSpace(after)) == 0 {
		return nil
	}
	return after
}

// box matches the mark of an item with a check box.
var box = regexp.MustCompile(`^(\s*(?:[-*+]|\d+[.)])\s+\[)[^\]]?\]`)

// constant returns what stays of a line when a value on it changes.
func constant(line []byte) []byte {
	line = bytes.TrimRight(line, "\r\n")
	if begins := bytes.TrimLeft(line, " \t"); len(begins) > 0 && bytes.IndexByte([]byte("-+*"), begins[0]) >= 0 && !bytes.HasPrefix(begins, []byte("**")) {
		return box.ReplaceAll(line, []byte("$1 ]"))
	}
	if at := bytes.Index(line, []byte(": ")); at >= 0 {
		return line[:at+2]
	}
	return line
}
