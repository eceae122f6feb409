package reprise

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Source is the place where a statement was read. File is a slash path inside
// the project; Line counts from 1, and 0 means the file as a whole.
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

// Ref names one run without having read it. Path is the file or folder that
// holds it, as a slash path inside the project. Layout and Path together
// identify a run; ID is what a person calls it.
type Ref struct {
	Layout string
	ID     string
	Path   string
	Kind   Kind
}

// Question is something a run asked a person.
type Question struct {
	ID       string
	Text     string
	Subject  string // what it is about: a task group, a gap, a wave
	By       string // the step that waits for the answer, if that is on record
	Own      string // what the agent that asks calls it, where that name was taken
	Options  []string
	Closed   bool   // it takes one of its options and nothing else: other words could start, repeat or end something by mistake
	Answer   string // what a person said, if it is on record
	Answered bool   // an answer is on record
	Note     string // what a person said without settling it: "not yet, …"
	Kept     bool   // that answer waits beside the journal for the next engine
	Applied  bool   // the answer was used, or withdrawn; it must not be applied again
	AskedAt  time.Time
	Source   Source
	// Group are the steps of the group it is about, closed ones included, where the
	// files tell them for certain: they can be left out and the question closed
	// without an answer. Where it is about a group and they do not, NoGroup says why.
	Group   []string
	NoGroup string
}

// Finding is something a person should know. Code is stable and documented;
// Message is one sentence; Hint says what a person can do.
type Finding struct {
	Code     string
	Severity Severity
	Subject  string // the step, file or run it is about
	Message  string
	Source   Source
	Hint     string
}

// Unit is one thing that may be started now.
type Unit struct {
	ID     string
	Path   string
	Title  string
	Phase  string
	Role   string
	Reason string // why this one, in words; for explanation, not for machines
}

// Spent is a unit that is not tried again by itself.
type Spent struct {
	Unit   string // its id
	Step   string // the id that its attempts are recorded under
	Reason string // why not: how often it failed, and how
}

// Failure is an attempt that failed at a step that did not succeed since.
type Failure struct {
	Step    string
	Attempt int
	At      time.Time
	Reason  string
	// Log is the file with what its agent printed, a path in the project, "" if there is
	// none. Output are its last lines.
	Log    string
	Output []string
}

// Box is a task or an acceptance criterion that is not ticked. Step is what it is a part
// of, "" for the run.
type Box struct {
	Step   string
	Text   string
	Source Source
}

