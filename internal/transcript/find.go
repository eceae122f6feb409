package transcript

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/loose"
)

// Store is the folder in which one CLI keeps its sessions.
type Store struct {
	CLI string
	FS  fs.FS
}

// Folders says where each CLI keeps its sessions, given the environment it is started
// with.
func Folders(env func(name string) string) map[string]string {
	home := env("HOME")
	out := map[string]string{}
	put := func(cli, variable, inHome string, more ...string) {
		dir := env(variable)
		if variable == "" || dir == "" {
			if home == "" {
				return
			}
			dir = path.Join(home, inHome)
		}
		if path.IsAbs(dir) {
			out[cli] = path.Join(append([]string{dir}, more...)...)
		}
	}
	put(Claude, "CLAUDE_CONFIG_DIR", ".claude")
	put(Codex, "CODEX_HOME", ".codex")
	put(Gemini, "GEMINI_CLI_HOME", "", ".gemini")
	put(Qwen, "", ".qwen")
	put(Copilot, "", ".copilot")
	put(Opencode, "XDG_DATA_HOME", ".local/share", "opencode")
	return out
}

// Query says which sessions are wanted.
type Query struct {
	// Dirs are the folders, absolute; a session that worked in one of them or
	// below is wanted.
	Dirs []string
	// Above are folders that these lie in, absolute, links resolved. A session that
	// worked in one of them, and not only elsewhere below it, is wanted as well: it can
	// have changed what is in Dirs.
	Above []string
	// Real, if set, gives a folder with its links resolved: a session may have been
	// started by another name of a folder.
	Real func(dir string) string
	// Most is how many of the latest are read of each store. Those that were written
	// since Since are read whatever their number: of them, the ones with something under
	// way are given. Zero stands for none.
	Most  int
	Since time.Time
	// Session, if set, is the id of the session that is wanted, with its helpers.
	Session string
	// Brief asks for the ends of transcripts that are filed under a wanted folder only.
	Brief bool
	// Stop, if set, tells that there is no more time. Looked, if set, counts the transcripts
	// that were looked at.
	Stop   func() bool
	Looked *int
}

// Wants reports whether a session that worked in a folder is wanted.
func (q Query) Wants(dir string) bool {
	return q.inside(dir) || q.either(dir, func(dir string) bool { return slices.Contains(q.Above, dir) })
}

// inside reports whether a folder is one of Dirs or lies below one.
func (q Query) inside(dir string) bool {
	return q.either(dir, func(dir string) bool {
		return slices.ContainsFunc(q.Dirs, func(d string) bool { return within(dir, d) })
	})
}

// above reports whether a folder is one that a wanted folder lies in: who starts there
// may move on to work in that.
func (q Query) above(dir string) bool {
	return q.either(dir, func(dir string) bool {
		return slices.ContainsFunc(q.Dirs, func(d string) bool { return within(d, dir) })
	})
}

// either asks about a folder by the name it has and by its real one.
func (q Query) either(dir string, is func(dir string) bool) bool {
	if dir == "" {
		return false
	}
	dir = path.Clean(dir)
	return is(dir) || q.Real != nil && is(q.Real(dir))
}

// locate sets where a session worked to a folder that is wanted, rather one inside Dirs
// than one above. It reports whether there is one.
func (q Query) locate(s *Session) bool {
	at := slices.IndexFunc(s.Dirs, q.inside)
	if at < 0 {
		at = slices.IndexFunc(s.Dirs, q.Wants)
	}
	if at < 0 {
		return false
	}
	s.Dir = s.Dirs[at]
	if named := (Query{Dirs: q.Dirs, Above: q.Above}); !named.Wants(s.Dir) {
		s.Dir = q.Real(s.Dir)
	}
	return true
}

// within reports whether a folder is another one or lies below it.
func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, strings.TrimSuffix(folder, "/")+"/")
}

func (q Query) stopped() bool { return q.Stop != nil && q.Stop() }

// since reports whether something that was written at a time is wanted whatever the number.
func (q Query) since(at time.Time) bool { return !q.Since.IsZero() && !at.Before(q.Since) }

