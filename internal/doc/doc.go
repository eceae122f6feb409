// Package doc reads the files of users' projects: bounded, tolerant, and with
// the line of every value.
//
// Reading never fails towards the caller. Whatever is wrong with a file —
// missing permission, a FIFO, a link out of the tree, half a JSON document, a
// number where a word belongs — becomes a finding of the Reader, and the part
// that could be read is returned. A nil Node answers every question with
// "absent", so that readers of layouts need no ladders of checks.
//
// Positions are kept as lines (from 1) and, where an edit may follow, as byte
// offsets into the file.
package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
	"time"

	"reprise"
	"reprise/internal/link"
)

// MaxSize is the largest file that is read whole. Real state files stay far
// below it; logs that may be larger are streamed by the layouts that own them.
const MaxSize = 16 << 20

var larger = fmt.Sprintf("larger than %d MiB", MaxSize>>20)

// maxNodes bounds how many values one file can hold, of whatever format, and what
// aliases can blow a YAML document up to: a small file can make a large tree. The
// largest files of real projects have a fifth of it.
const maxNodes = 1 << 18

// perCode bounds how often one code is reported for one file; the rest is
// counted in a last finding.
const perCode = 10

// Reader opens files of one file system and collects what is wrong with them.
// It is not safe for concurrent use.
type Reader struct {
	fsys     fs.FS
	findings []reprise.Finding
	seen     map[reprise.Finding]bool
	counts   map[[2]string]int
	witness  witness // nil if no one wants to know
	tape     *tape   // takes what is reported, if not nil
}

// witness is a file system that is told of what was not understood, see reprise.Load.
type witness interface{ Unread(reprise.Finding) }

// NewReader returns a Reader over fsys.
func NewReader(fsys fs.FS) *Reader {
	w, _ := fsys.(witness)
	return &Reader{fsys: fsys, seen: map[reprise.Finding]bool{}, counts: map[[2]string]int{}, witness: w}
}

// FS returns the file system that is read.
func (r *Reader) FS() fs.FS { return r.fsys }

// Report records a finding. The same finding is kept once, and no more than a
// few of one code for one file.
func (r *Reader) Report(f reprise.Finding) {
	if r.tape != nil {
		r.tape.all = append(r.tape.all, taped{Finding: f})
		return
	}
	if r.seen[f] {
		return
	}
	key := [2]string{f.Code, f.Source.File}
	r.counts[key]++
	if r.counts[key] <= perCode { // beyond that they are only counted
		r.seen[f] = true
		r.findings = append(r.findings, f)
	}
}

// Findings returns what was reported, in order, with one closing line for each
// code and file that was reported more often than is useful to list.
func (r *Reader) Findings() []reprise.Finding {
	out := append([]reprise.Finding(nil), r.findings...)
	var more [][2]string
	for key, n := range r.counts {
		if n > perCode {
			more = append(more, key)
		}
	}
	sort.Slice(more, func(i, j int) bool {
		return more[i][1]+"\x00"+more[i][0] < more[j][1]+"\x00"+more[j][0]
	})
	for _, key := range more {
		severity := reprise.Warning
		for _, f := range r.findings {
			if f.Code == key[0] && f.Source.File == key[1] {
				severity = f.Severity
			}
		}
		out = append(out, reprise.Finding{
			Code: key[0], Severity: severity, Subject: key[1], Source: reprise.Source{File: key[1]},
			Message: fmt.Sprintf("%d more of the same in this file", r.counts[key]-perCode),
		})
	}
	return out
}

// File is one file as it was read.
type File struct {
	Path  string
	Data  []byte
	MTime time.Time

	r      *Reader
	exists bool
	ok     bool
	lost   bool // some of it is unknown
}

// Open reads a file whole. It always returns a File: Exists tells whether
// there is something under that name, OK whether all of it was read. A file
// that exists and could not be read has been reported.
func (r *Reader) Open(name string) *File {
	f := &File{Path: path.Clean(name), r: r}
	in, info, err := OpenRegular(r.fsys, f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f
	}
	f.exists = true
	if err != nil {
		f.Lost(refusal(err), 0, fmt.Sprintf("cannot be read: %s", Cause(err)), "check the file's permissions and type")
		return f
	}
	defer in.Close()
	f.MTime = info.ModTime()
	if info.Size() > MaxSize {
		f.tooLarge(0, larger)
		return f
	}
	var buf bytes.Buffer
	if n := info.Size(); n > 0 {
		buf.Grow(int(n) + bytes.MinRead) // else it is made larger to find the end
	}
	_, err = io.Copy(&buf, io.LimitReader(in, MaxSize+1))
	f.hold(buf.Bytes(), err)
	return f
}

