package evidence

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/proc"
	"reprise/internal/transcript"
)

// holderOf is what is known of who works on a session.
type holderOf struct {
	reprise.OwnerLife
	caller bool
	pid    int // of the process that is known to, 0 if none is
	// unwritten tells that only a registry knows the session.
	unwritten bool
	// gone tells that no program of its CLI is seen in its folder, and that all are seen.
	gone bool
	// entry is what a registry has of it; seen is the file which shows that a process worked
	// on it that does no more.
	entry *entry
	seen  string
}

// holders are those of all sessions.
type holders map[*transcript.Session]holderOf

// entry is a file of a registry: the process that says it works on a session.
type entry struct {
	cli     string
	id, dir string
	pid     int
	ticks   uint64
	started time.Time
	version string
	// What the process said it does, what a person has to allow, and when it said so.
	status, asks string
	told         time.Time
	file         string
}

// owners looks up who works on each session.
func (a *air) owners(raw []*transcript.Session, query transcript.Query) holders {
	out := holders{}
	registry := a.registry()
	for _, e := range registry {
		if !query.Wants(e.dir) || slices.ContainsFunc(raw, func(s *transcript.Session) bool { return s.CLI == e.cli && s.ID == e.id }) {
			continue
		}
		// It has not written anything yet, or its transcript is older than
		// those that were read.
		s := &transcript.Session{CLI: e.cli, ID: e.id, Version: e.version, Dir: e.dir, Started: e.started, Last: e.started, Ended: true, Path: "sessions/" + strconv.Itoa(e.pid) + ".json"}
		held := a.holder(s, registry, true)
		held.unwritten = true
		out[s] = held
	}
	latest := map[string]*transcript.Session{}
	for _, s := range raw {
		if key := s.CLI + "\x00" + s.Dir; latest[key] == nil || s.Last.After(latest[key].Last) {
			latest[key] = s
		}
	}
	for _, s := range raw {
		held := a.holder(s, registry, latest[s.CLI+"\x00"+s.Dir] == s)
		held.caller = held.caller || s.ID != "" && s.ID == a.env(calls[s.CLI])
		out[s] = held
	}
	return out
}

// calls are the variables by which CLIs tell the commands they run which session
// that is. From inside a sandbox the process above us may not be seen.
var calls = map[string]string{transcript.Claude: "CLAUDE_CODE_SESSION_ID", transcript.Codex: "CODEX_THREAD_ID"}

// holder says whether an agent works on a session. A program that is provably
// at it makes it alive; dead needs two signs that agree and a view of every
// process; all else is unknown.
func (a *air) holder(s *transcript.Session, registry []entry, latest bool) (held holderOf) {
	seen, own := a.recorded(s, registry)
	defer func() {
		for i, e := range registry {
			if e.cli == s.CLI && e.id == s.ID {
				held.entry = &registry[i]
			}
		}
		if len(seen) > 0 && held.gone {
			if held.seen = filepath.Join(a.stores[s.CLI], "thread-writer-locks", s.ID+".lock"); held.entry != nil {
				held.seen = held.entry.file
			}
		}
	}()
	if own.Life == reprise.Alive {
		return own
	}
	// A process in the folder is at this session if nothing says otherwise: a
	// later one, a record of its own, a start after the last that was written.
	near, blind := a.near(s, registry)
	switch {
	case len(near) > 0 && latest && len(seen) == 0 && !near[0].Started.After(s.Last.Add(clockSlack)):
		w := near[0]
		return holderOf{OwnerLife: alive("process %d (%q) works in its folder", w.PID, w.Name), caller: w.Above, pid: w.PID}
	case len(near) > 0:
		return holderOf{OwnerLife: unknownLife("another session of %s, or this one, is worked on in its folder", s.CLI)}
	case blind != "":
		return holderOf{OwnerLife: unknownLife("%s", blind)}
	}
	signs := append(seen, "no process of "+s.CLI+" works in its folder")
	if s.Ended {
		signs = append(signs, "its last turn has an end on record")
	}
	if boot := a.workers.Booted; !s.Last.IsZero() && s.Last.Before(boot) && !boot.After(a.now) {
		signs = append(signs, "this machine was started after it")
	}
	if idle := a.now.Sub(s.Last); !s.Last.IsZero() && idle > 24*time.Hour {
		signs = append(signs, fmt.Sprintf("nothing was written to it for %d hours", int(idle.Hours())))
	}
	if own.Life == reprise.LifeUnknown && own.Reason != "" {
		return own
	}
	if len(signs) < 2 {
		return holderOf{OwnerLife: unknownLife("%s, and nothing else tells", signs[0]), gone: true}
	}
	return holderOf{OwnerLife: reprise.OwnerLife{Life: reprise.Dead, Reason: strings.Join(signs, ", and ")}, gone: true}
}

func alive(format string, args ...any) reprise.OwnerLife {
	return reprise.OwnerLife{Life: reprise.Alive, Reason: fmt.Sprintf(format, args...)}
}

