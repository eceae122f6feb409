// Package transcript reads what agent CLIs write down of their own sessions:
// claude, codex, gemini, opencode, qwen and copilot. It is pure over an fs.FS
// and changes nothing, takes no lock and creates no file.
//
// The formats belong to others and change without notice, so reading is
// tolerant: a record it does not know is passed over, one that cannot be read
// is counted, a torn last line is taken for what it may have been, a call whose
// result was not seen is unfinished. The version of the CLI is kept with what
// was read. Memory is bounded whatever the size of a transcript: of a large one
// the beginning and the end are read.
package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The programs whose sessions are read.
const (
	Claude   = "claude"
	Codex    = "codex"
	Gemini   = "gemini"
	Opencode = "opencode"
	Qwen     = "qwen"
	Copilot  = "copilot"
)

// Session is one conversation as its transcript tells it.
type Session struct {
	CLI     string
	ID      string
	Version string
	Path    string   // in the store it was found in
	Dir     string   // where it worked, as recorded: the first of Dirs that is wanted
	Dirs    []string // all it worked in, the first is where it was started
	Started time.Time
	Last    time.Time
	// Ended says that the last turn ended with nothing in progress, or that the session
	// was not given anything to do yet.
	Ended bool
	// Unsure tells that the last record is an answer which may end the turn: this
	// CLI writes calls down only once they have ended.
	Unsure bool
	// Answered tells that it answered a prompt: an agent was at work in it.
	Answered bool
	// Title, First, Latest and Words are what it was called, asked first and last, and what
	// its agent said last, as written; Branch is the one that it worked on.
	Title, First, Latest, Words, Branch string
	// End is how its last turn ended, where a record tells; Left is the line of one that its
	// CLI writes when it is left.
	End  End
	Left int
	// Parent is the session that started it as a helper.
	Parent string
	// Twice tells that results stand in it twice, once with their calls: gemini sends them
	// so, and is refused.
	Twice bool
	// Retries tells that its CLI may try again by itself after End.
	Retries bool
	Lost    int  // records that could not be read
	Part    bool // the middle of the file was not read
	// Requests are those to a model whose figures are on record, oldest first. Pending
	// tells that one more may have been under way.
	Requests []Request
	Pending  bool
	// Calls are those without a result, oldest first. What may hide one is a call
	// without a name: a record that cannot be read or was cut off while it was
	// written, and a last turn without an end.
	Calls []Call
	// Finished are the latest of those with a result whose tool alone does not tell that they
	// changed no more than files of this machine.
	Finished []Call
}

// Call is a use of a tool that was started.
type Call struct {
	ID      string
	Tool    string
	Dir     string // where it was to happen, as recorded; "" for that of the session
	Input   Input
	Started time.Time
	Line    int // of its record, 0 if not known
	// Torn tells that nothing of its record can be read, or no more than a part.
	Torn bool
	// Turn tells that it stands for a turn without an end on record.
	Turn bool
	// Background tells that its result only said that it keeps running. One that
	// is passed counts only as long as a process carries it out.
	Background bool
	// Passed tells that the session was given something else to do after it,
	// and answered.
	Passed bool
	killed bool // its result says no more than that
}

// Nameless reports whether it only stands for a call that may have been.
func (c Call) Nameless() bool { return c.Torn || c.Turn }

// Of one session, so many unfinished calls and folders are kept.
const (
	maxCalls = 50
	maxDirs  = 100
)

// builder puts a session together record by record.
type builder struct {
	s     Session
	calls map[string]*Call
	order []string

	turn     int            // counts prompts
	began    map[string]int // by call: the prompt it belongs to
	answered int            // the latest prompt that was answered
	over     bool           // the last turn ended
	before   bool           // over, as it was before the latest prompt
	gaps     int            // places where records are missing
	moved    bool           // a result came after the last of them
	notes    int            // records that tell of no session

	requests map[string]int // by prompt and id: its place in Requests
	counted  bool           // requests are on record one by one, not only as totals
	total    string         // the last one of those
	model    string         // the one that is asked, where requests do not name it

	line  int               // the one that is read
	full  time.Time         // when the limit is over that was last told to be used up
	roles map[string]string // of messages, by id
	whole bool              // results stand with their calls
}

func newBuilder(cli, path string) *builder {
	return &builder{s: Session{CLI: cli, Path: path}, calls: map[string]*Call{}, began: map[string]int{}}
}

// at notes the time of a record.
func (b *builder) at(t time.Time) {
	if t.IsZero() {
		return
	}
	if b.s.Started.IsZero() || t.Before(b.s.Started) {
		b.s.Started = t
	}
	if t.After(b.s.Last) {
		b.s.Last = t
	}
}

