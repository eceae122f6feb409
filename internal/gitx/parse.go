package gitx

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"reprise"
)

// Output is read with -z wherever git has it: names of files may hold line
// breaks, quotes and bytes that are no text.

// maxField bounds one field; a path is at most 4 KiB on the systems we know,
// a subject may be a whole pasted text.
const maxField = 1 << 20

// fields reads what is ended by a byte, field by field.
type fields struct {
	r   *bufio.Reader
	end byte
}

// next returns the next field without its end; io.EOF after the last. A field
// that is cut off by the end of the output is an error: half a path is none.
func (f *fields) next() (string, error) {
	var long []byte
	for {
		part, err := f.r.ReadSlice(f.end)
		if err == nil {
			part = part[:len(part)-1]
			if long == nil {
				return string(part), nil
			}
			return string(append(long, part...)), nil
		}
		if len(long)+len(part) > maxField {
			return "", errTooLong
		}
		long = append(long, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(long) == 0:
			return "", io.EOF
		case errors.Is(err, io.EOF):
			return "", io.ErrUnexpectedEOF
		default:
			return "", err
		}
	}
}

// need is next where the end of the output would be a fault.
func (f *fields) need() (string, error) {
	s, err := f.next()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return s, err
}

// readSettings reads `config -z --list`: key, line break, value.
func readSettings(r *bufio.Reader) ([]setting, error) {
	f := fields{r, 0}
	var out []setting
	for {
		text, err := f.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		key, value, _ := strings.Cut(text, "\n")
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if first < 0 {
			continue
		}
		s := setting{section: key[:first], name: key[last+1:], value: value}
		if first < last {
			s.middle = key[first+1 : last]
		}
		if out = append(out, s); len(out) > 100_000 {
			return nil, errTooLong
		}
	}
}

// remoteSettings tells whether there is a remote and whether objects may be
// missing that a remote has.
func remoteSettings(settings []setting) (has, partial bool) {
	for _, s := range settings {
		switch {
		case s.section == "remote" && s.name == "url" && s.middle != "":
			has = true
		case s.section == "remote" && s.name == "promisor", s.section == "extensions" && s.name == "partialclone":
			partial = true
		}
	}
	return has, partial
}

// status is what `status --porcelain=v2 -z --branch` says.
type status struct {
	branch   string
	detached bool
	changes  []reprise.Change
	more     int
	head     string // "" where there is no commit yet
	// index is what the index has of a changed file: mode and object. Files that it
	// does not have are left out.
	index map[string]string
}

// readStatus reads all of it and keeps the first max changes. Kinds of entries
// that are not known here are skipped, as the format asks for.
func readStatus(r *bufio.Reader, max int) (status, error) {
	f := fields{r, 0}
	st := status{index: map[string]string{}}
	for {
		line, err := f.next()
		if errors.Is(err, io.EOF) {
			return st, nil
		}
		if err != nil {
			return st, err
		}
		kind, rest, _ := strings.Cut(line, " ")
		var c reprise.Change
		switch kind {
		case "#":
			st.header(rest)
			continue
		case "1":
			c.Path = after(rest, 7)
			if words := strings.SplitN(rest, " ", 8); len(words) == 8 && strings.Trim(words[3], "0") != "" && len(st.changes) < max {
				st.index[c.Path] = words[3] + " " + words[6]
			}
		case "2":
			c.Path = after(rest, 8)
			if _, err := f.need(); err != nil { // the old name
				return st, err
			}
		case "u":
			c.Path, c.Conflict = after(rest, 9), true
		case "?":
			c.Path, c.Untracked = rest, true
		default:
			continue
		}
		if c.Path == "" {
			return st, fmt.Errorf("entry %q has no path", line)
		}
		c.Staged = !c.Untracked && !c.Conflict && rest[0] != '.'
		if len(st.changes) < max {
			st.changes = append(st.changes, c)
		} else {
			st.more++
		}
	}
}

func (st *status) header(text string) {
	name, value, _ := strings.Cut(text, " ")
	switch {
	case name == "branch.oid" && objectName(value):
		st.head = value
	case name == "branch.head" && value == "(detached)":
		st.detached = true
	case name == "branch.head":
		st.branch = value
	}
}

// after drops n words that are ended by one space each.
func after(s string, n int) string {
	for range n {
		_, rest, ok := strings.Cut(s, " ")
		if !ok {
			return ""
		}
		s = rest
	}
	return s
}

// readWorktrees reads `worktree list --porcelain`: attributes that are ended
// by end, an empty one after each worktree. Paths are left absolute.
func readWorktrees(r *bufio.Reader, end byte) ([]reprise.Worktree, error) {
	f := fields{r, end}
	var out []reprise.Worktree
	var w *reprise.Worktree
	for {
		text, err := f.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		name, value, _ := strings.Cut(text, " ")
		if name == "worktree" {
			if len(out) == maxWorktrees {
				return out, errTooLong
			}
			out = append(out, reprise.Worktree{Path: value, Main: len(out) == 0})
			w = &out[len(out)-1]
			continue
		}
		if w == nil {
			continue
		}
		switch name {
		case "HEAD":
			if strings.Trim(value, "0") != "" { // all zeros: no commit yet
				w.Head = value
			}
		case "branch":
			w.Branch = strings.TrimPrefix(value, "refs/heads/")
		case "detached":
			w.Detached = true
		case "bare":
			w.Bare = true
		case "locked":
			w.Locked, w.LockWhy = true, value
		case "prunable":
			w.Gone = true
		}
	}
}

