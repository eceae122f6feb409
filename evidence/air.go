package evidence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/gitx"
	"reprise/internal/proc"
	"reprise/internal/redact"
	"reprise/internal/transcript"
)

// Of the sessions of agent CLIs: how many of the latest are read of each however old they
// are, and how long all of it may take.
const (
	sessionsEach = 5
	sessionsTime = 3 * time.Second
	// A quick look takes briefTime, and longer only for the briefLeast latest sessions.
	briefTime, briefMost = 150 * time.Millisecond, time.Second
	briefLeast           = 32
)

// air looks for the sessions of agent CLIs that worked in the project.
type air struct {
	root    string   // as given
	real    string   // links resolved
	dirs    []string // whose sessions are ours
	now     time.Time
	git     *reprise.Git
	env     func(name string) string
	workers proc.Workers
	started proc.Workers      // where sessions of ours were started, elsewhere
	stores  map[string]string // by CLI: where its store is
	hide    func(string) string
	told    []reprise.Checkpoint
	unread  []reprise.UnreadSession
	left    map[string]time.Time // by session: when claude was told to end
}

// How many characters of a transcript are kept: of text that is shown, of a call (short
// enough not to be cut again), of text for an agent, and of a name.
const (
	shownText = 300
	shownCall = 140
	toldText  = 4000
	shownName = 200
)

// shown returns text of a transcript with its secrets removed. All text of a session
// passes through here before it becomes part of a message, because quoting changes how
// a secret looks.
func (a *air) shown(text string) string { return redact.Shown(text, shownText, a.hide) }

// named is shown for a name or an id.
func (a *air) named(text string) string { return redact.Shown(text, shownName, a.hide) }

// sessions finds the sessions of agent CLIs that worked in the project or in a
// checkout of a run, tells whether an agent works on them and what became of
// the calls they left without a result. unread says what was not looked at.
func sessions(ctx context.Context, root string, runs []*reprise.Run, o reprise.Observed, opts Options, brief bool) (found []reprise.Session, unread []reprise.UnreadSession) {
	a := &air{root: root, real: root, now: o.Now, git: o.Git, env: lookup(opts.Environ), hide: opts.Hide, told: opts.Checkpoints}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		a.real = real
	}
	if a.stores = transcript.Folders(a.env); len(a.stores) == 0 {
		return nil, []reprise.UnreadSession{{Why: "the sessions of agents: no home folder is known", Left: true}}
	}
	a.dirs = a.ours(runs)
	began, looked := time.Now(), 0
	query := transcript.Query{
		Dirs: a.dirs, Above: a.above(), Real: resolved(), Most: sessionsEach, Since: o.SessionsSince(runs), Brief: brief, Looked: &looked,
		Stop: func() bool {
			took := time.Since(began)
			return ctx.Err() != nil || took > sessionsTime || brief && opts.SessionsTime > 0 && took > opts.SessionsTime && looked > 0 || brief && (took > briefMost || took > briefTime && looked >= briefLeast)
		},
	}
	if brief {
		query.Most, opts.Logs = 0, ""
	}
	var raw []*transcript.Session
	for _, cli := range []string{transcript.Claude, transcript.Codex, transcript.Gemini, transcript.Opencode, transcript.Qwen, transcript.Copilot} {
		if _, err := os.Stat(a.stores[cli]); err != nil {
			if _, none := os.Lstat(a.stores[cli]); !os.IsNotExist(none) { // a link may lead nowhere
				a.unread = append(a.unread, reprise.UnreadSession{CLI: cli, Path: a.stores[cli], Why: err.Error()})
			}
			continue
		}
		if query.Stop() {
			a.unread = append(a.unread, reprise.UnreadSession{CLI: cli, Why: "there was no time left to look at its sessions", Left: true})
			continue
		}
		list, unread := transcript.Store{CLI: cli, FS: os.DirFS(a.stores[cli])}.Find(query)
		for i := range unread {
			u := &unread[i]
			u.Why = a.shown(u.Why)
			if u.Path != "" {
				u.Path = filepath.Join(a.stores[cli], filepath.FromSlash(u.Path))
			}
		}
		raw, a.unread = append(raw, list...), append(a.unread, unread...)
	}
	raw = a.joinStream(raw, opts.Logs, query)
	a.workers = proc.Working(slices.Concat(a.dirs, query.Above)...)
	a.workers.Found = slices.DeleteFunc(a.workers.Found, func(w proc.Worker) bool { return !query.Wants(w.Dir) })
	if began := startedElsewhere(raw, query.Above); len(began) > 0 {
		a.started = proc.Working(began...)
	}
	found = a.judge(raw, query)
	slices.SortStableFunc(found, func(x, y reprise.Session) int { return y.Last.Compare(x.Last) })
	overtake(found)
	return found, a.unread
}