func unknownLife(format string, args ...any) reprise.OwnerLife {
	return reprise.OwnerLife{Life: reprise.LifeUnknown, Reason: fmt.Sprintf(format, args...)}
}

// recorded asks what the CLI itself keeps: a registry of processes, or a lock.
func (a *air) recorded(s *transcript.Session, registry []entry) (signs []string, own holderOf) {
	if s.CLI == transcript.Codex {
		return a.writerLock(s)
	}
	for _, e := range registry {
		if e.cli != s.CLI || e.id != s.ID {
			continue
		}
		id, err := proc.Running(e.pid)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			signs = append(signs, fmt.Sprintf("there is no process %d, which it was registered for", e.pid))
		case err != nil:
			own = holderOf{OwnerLife: unknownLife("process %d, which it is registered for, cannot be examined", e.pid)}
		case e.ticks != 0 && id.StartTicks != e.ticks:
			signs = append(signs, fmt.Sprintf("process %d is another one than it was registered for", e.pid))
		case e.ticks == 0 && !a.worksAs(e.pid, e.cli):
			own = holderOf{OwnerLife: unknownLife("process %d, which it is registered for, may be another one", e.pid)}
		default:
			return nil, holderOf{OwnerLife: alive("process %d is registered for it and runs", e.pid), caller: proc.IsAbove(e.pid), pid: e.pid}
		}
	}
	return signs, own
}

// writerLock looks at the lock that codex holds while it writes to a thread.
func (a *air) writerLock(s *transcript.Session) (signs []string, own holderOf) {
	if s.ID == "" || s.ID != filepath.Base(s.ID) {
		return nil, own
	}
	lock, err := proc.LockOf(filepath.Join(a.stores[s.CLI], "thread-writer-locks", s.ID+".lock"))
	switch {
	case errors.Is(err, fs.ErrNotExist): // older ones have none, so that says nothing
		return nil, own
	case err != nil:
		return nil, holderOf{OwnerLife: unknownLife("its writer lock cannot be examined: %v", err)}
	case lock.Held && lock.PID > 0:
		return nil, holderOf{OwnerLife: alive("process %d holds its writer lock", lock.PID), caller: proc.IsAbove(lock.PID), pid: lock.PID}
	case lock.Held:
		return nil, holderOf{OwnerLife: alive("a process holds its writer lock")}
	case lock.Blind != "":
		return nil, holderOf{OwnerLife: unknownLife("%s", lock.Blind)}
	}
	return []string{"no process holds its writer lock"}, own
}

// near lists the programs of a session's CLI that work in its folder and that
// are not registered for another session.
func (a *air) near(s *transcript.Session, registry []entry) (found []proc.Worker, blind string) {
	dirs := []string{s.Dir}
	if len(s.Dirs) > 0 {
		dirs = append(dirs, s.Dirs[0])
	}
	for i, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dirs[i] = real
		}
	}
	for _, w := range slices.Concat(a.workers.Found, a.started.Found) {
		if !slices.Contains(dirs, w.Dir) || !runsCLI(w.Command, s.CLI) {
			continue
		}
		if slices.ContainsFunc(registry, func(e entry) bool {
			return e.cli == s.CLI && e.pid == w.PID && e.id != s.ID && (e.ticks == 0 || e.ticks == w.StartTicks)
		}) {
			continue
		}
		found = append(found, w)
	}
	if a.workers.Blind != "" {
		return found, a.workers.Blind
	}
	for _, p := range a.workers.Hidden {
		if p.Name == s.CLI || p.Name == "node" || p.Name == "bun" {
			return found, fmt.Sprintf("process %d (%q) belongs to another user and may be at it", p.PID, p.Name)
		}
	}
	return found, ""
}

func (a *air) worksAs(pid int, cli string) bool {
	return slices.ContainsFunc(a.workers.Found, func(w proc.Worker) bool { return w.PID == pid && runsCLI(w.Command, cli) })
}

// packages are how the programs are called where they are scripts.
var packages = map[string]string{
	transcript.Claude: "@anthropic-ai/claude-code", transcript.Codex: "@openai/codex", transcript.Gemini: "@google/gemini-cli",
	transcript.Qwen: "@qwen-code/qwen-code", transcript.Copilot: "@github/copilot", transcript.Opencode: "opencode-ai",
}

// runsCLI reports whether a command line is that of a session of an agent CLI. The
// daemon that codex leaves behind, and its updater, are not: the process of a session
// holds the writer lock.
func runsCLI(line, cli string) bool {
	words := strings.Fields(line)
	daemon := slices.Contains(words, "app-server") && (slices.Contains(words, "daemon") || slices.Contains(words, "--managed-daemon"))
	return isCLI(words, cli) && !(cli == transcript.Codex && daemon)
}

// isCLI reports whether the words of a command line start an agent CLI: the program
// itself, or a script that node or bun runs.
func isCLI(words []string, cli string) bool {
	for i, w := range words[:min(len(words), 5)] {
		base := path.Base(w)
		if base == cli || strings.Contains(w, "/"+packages[cli]+"/") {
			return true
		}
		if i == 0 && base != "node" && base != "bun" && base != "deno" {
			return false
		}
	}
	return false
}

