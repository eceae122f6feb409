package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

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
	// Most is how many of the latest are read of each store.
	Most int
	// Session, if set, is the id of the session that is wanted, with its helpers.
	Session string
	// Stop, if set, tells that there is no more time.
	Stop func() bool
}

// maxLooked bounds how many transcripts are looked into for where they worked.
const maxLooked = 400

// Wants reports whether a session that worked in a folder is wanted.
func (q Query) Wants(dir string) bool {
	dir = path.Clean(dir)
	return slices.ContainsFunc(q.Dirs, func(d string) bool {
		return dir == d || strings.HasPrefix(dir, strings.TrimSuffix(d, "/")+"/")
	})
}

func (q Query) stopped() bool { return q.Stop != nil && q.Stop() }

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
func (s Store) Find(q Query) (found []*Session, unread []string) {
	defer func() {
		// A format of others must not bring the look at everything else down.
		if oops := recover(); oops != nil {
			found, unread = nil, []string{s.CLI + ": its sessions could not be read"}
		}
	}()
	if s.CLI == Opencode {
		list, err := readOpencode(s.FS, "opencode.db", q)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unread = append(unread, s.CLI+": opencode.db: "+cause(err))
		} else if _, old := fs.Stat(s.FS, "storage/session"); err != nil && old == nil {
			unread = append(unread, s.CLI+": sessions of versions that had no database are not read")
		}
		return list, unread
	}
	list, trouble := s.candidates(q)
	for _, err := range trouble {
		if !errors.Is(err, fs.ErrNotExist) {
			unread = append(unread, s.CLI+": "+err.Error())
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return b.at.Compare(a.at) })
	for i, c := range list {
		switch {
		case len(found) == q.Most:
			return found, unread
		case i == maxLooked, q.stopped():
			return found, append(unread, s.CLI+": older sessions than the latest were not looked at")
		case !s.mayWant(q, c.name):
			continue
		}
		session, err := s.read(c.name)
		if err != nil {
			unread = append(unread, s.CLI+": "+c.name+": "+cause(err))
			continue
		}
		if q.Wants(session.Dir) && q.is(session.ID) {
			found = append(found, session)
		}
	}
	return found, unread
}

// events says how the records of each CLI are read.
var events = map[string]func(*builder, loose.Value){
	Claude: (*builder).claude, Codex: (*builder).codex, Qwen: (*builder).qwen, Copilot: (*builder).copilot,
}

// read reads one transcript.
func (s Store) read(name string) (*Session, error) {
	b := newBuilder(s.CLI, name)
	var (
		r   *records
		err error
	)
	if s.CLI == Gemini {
		r, err = b.readGemini(s.FS, name)
	} else {
		r, err = readFile(s.FS, name, func(v loose.Value) { events[s.CLI](b, v) })
	}
	if err != nil {
		return nil, err
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
			if e.IsDir() && !q.stopped() {
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
			if root, err := geminiFolder(s.FS, dir); err == nil && q.Wants(root) {
				add(path.Join(dir, "chats"), func(name string) bool { return lines(name) || strings.HasSuffix(name, ".json") })
			}
		})
	case Codex: // folders of years, months and days, the latest first
		below("sessions", func(year string) {
			below(year, func(month string) {
				below(month, func(day string) {
					if len(out) < maxLooked {
						add(day, lines)
					}
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
