package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"reprise"
	"reprise/project"
	"reprise/report"
)

// judged is one run with the decision about it.
type judged struct {
	run    *reprise.Run
	name   string // what a person calls it on the command line
	d      reprise.Decision
	o      reprise.Observed
	plan   report.Plan
	digest func() string // takes a moment for a large run, and is rarely needed
	// sessions says that there may be a session to resume: one is on record, or stories
	// have their own records.
	sessions bool
}

// judgedOf returns runs of a project with the names that they have there.
func judgedOf(found *project.Judgement, runs ...*reprise.Run) []judged {
	names := reprise.Names(found.Runs)
	return report.Each(runs, func(r *reprise.Run) judged {
		j := presented(r, names[r], found.Decisions[r], found.Observed, func() string { return found.Digest(r) })
		j.sessions = r.Kind.Facts().Stories
		for _, step := range found.View(r).History.Steps {
			j.sessions = j.sessions || step.Session != ""
		}
		return j
	})
}

func presented(r *reprise.Run, name string, d reprise.Decision, o reprise.Observed, digest func() string) judged {
	return judged{run: r, name: name, d: d, o: o, plan: report.NewPlan(r, d, o), digest: digest}
}

// nameOf is for lists of runs.
func nameOf(j judged) string { return j.name }

// open lists what a person is asked, or will be asked once the run is resumed.
func (j judged) open() []reprise.Question { return j.d.Unanswered(j.run) }

// form says how runs of one kind are named and shown.
type form struct {
	name     string                    // the workflow type as the seeds call it
	of       string                    // between that name and the subject of the run
	about    func(*reprise.Run) string // the subject; nil means its id
	numbered bool                      // its steps are the numbered phases of the seed
	staged   bool                      // the phase of a unit says more than its id and title
	rounds   bool                      // a unit is named by its phase alone
	show     func(*page, judged)
	// confirm, if set, replaces the usual confirmation.
	confirm func(*page, judged)
}

// formOf is the single table of how kinds of runs are shown.
func formOf(k reprise.Kind) form {
	switch k {
	case reprise.KindStory:
		return form{name: "SDC", of: " for story ", numbered: true, show: (*page).staged}
	case reprise.KindSpecPipeline:
		return form{name: "Spec pipeline", of: " for ", numbered: true, show: (*page).staged}
	case reprise.KindEpic:
		return form{name: "Epic execution", of: " for ", staged: true, show: (*page).staged}
	case reprise.KindQALoop:
		return form{name: "QA loop", of: " for ", about: loopSubject, rounds: true, show: (*page).staged}
	case reprise.KindWorkflow:
		return form{name: "Workflow", of: " ", staged: true, show: (*page).staged}
	case reprise.KindTasks:
		return form{name: "Tasks", of: " ", show: (*page).staged}
	case reprise.KindPlans:
		return form{name: "Plans", of: " in ", about: func(r *reprise.Run) string { return clip(r.Path, 60) }, show: (*page).plans}
	case reprise.KindBuild:
		return form{name: "Build", of: " ", show: (*page).build}
	case reprise.KindGraph:
		return form{name: "Task graph", of: " ", show: (*page).graph, confirm: (*page).graph}
	case reprise.KindSpecLoop:
		return form{name: "Spec loop", of: " ", show: (*page).specLoop}
	}
	return form{name: plain(string(k)), of: " ", show: (*page).staged}
}

// subject names a run as a person would: "SDC for story 3.2".
func subject(r *reprise.Run) string {
	f := formOf(r.Kind)
	if f.about != nil {
		return f.name + f.of + f.about(r)
	}
	return f.name + f.of + clip(r.ID, 60)
}

// loopSubject returns what a loop is about; its id only repeats that it is a loop.
func loopSubject(r *reprise.Run) string {
	about := strings.TrimLeft(strings.TrimPrefix(clip(r.ID, 60), "qa-loop"), "- ")
	if about != "" && about[0] >= '0' && about[0] <= '9' {
		about = "story " + about
	}
	return about
}

// ownTitle returns the title of a run, or "" if it only repeats the id.
func ownTitle(r *reprise.Run) string {
	if title := plain(r.Title); title != plain(r.ID) {
		return title
	}
	return ""
}

// clip sanitizes text from a file and truncates it to n columns.
func clip(s string, n int) string { return fit(plain(s), n) }

