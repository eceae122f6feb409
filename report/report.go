// Package report is the JSON contract: what `reprise … --json`, the library and
// every other face say about a project, as types. The schemas under schema/ are
// generated from these types, and a test keeps them equal. A field is never
// renamed or given another meaning within one version; new fields are added.
package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"reprise"
)

// Versions of the documents.
const (
	StatusSchema = "reprise/status/v1"
	DetectSchema = "reprise/detect/v1"
	ErrorSchema  = "reprise/error/v1"
)

// Status is the answer of `reprise status`: every run of a project.
type Status struct {
	Schema string `json:"schema" jsonschema:"reprise/status/v1"`
	Root   string `json:"root" jsonschema:"absolute path of the project folder"`
	// Runs stand in the order in which one would resume them.
	Runs     []Run     `json:"runs" jsonschema:"every run, in the order in which one would resume them"`
	Findings []Finding `json:"findings" jsonschema:"what is to be said of the folder and of no single run: places that could not be looked into"`
	// Sessions are those of the folder that a person could want back.
	Sessions []Session `json:"sessions" jsonschema:"sessions of agent CLIs in this folder that a person could want back, the latest first"`
	Unread   []string  `json:"sessions_unread" jsonschema:"which sessions were not looked at, and why"`
}

// Run is one workflow.
type Run struct {
	Layout       string           `json:"layout" jsonschema:"the on-disk convention: longrun, orchestrate, eventrun, autoclaude, specloop"`
	ID           string           `json:"id" jsonschema:"what a person calls it; works as an argument"`
	Path         string           `json:"path" jsonschema:"the file or folder that holds it, relative to root, with slashes"`
	Project      string           `json:"project,omitempty" jsonschema:"the folder below root whose project it belongs to; absent for root itself"`
	Kind         string           `json:"kind" jsonschema:"the sort of workflow"`
	Title        string           `json:"title"`
	State        reprise.State    `json:"state" jsonschema:"waiting is for a person, an approval or a limit, or a list of tasks with open items that nothing shows to have been cut off; stopped was ended on purpose with work left"`
	ListedAs     reprise.State    `json:"listed_as,omitzero" jsonschema:"the state whose runs it is listed with, where that is not its own: what was cut off here and waits for an answer stands with what was interrupted"`
	Verdict      reprise.Verdict  `json:"verdict" jsonschema:"none where the run was not judged or nothing is to be resumed; unchecked where no problem was found but not all evidence was gathered; wait where no problem was found and a limit has to end first"`
	Standing     reprise.Standing `json:"standing,omitempty" jsonschema:"the verdict in the word that people are shown: running where someone is at work on it and waits where it is beside it, although nothing may be started; asks where a person is needed first; none, or else as verdict; absent where it was not judged"`
	Progress     Progress         `json:"progress"`
	LastActivity *time.Time       `json:"last_activity" jsonschema:"the latest time its files record; null if they record none"`
	Until        *time.Time       `json:"until,omitempty" jsonschema:"when the limit ends that it ran into; absent if none is on record"`
	Limit        string           `json:"limit,omitempty" jsonschema:"what was said of that limit or outage; absent if nothing was"`
	Action       reprise.Action   `json:"action,omitzero" jsonschema:"what is to be done about it; absent where the run was not judged"`
	Next         []Unit           `json:"next" jsonschema:"what may be started now, the recommended step first"`
	Says         string           `json:"says,omitempty" jsonschema:"what comes next or is waited for, in the words that status has for it; absent from other commands, and where nothing comes next"`
	Questions    []Question       `json:"questions" jsonschema:"what a person was asked and has not answered"`
	Asks         []Question       `json:"asks,omitempty" jsonschema:"what resuming it asks a person before anything else, and is not on record yet; absent if nothing"`
	Findings     []Finding        `json:"findings"`
	Cost         *Cost            `json:"cost,omitempty" jsonschema:"what it used; absent without --cost"`
}

// Progress counts units.
type Progress struct {
	Done    int `json:"done"`
	Total   int `json:"total"`
	Skipped int `json:"skipped,omitempty" jsonschema:"steps that were left out and are not done; absent if there is none"`
}

// Unit is something that may be started.
type Unit struct {
	ID    string `json:"id"`
	Path  string `json:"path" jsonschema:"the file or folder that holds the step"`
	Title string `json:"title"`
	Phase string `json:"phase"`
	Role  string `json:"role" jsonschema:"who does it: planner, coder, dev, qa, human, …"`
}

// Question is something a person was asked.
type Question struct {
	ID      string     `json:"id"`
	Subject string     `json:"subject" jsonschema:"what it is about"`
	Text    string     `json:"text"`
	Options []string   `json:"options" jsonschema:"answers to choose from; empty if any will do"`
	AskedAt *time.Time `json:"asked_at"`
	Source  string     `json:"source" jsonschema:"file:line"`
	Note    string     `json:"note,omitempty" jsonschema:"what was said so far without settling it; absent if nothing was"`
	Facts   []string   `json:"facts,omitempty" jsonschema:"what a person should know to answer it; absent if nothing is known"`
	Steps   []string   `json:"steps,omitempty" jsonschema:"ids of the steps that wait for it or that its subject stands for, where the files tell them; absent if they do not"`
}

