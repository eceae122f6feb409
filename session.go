package reprise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Session is a conversation with an agent CLI that worked in the project, as found in
// that CLI's store. All its text was written by others.
type Session struct {
	CLI     string // claude, codex, gemini, opencode, qwen or copilot
	ID      string
	Version string // of the CLI that wrote it, "" if it does not say
	Path    string // of the transcript, absolute
	// Dir is where it worked: a slash path relative to the project folder, "." for the
	// folder itself, "../…" for a checkout outside it or a folder of the same checkout
	// above it, "" if unknown.
	Dir string
	// Folder is where it was started, absolute, as recorded: there its CLI finds it again.
	Folder  string
	Started time.Time
	Last    time.Time // of its latest record
	// What it is about, each one plain line without secrets: its title, what it was asked
	// first and last, what its agent said last, and the branch it worked on.
	Title, FirstPrompt, LastPrompt, LastWords, Branch string
	// End is how it came to rest; of a session that is worked on it is unset.
	End SessionEnd
	// Asks is what a person has to permit before it goes on, "" for nothing.
	Asks string
	// Broken says why its own CLI cannot continue it, "" if nothing speaks against it.
	Broken string
	// Attempt says that it is one of an attempt at a run of the project, and so part of it.
	Attempt bool
	// Parent is the session whose helper it is, "" for none. Idle says that it was given
	// nothing to do.
	Parent string
	Idle   bool
	// Ended says that nothing was in progress: the transcript ends in an orderly way, or
	// the session was given nothing to do. False does not prove the contrary, and then
	// one of Calls is open.
	Ended bool
	// Lost counts unreadable records; Part says that the middle of a large transcript was
	// not read.
	Lost int
	Part bool
	// Context is how many tokens resuming it sends again: the prompt of its last request;
	// 0 if not recorded.
	Context int64
	// Owner is what is known of the process that works on it. Dead requires two signs
	// that agree.
	Owner OwnerLife
	// Caller says that this process was started from the session. What the session has in
	// progress includes this very command and holds nothing up.
	Caller bool
	// Calls are those without a result, oldest first. An unfinished turn with no known
	// call is one of them.
	Calls []Call
}

// UnreadSession is something in the store of an agent CLI that was not read: what was
// begun there is unknown.
type UnreadSession struct {
	CLI  string
	Path string // in the store; "" if it concerns all of it
	Why  string
	Last time.Time // when it was last written, zero if unknown
	// Left says that it was skipped, with nothing known to be wrong with it.
	Left bool
}

// String says what was not read, and why.
func (u UnreadSession) String() string {
	text := u.CLI
	for _, part := range []string{u.Path, u.Why} {
		if part != "" && text != "" {
			text += ": "
		}
		text += part
	}
	return text
}

// Call is something an agent began that has no recorded result.
type Call struct {
	ID      string
	Tool    string
	Source  string // where its beginning is on record
	Text    string // the command or the files, shortened, with secrets removed
	Whole   string // the same at the length shown to an agent
	Wrote   Hash   // of id, tool and text as the session wrote them, before secrets are removed
	Started time.Time
	Effect  Effect
	Landing Landing
	// Signs are the facts that Landing is based on, one sentence each.
	Signs []string
	// Passed says that the session continued after it, so its agent had a chance to look.
	Passed bool
}

// Open reports whether the call's outcome must be determined before it is repeated.
func (c Call) Open() bool {
	return !c.Passed && c.Effect != EffectNone && c.Landing != Landed && c.Landing != NotLanded
}

// Reaches reports whether the call may have changed something on another machine. Time and later
// work tell nothing about that: it is unknown until a probe or a person settles it.
func (c Call) Reaches() bool {
	return c.Tool != "" && cmp.Or(c.Effect, EffectUnknown) >= EffectNetwork
}

// CallPrefix begins the ids of questions about calls, and the options are their answers.
const (
	CallPrefix   = "call-"
	CallLanded   = "it took effect"
	CallNotTaken = "it did not take effect"
)