// words formats an enumeration word for people.
func words(w fmt.Stringer) string { return strings.ReplaceAll(w.String(), "_", " ") }

var symbols = map[reprise.State]string{
	reprise.NotStarted: "○", reprise.Running: "●", reprise.Interrupted: "◐", reprise.Waiting: "◇",
	reprise.Stopped: "■", reprise.Complete: "✓", reprise.Unreadable: "✗",
}

var colours = map[reprise.State]string{
	reprise.Running: green, reprise.Interrupted: yellow, reprise.Waiting: cyan, reprise.Complete: faint,
	reprise.Stopped: faint, reprise.NotStarted: faint, reprise.Unreadable: red,
}

var statusMarks = map[reprise.Status]string{
	reprise.Pending: "○", reprise.InProgress: "◐", reprise.InReview: "◑", reprise.Done: "✓", reprise.Failed: "✗",
	reprise.Blocked: "■", reprise.Skipped: "-", reprise.Unknown: "?",
}

var (
	severityMarks   = map[reprise.Severity]string{reprise.Info: "·", reprise.Warning: "!", reprise.Blocking: "✗"}
	severityColours = map[reprise.Severity]string{reprise.Blocking: red, reprise.Warning: yellow}
	standingMarks   = map[reprise.Standing]string{reprise.StandsRunning: "●", "safe": "✓", "caution": "!", reprise.StandsAsking: "?", "blocked": "✗"}
	standingColours = map[reprise.Standing]string{reprise.StandsRunning: green, "safe": green, "caution": yellow, reprise.StandsAsking: yellow, "blocked": red}
)

// states counts runs of a project by their state.
func states(found *project.Judgement, runs []*reprise.Run) map[reprise.State]int {
	counts := map[reprise.State]int{}
	for _, r := range runs {
		counts[found.Decisions[r].State]++
	}
	return counts
}

// tally returns "2 interrupted, 1 waiting", most urgent first.
func tally(counts map[reprise.State]int) string {
	var parts []string
	for s := reprise.NotStarted; s <= reprise.Unreadable; s++ {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words(s)))
		}
	}
	return strings.Join(parts, ", ")
}

// age says how old a run's last activity is.
func (p *page) age(r *reprise.Run) string { return reprise.Age(p.now, r.LastActivity) }

// ago says how long ago a run was active, as the end of a sentence.
func (p *page) ago(j judged) string {
	if j.plan.AgeSeconds == nil {
		if j.run.LastActivity.After(p.now) {
			return "at a time in the future"
		}
		return "at an unknown time"
	}
	return reprise.Ago(p.now, p.now.Add(-time.Duration(*j.plan.AgeSeconds)*time.Second))
}

// activity says when a run was last active, exactly and in words.
func (p *page) activity(j judged) string {
	if j.run.LastActivity.IsZero() {
		return "unknown: its files record no time"
	}
	return j.run.LastActivity.UTC().Format(time.RFC3339) + " (" + p.ago(j) + ")"
}

// since begins a sentence about a run's last activity.
func (p *page) since(j judged) string {
	switch j.d.State {
	case reprise.Running:
		return "running, last active " + p.ago(j)
	case reprise.Interrupted:
		return "interrupted " + p.ago(j)
	}
	return words(j.d.State) + ", last active " + p.ago(j)
}

