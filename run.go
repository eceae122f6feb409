package reprise

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Source is where a statement was read. File is a slash path inside the project; Line
// counts from 1, and 0 means the whole file.
type Source struct {
	File string
	Line int
}

// String gives file:line, or the file alone.
func (s Source) String() string {
	if s.File == "" || s.Line <= 0 {
		return s.File
	}
	return s.File + ":" + strconv.Itoa(s.Line)
}

// MarshalText writes the form of String.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Ref identifies one run without reading it. Path is the file or folder that holds it, as
// a slash path inside the project. Layout and Path together are the identity; ID is what
// a person calls it.
type Ref struct {
	Layout string
	ID     string
	Path   string
	Kind   Kind
}

// Exact names the run so that no other one is meant, in whichever project its path begins.
func (r Ref) Exact() string { return r.Layout + ":" + r.Path }

// Question is a question that a run asks a person.
type Question struct {
	ID       string
	Text     string
	Subject  string   // what it is about: a task group, a gap, a wave
	By       string   // the step that waits for the answer, if that is on record
	About    []string `json:",omitempty"` // the steps that a question of ours is about, if that is on record
	Own      string   // the asking agent's own name for it, if that name was taken
	Options  []string
	Facts    []string `json:",omitempty"` // what a person should know to answer it, a line each
	Closed   bool     // accepts only its options: other words could start, repeat or end something by mistake
	Answer   string   // what a person answered, if recorded
	Answered bool     // an answer is on record
	Note     string   // what a person said without settling it: "not yet, …"
	Kept     bool     // the answer is stored beside the journal for the next engine
	Applied  bool     // the answer was used or withdrawn, and must not be applied again
	// UseUntold is set if the files call an answer used as soon as it is written: where the
	// journal has it, the journal tells.
	UseUntold bool
	AskedAt   time.Time
	Source    Source
	// Group are the steps of the group it is about, including closed ones, if the files
	// determine them for certain: the group can be skipped, which closes the question
	// without an answer. If it is about a group and they do not, NoGroup says why.
	Group   []string
	NoGroup string
}

// Finding is something a person should know. Code is stable and documented, Message is
// one sentence, and Hint says what to do.
type Finding struct {
	Code     string
	Severity Severity
	Subject  string // the step, file or run it is about
	Message  string
	Source   Source
	Hint     string
	There    string // what the folder in Source calls the run, if commands for it belong there
}

// Unit is one thing that may be started now.
type Unit struct {
	ID     string
	Path   string
	Title  string
	Phase  string
	Role   string
	Reason string // why this one; for people, not for programs
}

// Spent is a unit that is not retried automatically.
type Spent struct {
	Unit   string // its id
	Step   string // the id under which its attempts are recorded
	Reason string // why not: how often it failed, and how
}

// Failure is a failed attempt at a step that has not succeeded since.
type Failure struct {
	Step    string
	Attempt int
	At      time.Time
	Reason  string
	// Log is the file with its agent's output, a path in the project, or "". Output is
	// its last lines.
	Log    string
	Output []string
}

// Box is an unticked task or acceptance criterion. Step is what it is part of, or "" for
// the run.
type Box struct {
	Step   string
	Text   string
	Source Source
}

// Unticked is the finding about the boxes left open in what is marked complete, if there
// are any. Who marked it does not matter: a review passed by an agent ticks no box.
func (r *Run) Unticked() (f Finding, ok bool) {
	if len(r.Boxes) == 0 {
		return f, false
	}
	what := "complete"
	var names []string
	for _, b := range r.Boxes {
		if b.Step != "" {
			what = "done"
		}
		name := []rune(cmp.Or(b.Step, b.Text))
		if quoted := strconv.Quote(string(name[:min(len(name), 100)])); !slices.Contains(names, quoted) {
			names = append(names, quoted)
		}
	}
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return Finding{
		Code: CodeClosedOpen, Severity: Warning, Source: r.Boxes[0].Source,
		Message: fmt.Sprintf("marked %s with unticked tasks or criteria (%d): %s", what, len(r.Boxes), text),
		Hint:    "tick what is done, or reopen it",
	}, true
}