// may reports whether a transcript may be of the session that is wanted: its name has
// the id, or the beginning of it.
func (q Query) may(name string) bool {
	return q.Session == "" || strings.Contains(name, q.Session[:min(len(q.Session), 8)])
}

// is reports whether a session is the one that is wanted, or a helper of it.
func (q Query) is(id string) bool { return q.Session == "" || q.Session == id }

// candidate is a transcript that may be wanted.
type candidate struct {
	name string
	at   time.Time
	// foreign tells that it is filed under another folder's name. Its session may still
	// have worked in one that is wanted.
	foreign bool
}

// Find reads the latest sessions of a store that are wanted, the latest first.
// unread says what was not looked at, and why; a store that is not there is
// neither.
func (s Store) Find(q Query) (found []*Session, unread []reprise.UnreadSession) {
	not := func(name, why string, last time.Time) {
		unread = append(unread, reprise.UnreadSession{CLI: s.CLI, Path: name, Why: why, Last: last})
	}
	defer func() {
		// A format of others must not bring the look at everything else down.
		if oops := recover(); oops != nil {
			found = nil
			not("", "its sessions could not be read", time.Time{})
		}
	}()
	if s.CLI == Opencode {
		list, err := readOpencode(s.FS, opencodeFile, q)
		if err != nil && !absent(s.FS, opencodeFile, err) {
			not(opencodeFile, cause(err), written(s.FS, opencodeFile))
		} else if _, old := fs.Stat(s.FS, opencodeOld); err != nil && old == nil {
			not(opencodeOld, "sessions of versions that had no database are not read", written(s.FS, opencodeOld))
		}
		for _, session := range list {
			if len(session.Dirs) == 0 {
				not(opencodeFile, errNowhere.Error(), session.Last)
			} else if q.locate(session) {
				found = append(found, session)
			}
		}
		return found, unread
	}
	list, unread := s.candidates(q)
	slices.SortStableFunc(list, func(a, b candidate) int { return b.at.Compare(a.at) })
	for i, c := range list {
		over := len(found) >= q.Most
		switch {
		case over && !q.since(c.at):
			return found, unread
		case q.stopped():
			left := reprise.UnreadSession{CLI: s.CLI, Why: fmt.Sprintf("%d sessions were not looked at, there was no time left", len(list)-i), Last: c.at, Left: true}
			return found, append(unread, left)
		}
		if q.Looked != nil {
			*q.Looked++
		}
		if !s.mayWant(q, c) {
			continue
		}
		session, err := s.read(c, over || q.Brief)
		if err == nil && len(session.Dirs) == 0 {
			session.Dirs, err = s.filedUnder(q, c)
		}
		switch {
		case errors.Is(err, errNotes), errors.Is(err, errNowhere) && (c.foreign || !q.since(c.at)):
		case err != nil:
			not(c.name, cause(err), c.at)
		case q.locate(session) && q.is(session.ID) && !(over && session.Rested()):
			found = append(found, session)
		}
	}
	return found, unread
}

// events says how the records of each CLI are read.
var events = map[string]func(*builder, loose.Value){
	Claude: (*builder).claude, Codex: (*builder).codex, Qwen: (*builder).qwen, Copilot: (*builder).copilot,
}

// What keeps a transcript from being read as a session: it tells nothing of what it is;
// it does not tell where its session worked, which may have been in a wanted folder; it
// has only notes about sessions whose transcripts are others.
var (
	errBlank   = errors.New("no record in it tells what it is")
	errNowhere = errors.New("no record in it tells where its session worked")
	errNotes   = errors.New("it has notes about other sessions")
)