// Question asks a person what became of a call of a session. Nothing waits for the answer,
// which counts wherever the session does.
func (c Call) Question(s Session) Question {
	which := HashOf([]byte(s.CLI + "\x00" + s.ID + "\x00" + c.Wrote.String()))
	return Question{
		ID: CallPrefix + which.String()[:8], Closed: true, Options: []string{CallLanded, CallNotTaken},
		Text: fmt.Sprintf("%s began %q and left no result. Did it take effect? To find out, %s.", s.CLI, cmp.Or(c.Text, c.Tool), c.Look()),
	}
}

// CallsAsked are the questions about calls that affect a run and that only a person can settle.
func (o Observed) CallsAsked(r *Run) (out []Question) {
	on := o.SessionsOn(r)
	for i := range on {
		for _, c := range on[i].Calls {
			if c.Open() && c.Reaches() && on[i].Owner.Life != Alive {
				out = append(out, c.Question(on[i]))
			}
		}
	}
	return out
}

// Settle takes over what persons said of calls, by the ids of the questions.
func (o *Observed) Settle(said map[string]Landing) {
	if len(said) == 0 {
		return
	}
	all := slices.Concat(o.Sessions, o.Folder) // their calls are settled in place
	for i := range all {
		s := &all[i]
		for j := range s.Calls {
			if c := &s.Calls[j]; c.Open() && c.Reaches() && said[c.Question(*s).ID] != 0 {
				c.Landing = said[c.Question(*s).ID]
				c.Signs = append([]string{"a person said so"}, c.Signs...)
			}
		}
	}
}

// looks say how to find out whether a call took effect, by what it can change.
var looks = map[Effect]string{
	EffectFile:      "look at the files it names",
	EffectGit:       "look at `git status`, `git log` and `git reflog`",
	EffectProcess:   "look whether what it starts or stops is running",
	EffectNetwork:   "ask the service that it speaks to",
	EffectRemoteGit: "ask the other repository: `git ls-remote`, or `git fetch` and `git log`",
	EffectUnknown:   "read what it runs and look for what that leaves: files, commits, processes, pushed branches (`git ls-remote`), and what others received",
}

// Look says how to find out whether the call took effect.
func (c Call) Look() string { return looks[cmp.Or(c.Effect, EffectUnknown)] }

// Effect is what a call can change.
type Effect = Enum[effectWords]

// The effects, mildest first, so that the worst of several can be found.
const (
	EffectNone      Effect = iota + 1 // it only reads
	EffectFile                        // files of this machine
	EffectGit                         // the local repository
	EffectProcess                     // starts or stops something that keeps running
	EffectNetwork                     // something on another machine
	EffectRemoteGit                   // another repository
	EffectUnknown                     // cannot be determined
)

type effectWords struct{}

func (effectWords) words() (string, []string) {
	return "effect", []string{"", "none", "local-file", "local-git", "process", "network", "remote-git", "unknown"}
}

// Landing is the outcome of a call without a result.
type Landing = Enum[landingWords]

// The landings. Unset counts as unknown: nothing is taken as done without looking.
const (
	Landed         Landing = iota + 1 // all of its effect is there
	NotLanded                         // none of its effect is there
	LandedPartly                      // some of it is there
	LandingUnknown                    // cannot be determined
)

type landingWords struct{}

func (landingWords) words() (string, []string) {
	return "landing", []string{"", "landed", "not_landed", "partly", "unknown"}
}

// Checkpoint is what an agent CLI reported, through a hook, about a session that works
// where a run does. All its text was written by others.
type Checkpoint struct {
	CLI        string    `json:"cli"`
	ID         string    `json:"id"`
	Moment     string    `json:"moment"` // stop, compact or end
	Reason     string    `json:"reason,omitempty"`
	Transcript string    `json:"transcript,omitempty"`
	At         time.Time `json:"at"`
}

// Event returns the checkpoint as a journal event.
func (c Checkpoint) Event() Event {
	return Event{Kind: SessionCheckpoint, Actor: c.CLI, Agent: c.ID, Outcome: c.Moment, Text: c.Reason, Session: &c}
}

// Reported is what the agent of an attempt said about its step while working. It is a
// claim like any other: what the attempt leaves decides whether the step is accepted. All
// its text was written by the agent.
type Reported struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Key     string `json:"key"`     // of the attempt; see Event
	Outcome string `json:"outcome"` // began or finished
	What    string `json:"what,omitempty"`
	// Evidence are files that show it, with their hashes at that time.
	Evidence []Expected `json:"evidence,omitempty"`
}