// Run is one workflow in a project, as its files describe it. A Run is never silently
// incomplete: whatever could not be read has a Finding.
type Run struct {
	Ref
	Title string
	// Project is the subfolder of the inspected folder that holds the run's project, or
	// "" for that folder itself.
	Project string `json:"-"`

	State  State
	Reason string // why it is in that state, one sentence
	Phase  string // where it stands, in the layout's own words
	Loop   Loop   `json:"-"` // the same as data, if its layout works in rounds
	// Mode is how much a person wanted to be asked when it was started, by its files or
	// here, else when it was first resumed here; "" if not recorded.
	Mode string
	// Life distinguishes the run from others of the same name in commit trailers; see
	// TrailerLife. Began is when it was started here: nothing older is its work. Both are
	// zero if our journal does not record its start.
	Life  string    `json:",omitempty"`
	Began time.Time `json:",omitzero"`
	// Until is when the limit expires that its next step ran into, or zero. Whether that
	// has passed depends on the clock. Limit is what was said of it then, "" if nothing, and
	// Awaited whether it is AwaitsLimit or AwaitsOutage, "" if that is unknown.
	Until          time.Time
	Limit, Awaited string `json:",omitempty"`

	// Steps are in the order in which they would be done.
	Steps []Step
	// Stages are parts of the work that our journal says were begun and that have no step
	// in the files, in the order in which they were first begun.
	Stages []string
	// Next is what may be started now according to the files, the recommended step first.
	// It is empty for a closed run.
	Next []Unit
	// Spent are those of them that have used up their attempts and are not retried until
	// a person decides.
	Spent []Spent
	// Failures are the latest failures of steps that have not succeeded since, latest
	// first, if a close look was requested.
	Failures []Failure `json:"-"`
	// Owed are steps that must be repeated before anything else: their last attempt was
	// rejected, yet its output makes the files mark them done.
	Owed []Unit `json:",omitempty"`
	// Asks are unrecorded questions that a person must answer before anything is started.
	Asks []Asked `json:",omitempty"`
	// Paused says that a file of its tool holds the run until a person says to continue,
	// whatever else is asked and answered.
	Paused bool `json:"-"`
	// Behind says that the work was cut off before the files had all that the journal has.
	// The run is described as resuming makes it: by bringing them up.
	Behind bool `json:",omitempty"`
	// Dropped says that an engine worked on it last and did not leave in an orderly way.
	Dropped bool `json:"-"`

	// LastActivity is zero if unknown. Its source, if there is one, is then the file that
	// would say, if its time could be trusted.
	LastActivity       time.Time
	LastActivitySource Source
	// Untold is set if its files say that nothing is done, and git shows work on it.
	Untold bool `json:",omitempty"`
	// Proven is when an agent that was told about unfinished calls last had its work
	// accepted; zero if never.
	Proven time.Time `json:"-"`
	// Dates are the latest days mentioned in the files, including future ones, latest
	// first.
	Dates []Dated

	// Left are the files that no commit holds and that are as a finished step of the run left
	// them, by the hash on record.
	Left []string `json:"-"`
	// Found is what attempts of the run found changed and not committed when they began, by
	// what their commits carry: it is not their work, whoever commits it.
	Found map[string][]Expected `json:"-"`
	// Recorded are the files that events of the run were written to here: they tell of the
	// work and are not it.
	Recorded map[string]bool `json:"-"`
	// Unheld are the files that finished steps of the run changed, or that record them, and
	// that no commit holds although one should.
	Unheld []string `json:"-"`

	// Boxes are the unticked boxes of what the files call complete: the run, or done steps.
	Boxes []Box `json:"-"`

	Questions []Question
	Artifacts []Artifact
	Findings  []Finding
	// Unread are the files and folders that the layout requested but could not use.
	Unread []string `json:"-"`
	// Lost are those of them that the last commit has and that are missing or truncated
	// here.
	Lost []string `json:"-"`
	// Also lists other places that describe this run: a second copy of its plan, its
	// story file, a worktree.
	Also []Ref

	// Owner is who is or was working on it, according to the files. It is a claim and
	// proves neither life nor death.
	Owner *Owner
	// Holder is who works on something else in the project now: until that ends nothing of
	// this run is started. It is nil if no one does.
	Holder *Owner `json:",omitempty"`

	// Branch is the git branch the run works on, if its layout names one, and Worktree
	// the folder of its checkout, inside the project.
	Branch   string
	Worktree string
	// Base is the branch that the work is for, if its layout names one.
	Base string

	// Moved is the commit that last closed one of its steps, Uncommitted if it is not
	// committed yet, or "" if unknown.
	Moved string `json:",omitempty"`

	// Placed is what determines the run's position among those of its layout, if the
	// layout has its own rule.
	Placed []Reason `json:"-"`

	// FromFile says that, according to its files, it was started here from a workflow
	// file.
	FromFile bool `json:"-"`

	// Epic and Order position a run among its siblings: its group and its sequence there.
	Epic  string
	Order []int

	// Resume is the layout's own answer in the form of the seed's ResumeState, or nil if
	// ResumeAnswer derives it.
	Resume *ResumeState
	// Options are the layout's own ways to continue, empty if those of ResumeState apply.
	Options []Option

	// index finds steps by id in large runs.
	index        map[string]int
	indexedSteps int
	// filed is the state according to the files alone, once the journal was recalled.
	filed State
	// held is why the files alone hold the run for a person without asking anything, or "".
	held string
	// lostBy are those of Unread that only what steps are said to be proves to be missing.
	lostBy []loss
}