// ref is one line of refs.
type ref struct {
	name, hash, upstream string
}

// readRefs reads lines of name, hash and upstream, parted by NUL. more tells
// that there were further ones.
func readRefs(r *bufio.Reader, max int) (out []ref, more bool, err error) {
	f := fields{r, '\n'}
	for {
		line, err := f.next()
		if errors.Is(err, io.EOF) {
			return out, more, nil
		}
		if err != nil {
			return out, more, err
		}
		part := strings.Split(line, "\x00")
		if len(part) != 3 {
			return out, more, fmt.Errorf("reference %q is not understood", line)
		}
		if len(out) == max {
			more = true
			continue
		}
		out = append(out, ref{part[0], part[1], part[2]})
	}
}

// readTrack reads lines of name and "ahead 1, behind 2", "gone" or nothing.
func readTrack(r *bufio.Reader) (map[string][2]int, error) {
	f := fields{r, '\n'}
	out := map[string][2]int{}
	for {
		line, err := f.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		name, text, _ := strings.Cut(line, "\x00")
		var n [2]int
		for part := range strings.SplitSeq(text, ", ") {
			word, number, _ := strings.Cut(part, " ")
			v, err := strconv.Atoi(number)
			if err != nil {
				continue
			}
			switch word {
			case "ahead":
				n[0] = v
			case "behind":
				n[1] = v
			}
		}
		out[name] = n
	}
}

// logFormat gives per commit: the mark, the hash, parents, time, source,
// trailers, subject. The mark can be no status letter, so that the lists of
// files in between need no other border.
const (
	logMark   = "\x01"
	logFormat = "--format=tformat:%x01%x00%H%x00%P%x00%ct%x00%S%x00%(trailers:key=Reprise-Step,key=Run-Step,valueonly,unfold,separator=%x1f)%x00%s"
)

// entry is one commit of a log.
type entry struct {
	reprise.Commit
	parents []string
	source  string
}

// readLog reads a log in logFormat, with or without lists of files, and hands
// over commit by commit.
func readLog(r *bufio.Reader, add func(entry)) error {
	f := fields{r, 0}
	mark, err := f.next()
	for {
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if mark != logMark {
			return fmt.Errorf("log entry begins with %q", mark)
		}
		var e entry
		if e, err = readHeader(&f); err != nil {
			return err
		}
		mark, err = readFiles(&f, &e)
		if err == nil || errors.Is(err, io.EOF) {
			add(e)
		}
	}
}

func readHeader(f *fields) (entry, error) {
	var v [6]string
	for i := range v {
		var err error
		if v[i], err = f.need(); err != nil {
			return entry{}, err
		}
	}
	seconds, err := strconv.ParseInt(v[2], 10, 64)
	if err != nil || !objectName(v[0]) {
		return entry{}, fmt.Errorf("log entry %q is not understood", v[0])
	}
	e := entry{parents: strings.Fields(v[1]), source: v[3]}
	e.Hash, e.At, e.Subject = v[0], time.Unix(seconds, 0).UTC(), v[5]
	e.Merge = len(e.parents) > 1
	for step := range strings.SplitSeq(v[4], "\x1f") {
		if step = strings.TrimSpace(step); step != "" {
			e.Steps = append(e.Steps, step)
		}
	}
	return e, nil
}

// maxFiles bounds the list of one commit; a commit with more is a bulk change
// whatever the rest is.
const maxFiles = 5000

// readFiles reads status and names until something is no status; that is
// returned. Git puts a line break before the first status of a commit.
func readFiles(f *fields, e *entry) (string, error) {
	for {
		word, err := f.next()
		if err != nil {
			return "", err
		}
		if word == logMark {
			return word, nil
		}
		word = strings.TrimPrefix(word, "\n")
		if word == "" || !bytes.ContainsRune([]byte("ACDMRTUXB"), rune(word[0])) {
			return "", fmt.Errorf("file status %q is not understood", word)
		}
		c := reprise.FileChange{Added: word[0] == 'A' || word[0] == 'C'}
		if c.Path, err = f.need(); err != nil {
			return "", err
		}
		if word[0] == 'R' || word[0] == 'C' {
			from := c.Path
			if c.Path, err = f.need(); err != nil {
				return "", err
			}
			if word[0] == 'R' {
				c.From = from
			}
		}
		if len(e.Files) < maxFiles {
			e.Files = append(e.Files, c)
		}
	}
}

// readKnown reads `cat-file --batch-check` for names that were asked in this
// order. What is neither a commit nor missing is left out of the answer.
func readKnown(r *bufio.Reader, names []string) (map[string]bool, error) {
	f := fields{r, '\n'}
	out := make(map[string]bool, len(names))
	for _, name := range names {
		line, err := f.need()
		if err != nil {
			return out, err
		}
		word, kind, _ := strings.Cut(line, " ")
		switch {
		case kind == "missing":
			out[name] = false
		case kind == "commit":
			// A branch may have the form of a short hash; it is not meant.
			out[name] = strings.HasPrefix(word, name)
		}
	}
	return out, nil
}