// read reads one transcript. brief asks for no more than what tells whether something is
// under way.
func (s Store) read(c candidate, brief bool) (*Session, error) {
	b := newBuilder(s.CLI, c.name)
	r := &records{extent: much, gap: b.gap}
	if brief {
		r.extent = ends
	}
	var err error
	if s.CLI == Gemini {
		err = b.readGemini(s.FS, c.name, r)
	} else {
		r.each = func(v loose.Value) {
			b.line = max(r.line, 0)
			events[s.CLI](b, v)
		}
		err = r.readFile(s.FS, c.name)
	}
	damaged := r.lost > 0 || r.torn
	switch {
	case err != nil:
		return nil, err
	case damaged && b.s.Dir == "", r.read == 0:
		return nil, errBlank
	case b.notes == r.read && !damaged && !r.part:
		return nil, errNotes
	case damaged || b.s.Last.IsZero():
		b.at(c.at) // what cannot be read was written by then
	}
	return b.finish(r), nil
}

// filedUnder gives the wanted folder whose name a transcript is filed under, for one that
// does not tell itself where its session worked.
func (s Store) filedUnder(q Query, c candidate) ([]string, error) {
	if s.CLI == Claude || s.CLI == Qwen {
		if dir, _ := q.filed(strings.Split(c.name, "/")[1]); dir != "" {
			return []string{dir}, nil
		}
	}
	return nil, errNowhere
}

func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// absent reports whether an error tells that there is nothing of a name, not even a link
// that leads nowhere.
func absent(fsys fs.FS, name string, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err = fs.Lstat(fsys, name)
	return errors.Is(err, fs.ErrNotExist)
}

// written tells when a file was last written, zero if that is not known.
func written(fsys fs.FS, name string) (at time.Time) {
	if info, err := fs.Stat(fsys, name); err == nil {
		at = info.ModTime()
	}
	return at
}

// lister collects the transcripts of a store that may be wanted.
type lister struct {
	Store
	q      Query
	out    []candidate
	unread []reprise.UnreadSession
}

var (
	errNotFile   = errors.New("it is not a plain file")
	errNotFolder = errors.New("it is not a folder")
)

// not notes what cannot be looked at.
func (l *lister) not(name string, err error, last time.Time) {
	if !absent(l.FS, name, err) {
		l.unread = append(l.unread, reprise.UnreadSession{CLI: l.CLI, Path: name, Why: cause(err), Last: last})
	}
}

// entries lists a folder, with links resolved. What is not there, or was removed
// meanwhile, is left out.
func (l *lister) entries(dir string) map[string]fs.FileInfo {
	list, err := fs.ReadDir(l.FS, dir)
	if err != nil {
		l.not(dir, err, time.Time{})
	}
	out := make(map[string]fs.FileInfo, len(list))
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if to, err := fs.Stat(l.FS, path.Join(dir, e.Name())); err == nil {
				info = to
			}
		}
		out[e.Name()] = info
	}
	return out
}

// files adds the transcripts in a folder. Of one that is filed under another folder's
// name, only those count that may have worked since.
func (l *lister) files(dir string, foreign bool, match func(name string) bool) {
	entries := l.entries(dir)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		full, info := path.Join(dir, name), entries[name]
		switch {
		case !match(name) || !l.q.may(full) || foreign && !l.q.since(info.ModTime()):
		case info.Mode().IsRegular():
			l.out = append(l.out, candidate{full, info.ModTime(), foreign})
		case !foreign:
			l.not(full, errNotFile, info.ModTime())
		}
	}
}

// below goes through the folders in a folder, the last first. ours tells of what is no
// folder whether it should be one; plain files are none if it is nil.
func (l *lister) below(dir string, ours func(name string) bool, each func(dir string)) {
	entries := l.entries(dir)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(entries))) {
		info := entries[name]
		switch {
		case l.q.stopped():
			l.unread = append(l.unread, reprise.UnreadSession{CLI: l.CLI, Path: dir, Why: "there was no time left to look for its sessions", Left: true})
			return
		case info.IsDir():
			each(path.Join(dir, name))
		case ours == nil && !info.Mode().IsRegular(), ours != nil && ours(name):
			l.not(path.Join(dir, name), errNotFolder, info.ModTime())
		}
	}
}