// Event returns the report as a journal event. It has no session of its own.
func (r Reported) Event() Event {
	return Event{Kind: StepReported, Step: r.Step, Attempt: r.Attempt, Key: r.Key, Outcome: r.Outcome, Text: r.What, Expect: r.Evidence}
}

// ReportedBy is the inverse of Reported.Event.
func ReportedBy(ev *Event) Reported {
	return Reported{Step: ev.Step, Attempt: ev.Attempt, Key: ev.Key, Outcome: ev.Outcome, What: ev.Text, Evidence: ev.Expect}
}

// Note returns the report as an unverified claim about its step.
func (r Reported) Note(at time.Time, source Source) Claim {
	word := r.Outcome + " " + r.What
	for i, e := range r.Evidence {
		if word += ", " + e.Path; i == 0 {
			word = r.Outcome + " " + r.What + "; it shows " + e.Path
		}
	}
	return Claim{Ledger: fmt.Sprintf("the agent of attempt %d", r.Attempt), Status: InProgress, Word: word, At: at, Source: source}
}

// AttemptToken marks the processes of an attempt. It is derived from recorded facts: the
// project folder, the run's layout and the attempt's key. No other attempt in any project
// has the same token.
func AttemptToken(dir, layout, key string) string {
	return HashOf([]byte(dir + "\x00" + layout + "\x00" + key)).String()[:32]
}

// Rests reports whether the session had nothing in progress at the time because a turn
// had ended. That a session was ended or compacted does not imply that.
func (c Checkpoint) Rests() bool { return c.Moment == "stop" }

// sessionAge is how long after a session's last record a run must have been active for
// what the session left open on this machine to be history. Recorded times may be days without
// hours. What reaches beyond this machine is asked about for as long as a session is wanted back,
// SessionWanted; that it is asked no longer settles nothing.
const (
	sessionAge    = 24 * time.Hour
	SessionWanted = 14 * 24 * time.Hour
)

// behind reports whether a session's activity at a given time is history for the run, as far as
// this machine goes: the run was active well after it, or an agent that was told of it had its
// work accepted.
func (r *Run) behind(last time.Time) bool {
	return !last.IsZero() && (r.LastActivity.After(last.Add(sessionAge)) || r.Proven.After(last))
}

// SessionsSince is the time from which sessions matter: to any of the open runs, or
// because a person could want them back.
func (o Observed) SessionsSince(runs []*Run) time.Time {
	since := o.Now.Add(-SessionWanted)
	for _, r := range runs {
		if r == nil || !r.State.Open() {
			continue
		}
		at := r.LastActivity
		if o.Git != nil {
			at = o.Git.LastActivity(r)
		}
		if at = at.Add(-sessionAge); at.Before(time.Unix(0, 0)) {
			at = time.Unix(0, 0)
		}
		if at.Before(since) {
			since = at
		}
	}
	return since
}

// UnreadOn lists the unread sessions that may have worked on a run.
func (o Observed) UnreadOn(r *Run) (out []UnreadSession) {
	for _, u := range o.SessionsUnread {
		if r.State.Open() && !r.behind(u.Last) {
			out = append(out, u)
		}
	}
	return out
}

// unknown returns an unreadable session that may have worked on a run after the run's
// last known activity, or nil.
func (o Observed) unknown(r *Run) *UnreadSession {
	for _, u := range o.UnreadOn(r) {
		if r.State != NotStarted && !u.Left && (u.Last.IsZero() || !u.Last.Before(r.LastActivity)) {
			return &u
		}
	}
	return nil
}

// SessionsOn lists the sessions that worked where a run does and could affect its next
// step. Those of another checkout, and those that are history for the run, do not count.
func (o Observed) SessionsOn(r *Run) []Session {
	if !r.State.Open() {
		return nil
	}
	all := o.sessionsAt(cmp.Or(r.Worktree, "."))
	gone := 0
	for i := range all { // they are large, and many
		if s := &all[i]; s.Owner.Life != Alive && r.behind(s.Last) {
			gone++
		}
	}
	if gone == 0 {
		return slices.Clip(all)
	}
	// Which are history follows from how many are: the oldest.
	return o.shared(cutKey{r.Worktree, gone}, func() []Session { return o.current(all, r) })
}

