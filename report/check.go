package report

import (
	"cmp"
	"slices"
	"time"

	"reprise"
)

// CheckSchema is the version of the document of `reprise check`.
const CheckSchema = "reprise/check/v2"

// Check is the answer of `reprise check`: everything that is known about one
// run, whether resuming is safe, and from where.
type Check struct {
	Schema string `json:"schema" jsonschema:"reprise/check/v2"`
	Root   string `json:"root" jsonschema:"absolute path of the project folder"`
	Mode   string `json:"mode" jsonschema:"interactive or preflight"`
	Checked
	// Sessions are those of the first run and those of the folder that a person could want back.
	Sessions   []Session `json:"sessions" jsonschema:"sessions of agent CLIs that worked where the run does, and those of the folder that a person could want back, the latest first"`
	Git        *Git      `json:"git" jsonschema:"the repository as it was found; null if there is none or it was not looked at"`
	Unread     []string  `json:"sessions_unread" jsonschema:"which sessions were not looked at, and why"`
	Verified   *Verified `json:"verified" jsonschema:"how the command given for verification ended; null if none was run"`
	Candidates []Run     `json:"candidates" jsonschema:"every run that could be meant where none was named, the answered one included"`
	Runs       []Checked `json:"runs" jsonschema:"everything that is known about each of the runs that were looked at, the most urgent first; the fields beside this one are about the first of them"`
}

// Checked is what is known about one run.
type Checked struct {
	Digest    string           `json:"digest" jsonschema:"of everything that was looked at; the verdict holds while it stays the same"`
	Run       *Run             `json:"run" jsonschema:"the run the answer is about; null if nothing was interrupted"`
	Says      string           `json:"says,omitempty" jsonschema:"the verdict in one sentence; absent where run is null"`
	Next      string           `json:"next,omitempty" jsonschema:"the command that continues it; absent if none would"`
	First     string           `json:"first,omitempty" jsonschema:"what has to be done before resuming begins, if with does not say it; absent if nothing has"`
	Starts    string           `json:"starts,omitempty" jsonschema:"what is started next, in words; absent where run is null"`
	With      string           `json:"with,omitempty" jsonschema:"who does what comes next: an agent, or a command of the workflow; absent if no agent is needed"`
	Session   *SessionCost     `json:"session,omitempty" jsonschema:"what resuming the session costs that worked on the next step before, beside a new one; absent if none did"`
	Forecast  string           `json:"session_says,omitempty" jsonschema:"the same in words; absent where session is"`
	Decision  *Decision        `json:"decision" jsonschema:"null where run is"`
	Plan      *Plan            `json:"plan" jsonschema:"the resume plan; null where run is"`
	Steps     []Step           `json:"steps" jsonschema:"every step with what each record says of it and what it rests on"`
	Artifacts []Artifact       `json:"artifacts" jsonschema:"every file the run refers to"`
	Owner     *Owner           `json:"owner" jsonschema:"who is recorded as working on it; null if no one is"`
	HeldBy    *Holder          `json:"held_by" jsonschema:"who works on something else in the project, so that nothing of this run is started; null if no one does"`
	Sessions  []Session        `json:"sessions" jsonschema:"sessions of agent CLIs that worked where the run does, the latest first; of runs after the first those that are not among the sessions of the document"`
	More      int              `json:"sessions_more,omitempty" jsonschema:"how many more did, that are not listed; absent for none"`
	Options   []reprise.Option `json:"options" jsonschema:"ways to continue, the usual one first"`
	Failures  []Failure        `json:"failures,omitempty" jsonschema:"what failed last, of steps that did not succeed since, the latest first; absent if nothing did"`
	Findings  []Finding        `json:"findings" jsonschema:"the most severe first; those about the folder stand last"`
}