// resolved resolves the links of folders, each folder once. A folder that cannot be
// resolved stays as it is.
func resolved() func(dir string) string {
	known := map[string]string{}
	return func(dir string) string {
		real, ok := known[dir]
		if !ok {
			var err error
			if real, err = filepath.EvalSymlinks(dir); err != nil {
				real = dir
			}
			known[dir] = real
		}
		return real
	}
}

// startedElsewhere lists the folders in which sessions were started that moved on to work
// in another one, or that lie above the project.
func startedElsewhere(raw []*transcript.Session, above []string) (out []string) {
	for _, s := range raw {
		if len(s.Dirs) > 0 && (s.Dirs[0] != s.Dir || slices.Contains(above, s.Dir)) {
			out = append(out, s.Dirs[0])
		}
	}
	return out
}

// lookup finds a variable in an environment; the last one counts.
func lookup(environ []string) func(string) string {
	if environ == nil {
		return os.Getenv
	}
	return func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// ours are the folders whose sessions are ours: the project's and the checkouts
// of its runs, as they are called and as they are.
func (a *air) ours(runs []*reprise.Run) []string {
	out := []string{a.root}
	for _, r := range runs {
		if r != nil && r.Worktree != "" && r.State.Open() {
			out = append(out, filepath.Join(a.root, filepath.FromSlash(r.Worktree)))
		}
	}
	for _, dir := range slices.Clone(out) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			out = append(out, real)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// above are the folders that the project lies in, up to the top of its git checkout: who
// works there can change the project's files.
func (a *air) above() (out []string) {
	top := gitx.Top(a.real)
	for dir := a.real; top != "" && dir != top; {
		dir = filepath.Dir(dir)
		out = append(out, dir)
	}
	return out
}

// relative is a folder as sessions are shown: relative to the project.
func (a *air) relative(dir string) string {
	if dir == "" {
		return ""
	}
	for _, root := range []string{a.root, a.real} {
		if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(rel)
		}
	}
	rel, err := filepath.Rel(a.root, dir)
	if err != nil {
		return filepath.ToSlash(dir)
	}
	return filepath.ToSlash(rel)
}

// joinStream adds what agents printed in our own attempts. The stores are read first,
// but gemini writes a call down only once it has ended, and an attempt may have kept its
// transcript elsewhere, or been killed before it had written there what it printed.
func (a *air) joinStream(raw []*transcript.Session, logs string, query transcript.Query) []*transcript.Session {
	streamed, err := a.streamed(logs, query)
	if err != nil {
		a.unread = append(a.unread, reprise.UnreadSession{Path: logs, Why: "the logs of attempts: " + err.Error()})
	}
	for _, s := range streamed {
		i := slices.IndexFunc(raw, func(r *transcript.Session) bool { return r.CLI == s.CLI && r.ID == s.ID })
		if i < 0 {
			s.Path = filepath.Join(logs, s.Path)
			raw = append(raw, s)
			continue
		}
		known := raw[i]
		named := func(c transcript.Call) bool { return !c.Nameless() && !c.Passed }
		switch {
		case known.Last.After(s.Last.Add(clockSlack)) && s.CLI == transcript.Gemini:
			known.Calls = append(known.Calls, s.Calls...) // someone else continued it
		case s.CLI == transcript.Gemini:
			known.Ended, known.Unsure, known.Calls = s.Ended, s.Unsure, s.Calls
			if s.Last.After(known.Last) {
				known.Last = s.Last
			}
		case !known.Ended && !slices.ContainsFunc(known.Calls, named) && !known.Last.After(s.Last.Add(clockSlack)):
			known.Calls = append(known.Calls, slices.DeleteFunc(s.Calls, func(c transcript.Call) bool { return !named(c) })...)
		}
	}
	return raw
}

// streamed reads the logs of attempts that were written since the sessions are of concern.
func (a *air) streamed(logs string, query transcript.Query) ([]*transcript.Session, error) {
	if logs == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(logs)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []transcript.Log
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".log") && !info.ModTime().Before(query.Since) {
			list = append(list, transcript.Log{Name: e.Name(), At: info.ModTime()})
		}
	}
	slices.SortStableFunc(list, func(x, y transcript.Log) int { return x.At.Compare(y.At) })
	return transcript.Stream(os.DirFS(logs), list...)
}