// verdict says in one sentence whether resuming is safe.
func verdict(j judged) (mark, text string) {
	mark = cmp.Or(standingMarks[j.d.Standing()], "·")
	switch {
	case j.d.Contested() && j.d.Verdict == reprise.BlockedVerdict:
		return mark, fmt.Sprintf("MARKED COMPLETE, but %s must be resolved first", count(j.plan.Validation.Conflicts, "problem"))
	case j.d.Contested():
		return mark, "MARKED COMPLETE, but " + cautions(j)
	case j.d.Action == reprise.Finish:
		if n := j.run.Progress().Skipped; n > 0 {
			return "✓", fmt.Sprintf("COMPLETE: nothing is left to do; %s skipped", count(n, "step"))
		}
		return "✓", "COMPLETE: nothing is left to do"
	case j.d.Standing() == reprise.StandsRunning:
		return mark, "RUNNING: nothing is to be done until it ends; a second one would do its work twice"
	case j.d.Standing() == reprise.StandsWaiting:
		return mark, "WAITS: " + strings.TrimPrefix(j.d.Reason(), "waits: ")
	case j.d.Action == reprise.Repair:
		return mark, "BLOCKED: its files do not show where it stands; repair them first"
	case j.d.Verdict == reprise.BlockedVerdict:
		return mark, fmt.Sprintf("BLOCKED: %s must be resolved first", count(j.plan.Validation.Conflicts, "problem"))
	case j.d.Action == reprise.Ask && len(j.run.PendingQuestions()) > 0:
		return "?", fmt.Sprintf("NEEDS AN ANSWER: %s open", count(len(j.run.PendingQuestions()), "question"))
	case j.d.Action == reprise.Ask && len(j.run.Asks) > 0:
		text := "WILL ASK: " + j.run.Asks[0].Text
		if n := len(j.run.Asks) - 1; n > 0 {
			text += fmt.Sprintf(" (and %d more)", n)
		}
		return "?", text
	case j.d.Action == reprise.Ask && j.d.State == reprise.Stopped:
		return "■", "STOPPED on purpose: nothing is started unless you choose to continue"
	case j.stuck():
		return "?", "WAITS FOR YOU: nothing can be started until its files are changed"
	case j.d.Action == reprise.Ask:
		return "?", "NEEDS A DECISION: choose how to continue"
	case j.d.Action == reprise.Wait:
		return "·", "WAITS" + strings.TrimPrefix(j.run.Awaits(), "waits") + "; it is resumed after that"
	case j.d.Verdict == reprise.Caution:
		return mark, "CAUTION: it can be resumed, but " + cautions(j)
	case j.d.Verdict == reprise.Safe:
		return mark, "SAFE to resume: no problems found"
	}
	return mark, "NOTHING TO RESUME"
}

// standingWord is a decision in a table.
func standingWord(d reprise.Decision) string {
	if w := d.Standing(); w != reprise.StandsNone {
		return string(w)
	}
	return "-"
}

// cautions names what to look at first.
func cautions(j judged) string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(len(j.d.Again), "phase must run again", "phases must run again")
	add(len(j.d.Verify), "step has a commit and should be checked, not repeated", "steps have commits and should be checked, not repeated")
	add(len(j.d.Doubtful), "step marked done is not confirmed", "steps marked done are not confirmed")
	add(j.plan.Validation.Warnings, "warning needs a look first", "warnings need a look first")
	return cmp.Or(strings.Join(parts, "; "), "look at the reasons first")
}

func validationWords(v report.Validation) string {
	var parts []string
	if v.Conflicts > 0 {
		parts = append(parts, count(v.Conflicts, "problem"))
	}
	if v.Warnings > 0 {
		parts = append(parts, count(v.Warnings, "warning"))
	}
	return cmp.Or(strings.Join(parts, ", "), report.Clean)
}

// named joins an id and a title; many titles contain the id themselves.
func named(id, between, title string) string {
	id, title = clip(id, 60), clip(title, 200)
	switch {
	case title == "" || title == id:
		return id
	case strings.Contains(title, id):
		return title
	}
	return id + between + title
}

// stepName is what a person calls a step.
func stepName(id, title string) string { return named(id, " ", title) }

// withRole appends the role.
func withRole(text, role string) string {
	if role == "" {
		return text
	}
	return text + " -- @" + clip(role, 30)
}

// unitLabel names a unit and its role.
func unitLabel(u reprise.Unit, between string) string {
	text := named(u.ID, between, u.Title)
	if u.Role != "" {
		text += " (" + clip(u.Role, 30) + ")"
	}
	return text
}

// unitWords names a unit, its role, and why it is next.
func unitWords(u reprise.Unit) string {
	text := unitLabel(u, " - ")
	if u.Reason != "" {
		text += ": " + u.Reason
	}
	return text
}

// stepWords describes the status of a step and how well it is supported.
func stepWords(s *reprise.Step) string {
	text := words(s.Status)
	if s.Status == reprise.Done && s.Grade != 0 {
		text += " (" + s.Grade.String() + ")"
	}
	return text
}

// findingWords returns a finding's message, with the subject if the message does not
// mention it.
func findingWords(x reprise.Finding) string {
	if x.Subject == "" || strings.Contains(x.Message, x.Subject) {
		return x.Message
	}
	return clip(x.Subject, 60) + ": " + x.Message
}

