package gitx

import (
	"bufio"
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
// that is cut off by the end of the output is an error: half a path is not a path.
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

// each hands over field by field, until the output ends or an error does.
func (f *fields) each(use func(text string) error) error {
	for {
		text, err := f.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = use(text)
		}
		if err != nil {
			return err
		}
	}
}

// readSettings reads `config -z --show-scope --list`: whose it is, then key, line break, value.
func readSettings(r *bufio.Reader) (out []setting, err error) {
	f := fields{r, 0}
	err = f.each(func(text string) error {
		scope := text
		text, err := f.need()
		if err != nil {
			return err
		}
		key, value, has := strings.Cut(text, "\n")
		if !has {
			value = "true"
		}
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if first < 0 {
			return nil
		}
		s := setting{section: key[:first], name: key[last+1:], value: value, within: first < last, own: scope == "local"}
		if s.within {
			s.middle = key[first+1 : last]
		}
		if out = append(out, s); len(out) > 100_000 {
			return errTooLong
		}
		return nil
	})
	return out, err
}

// remoteSettings tells whether there is a remote and whether objects may be
// missing that a remote has.
func remoteSettings(settings []setting) (has, partial bool) {
	for _, s := range settings {
		switch {
		case s.section == "remote" && s.name == "url" && s.within:
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
	// was is the object that the head has of a changed file.
	was map[string]string
	// never are files that neither the head nor the checkout has: staged, then removed.
	never map[string]bool
}

// readStatus reads all of it and keeps the first max changes. Kinds of entries
// that are not known here are skipped, as the format asks for.
func readStatus(r *bufio.Reader, max int) (status, error) {
	f := fields{r, 0}
	st := status{index: map[string]string{}, was: map[string]string{}, never: map[string]bool{}}
	err := f.each(func(line string) error {
		kind, rest, _ := strings.Cut(line, " ")
		var c reprise.Change
		switch kind {
		case "#":
			st.header(rest)
			return nil
		case "1":
			c.Path = after(rest, 7)
			words := strings.SplitN(rest, " ", 8)
			if len(words) != 8 || len(st.changes) >= max {
				break
			}
			if strings.Trim(words[3], "0") != "" {
				st.index[c.Path] = words[3] + " " + words[6]
			}
			st.never[c.Path] = strings.Trim(words[2]+words[4], "0") == ""
			if strings.HasPrefix(words[2], "100") { // a plain file
				st.was[c.Path] = words[5]
			}
		case "2":
			c.Path = after(rest, 8)
			if _, err := f.need(); err != nil { // the old name
				return err
			}
		case "u":
			c.Path, c.Conflict = after(rest, 9), true
		case "?":
			c.Path, c.Untracked = rest, true
		default:
			return nil
		}
		if c.Path == "" {
			return fmt.Errorf("entry %q has no path", line)
		}
		c.Staged = !c.Untracked && !c.Conflict && rest[0] != '.'
		c.Added = c.Staged && rest[0] == 'A'
		c.Deleted = kind == "1" && strings.Contains(rest[:2], "D")
		if len(st.changes) < max {
			st.changes = append(st.changes, c)
		} else {
			st.more++
		}
		return nil
	})
	return st, err
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
func readWorktrees(r *bufio.Reader, end byte) (out []reprise.Worktree, err error) {
	f := fields{r, end}
	err = f.each(func(text string) error {
		name, value, _ := strings.Cut(text, " ")
		if name == "worktree" {
			if len(out) == maxWorktrees {
				return errTooLong
			}
			out = append(out, reprise.Worktree{Path: value, Main: len(out) == 0})
		}
		if len(out) == 0 {
			return nil
		}
		w := &out[len(out)-1]
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
		return nil
	})
	return out, err
}

// ref is one line of refs.
type ref struct {
	name, hash, upstream string
	ahead, behind        int
}

// refs are what for-each-ref lists; more tells that there were further ones.
type refs struct {
	list []ref
	more bool
}

// refFormat gives name, hash and upstream of a ref, trackFormat the distance to
// its upstream as well, which takes git long where there are many.
const (
	refFormat   = "--format=%(refname)%00%(objectname)%00%(upstream)"
	trackFormat = refFormat + "%00%(upstream:track,nobracket)"
)

// readRefs reads lines of refFormat or trackFormat.
func readRefs(r *bufio.Reader) (out refs, err error) {
	f := fields{r, '\n'}
	err = f.each(func(line string) error {
		part := strings.Split(line, "\x00")
		if len(part) < 3 {
			return fmt.Errorf("reference %q is not understood", line)
		}
		if len(out.list) == maxRefs {
			out.more = true
			return nil
		}
		ref := ref{name: part[0], hash: part[1], upstream: part[2]}
		for track := range strings.SplitSeq(strings.Join(part[3:], ""), ", ") { // "ahead 1, behind 2", "gone" or nothing
			word, number, _ := strings.Cut(track, " ")
			n, err := strconv.Atoi(number)
			switch {
			case err != nil:
			case word == "ahead":
				ref.ahead = n
			case word == "behind":
				ref.behind = n
			}
		}
		out.list = append(out.list, ref)
		return nil
	})
	return out, err
}

// logFormat gives per commit: the mark, the hash, parents, its time and its author's, source,
// trailers, subject. The mark can be no status letter, so that the lists of
// files in between need no other border.
const (
	logMark   = "\x01"
	logFormat = "--format=tformat:%x01%x00%H%x00%P%x00%ct%x00%at%x00%S%x00%(trailers:key=Reprise-Step,key=Run-Step,valueonly,unfold,separator=%x1f)%x00%s"
)

// entry is one commit of a log.
type entry struct {
	reprise.Commit
	parents []string
	source  string
}

// readLog reads a log in logFormat, with or without lists of files, and hands
// over commit by commit. Git puts a line break before the first file of one.
func readLog(r *bufio.Reader, add func(entry)) error {
	f := fields{r, 0}
	var e *entry
	err := f.each(func(word string) (err error) {
		switch {
		case word == logMark:
			if e != nil {
				add(*e)
			}
			e, err = readHeader(&f)
			return err
		case e == nil:
			return fmt.Errorf("log entry begins with %q", word)
		}
		return e.readFile(&f, strings.TrimPrefix(word, "\n"))
	})
	if err == nil && e != nil {
		add(*e)
	}
	return err
}

func readHeader(f *fields) (*entry, error) {
	var v [7]string
	for i := range v {
		var err error
		if v[i], err = f.need(); err != nil {
			return nil, err
		}
	}
	seconds, err := strconv.ParseInt(v[2], 10, 64)
	if err != nil || !objectName(v[0]) {
		return nil, fmt.Errorf("log entry %q is not understood", v[0])
	}
	e := &entry{parents: strings.Fields(v[1]), source: v[4]}
	e.Hash, e.At, e.Subject = v[0], time.Unix(seconds, 0).UTC(), v[6]
	if authored, err := strconv.ParseInt(v[3], 10, 64); err == nil {
		e.Authored = time.Unix(authored, 0).UTC()
	}
	e.Merge = len(e.parents) > 1
	for step := range strings.SplitSeq(v[5], "\x1f") {
		if step = strings.TrimSpace(step); step != "" {
			e.Steps = append(e.Steps, step)
		}
	}
	return e, nil
}

// maxFiles bounds the list of one commit; a commit with more is a bulk change
// whatever the rest is.
const maxFiles = 5000

// readFile reads what follows the status of a file: its name, and before that
// the old one if it was renamed or copied.
func (e *entry) readFile(f *fields, status string) (err error) {
	if status == "" || !strings.Contains("ACDMRTUXB", status[:1]) {
		return fmt.Errorf("file status %q is not understood", status)
	}
	c := reprise.FileChange{Added: status[0] == 'A' || status[0] == 'C'}
	if c.Path, err = f.need(); err != nil {
		return err
	}
	if status[0] == 'R' || status[0] == 'C' {
		from := c.Path
		if c.Path, err = f.need(); err != nil {
			return err
		}
		if status[0] == 'R' {
			c.From, c.Same = from, status == "R100"
		}
	}
	if len(e.Files) < maxFiles {
		e.Files = append(e.Files, c)
	}
	return nil
}

// readKnown reads `cat-file --batch-check` for names that were asked in this
// order. What is neither a commit nor missing is left out of the answer.
func readKnown(r *bufio.Reader, names []string, out map[string]bool) error {
	f := fields{r, '\n'}
	for _, name := range names {
		line, err := f.need()
		if err != nil {
			return err
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
	return nil
}