// startedSince reports whether a process of a session started another one in its folder
// after some time, which still runs.
func (a *air) startedSince(pid int, after time.Time) bool {
	below := map[int]bool{pid: pid > 0}
	for _, w := range slices.Concat(a.workers.Found, a.started.Found) { // a child mostly has the higher number
		below[w.PID] = below[w.PID] || below[w.Parent]
		if w.PID != pid && below[w.PID] && !w.Started.Before(after.Add(-clockSlack)) {
			return true
		}
	}
	return false
}

// strangers are the sessions that a registry knows and no transcript, if they
// are alive, and programs that work here without any session.
func (h holders) strangers(a *air) []reprise.Session {
	var out []reprise.Session
	known := map[int]bool{}
	for s, o := range h {
		known[o.pid] = true
		if o.unwritten && o.Life == reprise.Alive {
			out = append(out, reprise.Session{CLI: s.CLI, ID: a.named(s.ID), Version: a.named(s.Version), Path: filepath.Join(a.stores[s.CLI], s.Path), Dir: a.relative(s.Dir), Started: s.Started, Last: s.Last, Ended: s.Ended, Owner: o.OwnerLife, Caller: o.caller})
		}
	}
	for _, w := range a.workers.Found {
		for cli := range packages {
			if known[w.PID] || !runsCLI(w.Command, cli) || a.partOf(w, known) {
				continue
			}
			known[w.PID] = true
			out = append(out, reprise.Session{
				CLI: cli, Dir: a.relative(w.Dir), Started: w.Started, Last: w.Started, Ended: true, Caller: w.Above,
				Owner: alive("process %d (%q) works there, in a session that was not found", w.PID, w.Name),
			})
		}
	}
	slices.SortStableFunc(out, func(x, y reprise.Session) int { return strings.Compare(x.CLI+x.ID, y.CLI+y.ID) })
	return out
}

// partOf reports whether a process of a CLI is a wrapper or a helper of one
// that is known: the same program in the same folder.
func (a *air) partOf(w proc.Worker, known map[int]bool) bool {
	for cli := range packages {
		if !runsCLI(w.Command, cli) {
			continue
		}
		for _, other := range a.workers.Found {
			if known[other.PID] && other.Dir == w.Dir && runsCLI(other.Command, cli) {
				return true
			}
		}
	}
	return false
}

// registry reads what claude and copilot record about running processes. An unreadable
// file does not prove that a process is dead.
func (a *air) registry() []entry {
	var out []entry
	dir := filepath.Join(a.stores[transcript.Claude], "sessions")
	for _, name := range a.list(dir, ".json") {
		var r struct {
			PID     int    `json:"pid"`
			ID      string `json:"sessionId"`
			Cwd     string `json:"cwd"`
			Started int64  `json:"startedAt"`
			Ticks   string `json:"procStart"`
			Version string `json:"version"`
			Status  string `json:"status"`
			Asks    string `json:"waitingFor"`
			Updated int64  `json:"updatedAt"`
			Told    int64  `json:"statusUpdatedAt"`
		}
		b, err := readSmall(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(b, &r)
		}
		if err != nil || r.PID <= 0 {
			a.unread = append(a.unread, reprise.UnreadSession{
				CLI: transcript.Claude, Path: filepath.Join(dir, name), Why: "it cannot be read, so that its session may be alive", Left: true,
			})
			continue
		}
		ticks, _ := strconv.ParseUint(r.Ticks, 10, 64)
		e := entry{cli: transcript.Claude, id: r.ID, dir: r.Cwd, pid: r.PID, ticks: ticks, started: time.UnixMilli(r.Started), version: r.Version, status: r.Status, file: filepath.Join(dir, name)}
		if e.told = time.UnixMilli(max(r.Updated, r.Told)); r.Status == "waiting" {
			e.asks = a.line(r.Asks)
		}
		out = append(out, e)
	}
	states := filepath.Join(a.stores[transcript.Copilot], "session-state")
	locks, _ := filepath.Glob(filepath.Join(states, "*", "inuse.*.lock"))
	for _, lock := range locks {
		pid, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(lock), "inuse."), ".lock"))
		if err == nil && pid > 0 {
			out = append(out, entry{cli: transcript.Copilot, id: filepath.Base(filepath.Dir(lock)), pid: pid, file: lock})
		}
	}
	return out
}

// list names what a folder has with an ending, nothing if it is not there.
func (a *air) list(dir, suffix string) (out []string) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		a.unread = append(a.unread, reprise.UnreadSession{CLI: transcript.Claude, Path: dir, Why: err.Error(), Left: true})
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			out = append(out, e.Name())
		}
	}
	return out
}

// readSmall reads a plain file; opening anything else might block.
func readSmall(name string) ([]byte, error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, fs.ErrInvalid)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}