// candidates lists transcripts by their names and the times of their files.
func (s Store) candidates(q Query) ([]candidate, []reprise.UnreadSession) {
	l := &lister{Store: s, q: q}
	lines := func(name string) bool { return strings.HasSuffix(name, ".jsonl") }
	switch s.CLI {
	case Claude, Qwen:
		l.below("projects", q.named, func(dir string) {
			foreign := !q.named(path.Base(dir))
			switch {
			case foreign && (q.Since.IsZero() || q.Brief):
			case s.CLI == Qwen:
				l.files(path.Join(dir, "chats"), foreign, lines)
			case foreign:
				l.files(dir, foreign, lines)
			default:
				l.files(dir, foreign, lines)
				l.below(dir, func(string) bool { return false }, func(session string) { // its helpers write files of their own
					l.files(path.Join(session, "subagents"), foreign, lines)
				})
			}
		})
	case Gemini:
		l.below("tmp", nil, func(dir string) {
			root, err := geminiFolder(s.FS, dir)
			nowhere := errors.Is(err, errNowhere)
			if err != nil && !nowhere {
				l.not(path.Join(dir, ".project_root"), err, time.Time{})
			} else if nowhere || q.Wants(root) {
				l.files(path.Join(dir, "chats"), false, func(name string) bool { return lines(name) || strings.HasSuffix(name, ".json") })
			}
		})
	case Codex: // folders of years, months and days, the latest first, and what was put away
		l.files("archived_sessions", false, lines)
		l.below("sessions", nil, func(year string) {
			l.below(year, nil, func(month string) {
				l.below(month, nil, func(day string) {
					l.files(day, false, lines)
				})
			})
		})
	case Copilot:
		l.below("session-state", nil, func(dir string) {
			l.files(dir, false, func(name string) bool { return name == "events.jsonl" })
		})
	}
	return l.out, l.unread
}

// named reports whether a folder of claude or qwen may be that of a wanted folder.
func (q Query) named(folder string) bool {
	_, may := q.filed(folder)
	return may
}

// filed tells whose a folder of claude or qwen is by its name: that of a wanted folder,
// which is given, or maybe of one below. They name it after the path, with every sign
// that is neither letter nor digit replaced, and may cut it.
func (q Query) filed(folder string) (dir string, may bool) {
	const sure = 180 // longer names are cut and given a hash
	for i, dir := range slices.Concat(q.Dirs, q.Above) {
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, dir)
		begins := strings.HasPrefix(folder, name[:min(len(name), sure)])
		if folder == name || begins && len(name) > sure {
			return dir, true
		}
		may = may || begins && i < len(q.Dirs)
	}
	return "", may
}

// headSize is how much of a transcript is looked at for where it was started.
const headSize = 64 << 10

// mayWant looks into a transcript for where it worked, so that one of another project is
// not read: at its beginning, and where it was started in a folder that a wanted one lies
// in, at all of it. Where that cannot be seen, it may be wanted, unless it is filed under
// another folder's name.
func (s Store) mayWant(q Query, c candidate) bool {
	if s.CLI != Codex && s.CLI != Copilot && !c.foreign {
		return true
	}
	f, err := s.FS.Open(c.name)
	if err != nil {
		return !c.foreign
	}
	defer f.Close()
	started, wanted := "", false
	recordedDirs(io.LimitReader(f, headSize), func(dir string) bool {
		started, wanted = cmp.Or(started, dir), q.Wants(dir)
		return !wanted
	})
	if wanted || started == "" && !c.foreign {
		return true
	}
	if started != "" && !q.above(started) {
		return false
	}
	recordedDirs(io.LimitReader(f, much.whole), func(dir string) bool {
		wanted = q.Wants(dir)
		return !wanted
	})
	return wanted
}

// recordedDirs gives each folder that records name as theirs, once for those that follow
// each other, until it is told to stop.
func recordedDirs(f io.Reader, each func(dir string) bool) {
	mark, last := []byte(`"cwd":`), ""
	in := bufio.NewReaderSize(f, 256<<10)
	for {
		part, err := in.ReadSlice('\n')
		for rest, ok := part, true; ok; {
			if _, rest, ok = bytes.Cut(rest, mark); !ok {
				break
			}
			var dir string
			if json.NewDecoder(bytes.NewReader(rest)).Decode(&dir) == nil && dir != "" && dir != last {
				if last = dir; !each(dir) {
					return
				}
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