// Uncommitted stands for a commit not made yet.
const Uncommitted = "uncommitted"

// Dated is a day on record.
type Dated struct {
	At     time.Time
	Source Source
}

// Owner is a recorded owner of a run: a marker, a lock or a lease.
type Owner struct {
	Agent      string // an agent or session id
	Host       string
	BootID     string
	PID        int
	StartTicks uint64 // start time of the process, in kernel ticks
	StartedAt  time.Time
	Expires    time.Time // when the marker itself says that it expires
	// Run is the other run of the project that it works on, "" if that is not known.
	Run string `json:",omitempty"`
	// Orphan says that this is a process started by one of our engines that is now dead:
	// the process still runs and holds the project.
	Orphan bool `json:",omitempty"`
	// Dir is the other folder or checkout it works from, or "" for the project's own.
	Dir string `json:",omitempty"`
	// Lock is a file it keeps locked as long as it, or anything it started, is running;
	// "" if there is none. The kernel's answer about the lock outweighs a process id.
	Lock   string `json:"-"`
	Source Source
}

// Holds says that nothing else is started in the project while the owner works there, and since
// when it does.
func (o *Owner) Holds() string {
	if o.Orphan {
		return fmt.Sprintf("waits: what %s started still runs: process %d", cmp.Or(o.Run, "a dead reprise"), o.PID)
	}
	what := cmp.Or(o.Run, "something else in this project")
	return fmt.Sprintf("waits: %s is being worked on%s, by process %d", what, since(o.StartedAt), o.PID)
}

// Clone returns a copy that can be changed without changing the original: its steps and
// their claims, next units, questions and findings.
func (r *Run) Clone() *Run {
	if len(r.Steps) > indexed {
		r.find("") // one index for both
	}
	c := *r
	c.Steps, c.Questions, c.Findings = slices.Clone(r.Steps), slices.Clone(r.Questions), slices.Clone(r.Findings)
	c.Next, c.Also, c.Artifacts = slices.Clone(r.Next), slices.Clone(r.Also), slices.Clone(r.Artifacts)
	claims := 0
	for i := range c.Steps {
		claims += len(c.Steps[i].Claims)
	}
	all := make([]Claim, 0, claims) // one allocation for the claims of thousands of steps
	for i := range c.Steps {
		s := &c.Steps[i]
		from := len(all)
		all = append(all, s.Claims...)
		s.Claims = all[from:len(all):len(all)]
		s.Commits, s.Evidence = slices.Clip(s.Commits), slices.Clone(s.Evidence)
	}
	return &c
}

// RestsOn returns the steps that may have been built on the given one, including itself:
// those that need it and, where the steps of the kind do not list all their needs, all
// later steps if the given one is done or they are phases gone through in order. Nothing is
// built on a step that was left out, and without a need on one that is not done.
func (r *Run) RestsOn(at int) map[string]bool {
	after := r.Steps[at:]
	if after[0].Status == Skipped {
		return map[string]bool{after[0].ID: true}
	}
	facts := r.Kind.Facts()
	inOrder := facts.Phased && !facts.Stories && !slices.ContainsFunc(r.Steps, func(s Step) bool { return len(s.Needs) > 0 })
	all := !facts.Needs && (after[0].Status.Closed() || inOrder && !after[0].Optional)
	out := map[string]bool{after[0].ID: true}
	for again := true; again; {
		again = false
		for i := range after {
			s := &after[i]
			if !out[s.ID] && (all || slices.ContainsFunc(s.Needs, func(id string) bool { return out[id] })) {
				out[s.ID], again = true, true
			}
		}
	}
	return out
}

// AgainFrom returns the steps that are repeated if a person restarts at one: those that
// rest on it, plus each later step whose work is gone, with whatever rests on that.
func (r *Run) AgainFrom(at int) map[string]bool {
	out := r.RestsOn(at)
	maps.Copy(out, r.lostAfter(at))
	return out
}

// lostAfter returns the steps after one whose work is gone, with whatever rests on that.
func (r *Run) lostAfter(at int) map[string]bool {
	out := map[string]bool{}
	for i := at + 1; i < len(r.Steps); i++ {
		if r.lost(r.Steps[i].ID) {
			maps.Copy(out, r.RestsOn(i))
		}
	}
	return out
}

// Whole returns the step that a part of it belongs to. A journal names a part by its step
// first: 03/1 is a part of 03 where 03/1 is no step itself.
func (r *Run) Whole(id string) string {
	if whole, _, ok := strings.Cut(id, "/"); ok && r.Step(id) == nil {
		return whole
	}
	return id
}