// about notes what a record says of the session; the first one counts, but for
// the version: a session may be resumed by a later one.
func (b *builder) about(id, dir, version string) {
	b.s.ID, b.s.Dir, b.s.Version = cmp.Or(b.s.ID, id), cmp.Or(b.s.Dir, dir), cmp.Or(version, b.s.Version)
	if dir != "" && len(b.s.Dirs) < maxDirs && !slices.Contains(b.s.Dirs, dir) {
		b.s.Dirs = append(b.s.Dirs, dir)
	}
}

// opened notes that a session began and waits for its first prompt.
func (b *builder) opened() { b.over = b.over || b.turn == 0 }

// prompt begins a turn.
func (b *builder) prompt() {
	b.turn, b.before, b.over, b.s.Unsure, b.s.End, b.s.Left = b.turn+1, b.over, false, false, End{}, 0
}

// answer notes that the agent spoke; done, that it has nothing more to do. It speaks
// after a result only once all calls have theirs.
func (b *builder) answer(done bool) {
	b.answered, b.over, b.s.Unsure, b.s.End, b.s.Left, b.s.Retries = b.turn, done, false, End{}, 0, false
	for id, c := range b.calls {
		if c.killed || c.Torn && (b.moved || done) {
			b.forget(id)
		}
	}
}

// start notes a call. A second record about the same call adds to the first.
func (b *builder) start(c Call) {
	b.over, b.s.Left = false, 0
	if old := b.calls[c.ID]; old != nil && c.ID != "" {
		if old.Input.empty() {
			old.Input = c.Input
		}
		old.Tool, old.Dir = cmp.Or(old.Tool, c.Tool), cmp.Or(old.Dir, c.Dir)
		return
	}
	if c.ID == "" { // without an id no result can be told to be its own
		c.ID = "#" + string(rune('a'+len(b.order)%26)) + c.Started.Format(time.RFC3339Nano)
	}
	if c.Line = b.line; c.Torn {
		c.Line = 0
	}
	b.calls[c.ID], b.began[c.ID] = &c, b.turn
	b.order = append(b.order, c.ID)
	if len(b.order) > 4*maxCalls {
		b.prune()
	}
}

// prune forgets the oldest of very many calls without a result.
func (b *builder) prune() {
	for _, id := range b.order[:len(b.order)-maxCalls] {
		b.forget(id)
	}
}

func (b *builder) forget(id string) {
	delete(b.calls, id)
	delete(b.began, id)
	if i := slices.Index(b.order, id); i >= 0 {
		b.order = slices.Delete(b.order, i, i+1)
	}
}

// result notes that a call has its result. One that only says that the command continues
// is no end. One that a signal ended may have done anything: whatever killed it may have
// killed the agent, too, and only an agent that speaks on has taken note.
func (b *builder) result(id, text string) {
	b.moved = true
	c := b.calls[id]
	switch {
	case c != nil && goesOn(text):
		c.Background = true
	case c != nil && killed(text):
		c.killed = true
	default:
		if c != nil && !c.Nameless() && c.mayReach() {
			b.s.Finished = append(b.s.Finished, *c)
			b.s.Finished = b.s.Finished[max(0, len(b.s.Finished)-maxCalls):]
		}
		b.forget(id)
	}
}

// gap notes that records are missing here, so that nothing before tells how it stands.
// One that is lost may have begun a call.
func (b *builder) gap(lost bool) {
	if b.over = false; !lost {
		return
	}
	b.gaps, b.moved = b.gaps+1, false
	b.start(Call{ID: fmt.Sprintf("gap %d", b.gaps), Torn: true, Started: b.s.Last})
}

// finish closes the session with what is known of its file.
func (b *builder) finish(r *records) *Session {
	if r != nil {
		b.s.Lost, b.s.Part = r.lost, r.part
		if r.torn {
			b.gap(true)
		}
	}
	for _, id := range b.order {
		c := b.calls[id]
		if (c.Torn || c.killed) && b.over {
			continue // a turn that was ended left nothing under way
		}
		// The program ends what it left running when it ends.
		c.Passed = b.began[id] < b.answered || c.Background && b.over
		b.s.Calls = append(b.s.Calls, *c)
	}
	if n := len(b.s.Calls) - maxCalls; n > 0 {
		b.s.Calls = b.s.Calls[n:]
	}
	b.s.Answered, b.s.First = b.answered > 0, cmp.Or(b.s.First, b.s.Latest)
	open := slices.ContainsFunc(b.s.Calls, func(c Call) bool { return !c.Passed })
	b.s.Ended = b.over && !open
	// While a call is under way its model waits for the result.
	called := slices.ContainsFunc(b.s.Calls, func(c Call) bool { return !c.Passed && !c.Nameless() })
	b.s.Pending = b.s.Pending || b.s.Part || b.s.Lost > 0 || !b.s.Ended && !called
	if !b.s.Ended && !open {
		b.s.Calls = append(b.s.Calls, Call{ID: "turn", Turn: true, Started: b.s.Last})
	}
	if b.s.Ended {
		b.s.Left = 0
	}
	return &b.s
}
