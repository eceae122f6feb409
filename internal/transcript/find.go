package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// Most is how many of the latest are read of each store. Those that were written
	// since Since are read whatever their number: of them, the ones with something under
	// way are given. Zero stands for none.
	Most  int
	Since time.Time
	// Session, if set, is the id of the session that is wanted, with its helpers.
	Session string
	// Stop, if set, tells that there is no more time.
	Stop func() bool
}

// Wants reports whether a session that worked in a folder is wanted.
func (q Query) Wants(dir string) bool {
	dir = path.Clean(dir)
	return slices.ContainsFunc(q.Dirs, func(d string) bool {
		return dir == d || strings.HasPrefix(dir, strings.TrimSuffix(d, "/")+"/")
	})
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			not(opencodeFile, cause(err), written(s.FS, opencodeFile))
		} else if _, old := fs.Stat(s.FS, opencodeOld); err != nil && old == nil {
			not(opencodeOld, "sessions of versions that had no database are not read", written(s.FS, opencodeOld))
		}
		return list, unread
	}
	list, trouble := s.candidates(q)
	for _, err := range trouble {
		if !errors.Is(err, fs.ErrNotExist) {
			not(place(err), cause(err), time.Time{})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return b.at.Compare(a.at) })
	for i, c := range list {
		over := len(found) >= q.Most
		switch {
		case over && !q.since(c.at):
			return found, unread
		case q.stopped():
			left := reprise.UnreadSession{CLI: s.CLI, Why: fmt.Sprintf("%d sessions were not looked at, there was no time left", len(list)-i), Last: c.at, Left: true}
			return found, append(unread, left)
		case !s.mayWant(q, c.name):
			continue
		}
		session, err := s.read(c, over)
		if err != nil {
			not(c.name, cause(err), c.at)
			continue
		}
		if q.Wants(session.Dir) && q.is(session.ID) && !(over && session.Ended) {
			found = append(found, session)
		}
	}
	return found, unread
}

// events says how the records of each CLI are read.
var events = map[string]func(*builder, loose.Value){
	Claude: (*builder).claude, Codex: (*builder).codex, Qwen: (*builder).qwen, Copilot: (*builder).copilot,
}

// errBlank says that a transcript tells nothing of what it is.
var errBlank = errors.New("no record in it tells what it is")

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
		r.each = func(v loose.Value) { events[s.CLI](b, v) }
		err = r.readFile(s.FS, c.name)
	}
	damaged := r.lost > 0 || r.torn
	switch {
	case err != nil:
		return nil, err
	case damaged && b.s.Dir == "":
		return nil, errBlank
	case damaged || b.s.Last.IsZero():
		b.at(c.at) // what cannot be read was written by then
	}
	return b.finish(r), nil
}

func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// place names the file that an error is about, "" if it names none.
func place(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Path
	}
	return ""
}

// written tells when a file was last written, zero if that is not known.
func written(fsys fs.FS, name string) (at time.Time) {
	if info, err := fs.Stat(fsys, name); err == nil {
		at = info.ModTime()
	}
	return at
}

// candidates lists transcripts by their names and the times of their files.
func (s Store) candidates(q Query) (out []candidate, trouble []error) {
	add := func(dir string, match func(name string) bool) {
		entries, err := fs.ReadDir(s.FS, dir)
		if err != nil {
			trouble = append(trouble, err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && match(e.Name()) && q.may(path.Join(dir, e.Name())) {
				out = append(out, candidate{path.Join(dir, e.Name()), info.ModTime()})
			}
		}
	}
	below := func(dir string, each func(dir string)) {
		entries, err := fs.ReadDir(s.FS, dir)
		if err != nil {
			trouble = append(trouble, err)
		}
		for _, e := range slices.Backward(entries) {
			switch {
			case !e.IsDir():
			case q.stopped():
				trouble = append(trouble, errors.New("there was no time left to look for its sessions"))
				return
			default:
				each(path.Join(dir, e.Name()))
			}
		}
	}
	lines := func(name string) bool { return strings.HasSuffix(name, ".jsonl") }
	switch s.CLI {
	case Claude, Qwen:
		below("projects", func(dir string) {
			if !q.named(path.Base(dir)) {
				return
			}
			if s.CLI == Qwen {
				add(path.Join(dir, "chats"), lines)
				return
			}
			add(dir, lines)
			below(dir, func(session string) { // its helpers write files of their own
				if _, err := fs.Stat(s.FS, path.Join(session, "subagents")); err == nil {
					add(path.Join(session, "subagents"), lines)
				}
			})
		})
	case Gemini:
		below("tmp", func(dir string) {
			root, err := geminiFolder(s.FS, dir)
			if err != nil {
				trouble = append(trouble, err)
			} else if q.Wants(root) {
				add(path.Join(dir, "chats"), func(name string) bool { return lines(name) || strings.HasSuffix(name, ".json") })
			}
		})
	case Codex: // folders of years, months and days, the latest first
		below("sessions", func(year string) {
			below(year, func(month string) {
				below(month, func(day string) {
					add(day, lines)
				})
			})
		})
	case Copilot:
		below("session-state", func(dir string) {
			add(dir, func(name string) bool { return name == "events.jsonl" })
		})
	}
	return out, trouble
}

// named reports whether a folder of claude or qwen may be that of a project:
// they name it after the path, with every sign that is neither letter nor digit
// replaced, and may cut it.
func (q Query) named(folder string) bool {
	const sure = 180 // longer names are cut and given a hash
	return slices.ContainsFunc(q.Dirs, func(dir string) bool {
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, dir)
		return strings.HasPrefix(folder, name[:min(len(name), sure)])
	})
}

// mayWant looks at the beginning of a transcript for where it worked, so that
// one of another project is not read. Where that cannot be seen, it may be
// wanted.
func (s Store) mayWant(q Query, name string) bool {
	if s.CLI != Codex && s.CLI != Copilot {
		return true
	}
	f, err := s.FS.Open(name)
	if err != nil {
		return true
	}
	defer f.Close()
	head := make([]byte, 4<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 {
		return true
	}
	_, rest, ok := bytes.Cut(head[:n], []byte(`"cwd":`))
	if !ok {
		return true
	}
	var dir string
	if json.NewDecoder(bytes.NewReader(rest)).Decode(&dir) != nil {
		return true
	}
	return q.Wants(dir)
}