// Memory gives a file that is on no disk, as Open would: what is about to be
// written, to be read back first.
func Memory(name string, data []byte) (*Reader, *File) {
	r := NewReader(nil)
	f := &File{Path: path.Clean(name), r: r, exists: true}
	f.hold(bytes.Clone(data), nil)
	return r, f
}

// hold takes what was read, and how the reading ended.
func (f *File) hold(data []byte, err error) {
	f.Data = data
	switch {
	case err != nil:
		f.Lost(reprise.CodeUnreadable, 0, fmt.Sprintf("reading stopped after %d bytes: %s", len(f.Data), Cause(err)), "check the disk and the file's permissions")
	case len(f.Data) > MaxSize:
		f.tooLarge(0, larger)
	case reprise.UTF16(f.Data):
		f.Lost(reprise.CodeEncoding, 0, reprise.IsUTF16, "convert it to UTF-8")
	case f.Conflicted():
		f.Lost(reprise.CodeUnreadable, 0, Conflict, "resolve the conflict in the file, then commit it")
	default:
		f.ok = true
	}
}

// Conflict is what is wrong with a file that was left in the middle of a merge.
const Conflict = "the file holds both sides of a merge conflict that was not resolved"

// Conflicted reports whether a file has the marks that git leaves around the two sides of
// a conflict. What it tells is then what two people told: it counts as not read.
func (f *File) Conflicted() bool {
	rest, ok := f.Data, bytes.HasPrefix(f.Data, []byte("<<<<<<< "))
	for i, mark := range []string{"\n<<<<<<< ", "\n=======", "\n>>>>>>> "} {
		if i == 0 && ok {
			continue
		}
		if _, rest, ok = bytes.Cut(rest, []byte(mark)); !ok {
			return false
		}
	}
	return true
}

// tooMany reports a file that has more parts than are read.
func (f *File) tooMany(n int, parts string) bool {
	if n <= maxNodes {
		return false
	}
	f.tooLarge(0, fmt.Sprintf("more than %d %s", maxNodes, parts))
	return true
}

// tooLarge reports a file that is larger than what is read of one, and keeps nothing
// of it: whoever looks for what is left of a damaged file would take as long.
func (f *File) tooLarge(line int, why string) {
	f.Data, f.ok = nil, false
	f.Lost(reprise.CodeTooLarge, line, why+", not read", "a state file of this size is usually damaged; look at it by hand")
}

// Unheard gives a file system without the one that is told what could not be read.
func Unheard(fsys fs.FS) fs.FS {
	if w, ok := fsys.(interface{ Unwrap() fs.FS }); ok {
		return w.Unwrap()
	}
	return fsys
}

// Index gives for each name in a tree the folders that hold it, as Walk does. A file
// system that has walked the tree before is not walked again.
func Index(fsys fs.FS) map[string][]string {
	fsys = Unheard(fsys)
	if known, ok := fsys.(interface{ Index() map[string][]string }); ok {
		return known.Index()
	}
	return Walk(fsys)
}

// noRuns are folders that hold no run, whatever is in them: packages of others, what a framework and
// the tools of agents are made of, and what lists are copied from. Tools keep their runs beside
// these, not in them.
var noRuns = map[string]bool{
	"node_modules": true, "vendor": true, ".git": true,
	"_bmad": true, ".bmad": true, "bmad": true, ".bmad-core": true,
	".aios-core": true, ".aiox-core": true, ".nexos-core": true,
	agentsOwn: true, ".cursor": true,
	"templates": true, "template": true,
}

// MaxDeep is how many folders deep is looked: no tool keeps state a tenth as deep.
const MaxDeep = 100

// Fixtures reports whether a folder is called like one that tests read. A list or a story there is no
// work; whole projects of state are kept there to be worked on, too.
func Fixtures(d fs.DirEntry) bool {
	base := strings.ToLower(d.Name())
	return d.IsDir() && (base == "fixtures" || base == "__fixtures__" || base == "testdata")
}

// agentsOwn is where Claude Code has its settings, and checkouts of the project.
const agentsOwn, checkouts = ".claude", "worktrees"

// Search walks a tree as fs.WalkDir does, without the folders that hold no run. It is how every
// convention looks for its runs.
func Search(fsys fs.FS, fn fs.WalkDirFunc) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if name != "." && d != nil && d.IsDir() {
			base := strings.ToLower(d.Name())
			if strings.Count(name, "/") > MaxDeep {
				return fs.SkipDir // where the limit is crossed is told by who lists it
			}
			within := path.Base(path.Dir(name)) == agentsOwn && base != checkouts
			if within || noRuns[base] && base != agentsOwn {
				return fs.SkipDir
			}
		}
		return fn(name, d, err)
	})
}