// judge turns what was read into sessions: who works on them, and what became
// of their calls. Programs that work here without a session are added.
func (a *air) judge(raw []*transcript.Session, query transcript.Query) []reprise.Session {
	owners := a.owners(raw, query)
	var out []reprise.Session
	for _, s := range raw {
		if s.Retries && owners[s].Life == reprise.Alive {
			s.Ended, s.End = false, transcript.End{}
		}
		idle := owners[s].Life == reprise.Alive && s.Unsure && !a.startedSince(owners[s].pid, s.Last)
		if idle || a.rested(s) {
			// Nothing in progress is on record, and no process runs.
			s.Ended, s.Calls = true, slices.DeleteFunc(s.Calls, func(c transcript.Call) bool { return c.Turn })
		}
		store := a.stores[s.CLI]
		where := s.Path
		if !filepath.IsAbs(where) {
			where = filepath.Join(store, filepath.FromSlash(where))
		}
		one := reprise.Session{
			CLI: s.CLI, ID: a.named(s.ID), Version: a.named(s.Version), Path: where, Dir: a.relative(s.Dir), Started: s.Started, Last: s.Last,
			Ended: s.Ended, Lost: s.Lost, Part: s.Part, Context: s.Context(), Owner: owners[s].OwnerLife, Caller: owners[s].caller,
		}
		a.about(&one, s, owners[s])
		for _, c := range s.Calls {
			call, running := a.call(s, c, one.Owner.Life)
			call.Source = lineOf(where, c.Line)
			a.asked(&call, c, s, owners[s])
			if c.Background && c.Passed && running == "" {
				continue
			}
			call.Passed = call.Passed && !(c.Background && running != "")
			one.Calls = append(one.Calls, call)
			if running != "" && one.Owner.Life != reprise.Alive {
				one.Owner = reprise.OwnerLife{Life: reprise.Alive, Reason: running}
			}
		}
		a.end(&one, s, owners[s])
		out = append(out, one)
	}
	return append(out, owners.strangers(a)...)
}

// rested reports whether a session said that its last turn ended: nothing but the turn is
// open, and nothing was written after that.
func (a *air) rested(s *transcript.Session) bool {
	if slices.ContainsFunc(s.Calls, func(c transcript.Call) bool { return !c.Turn && !c.Passed }) {
		return false
	}
	return slices.ContainsFunc(a.told, func(c reprise.Checkpoint) bool {
		return c.CLI == s.CLI && c.ID == s.ID && c.Rests() && !s.Last.After(c.At)
	})
}

// overtake marks the calls that another session took over and continued after: a resumed
// session may begin with a copy of the old one. That one merely worked later in the same
// folder tells nothing of them.
func overtake(found []reprise.Session) {
	for i := range found {
		for _, later := range found {
			for j := range found[i].Calls {
				c := &found[i].Calls[j]
				if !c.Passed && later.CLI == found[i].CLI && slices.ContainsFunc(later.Calls, func(o reprise.Call) bool { return o.Passed && o.ID == c.ID && c.Tool != "" }) {
					c.Passed = true
					c.Signs = append(c.Signs, fmt.Sprintf("session %q continued after it", later.ID))
				}
			}
		}
	}
}