// Run is one workflow in a project, as its files tell it. A Run is never
// partly valid in silence: whatever could not be read has a Finding.
type Run struct {
	Ref
	Title string
	// Project is the folder below the one that was looked at in which the run's project
	// lies; "" for that folder itself.
	Project string `json:"-"`

	State  State
	Reason string // why it is in that state, one sentence
	Phase  string // where it stands, in the layout's own words
	Loop   Loop   `json:"-"` // the same as facts, where its layout works in rounds
	// Mode is how much a person wanted to be asked when it was started, by its
	// files or here, else when it was first taken up here; "" if that is not on
	// record.
	Mode string
	// Life tells the run from others of its name in the trailers of commits, see
	// TrailerLife. Began is when it was started here: what is older is none of its work.
	// Both are zero where our own journal does not tell of its start.
	Life  string    `json:",omitempty"`
	Began time.Time `json:",omitzero"`
	// Until is when the limit ends that its next step ran into, zero if none
	// is on record. Whether that time is over depends on the clock.
	Until time.Time

	// Steps stand in the order in which they would be done.
	Steps []Step
	// Stages are parts of the work that our own journal tells were begun and that
	// the files keep no step for, in the order in which they were first begun.
	Stages []string
	// Next is what may be started now according to the files, the
	// recommended unit first. Empty for a run that is closed.
	Next []Unit
	// Spent are those of them whose attempts are used up: they are not tried
	// again before a person decides.
	Spent []Spent
	// Failures are the latest failures of steps that did not succeed since, the latest
	// first, where a close look was asked for.
	Failures []Failure `json:"-"`
	// Owed are steps that have to be done again before anything else: their last attempt
	// was not accepted, and what it left makes the files mark them done.
	Owed []Unit `json:",omitempty"`
	// Asks are questions that a person is asked before anything is started, and that are
	// not on record yet.
	Asks []Asked `json:",omitempty"`

	// LastActivity is zero where it is not known. Then a source, if there is one, is the
	// file that would tell if its own time could be relied on.
	LastActivity       time.Time
	LastActivitySource Source
	// Proven is when what was under way was last looked for on behalf of an agent that
	// was told of it, and whose work was accepted then; zero if that never was.
	Proven time.Time `json:"-"`
	// Dates are the latest days written in the files, future ones included,
	// the latest first.
	Dates []Dated

	// Boxes are those that the files leave open of what they call complete: the run, or
	// steps that are done.
	Boxes []Box `json:"-"`

	Questions []Question
	Artifacts []Artifact
	Findings  []Finding
	// Unread are the files and folders that its layout asked for and could not use.
	Unread []string `json:"-"`
	// Lost are those of them that the last commit has, and that are missing here or cut
	// off.
	Lost []string `json:"-"`
	// Also lists further places that tell of this same run: a second copy
	// of its plan, its story file, a worktree.
	Also []Ref

	// Owner is what the files say of who is or was working on it. It is a
	// claim and proves nothing about life or death.
	Owner *Owner

	// Branch is the git branch the run works on, if its layout names one, and
	// Worktree the folder of its checkout, inside the project.
	Branch   string
	Worktree string
	// Base is the branch that what is built is for, if its layout names one.
	Base string

	// Moved is the commit that closed one of its steps last, Uncommitted if that is in no
	// commit yet; "" where it is not known.
	Moved string `json:",omitempty"`

	// Placed is what puts the run where it stands among those of its layout, where that
	// has a rule of its own.
	Placed []Reason `json:"-"`

	// FromFile tells that its files say that it was begun here from a workflow file.
	FromFile bool `json:"-"`

	// Epic and Order place a run among its siblings: the group it belongs to
	// and its sequence there.
	Epic  string
	Order []int

	// Resume is the layout's own answer in the form of the seed's
	// ResumeState; nil where the layout has none and ResumeAnswer derives it.
	Resume *ResumeState
	// Options are the layout's own ways to continue; empty where those of
	// ResumeState apply.
	Options []Option

	// index finds steps by id in runs with many of them.
	index        map[string]int
	indexedSteps int
	// filed is the state that the files alone tell, once the journal was recalled.
	filed State
}

// Uncommitted stands for a commit that is not made yet.
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
	StartTicks uint64 // start time of the process as the kernel counts it
	StartedAt  time.Time
	Expires    time.Time // when the marker itself says it is void
	// Orphan tells that this is what an engine of ours started, which is dead: its
	// process still runs and holds the project.
	Orphan bool `json:",omitempty"`
	// Dir is the other folder or checkout from which it works, "" for the project's own.
	Dir string `json:",omitempty"`
	// Lock is a file that it holds locked as long as it, or anything it started, is at
	// work; "" if there is none. The kernel's word on that counts before a number of a
	// process.
	Lock   string `json:"-"`
	Source Source
}

// Clone gives a run that can be changed without changing this one: its steps with
// their claims, what may be started, questions and findings.
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
	all := make([]Claim, 0, claims) // one piece of memory for the claims of thousands of steps
	for i := range c.Steps {
		s := &c.Steps[i]
		from := len(all)
		all = append(all, s.Claims...)
		s.Claims = all[from:len(all):len(all)]
		s.Commits, s.Evidence = slices.Clip(s.Commits), slices.Clone(s.Evidence)
	}
	return &c
}

