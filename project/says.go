package project

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/tree"
)

// says tells what the files say of a run, where some of them are as they once were, or, if nil,
// not there.
func (res *Result) says(r *reprise.Run, past map[string][]byte) (text string) {
	text, known := res.said[r.Ref]
	if known && len(past) == 0 {
		return text
	}
	defer func() {
		if oops := recover(); oops != nil {
			text = fmt.Sprint(oops)
		}
	}()
	files, err := res.asOnce(past)
	if err != nil {
		return err.Error()
	}
	then, err := reprise.Load(convention.Find(r.Layout), files, r.Ref)
	if err != nil {
		return err.Error()
	}
	return then.Says()
}

func (res *Result) asOnce(past map[string][]byte) (fs.FS, error) {
	for name, content := range past {
		if _, err := fs.Stat(res.files, name); (err == nil) != (content != nil) {
			return overlaid(context.Background(), res.files, past)
		}
	}
	return once{res.files, past}, nil
}

// once is a project with other versions of some of its files. Its folders are listed as they
// are, which in one with hundreds of runs is most of what loading a run takes.
type once struct {
	*tree.FS
	files map[string][]byte
}

// Open implements fs.FS.
func (o once) Open(name string) (fs.File, error) {
	if content, ok := o.files[name]; ok {
		return &version{bytes.NewReader(content), path.Base(name)}, nil
	}
	return o.FS.Open(name)
}

// ReadFile implements fs.ReadFileFS.
func (o once) ReadFile(name string) ([]byte, error) {
	if content, ok := o.files[name]; ok {
		return bytes.Clone(content), nil
	}
	return o.FS.ReadFile(name)
}

// OpenRegular is used by package doc.
func (o once) OpenRegular(name string) (fs.File, fs.FileInfo, error) {
	if content, ok := o.files[name]; ok {
		v := &version{bytes.NewReader(content), path.Base(name)}
		return v, v, nil
	}
	return o.FS.OpenRegular(name)
}

// version is a file as it once was, and what is known of it.
type version struct {
	*bytes.Reader
	name string
}

func (v *version) Stat() (fs.FileInfo, error) { return v, nil }
func (v *version) Close() error               { return nil }
func (v *version) Name() string               { return v.name }
func (v *version) Mode() fs.FileMode          { return 0o644 }
func (v *version) ModTime() time.Time         { return time.Time{} }
func (v *version) IsDir() bool                { return false }
func (v *version) Sys() any                   { return nil }