// Failure is an attempt that failed.
type Failure struct {
	Step    string    `json:"step"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Log     string    `json:"log" jsonschema:"the file with what its agent printed, relative to root; empty if there is none"`
	Output  []string  `json:"output" jsonschema:"the last lines of it"`
}

// Decision is what to do about a run, and why.
type Decision struct {
	Action   reprise.Action  `json:"action"`
	State    reprise.State   `json:"state" jsonschema:"as the files and the world together tell it"`
	Verdict  reprise.Verdict `json:"verdict"`
	Point    *Offer          `json:"point" jsonschema:"where to resume; null if nothing may be started"`
	Units    []Offer         `json:"units" jsonschema:"all that may be started now, the point first"`
	Reasons  []string        `json:"reasons" jsonschema:"the most important first"`
	Verify   []Offer         `json:"verify" jsonschema:"marked open while git has a commit for them: check and mark them, do not do them again"`
	Doubtful []Offer         `json:"doubtful" jsonschema:"marked done below the grade asked for, or with evidence against it"`
	Missing  []Artifact      `json:"missing" jsonschema:"files the next phase needs and that are not there"`
	Keep     []string        `json:"keep" jsonschema:"ids of steps whose outcome stays valid"`
	Again    []string        `json:"again" jsonschema:"ids of steps that must run again"`
}

// Offer is a unit and why it is named.
type Offer struct {
	Unit
	Reason string `json:"reason"`
}

// Plan is the resume plan of a run.
type Plan struct {
	WorkflowType  string     `json:"workflow_type"`
	StateSource   string     `json:"state_source" jsonschema:"the file or folder that holds the state"`
	AgeSeconds    *int64     `json:"age_seconds" jsonschema:"since the last activity; null if unknown"`
	AgeBand       string     `json:"age_band" jsonschema:"fresh, recent, moderate, stale or unknown"`
	LastCompleted *LastPhase `json:"last_completed" jsonschema:"null if nothing is completed"`
	Next          *NextPhase `json:"next" jsonschema:"null if nothing may be started"`
	Validation    Validation `json:"validation"`
	Remaining     []Unit     `json:"remaining" jsonschema:"the phases or steps that are left, in order, the next one included"`
}

// LastPhase is the phase that was completed last.
type LastPhase struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Agent  string `json:"agent"`
	Output string `json:"output" jsonschema:"the file or commit it left; empty if none is on record"`
}

// NextPhase is the phase to resume from.
type NextPhase struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Agent  string   `json:"agent"`
	Inputs []string `json:"inputs" jsonschema:"files that are passed on to it"`
}

// Validation counts what was found.
type Validation struct {
	Result    string `json:"result" jsonschema:"clean, warnings or conflicts"`
	Conflicts int    `json:"conflicts" jsonschema:"must be resolved before you continue"`
	Warnings  int    `json:"warnings"`
	Infos     int    `json:"infos"`
}

// Results of a validation.
const (
	Clean     = "clean"
	Warnings  = "warnings"
	Conflicts = "conflicts"
)

// Step is one unit of work and what its status rests on.
type Step struct {
	ID       string         `json:"id"`
	Title    string         `json:"title"`
	Phase    string         `json:"phase"`
	Role     string         `json:"role"`
	Status   reprise.Status `json:"status"`
	Grade    reprise.Grade  `json:"grade,omitzero" jsonschema:"how well a done is founded; absent for other steps"`
	Needs    []string       `json:"needs,omitempty" jsonschema:"ids of steps that must be closed first; absent if there are none"`
	Claims   []Claim        `json:"claims"`
	Evidence []Evidence     `json:"evidence"`
}

// Claim is what one ledger says of a step.
type Claim struct {
	Ledger string         `json:"ledger"`
	Status reprise.Status `json:"status"`
	Word   string         `json:"word" jsonschema:"as written"`
	Source string         `json:"source" jsonschema:"file:line"`
	At     *time.Time     `json:"at" jsonschema:"when the record says so; null if it does not"`
	Won    bool           `json:"won" jsonschema:"this claim decides"`
}

// Evidence is one fact from outside the ledgers.
type Evidence struct {
	Kind   string `json:"kind" jsonschema:"commit, partial-commit, artifact or command"`
	Text   string `json:"text"`
	Source string `json:"source"`
	For    bool   `json:"for" jsonschema:"speaks for the step being done; false: against it"`
}

// Artifact is a file a run refers to.
type Artifact struct {
	Name     string           `json:"name"`
	Path     string           `json:"path"`
	Presence reprise.Presence `json:"presence"`
	Critical bool             `json:"critical" jsonschema:"the run cannot continue without it"`
	NeededBy string           `json:"needed_by"`
	MadeBy   string           `json:"made_by"`
	Source   string           `json:"source" jsonschema:"file:line where it is referred to"`
}

// Verified is how a command that was given for verification ended.
type Verified struct {
	Command string `json:"command"`
	Commit  string `json:"commit" jsonschema:"what it was run on"`
	OK      bool   `json:"ok" jsonschema:"it ran and succeeded"`
	Reason  string `json:"reason" jsonschema:"why it did not; empty if it did"`
	Tail    string `json:"tail" jsonschema:"the end of what it printed"`
}

// Git is the repository in short.
type Git struct {
	Head      string `json:"head"`
	Branch    string `json:"branch" jsonschema:"empty if the head is detached"`
	Operation string `json:"operation" jsonschema:"merge, rebase, … if one is under way"`
	Changed   int    `json:"changed" jsonschema:"uncommitted and untracked files"`
	HasRemote bool   `json:"has_remote"`
	Unpushed  int    `json:"unpushed" jsonschema:"commits no remote has; means nothing without one"`
}

// Owner is who is recorded as working on a run.
type Owner struct {
	Agent  string       `json:"agent"`
	Host   string       `json:"host"`
	PID    int          `json:"pid"`
	Life   reprise.Life `json:"life"`
	Reason string       `json:"reason"`
	Source string       `json:"source"`
}

// Holder is who works on something else in the project.
type Holder struct {
	Run   string     `json:"run" jsonschema:"the run that is worked on; empty if that is not known"`
	PID   int        `json:"pid"`
	Host  string     `json:"host"`
	Since *time.Time `json:"since" jsonschema:"null if that is not known"`
}

func newHolder(o *reprise.Owner) *Holder {
	if o == nil {
		return nil
	}
	return &Holder{o.Run, o.PID, o.Host, When(o.StartedAt)}
}

// NewCheck makes the document of runs that were judged, or of a project where nothing
// was interrupted if there are none.
func NewCheck(root, mode string, o reprise.Observed, runs ...Checked) Check {
	c := Check{
		Schema: CheckSchema, Root: root, Mode: mode, Git: newGit(o.Git), Unread: Each(o.SessionsUnread, reprise.UnreadSession.String),
		Checked:    Checked{Steps: []Step{}, Artifacts: []Artifact{}, Sessions: []Session{}, Options: []reprise.Option{}, Findings: []Finding{}},
		Candidates: []Run{}, Runs: List(runs),
	}
	if len(runs) > 0 {
		c.Checked = runs[0]
	}
	c.Sessions = concerned(o, c.Checked.Sessions)
	listed := map[string]bool{}
	for _, s := range c.Sessions {
		listed[s.Path+"\x00"+s.ID] = true
	}
	for i := range c.Runs[min(1, len(c.Runs)):] {
		r := &c.Runs[i+1]
		r.Sessions = List(slices.DeleteFunc(r.Sessions, func(s Session) bool { return listed[s.Path+"\x00"+s.ID] }))
	}
	if len(runs) > 1 {
		c.Candidates = Each(runs, func(r Checked) Run { return *r.Run })
	}
	return c
}

// NewChecked makes the document of one run that was judged.
func NewChecked(digest string, r *reprise.Run, d reprise.Decision, o reprise.Observed) Checked {
	run, decision, plan := NewJudged(r, d), newDecision(d), NewPlan(r, d, o)
	on := o.SessionsOn(r)
	told := on[:min(len(on), reprise.CallsTold)]
	return Checked{
		Digest: digest, Run: &run, Decision: &decision, Plan: &plan, Steps: Each(r.Steps, newStep), Artifacts: Each(r.Artifacts, newArtifact),
		Owner: newOwner(r.Owner, o), HeldBy: newHolder(d.Holder), Sessions: NewSessions(told, o.Now), More: len(on) - len(told), Options: List(d.Options(r)),
		Failures: Each(r.Failures, newFailure), Findings: NewFindings(Sorted(r.Findings)),
	}
}

func newFailure(f reprise.Failure) Failure {
	return Failure{f.Step, f.Attempt, f.At.UTC(), f.Reason, f.Log, List(f.Output)}
}

// NewJudged makes the document of one run with the verdict of a decision, the
// state the world gives it, and what may be started after that.
func NewJudged(r *reprise.Run, d reprise.Decision) Run {
	run := NewRun(r)
	run.State, run.Verdict, run.Action = cmp.Or(d.State, r.State), cmp.Or(d.Verdict, reprise.VerdictNone), d.Action
	run.Standing = d.Standing()
	if as := r.Shown(run.State); as != run.State {
		run.ListedAs = as
	}
	run.Findings = NewFindings(Sorted(r.Findings))
	run.Asks = NewQuestions(d.Unanswered(r)[len(r.PendingQuestions()):])
	if d.Action != 0 {
		run.Next = Each(d.Units, newUnit)
	}
	return run
}

// Sorted returns the findings with the most severe first, otherwise in the
// order they were made in.
func Sorted(findings []reprise.Finding) []reprise.Finding {
	out := slices.Clone(findings)
	slices.SortStableFunc(out, func(a, b reprise.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return out
}

// About adds what is to be said of the folder.
func (c Check) About(findings []reprise.Finding) Check {
	c.Findings = append(slices.Clip(c.Findings), NewFindings(Sorted(findings))...)
	return c
}

func newDecision(d reprise.Decision) Decision {
	out := Decision{
		Action: d.Action, State: d.State, Verdict: cmp.Or(d.Verdict, reprise.VerdictNone),
		Units: Each(d.Units, newOffer), Verify: Each(d.Verify, newOffer), Doubtful: Each(d.Doubtful, newOffer),
		Reasons: List(d.Reasons), Missing: Each(d.Missing, newArtifact), Keep: List(d.Keep), Again: List(d.Again),
	}
	if d.Point != nil {
		point := newOffer(*d.Point)
		out.Point = &point
	}
	return out
}

func newOffer(u reprise.Unit) Offer { return Offer{newUnit(u), u.Reason} }

func newUnit(u reprise.Unit) Unit { return Unit{u.ID, u.Path, u.Title, u.Phase, u.Role} }

func newStep(s reprise.Step) Step {
	return Step{
		ID: s.ID, Title: s.Title, Phase: s.Phase, Role: s.Role, Status: known(s.Status), Grade: s.Grade, Needs: s.Needs,
		Claims: Each(slices.Concat(s.Claims, s.Noted), newClaim), Evidence: Each(s.Evidence, newEvidence),
	}
}

func newEvidence(e reprise.Evidence) Evidence { return Evidence{e.Kind, e.Text, e.Source, e.For} }

func newClaim(c reprise.Claim) Claim {
	return Claim{c.Ledger, known(c.Status), c.Word, c.Source.String(), When(c.At), c.Won}
}

// known turns an unset status into one that has a word.
func known(s reprise.Status) reprise.Status { return cmp.Or(s, reprise.Unknown) }

func newArtifact(a reprise.Artifact) Artifact {
	return Artifact{a.Name, a.Path, cmp.Or(a.Presence, reprise.Unchecked), a.Critical, a.NeededBy, a.MadeBy, a.Source.String()}
}

func newGit(g *reprise.Git) *Git {
	if g == nil {
		return nil
	}
	return &Git{g.Head, g.Branch, g.Operation, len(g.Changed) + g.ChangedMore, g.HasRemote, g.Unpushed}
}

func newOwner(w *reprise.Owner, o reprise.Observed) *Owner {
	if w == nil {
		return nil
	}
	life := o.Owners[w.Source]
	return &Owner{w.Agent, w.Host, w.PID, cmp.Or(life.Life, reprise.LifeUnknown), life.Reason, w.Source.String()}
}

// ChecksSchema is the version of the document of `reprise checks`.
const ChecksSchema = "reprise/checks/v1"

// Checks is the answer of `reprise checks`: what is looked at.
type Checks struct {
	Schema string     `json:"schema" jsonschema:"reprise/checks/v1"`
	Checks []CheckDoc `json:"checks"`
}

// CheckDoc tells about one check.
type CheckDoc struct {
	Code     string           `json:"code" jsonschema:"of the findings it gives; stable"`
	Severity reprise.Severity `json:"severity" jsonschema:"the usual one"`
	Doc      string           `json:"doc" jsonschema:"what it means"`
}
