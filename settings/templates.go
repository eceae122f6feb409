package settings

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"reprise/internal/doc"
)

// The limits of a folder with prompt templates.
const (
	maxTemplates = 64
	maxTemplate  = 64 << 10
)

// templates are the files of a prompt folder, held in memory: what a person
// trusted must be what is used, whoever writes to the folder meanwhile.
type templates map[string][]byte

var _ fs.ReadFileFS = templates(nil)

// readTemplates reads the Markdown files of a folder.
func readTemplates(dir string) (templates, error) {
	fsys := os.DirFS(dir)
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("the folder of prompts cannot be listed: %w", err)
	}
	out := templates{}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".md" {
			continue
		}
		if len(out) == maxTemplates {
			return nil, fmt.Errorf("the folder of prompts holds more than %d templates", maxTemplates)
		}
		b, err := doc.ReadRegular(fsys, e.Name(), maxTemplate+1)
		if err != nil {
			return nil, fmt.Errorf("the prompt template %s cannot be read: %w", e.Name(), err)
		}
		if len(b) > maxTemplate {
			return nil, fmt.Errorf("the prompt template %s is larger than %d KiB", e.Name(), maxTemplate>>10)
		}
		out[e.Name()] = b
	}
	return out, nil
}

// ReadFile gives a template.
func (t templates) ReadFile(name string) ([]byte, error) {
	b, ok := t[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return bytes.Clone(b), nil
}

// Open gives a template; the folder itself cannot be opened.
func (t templates) Open(name string) (fs.File, error) {
	b, err := t.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &templateFile{Reader: bytes.NewReader(b), name: name, size: int64(len(b))}, nil
}

type templateFile struct {
	io.Reader
	name string
	size int64
}

func (f *templateFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *templateFile) Close() error               { return nil }
func (f *templateFile) Name() string               { return f.name }
func (f *templateFile) Size() int64                { return f.size }
func (f *templateFile) Mode() fs.FileMode          { return 0o444 }
func (f *templateFile) ModTime() time.Time         { return time.Time{} }
func (f *templateFile) IsDir() bool                { return false }
func (f *templateFile) Sys() any                   { return nil }
