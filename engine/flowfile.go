package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"reprise"
	"reprise/flow"
	"reprise/internal/durable"
)

// largeFlow is from how many steps on a workflow is kept as it was read: reading
// the YAML of thousands takes longer than all else of resuming.
const largeFlow = 1000

// ReadFlow reads a workflow file of the person's own and gives the hash of its
// content. keep is a folder of theirs outside of any project, "" if there is none:
// what KeepFlow put there for the same content is taken instead of parsing it.
func ReadFlow(name, keep string) (*flow.Workflow, reprise.Hash, error) {
	data, err := flow.Read(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = &fs.PathError{Op: "read", Path: name, Err: at.Err}
		}
		return nil, reprise.Hash{}, err
	}
	hash := reprise.HashOf(data)
	if keep != "" {
		// What cannot be read there is as good as not kept.
		if kept, err := durable.ReadPrivate(keptFlow(keep, hash)); err == nil {
			if w := flow.Kept(kept, hash); w != nil {
				return w, hash, nil
			}
		}
	}
	w, err := flow.Parse(filepath.Base(name), data)
	return w, hash, err
}

// KeepFlow keeps a large workflow for ReadFlow, once a person trusts it; one that
// was kept already is left there. There is room for a few; a new one takes the place
// of an old one.
func KeepFlow(keep string, w *flow.Workflow, hash reprise.Hash) error {
	if keep == "" || w.Len() < largeFlow || w.FromKept() {
		return nil
	}
	data, err := w.Keep(hash)
	if err != nil {
		return err
	}
	return durable.UpdatePrivate(keptFlow(keep, hash), func([]byte) ([]byte, error) { return data, nil })
}

// keptFlow is the place for a workflow: one of sixteen.
func keptFlow(keep string, hash reprise.Hash) string {
	return filepath.Join(keep, fmt.Sprintf("workflow-%.1s", hash.String()))
}