// findingTexts returns the findings of one severity.
func findingTexts(findings []reprise.Finding, s reprise.Severity) []string {
	var texts []string
	for _, x := range findings {
		if x.Severity == s {
			texts = append(texts, findingWords(x))
		}
	}
	return texts
}

// textOf is for lists of questions.
func textOf(q reprise.Question) string { return q.Text }

// pointWords names the resume point: "phase 3: implement -- @dev".
func pointWords(j judged) string {
	u := j.d.Point
	if u == nil {
		return "nothing can be started"
	}
	f := formOf(j.run.Kind)
	text := clip(u.Phase, 60)
	switch i := report.PointStep(j.run, *u); {
	case i >= 0 && f.numbered:
		text = fmt.Sprintf("phase %d: %s", i+1, clip(j.run.Steps[i].ID, 60))
	case text == "" || !f.rounds && u.ID != u.Phase && u.ID != j.run.ID:
		unit := named(u.ID, " ", u.Title)
		if text != "" && f.staged {
			unit = text + ": " + unit
		}
		text = unit
	}
	return withRole(text, u.Role)
}

// whereWords says where a run stands, briefly: "phase 3 (implement)".
func whereWords(j judged) string {
	if u := j.d.Point; u != nil {
		if i := report.PointStep(j.run, *u); i >= 0 && formOf(j.run.Kind).numbered {
			return fmt.Sprintf("phase %d (%s)", i+1, clip(j.run.Steps[i].ID, 40))
		}
	}
	return cmp.Or(clip(j.run.Phase, 60), doneWords(j.run.Progress()))
}

// doneWords says how many steps are done, and how many were skipped.
func doneWords(p reprise.Progress) string {
	text := fmt.Sprintf("%d of %d done", p.Done-p.Skipped, p.Total)
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", p.Skipped)
	}
	return text
}

// nextWords says what comes next, or what is being waited for; "" for nothing.
func nextWords(r *reprise.Run, d reprise.Decision) string {
	questions := r.PendingQuestions()
	switch {
	case d.State == reprise.Waiting && len(questions) > 0:
		return "answer: " + plain(questions[0].Text)
	case d.Action == reprise.Ask && len(r.Asks) > 0:
		return "will ask: " + plain(r.Asks[0].Text)
	case len(d.Reasons) > 0 && (d.Action == reprise.Wait || len(d.Units) == 0 && d.State.Open()):
		return plain(d.Reasons[0])
	case len(d.Units) == 0:
		return ""
	}
	text := unitLabel(d.Units[0], " ")
	if n := len(d.Units) - 1; n > 0 {
		text += fmt.Sprintf(" +%d", n)
	}
	return text
}

// shortHash abbreviates a commit hash.
func shortHash(h string) string {
	runes := []rune(plain(h))
	return string(runes[:min(10, len(runes))])
}

// commitWords lists the recorded commits of a step.
func commitWords(r *reprise.Run, step, last string) string {
	short := shortHash(last)
	if s := r.Step(step); s != nil && len(s.Commits) > 0 {
		short = strings.Join(report.Each(s.Commits, shortHash), ", ")
	}
	return cmp.Or(short, "none on record")
}

// gitWords summarizes the state of the repository.
func gitWords(o reprise.Observed) string {
	g := o.Git
	switch {
	case g == nil && o.GitError != "":
		return "could not be asked: " + o.GitError
	case g == nil:
		return ""
	}
	text := "on " + cmp.Or(clip(g.Branch, 100), "no branch")
	if g.Head != "" {
		text += " at " + shortHash(g.Head)
	}
	if g.Operation != "" {
		text += ", in the middle of a " + clip(g.Operation, 30)
	}
	if n := len(g.Changed) + g.ChangedMore; n > 0 {
		text += ", " + count(n, "file") + " not committed"
	} else {
		text += ", everything committed"
	}
	if g.HasRemote && g.Unpushed > 0 {
		text += ", " + count(g.Unpushed, "commit") + " not pushed"
	}
	return text
}

// firstReason returns the most important reason of a decision, or other.
func firstReason(d reprise.Decision, other string) string {
	if len(d.Reasons) == 0 {
		return other
	}
	return d.Reasons[0]
}