// Walk walks a tree and gives for each name in it the folders that hold it. A folder that
// cannot be listed is left out; the file system reports it.
func Walk(fsys fs.FS) map[string][]string {
	holding := map[string][]string{}
	_ = Search(fsys, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && (d == nil || d.IsDir()), name != "." && Fixtures(d):
			return fs.SkipDir
		case err == nil && name != ".":
			holding[d.Name()] = append(holding[d.Name()], path.Dir(name))
		}
		return nil
	})
	return holding
}

// OpenRegular opens a file for reading after making sure that it is a regular
// one, so that a FIFO or a device cannot stall the reader. The caller closes it.
func OpenRegular(fsys fs.FS, name string) (fs.File, fs.FileInfo, error) {
	fsys = Unheard(fsys)
	// A guarded file system does both at once.
	if g, ok := fsys.(interface {
		OpenRegular(name string) (fs.File, fs.FileInfo, error)
	}); ok {
		return g.OpenRegular(name)
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	in, err := fsys.Open(name)
	if err != nil {
		return nil, nil, err
	}
	return in, info, nil
}

// ReadRegular reads a regular file, and no more of it than most bytes: who must tell
// that it is larger asks for one byte more.
func ReadRegular(fsys fs.FS, name string, most int64) ([]byte, error) {
	in, _, err := OpenRegular(fsys, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, most))
}

// Member gives the value of a key of a JSON object, and reads no further than that.
// ok is false where there is none, or the text up to it is no JSON.
func Member(object []byte, key string) (value json.RawMessage, ok bool) {
	in := json.NewDecoder(bytes.NewReader(object))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, false
		}
		var v json.RawMessage
		if in.Decode(&v) != nil {
			return nil, false
		}
		if name == key {
			return v, true
		}
	}
	return nil, false
}

// ErrNotRegular is returned for folders, FIFOs, sockets and devices where a
// file was expected.
var ErrNotRegular = link.ErrNotRegular

// ErrOutside is returned by guarded file systems for links that leave the tree.
var ErrOutside = link.ErrOutside

func refusal(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return reprise.CodePermission
	case errors.Is(err, ErrNotRegular):
		return reprise.CodeNotRegular
	case errors.Is(err, ErrOutside):
		return reprise.CodeLinkOutside
	}
	return reprise.CodeUnreadable
}

// cause strips the path from an error: the finding's source names it already.
// Cause says why, without the path, which is told beside it.
func Cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// Exists reports whether there is something under this name, readable or not.
func (f *File) Exists() bool { return f.exists }

// OK reports whether the whole file was read.
func (f *File) OK() bool { return f.ok }

// Whole reports whether nothing that was read of the file so far is unknown.
func (f *File) Whole() bool { return f.ok && !f.lost }

// At gives the source of a line; 0 is the file as a whole.
func (f *File) At(line int) reprise.Source { return reprise.Source{File: f.Path, Line: line} }

// Report records a finding about this file.
func (f *File) Report(sev reprise.Severity, code string, line int, message, hint string) {
	f.r.Report(reprise.Finding{
		Code: code, Severity: sev, Subject: path.Base(f.Path),
		Message: message, Source: f.At(line), Hint: hint,
	})
}

// Lost reports that what the file holds is unknown, from a line on or as a whole.
func (f *File) Lost(code string, line int, message, hint string) {
	f.Report(reprise.Warning, code, line, message, hint)
	f.unread(code, line, message, hint)
}

// unread tells who loads the run that what the file holds is unknown, and leaves it to
// the layout to say more of it.
func (f *File) unread(code string, line int, message, hint string) {
	f.lost = true
	if f.r.witness != nil {
		f.r.witness.Unread(reprise.Finding{Code: code, Message: message, Source: f.At(line), Hint: hint})
	}
}

// Exists reports whether a name exists in the file system, as a file or folder.
func (r *Reader) Exists(name string) bool {
	_, err := fs.Stat(r.fsys, path.Clean(name))
	return err == nil
}

// Dir lists a folder. A folder that does not exist is empty; one that cannot
// be listed is reported.
func (r *Reader) Dir(name string) []fs.DirEntry {
	entries, err := fs.ReadDir(r.fsys, path.Clean(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Report(reprise.Finding{
			Code: refusal(err), Severity: reprise.Warning, Subject: path.Base(name),
			Message: fmt.Sprintf("folder cannot be listed: %s", Cause(err)),
			Source:  reprise.Source{File: path.Clean(name)}, Hint: "check the folder's permissions",
		})
	}
	return entries
}
