package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"reprise"
	"reprise/flow"
)

// ReadFlow reads a workflow file of the person's own and gives the hash of its
// content.
func ReadFlow(name string) (*flow.Workflow, reprise.Hash, error) {
	data, err := flow.Read(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = &fs.PathError{Op: "read", Path: name, Err: at.Err}
		}
		return nil, reprise.Hash{}, err
	}
	w, err := flow.Parse(filepath.Base(name), data)
	return w, reprise.HashOf(data), err
}
