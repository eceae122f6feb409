package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
)

// leftNothing reports whether an attempt left no file that is new or different, beside those of
// the run's own state: of what it was to leave, of what git sees or, without git, of all files.
// What earlier attempts left that were not accepted counts. unsure tells why that is not known:
// git does not look into ignored files and other repositories, and there may be too many files.
func (w *work) leftNothing(ctx context.Context, f *Attempt) (nothing bool, unsure string) {
	if w.madeAny(f) || len(f.Left) > 0 || w.repo != nil && w.changedAnything(ctx, f) {
		return false, ""
	}
	if f.Files == nil {
		return w.repo != nil, ""
	}
	now, since := w.lookAgain(f)
	switch {
	case now == "":
		return true, "there are too many files to look at each"
	case *f.Files == now:
		return true, ""
	case w.repo == nil:
		return false, ""
	case len(since) == 0:
		return true, "it changed only what git does not look at"
	}
	return true, "it changed only what git does not look at: " + strings.Join(since, ", ")
}

const (
	// maxLooked bounds how many files are looked at one by one.
	maxLooked = 200_000
	// maxNamed bounds how many of them are named.
	maxNamed = 5
)

// lookAgain is lookAt at the end of an attempt. Nothing is looked at where not all of them could be
// when it began: what changed stays unknown.
func (w *work) lookAgain(f *Attempt) (print string, since []string) {
	if *f.Files == "" {
		return "", nil
	}
	return w.lookAt(f)
}

// lookAt gives a fingerprint of every file where an attempt works, beside those of the run's
// state, of reprise and of git: its name, size and time. It is "" where not
// all of them can be looked at. since are some that were written since it began.
func (w *work) lookAt(f *Attempt) (print string, since []string) {
	all, n, line := sha256.New(), 0, []byte(nil)
	root := filepath.Clean(f.Dir)
	err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == root {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(at[len(root):]), "/")
		switch {
		case e.Name() == ".git" || w.isState(w.prefix()+name+"/"):
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if n++; n > maxLooked {
			return errTooMany
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		line = append(append(line[:0], name...), 0) // no name has one
		line = binary.BigEndian.AppendUint32(line, uint32(info.Mode()))
		if !e.IsDir() {
			line = binary.BigEndian.AppendUint64(line, uint64(info.Size()))
			line = binary.BigEndian.AppendUint64(line, uint64(info.ModTime().UnixNano()))
			if len(since) < maxNamed && info.ModTime().After(f.Began) {
				since = append(since, name)
			}
		}
		all.Write(line)
		return nil
	})
	if err != nil {
		return "", nil
	}
	return hex.EncodeToString(all.Sum(nil)), since
}

var errTooMany = errors.New("there are too many files to look at")

// standing is what stands in place of the expected files.
func (w *work) standing(f *Attempt) (out []reprise.Expected) {
	for _, e := range f.Expect {
		if now, err := w.hash(e.Path); err == nil && !now.IsZero() {
			out = append(out, reprise.Expected{Path: e.Path, Before: now})
		}
	}
	return out
}

// madeAny reports whether an expected file exists that did not, or was different, before
// this attempt and the earlier ones that were not accepted.
func (w *work) madeAny(f *Attempt) bool {
	before := w.beforeAll(f)
	return slices.ContainsFunc(f.Expect, func(e reprise.Expected) bool {
		now, err := w.hash(e.Path)
		if err != nil || now.IsZero() {
			return false
		}
		was, known := before[e.Path]
		return !f.unchanged(e, now) || known && now != was
	})
}

// beforeAll is what the expected files were before the first attempt that was not
// accepted, with what we wrote to them since; nil if this is the first.
func (w *work) beforeAll(f *Attempt) map[string]reprise.Hash {
	first := w.hist.Step(f.Step).First
	if first == nil || first.Attempt == f.Number {
		return nil
	}
	before := map[string]reprise.Hash{}
	for _, e := range first.Expect {
		before[e.Path] = e.Before
	}
	return before
}

// unchanged reports whether an expected file is what it was before the attempt.
func (f *Attempt) unchanged(e reprise.Expected, now reprise.Hash) bool {
	started, known := f.AtStart[e.Path]
	return now == e.Before || known && now == started
}

// missing says what an attempt should have left and did not, "" if nothing is missing.
func (w *work) missing(f *Attempt) string {
	var lacks []string
	for _, e := range f.Expect {
		now, err := w.hash(e.Path)
		switch {
		case err != nil:
			lacks = append(lacks, e.Path+" cannot be read: "+whyUnread(err))
		case now.IsZero() && w.isFolder(e.Path):
			lacks = append(lacks, e.Path+" is a folder with nothing in it")
		case now.IsZero():
			lacks = append(lacks, e.Path+" is not there")
		case e.Changed && f.unchanged(e, now):
			what := e.Path + " is what it was before"
			if e.Lacks != "" {
				what += "; " + e.Lacks
			}
			lacks = append(lacks, what)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return "it ended without leaving what it should: " + strings.Join(lacks, ", ")
}

// emptied says which of the files that an attempt should have left are empty although it
// did not leave them so: commits made since it began gave them content, or they were written
// after its reply. An attempt whose end somebody saw is judged by that. It is "" if there
// are none.
func (w *work) emptied(ctx context.Context, f *Attempt) (string, error) {
	if !f.Recalled {
		return "", nil
	}
	var names, since []string
	replied, unreplied := os.Stat(f.ReplyFile)
	for _, e := range f.Expect {
		if now, err := w.hash(e.Path); err != nil || now != reprise.HashOf(nil) {
			continue
		}
		info, err := fs.Stat(w.store, e.Path)
		if err == nil && unreplied == nil && info.ModTime().After(replied.ModTime()) {
			since = append(since, e.Path)
		} else {
			names = append(names, e.Path)
		}
	}
	if len(names) > 0 && f.Head != "" && f.Dir != "" {
		repo, err := w.repoAt(ctx, f.Dir)
		if err != nil {
			return "", err
		}
		if repo != nil {
			filled, err := repo.Filled(ctx, f.Head)
			if err != nil {
				return "", err
			}
			since = append(since, slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(filled, name) })...)
		}
	}
	if len(since) == 0 {
		return "", nil
	}
	return "what it left was emptied since: " + strings.Join(since, ", "), nil
}

// whyUnread is why a file cannot be read, without its name.
func whyUnread(err error) string {
	if odd, ok := errors.AsType[*durable.NotRegularError](err); ok {
		return strings.TrimPrefix(err.Error(), "open "+odd.Path+": ")
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// madeBefore reports whether earlier attempts that were not accepted changed everything
// that this one should have: it may have found their work complete.
func (w *work) madeBefore(f *Attempt) bool {
	before := w.beforeAll(f)
	if before == nil {
		return false
	}
	for _, e := range f.Expect {
		now, err := w.hash(e.Path)
		was, known := before[e.Path]
		if err != nil || now.IsZero() || e.Changed && (!known || now == was) {
			return false
		}
	}
	return true
}