// FolderOn is SessionsOn as far as a quick look tells.
func (o Observed) FolderOn(r *Run) []Session {
	if o.Sessions == nil {
		o.Sessions, o.index = o.Folder, nil
	}
	return o.SessionsOn(r)
}

// current gives those of the sessions that are not history for a run, and what the others
// may have done elsewhere.
func (o Observed) current(all []Session, r *Run) (out []Session) {
	for _, s := range all {
		switch {
		case s.Owner.Life != Alive && r.behind(s.Last):
			s.Calls = slices.DeleteFunc(slices.Clone(s.Calls), func(c Call) bool { return !c.Open() || !c.Reaches() })
			if len(s.Calls) > 0 && o.Now.Sub(s.Last) <= SessionWanted {
				out = append(out, s)
			}
		default:
			out = append(out, s)
		}
	}
	return out
}

// sessionIndex keeps the answers of SessionsOn, which are the same for most runs.
type sessionIndex struct {
	mu    sync.Mutex
	known map[cutKey][]Session
}

type cutKey struct {
	here string
	gone int // how many are history; -1: of all
}

// CallsTold is of how many calls of sessions, and of how many sessions, each run tells.
// What is more is counted.
const CallsTold = 10

// Index lets SessionsOn look through all sessions once for many runs. Sessions, Peers and
// Git must not change after it.
func (o *Observed) Index() { o.index = &sessionIndex{known: map[cutKey][]Session{}} }

// shared gives what is known under a key, or finds it out.
func (o Observed) shared(key cutKey, find func() []Session) []Session {
	if o.index == nil {
		return find()
	}
	o.index.mu.Lock()
	defer o.index.mu.Unlock()
	list, ok := o.index.known[key]
	if !ok {
		list = find()
		if len(o.index.known) < 64 {
			o.index.known[key] = list
		}
	}
	return slices.Clip(list)
}

// sessionsAt lists the sessions that worked in a checkout.
func (o Observed) sessionsAt(here string) []Session {
	return o.shared(cutKey{here, -1}, func() (out []Session) {
		for _, s := range o.Sessions {
			if !s.Caller && (s.Dir == "" || within(s.Dir, here) && (here != "." || !o.elsewhere(s.Dir))) {
				out = append(out, s)
			}
		}
		return out
	})
}

// Busy reports whether the session has something in progress, or may have.
func (s Session) Busy() bool {
	return !s.Ended || slices.ContainsFunc(s.Calls, Call.Open)
}

// LiveSession returns an open session where a run works, either busy or idle, or nil.
func (o Observed) LiveSession(r *Run, busy bool) *Session {
	on := o.SessionsOn(r)
	for i := range on {
		if s := &on[i]; s.Owner.Life == Alive && s.Busy() == busy {
			own := *s
			return &own
		}
	}
	return nil
}

// Waits says that a session is open and idle.
func (s *Session) Waits() string {
	return fmt.Sprintf("a session of %s is open in the same folder and waits: %s", s.CLI, s.Owner.Reason)
}

// elsewhere reports whether a folder belongs to a separate checkout.
func (o Observed) elsewhere(dir string) bool {
	for _, p := range o.Peers {
		if p != nil && p.Worktree != "" && p.Worktree != "." && within(dir, p.Worktree) {
			return true
		}
	}
	if o.Git != nil {
		for _, w := range o.Git.Worktrees {
			if !w.Main && w.Path != "." && !strings.HasPrefix(w.Path, "../") && within(dir, w.Path) {
				return true
			}
		}
	}
	return strings.HasPrefix(dir, "../") && !holds(dir)
}

// holds reports whether a slash path is the project folder or a folder above it.
func holds(dir string) bool { return strings.Trim(dir, "./") == "" }

// within reports whether a slash path is a folder or below it. Working above the project
// counts as working in it.
func within(dir, folder string) bool {
	return dir == folder || folder == "." && (holds(dir) || !strings.HasPrefix(dir, "../")) || strings.HasPrefix(dir, folder+"/")
}