// Finding is something a person should know.
type Finding struct {
	Code     string           `json:"code" jsonschema:"stable"`
	Severity reprise.Severity `json:"severity"`
	Subject  string           `json:"subject"`
	Message  string           `json:"message"`
	Source   string           `json:"source" jsonschema:"file:line"`
	Hint     string           `json:"hint" jsonschema:"what a person can do"`
}

// Detect is the answer of `reprise detect`: the ResumeState of one run, and
// which run that is.
type Detect struct {
	Schema string `json:"schema" jsonschema:"reprise/detect/v1"`
	Root   string `json:"root"`
	Run    *Run   `json:"run" jsonschema:"the run the answer is about; null if there is none"`
	Reason string `json:"reason" jsonschema:"why the run is in its state"`
	reprise.ResumeState
	Options  []reprise.Option `json:"options" jsonschema:"ways to continue, the usual one first"`
	Findings []Finding        `json:"findings" jsonschema:"what is to be said of the folder"`
}

// Error is what `--json` prints on standard error when a command cannot answer.
type Error struct {
	Schema  string `json:"schema" jsonschema:"reprise/error/v1"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Exit    int    `json:"exit"`
}

// NewStatus makes the document of a project. Runs that were judged carry the
// verdict and the state of the decision.
func NewStatus(root string, runs []*reprise.Run, decisions map[*reprise.Run]reprise.Decision, findings []reprise.Finding, o reprise.Observed) Status {
	return Status{Schema: StatusSchema, Root: root, Findings: NewFindings(findings), Sessions: concerned(o, nil), Unread: Each(o.FolderUnread, reprise.UnreadSession.String), Runs: Each(runs, func(r *reprise.Run) Run {
		if d, ok := decisions[r]; ok {
			return NewJudged(r, d)
		}
		return NewRun(r)
	})}
}

// NewRun makes the document of one run.
func NewRun(r *reprise.Run) Run {
	p := r.Progress()
	return Run{
		Layout: r.Layout, ID: r.ID, Path: r.Path, Project: r.Project, Kind: string(r.Kind), Title: r.Title,
		State: r.State, Verdict: reprise.VerdictNone,
		Progress: Progress{p.Done - p.Skipped, p.Total, p.Skipped}, LastActivity: When(r.LastActivity), Until: When(r.Until), Limit: r.Limit,
		Next: Each(r.Next, newUnit), Questions: NewQuestions(r.PendingQuestions()), Findings: NewFindings(r.Findings),
	}
}

// NewDetect makes the answer about one run, or about a project without any.
func NewDetect(root string, r *reprise.Run, decided reprise.Decision, findings []reprise.Finding) Detect {
	d := Detect{Schema: DetectSchema, Root: root, Options: []reprise.Option{}, Findings: NewFindings(findings)}
	if r == nil {
		d.Reason = "no run was found here"
		return d
	}
	run := NewRun(r)
	run.State = cmp.Or(decided.State, run.State)
	d.Run, d.Reason, d.ResumeState = &run, r.Reason, r.ResumeAnswer()
	if decided.State == reprise.Running { // it was not interrupted
		d.ResumeState = reprise.ResumeState{}
		d.Reason = strings.Join(decided.Reasons[:min(1, len(decided.Reasons))], "")
	}
	if d.Interrupted {
		d.Options = append(d.Options, decided.Options(r)...)
	}
	return d
}

// NewQuestions makes the documents of questions.
func NewQuestions(questions []reprise.Question) []Question {
	return Each(questions, func(q reprise.Question) Question {
		steps := slices.Clone(q.Group)
		if q.By != "" && !slices.Contains(steps, q.By) {
			steps = append(steps, q.By)
		}
		return Question{q.ID, q.Subject, q.Text, List(q.Options), When(q.AskedAt), q.Source.String(), q.Note, q.Facts, steps}
	})
}

// NewFindings makes the documents of findings.
func NewFindings(findings []reprise.Finding) []Finding {
	return Each(findings, func(f reprise.Finding) Finding {
		return Finding{f.Code, f.Severity, f.Subject, f.Message, f.Source.String(), f.Hint}
	})
}

// Each makes a list of a document from another one; it is never null.
func Each[From, To any](list []From, of func(From) To) []To {
	out := make([]To, 0, len(list))
	for _, v := range list {
		out = append(out, of(v))
	}
	return out
}

// List copies a list for a document; it is never null.
func List[T any](list []T) []T { return append([]T{}, list...) }

// When gives a time for a document, nil for one that is unknown.
func When(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
