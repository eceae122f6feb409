package reprise

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"
	"unicode/utf8"
)

// Load reads one run with its layout under one rule: what could not be read is unknown. A
// file or folder that the layout requested but could not use blocks the run and is listed
// in Unread, unless the next step makes it anyway; so does the file of an open step that
// cannot be opened. Otherwise the run is as the readable files describe it.
//
// A file system may say how long its readers may take, see InTime. A run that takes longer is not
// read: what it holds is unknown, and it is blocked.
func Load(l Layout, fsys fs.FS, ref Ref) (r *Run, err error) {
	var read *Run // not what is returned: who is not waited for may still set it
	var failed error
	if InTime(fsys, func() { read, failed = load(l, fsys, ref) }) {
		return read, failed
	}
	r = &Run{Ref: ref, State: Unreadable, Reason: NotInTime, Unread: []string{ref.Path}}
	r.Report(Finding{
		Code: CodeTooLarge, Severity: Blocking, Subject: path.Base(ref.Path), Source: Source{File: ref.Path},
		Message: NotInTime + ", so what it tells of the run is unknown", Hint: "look at the file by hand; git may hold an earlier version of it",
	})
	return r, nil
}

// NotInTime is what is to say of what was given up.
const NotInTime = "not read: too large or too slow"

// InTime does something with a file system, and reports whether that ended in the time that the
// file system gives its readers; most give all of it. What did not end goes on where nobody waits
// for it, so the caller touches nothing that it sets.
func InTime(fsys fs.FS, do func()) (ended bool) {
	for fsys != nil {
		if patient, ok := fsys.(interface{ InTime(do func()) bool }); ok {
			return patient.InTime(do)
		}
		outer, ok := fsys.(interface{ Unwrap() fs.FS })
		if !ok {
			break
		}
		fsys = outer.Unwrap()
	}
	do()
	return true
}

func load(l Layout, fsys fs.FS, ref Ref) (*Run, error) {
	seen := &witness{FS: fsys}
	r, err := l.Load(seen, ref)
	if err != nil {
		return nil, err
	}
	seen.tryOpen(r)
	slices.SortStableFunc(seen.unread, func(a, b Finding) int { return cmp.Compare(a.Source.File, b.Source.File) })
	for _, lost := range seen.unread {
		if r.Remade(lost.Source.File) {
			continue
		}
		r.Unread = append(r.Unread, lost.Source.File)
		said := false
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Source.File == lost.Source.File && f.Code == lost.Code {
				f.Severity, said = Blocking, true
			}
		}
		if !said {
			r.Report(lost)
		}
	}
	for i := range r.Artifacts { // what is unread is not gone
		if a := &r.Artifacts[i]; a.Presence == Missing && slices.ContainsFunc(seen.unread, func(f Finding) bool { return f.Code == CodePermission && Within(a.Path, f.Source.File) }) {
			a.Presence = Unchecked
		}
	}
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.Severity != Blocking:
		case f.Code == CodeEncoding:
			name := Pasted(f.Source.File, "FILE")
			f.Hint = "`iconv -f UTF-16 -t UTF-8 " + name + " > " + name + ".utf8 && mv " + name + ".utf8 " + name + "` converts it"
		case f.Code == CodePermission:
			f.Hint = permit(f.Source.File)
		case f.Code == CodeNotRegular:
			name := Pasted(f.Source.File, "FILE")
			f.Hint = "`mv " + name + " " + name + ".bad` moves it out of the way, `git restore " + name + "` then brings back what was committed"
		}
	}
	return r, nil
}

// Lose marks a missing file or folder as unread: something else proves that it existed,
// and its content is unknown. Layouts call it while loading the run.
func (r *Run) Lose(file, message, hint string) {
	if slices.Contains(r.Unread, file) {
		return
	}
	r.Unread = append(r.Unread, file)
	r.Report(Finding{
		Code: CodeUnreadable, Severity: Blocking, Subject: path.Base(file), Source: Source{File: file}, Message: message, Hint: hint,
	})
}

// LoseBy is Lose where all that proves it is what these steps are said to be.
func (r *Run) LoseBy(steps []string, file, message, hint string) {
	if slices.Contains(r.Unread, file) {
		return
	}
	r.Lose(file, message, hint)
	r.lostBy = append(r.lostBy, loss{file, steps})
}

// loss is a file that is missing by what steps are said to be.
type loss struct {
	file  string
	steps []string
}

// Refute takes back that a file is missing where what every step is said to be that proves
// it is explained by something else.
func (r *Run) Refute(explained func(step string) bool) {
	for _, l := range r.lostBy {
		if slices.ContainsFunc(l.steps, func(id string) bool { return !explained(id) }) {
			continue
		}
		r.Unread = slices.DeleteFunc(slices.Clone(r.Unread), func(file string) bool { return file == l.file })
		r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Source.File == l.file && f.Code == CodeUnreadable })
	}
}

// permit says how to make a file or folder readable.
func permit(file string) string {
	name := Pasted(file, "")
	if name == "" {
		return "let yourself read it, as `chmod u+r` does, or call reprise as the user it belongs to"
	}
	return "`chmod u+rX " + name + "` in the project folder lets you read it, or call reprise as the user it belongs to"
}

// Damaged reports whether a file of the run was read but could not be used, so that
// another version of it would help.
func (r *Run) Damaged() bool {
	return slices.ContainsFunc(r.Unread, func(file string) bool { return r.Restorable(file) })
}

// Restorable reports whether a file was read but could not be used. Another version would
// not help if the file itself cannot be opened, or is whole in another encoding.
func (r *Run) Restorable(file string) bool {
	return slices.Contains(r.Unread, file) && !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Source.File == file && Unopened(f.Code)
	})
}