// RestsOn gives the steps that may have been built on one, with itself: those that need
// it. Where the steps of a kind do not name all that they need, they are all that come after
// it if it is done, or if nothing says what the steps need; nothing is built on one that need
// not be done.
func (r *Run) RestsOn(at int) map[string]bool {
	after := r.Steps[at:]
	needs := slices.ContainsFunc(r.Steps, func(s Step) bool { return len(s.Needs) > 0 })
	all := !r.Kind.Facts().Needs && (after[0].Status.Closed() || !needs && !after[0].Optional)
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

// AgainFrom gives the steps that are done again where a person begins again at one: those
// that rest on it, and each step behind it whose work is gone, with what rests on that.
func (r *Run) AgainFrom(at int) map[string]bool {
	out := r.RestsOn(at)
	for i := at + 1; i < len(r.Steps); i++ {
		if r.lost(r.Steps[i].ID) {
			maps.Copy(out, r.RestsOn(i))
		}
	}
	return out
}

// lost reports whether a step is done and its work is gone, so that nothing can continue.
func (r *Run) lost(step string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Code == CodeWorkNotHere && f.Severity == Blocking && f.Subject == step
	})
}

// Progress counts closed steps. Skipped are those of Done that were left out: they are
// closed, and no one did them.
type Progress struct {
	Done, Total, Skipped int
}

// Words tells the progress as "2/3", and how many steps were left out.
func (p Progress) Words(between string) string {
	text := fmt.Sprintf("%d%s%d", p.Done-p.Skipped, between, p.Total)
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", p.Skipped)
	}
	return text
}

// Progress counts the steps of the run that are closed.
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

// Further reports whether anything is closed that was not before.
func (r *Run) Further(was *Run) bool {
	return r.State == Complete && was.State != Complete || slices.ContainsFunc(r.Steps, func(s Step) bool {
		old := was.Step(s.ID)
		return s.Status.Closed() && (old == nil || !old.Status.Closed())
	})
}

// Step returns the step with this id, or nil.
func (r *Run) Step(id string) *Step {
	if len(r.Steps) > indexed {
		return r.find(id)
	}
	for i := range r.Steps {
		if r.Steps[i].ID == id {
			return &r.Steps[i]
		}
	}
	return nil
}

// StepOrPart finds a step, or a part of one that is left to do, nil if there is
// none.
func (r *Run) StepOrPart(id string) *Step {
	if s := r.Step(id); s != nil {
		return s
	}
	return r.part(id)
}

// part returns the part of a step with this id, or nil.
func (r *Run) part(id string) *Step {
	for i := range r.Steps {
		for k := range r.Steps[i].Parts {
			if p := &r.Steps[i].Parts[k]; p.ID == id {
				return p
			}
		}
	}
	return nil
}

// indexed is from how many steps on they are looked up by an index.
const indexed = 256

// find is Step for runs with many steps. The index is made at the first call and
// again when the steps are not what it was made of.
func (r *Run) find(id string) *Step {
	if i, ok := r.index[id]; ok && i < len(r.Steps) && r.Steps[i].ID == id && r.indexedSteps == len(r.Steps) {
		return &r.Steps[i]
	}
	if r.index != nil && r.indexedSteps == len(r.Steps) {
		if _, ok := r.index[id]; !ok {
			return nil
		}
	}
	r.index, r.indexedSteps = make(map[string]int, len(r.Steps)), len(r.Steps)
	for i := len(r.Steps) - 1; i >= 0; i-- {
		r.index[r.Steps[i].ID] = i // the first of two with the same id
	}
	if i, ok := r.index[id]; ok {
		return &r.Steps[i]
	}
	return nil
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

// PendingQuestions returns the questions without an answer on record. A run that
// was ended on purpose waits for none.
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

// ClockSlack is how far a recorded time may lie ahead before it is called
// future: times without a zone are read as UTC and may be up to 14 hours off.
const ClockSlack = 15 * time.Hour

// Settle takes a last activity that lies after limit back to the latest time
// on record that does not, if there is one, and reports whether it did: files
// carry planned and invented dates, and one of them must not hide the real one.
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
