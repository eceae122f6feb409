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
	"reprise/internal/proc"
	"reprise/internal/redact"
	"reprise/internal/transcript"
)

// Of the sessions of agent CLIs: how many of the latest are read of each, and
// how long all of it may take.
const (
	sessionsEach = 5
	sessionsTime = 3 * time.Second
	logsRead     = 8
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
	stores  map[string]string // by CLI: where its store is
	hide    func(string) string
	told    []reprise.Checkpoint
	unread  []string
}

// Of text of a transcript: how much is shown, how much an agent is told, and how much
// is shown of a name.
const (
	shownText = 300
	toldText  = 4000
	shownName = 200
)

// shown gives text of a transcript as it may leave this package. Everything that
// was written by a session goes through here before it is put together with words
// of ours: a quoted secret may have another form.
func (a *air) shown(text string) string { return redact.Shown(text, shownText, a.hide) }

// named is shown for a name or an id.
func (a *air) named(text string) string { return redact.Shown(text, shownName, a.hide) }

// sessions finds the sessions of agent CLIs that worked in the project or in a
// checkout of a run, tells whether an agent works on them and what became of
// the calls they left without a result. unread says what was not looked at.
func sessions(ctx context.Context, root string, runs []*reprise.Run, o reprise.Observed, opts Options) (found []reprise.Session, unread []string) {
	a := &air{root: root, real: root, now: o.Now, git: o.Git, env: lookup(opts.Environ), hide: opts.Hide, told: opts.Checkpoints}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		a.real = real
	}
	if a.stores = transcript.Folders(a.env); len(a.stores) == 0 {
		return nil, []string{"the sessions of agents: no home folder is known"}
	}
	a.dirs = a.ours(runs)
	deadline := time.Now().Add(sessionsTime)
	query := transcript.Query{Dirs: a.dirs, Most: sessionsEach, Stop: func() bool { return ctx.Err() != nil || time.Now().After(deadline) }}
	var raw []*transcript.Session
	for _, cli := range []string{transcript.Claude, transcript.Codex, transcript.Gemini, transcript.Opencode, transcript.Qwen, transcript.Copilot} {
		if query.Stop() {
			a.unread = append(a.unread, cli+": there was no time left to look at its sessions")
			continue
		}
		if _, err := os.Stat(a.stores[cli]); err != nil {
			continue
		}
		list, unread := transcript.Store{CLI: cli, FS: os.DirFS(a.stores[cli])}.Find(query)
		raw, a.unread = append(raw, list...), append(a.unread, unread...)
	}
	raw = a.joinStream(raw, opts.Logs)
	a.workers = proc.Working(a.dirs...)
	found = a.judge(raw, query)
	slices.SortStableFunc(found, func(x, y reprise.Session) int { return y.Last.Compare(x.Last) })
	overtake(found, func(s reprise.Session) bool {
		return slices.ContainsFunc(raw, func(r *transcript.Session) bool { return r.CLI == s.CLI && a.named(r.ID) == s.ID && r.Answered })
	})
	return found, a.unread
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

// relative is a folder as sessions are shown: relative to the project.
func (a *air) relative(dir string) string {
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

// joinStream adds what gemini printed in attempts of ours: it writes a call
// down only once it has ended.
func (a *air) joinStream(raw []*transcript.Session, logs string) []*transcript.Session {
	if logs == "" {
		return raw
	}
	entries, err := os.ReadDir(logs)
	if err != nil {
		if !os.IsNotExist(err) {
			a.unread = append(a.unread, "the logs of attempts: "+err.Error())
		}
		return raw
	}
	type file struct {
		name string
		at   time.Time
	}
	var files []file
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".log") && hasStream(filepath.Join(logs, e.Name())) {
			files = append(files, file{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(x, y file) int { return x.at.Compare(y.at) })
	if n := len(files) - logsRead; n > 0 {
		files = files[n:]
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	streamed, err := transcript.Stream(os.DirFS(logs), names...)
	if err != nil {
		a.unread = append(a.unread, "the logs of attempts: "+err.Error())
	}
	for _, s := range streamed {
		i := slices.IndexFunc(raw, func(r *transcript.Session) bool { return r.CLI == s.CLI && r.ID == s.ID })
		if i < 0 {
			s.Dir, s.Path = a.root, filepath.Join(logs, s.Path)
			raw = append(raw, s)
			continue
		}
		known := raw[i]
		if known.Last.After(s.Last.Add(clockSlack)) {
			known.Calls = append(known.Calls, s.Calls...) // somebody else continued it
			continue
		}
		known.Ended, known.Unsure, known.Calls = s.Ended, s.Unsure, s.Calls
		if s.Last.After(known.Last) {
			known.Last = s.Last
		}
	}
	return raw
}

// hasStream reports whether a log begins with the stream of gemini.
func hasStream(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := f.Read(head)
	return strings.Contains(string(head[:n]), `{"type":"init"`)
}

// judge turns what was read into sessions: who works on them, and what became
// of their calls. Programs that work here without a session are added.
func (a *air) judge(raw []*transcript.Session, query transcript.Query) []reprise.Session {
	owners := a.owners(raw, query)
	var out []reprise.Session
	for _, s := range raw {
		idle := owners[s].Life == reprise.Alive && s.Unsure && !a.startedSince(owners[s].pid, s.Last)
		if idle || a.rested(s) {
			// What it would have under way is no call on record, and no process.
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
		for _, c := range s.Calls {
			call, running := a.call(s, c, one.Owner.Life)
			if c.Background && c.Passed && running == "" {
				continue
			}
			call.Passed = call.Passed && !(c.Background && running != "")
			one.Calls = append(one.Calls, call)
			if running != "" && one.Owner.Life != reprise.Alive {
				one.Owner = reprise.OwnerLife{Life: reprise.Alive, Reason: running}
			}
		}
		out = append(out, one)
	}
	return append(out, owners.strangers(a)...)
}

// rested reports whether a session told that its last turn came to its end: nothing but
// the turn is open, and nothing was written after it told so.
func (a *air) rested(s *transcript.Session) bool {
	if slices.ContainsFunc(s.Calls, func(c transcript.Call) bool { return !c.Turn && !c.Passed }) {
		return false
	}
	return slices.ContainsFunc(a.told, func(c reprise.Checkpoint) bool {
		return c.CLI == s.CLI && c.ID == s.ID && c.Rests() && !s.Last.After(c.At)
	})
}

// overtake marks the calls of sessions after which another one worked in the
// same folder and came to a good end, or that took the same call over and went
// on: the agent there had the chance to look. worked tells of a session whether one was
// at work in it.
func overtake(found []reprise.Session, worked func(reprise.Session) bool) {
	for i := range found {
		for _, later := range found {
			ended := later.Dir == found[i].Dir && later.Ended && later.Started.After(found[i].Last) && worked(later)
			for j := range found[i].Calls {
				c := &found[i].Calls[j]
				switch {
				case c.Passed:
				case ended:
					c.Passed = true
					c.Signs = append(c.Signs, fmt.Sprintf("a later session of %s worked in the same folder to a good end", later.CLI))
				case later.CLI == found[i].CLI && slices.ContainsFunc(later.Calls, func(o reprise.Call) bool { return o.Passed && o.ID == c.ID && c.Tool != "" }):
					c.Passed = true // a resumed session may begin with a copy of the old one
					c.Signs = append(c.Signs, fmt.Sprintf("session %q continued after it", later.ID))
				}
			}
		}
	}
}