// Unopened reports whether a finding's code says that nothing of a file was read, and not that
// it is damaged.
func Unopened(code string) bool {
	return slices.Contains([]string{CodePermission, CodeNotRegular, CodeLinkOutside, CodeEncoding}, code)
}

// Remade reports whether a file is the output of an open step, and nothing after that
// step has begun: doing the step recreates it.
func (r *Run) Remade(file string) bool {
	for _, a := range r.Artifacts {
		if a.Path != file || a.MadeBy == "" {
			continue
		}
		at := slices.IndexFunc(r.Steps, func(s Step) bool { return s.ID == a.MadeBy })
		return at >= 0 && !r.Steps[at].Status.Closed() &&
			!slices.ContainsFunc(r.Steps[at+1:], func(s Step) bool { return s.Status != Pending })
	}
	return false
}

// Doubt makes unknown every step that an unread file could describe: the one whose own
// file it is, otherwise all. The run is then no longer complete, and with an unknown step
// it does not count as never begun.
func (r *Run) Doubt() {
	if len(r.Unread) > 0 && (r.State == Complete || r.State == NotStarted && len(r.Steps) == 0) {
		r.State, r.Reason = Unreadable, r.Unread[0]+" cannot be read, so whether all is done is unknown"
	}
	for _, name := range r.Unread {
		own := slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Path == name })
		if !own && r.State == Interrupted && len(r.Steps) > 0 {
			r.Reason = name + " cannot be read, so what is done is unknown" // what was counted without it does not hold
		}
		for i := range r.Steps {
			if s := &r.Steps[i]; !own || s.Path == name {
				s.Status = Unknown
			}
		}
	}
	if at := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Status == Unknown }); at >= 0 && r.State == NotStarted {
		r.State, r.Reason = Interrupted, "whether "+r.Steps[at].ID+" was done is unknown"
	}
}

// witness is a file system that remembers what could not be read through it.
type witness struct {
	fs.FS
	mu     sync.Mutex
	unread []Finding
}

// Unread is called by a reader that cannot use a file's content.
func (w *witness) Unread(f Finding) {
	f.Severity, f.Subject = Blocking, path.Base(f.Source.File)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.ContainsFunc(w.unread, func(g Finding) bool { return g.Source.File == f.Source.File }) {
		w.unread = append(w.unread, f)
	}
}

// tryOpen reads the beginning of the existing documents and of the files of steps still
// to be done, because whoever works on the run reads there what to do. Other artifacts
// are not opened: they may contain secrets.
func (w *witness) tryOpen(r *Run) {
	tried := map[string]bool{r.Path: true, "": true}
	try := func(name string) {
		if tried[name] || !fs.ValidPath(name) {
			return
		}
		tried[name] = true
		if info, err := w.Stat(name); err != nil || !info.Mode().IsRegular() {
			return
		}
		if f, err := w.Open(name); err == nil {
			defer f.Close()
			head, err := io.ReadAll(io.LimitReader(f, maxHead))
			if w.saw(name, err); err == nil && UTF16(head) {
				w.Unread(Finding{Code: CodeEncoding, Source: Source{File: name}, Message: IsUTF16})
			} else if err == nil && path.Ext(name) == ".md" && Garbled(head) {
				w.Unread(Finding{
					Code: CodeUnreadable, Source: Source{File: name}, Message: "it holds no text, so what it tells of the run is unknown",
					Hint: "look for another copy or a backup",
				})
			}
		}
	}
	for i := range r.Steps {
		if !r.Steps[i].Status.Closed() {
			try(r.Steps[i].Path)
		}
	}
	for _, a := range r.Artifacts {
		if a.Presence == Present && r.State.Open() && path.Ext(a.Path) == ".md" {
			try(a.Path)
		}
	}
}

// maxHead is how much of a file is read to determine whether it is text.
const maxHead = 4 << 10

// IsUTF16 is what is to say of a file that UTF16 tells of.
const IsUTF16 = "it is UTF-16, and only UTF-8 is read and written"

// UTF16 reports whether a file begins as text in UTF-16, which is whole and not damaged.
func UTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff})
}

// Garbled reports whether at least one byte in ten is NUL or invalid UTF-8. That is not
// text, not even in another encoding.
func Garbled(data []byte) bool {
	odd := 0
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			odd++
		}
		at += size
	}
	return odd > 0 && 10*odd >= len(data)
}

// Open implements fs.FS.
func (w *witness) Open(name string) (fs.File, error) {
	f, err := w.FS.Open(name)
	w.saw(name, err)
	return f, err
}

// ReadDir implements fs.ReadDirFS.
func (w *witness) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(w.FS, name)
	w.saw(name, err)
	return list, err
}

// Stat implements fs.StatFS. A file that is only looked for need not be readable, but its
// existence must be known.
func (w *witness) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(w.FS, name)
	w.saw(name, err)
	return info, err
}

// Unwrap returns the underlying file system, for readers that report themselves what they
// could not read.
func (w *witness) Unwrap() fs.FS { return w.FS }

func (w *witness) saw(name string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return
	}
	code := CodeUnreadable
	if errors.Is(err, fs.ErrPermission) {
		code = CodePermission
	}
	var at *fs.PathError
	cause := err.Error()
	if errors.As(err, &at) {
		cause = at.Err.Error()
	}
	w.Unread(Finding{
		Code: code, Source: Source{File: name}, Message: "cannot be read, so what it tells of the run is unknown: " + cause,
		Hint: "check its permissions and what kind of file it is",
	})
}