// lost reports whether a step is done but its work is gone, so that nothing can continue.
func (r *Run) lost(step string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Code == CodeWorkNotHere && f.Severity == Blocking && f.Subject == step
	})
}

// Progress counts closed steps. Skipped are those of Done that were skipped rather than
// done.
type Progress struct {
	Done, Total, Skipped int
}

// Words formats the progress as "2/3" plus the number of skipped steps.
func (p Progress) Words(between string) string {
	text := fmt.Sprintf("%d%s%d", p.Done-p.Skipped, between, p.Total)
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", p.Skipped)
	}
	return text
}

// Progress counts the closed steps of the run.
func (r *Run) Progress() Progress {
	p := Progress{Total: len(r.Steps)}
	for i := range r.Steps {
		if r.Steps[i].Status.Closed() {
			p.Done++
		}
		if r.Steps[i].Status == Skipped {
			p.Skipped++
		}
	}
	return p
}

// Further reports whether something is closed now that was not closed before.
func (r *Run) Further(was *Run) bool {
	return r.State == Complete && was.State != Complete || slices.ContainsFunc(r.Steps, func(s Step) bool {
		old := was.Step(s.ID)
		return s.Status.Closed() && (old == nil || !old.Status.Closed())
	})
}

// Report adds a finding.
func (r *Run) Report(f Finding) { r.Findings = append(r.Findings, f) }

// Worst returns the highest severity among the findings, unset if there are none.
func (r *Run) Worst() Severity {
	var worst Severity
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// PendingQuestions returns the questions without a recorded answer. A run that was ended
// on purpose has none.
func (r *Run) PendingQuestions() []Question {
	if r.State == Stopped {
		return nil
	}
	var open []Question
	for _, q := range r.Questions {
		if !q.Answered {
			open = append(open, q)
		}
	}
	return open
}

// Lapse closes a question without an answer: what it was about no longer exists.
func (r *Run) Lapse(id string) {
	q := r.Question(id)
	q.Answered, q.Applied = true, true
	r.goesOn("what it waited for is settled")
}

// goesOn ends the wait for answers once none is open. A run that its files hold without asking
// anything, such as for a review, still waits for that.
func (r *Run) goesOn(why string) {
	switch {
	case r.State != Waiting || len(r.PendingQuestions()) > 0:
	case r.held != "":
		r.Reason = r.held
	default:
		r.State, r.Reason = Interrupted, why
	}
}

// Question returns the question with this id, or nil.
func (r *Run) Question(id string) *Question {
	i := slices.IndexFunc(r.Questions, func(q Question) bool { return q.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Questions[i]
}

// Active moves LastActivity forward to t if t is later. Zero times are ignored.
func (r *Run) Active(t time.Time, at Source) {
	if !t.IsZero() && t.After(r.LastActivity) {
		r.LastActivity, r.LastActivitySource = t, at
	}
}

// Says is what the files say of how far the run is, as one text to compare: its state, its
// steps and questions, and none of their places, times or names: many tasks are called by
// their words, and other words for the same ones are no progress.
func (r *Run) Says() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ", r.State)
	if at := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Phase == r.Phase }); at >= 0 {
		fmt.Fprintf(&b, "%d\n", at)
	} else {
		fmt.Fprintf(&b, "%q\n", r.Phase)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		b.WriteString(s.Status.String())
		for _, c := range s.Claims {
			fmt.Fprintf(&b, " %q %q", c.Ledger, c.Word)
		}
		b.WriteByte('\n')
	}
	for _, q := range r.Questions {
		fmt.Fprintf(&b, "%q %t %q\n", q.ID, q.Answered, q.Answer)
	}
	return b.String()
}

// ClockSlack is how far ahead a recorded time may be before it counts as future: times
// without a zone are read as UTC and may be up to 14 hours off.
const ClockSlack = 15 * time.Hour

// Settle moves a last activity after limit back to the latest recorded time before it, if
// there is one, and reports whether it did. Files contain planned and invented dates,
// which must not hide the real one.
func (r *Run) Settle(limit time.Time) bool {
	if !r.LastActivity.After(limit) {
		return false
	}
	var best Dated
	take := func(d Dated) {
		if !d.At.After(limit) && d.At.After(best.At) {
			best = d
		}
	}
	for _, d := range r.Dates {
		take(d)
	}
	for i := range r.Steps {
		for _, c := range r.Steps[i].Claims {
			take(Dated{c.At, c.Source})
		}
	}
	if best.At.IsZero() {
		return false
	}
	r.LastActivity, r.LastActivitySource = best.At, best.Source
	return true
}
