package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/project"
	"reprise/report"
)

// carry works on a run until it is finished or a person is needed, and reports the
// result.
func (s *job) carry(e *engine.Engine, j judged, c engine.Choice) error {
	s.foretell(e, j, c)
	s.show(e, j)
	s.traced(j.run.Ref)
	sum, err := e.Resume(s.ctx, j.run.Ref, c)
	s.hide()
	s.traces.Close(sum != nil && sum.IsFinished())
	if sum == nil || err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	p := s.page(s.out)
	p.now = e.Now()
	if sum.Review != "" {
		return s.reviewed(p, e, j, sum, c)
	}
	s.came(sum.Outcome())
	if s.code == exitUnexpected {
		j, _ = s.after(j)
		s.about(j.run, j.name)
	}
	verb, flags := sum.FollowUp()
	if s.signal.Load() != nil {
		s.code, verb, flags = s.interruptCode(), "resume", nil
	}
	next := ""
	switch verb {
	case "":
	case "answer":
		next = s.answerCommand(sum.Run.Kind, j.name, sum.Questions)
	case "resume":
		next = s.command(verb, j.name, flags...)
		if len(flags) == 0 && s.code == exitNeedsAnswer { // the same command would end the same way
			switch {
			case sum.Launches == 0:
				next = s.command("check", j.name)
				if other := s.decides(j); other != "" && c.Option == "" {
					next = other
				}
			case len(sum.Left) > 0 || sum.Run.Kind.Facts().Given:
				next = s.command("check", j.name)
			default: // what was made offers other ways
				now, there := s.after(j)
				if next = cmp.Or(s.decides(now), next); !there {
					next = s.command("check", j.name)
				}
			}
		}
	default:
		next = s.command(verb, j.name, flags...)
	}
	s.noteEnd(sum, next)
	if s.json {
		return s.writeLine(summaryDocument(s.root, sum, next, s.code))
	}
	p.gap()
	p.workSummary(j.run, sum, s.code, next)
	return nil
}

// after is a run after work on it: it may offer other ways, and the work may have left another
// run of its name behind. It is false where the run is no longer in its place.
func (s *job) after(j judged) (now judged, there bool) {
	found, err := s.judgeAgain(s.ctx, s.root, project.JudgeOptions{})
	if err != nil {
		return j, false
	}
	if r := found.Find(j.run.Ref); r != nil {
		return judgedOf(found, r)[0], true
	}
	return j, false
}

// reviewed shows what was built; a person then decides what happens to it.
func (s *job) reviewed(p *page, e *engine.Engine, j judged, sum *engine.Summary, c engine.Choice) error {
	s.came(reprise.OutcomeAsk)
	options := slices.DeleteFunc(slices.Clone(j.d.Options(j.run)), func(o reprise.Option) bool { return o.Means().Shows })
	next := s.command("check", j.name) // giving a run up is never simply the next thing
	if len(options) > 0 && !options[0].Means().GivesUp {
		next = s.command("resume", j.name, "--option", options[0].Key)
	}
	if s.json {
		doc := summaryDocument(s.root, sum, next, s.code)
		doc.Review = sum.Review
		return s.writeLine(doc)
	}
	p.asking = true
	p.diff(sum.Review)
	if !s.asks() {
		p.gap()
		p.next(next)
		for _, o := range options {
			if way := s.command("resume", j.name, "--option", o.Key); way != next {
				p.line("  or: %s", way)
			}
		}
		return nil
	}
	p.heading("Options:")
	p.options(options)
	s.code = exitOK
	c, ok, err := s.picked(p, j, c, options)
	if err != nil || !ok {
		return err
	}
	s.opens(p, j, c)
	return s.carry(e, j, c)
}

// showPreview shows what would be done. The error is the one that doing it would return.
func (s *job) showPreview(e *engine.Engine, preview *engine.Preview) error {
	ref := preview.Run
	doc := report.Preview{
		Schema: report.PreviewSchema, Root: s.root, Layout: ref.Layout, ID: ref.ID, Action: preview.Decision.Action,
		Reasons: report.List(preview.Decision.Reasons), Would: report.List(preview.Would), Diff: preview.Diff,
		Starts: report.Each(preview.Starts, func(st engine.PreviewStep) report.PreviewStart {
			return report.PreviewStart{
				Run: st.Run, Step: st.Step, Role: st.Role, Agent: st.Agent, Problem: st.Problem, Command: report.List(st.Command), Line: commandWords(st.Command),
				Dir: st.Dir, Prompt: st.Prompt, Expect: report.List(st.Expect), Session: (*report.SessionCost)(st.Session), SessionSays: sessionWords(st.Session),
			}
		}),
	}
	s.came(preview.Outcome)
	err := s.print(doc, func(p *page) {
		p.banner("Dry run: " + formOf(ref.Kind).name + " " + plain(ref.ID))
		p.workPreview(preview)
		if preview.Outcome != reprise.OutcomeOK && s.site.run != "" {
			p.next(s.command("check", s.site.run)) // it says what can be done
		}
	})
	return cmp.Or(err, preview.Refused)
}

// answerFirst asks a run's questions and stores the answers. The error says that
// something is still open.
func (s *job) answerFirst(e *engine.Engine, j judged) error {
	if !s.asks() {
		return s.unattended(j, engine.NeedsAnswer)
	}
	answers, err := s.answerAll(j.run.PendingQuestions())
	if err != nil {
		return err
	}
	if len(answers) > 0 {
		if err := e.Answer(s.ctx, j.run.Ref, answers); err != nil {
			return err
		}
	}
	if open := j.run.PendingQuestions(); len(answers) < len(open) || slices.ContainsFunc(open, func(q reprise.Question) bool { return q.Postpones(answers[q.ID]) }) {
		return s.unattended(j, engine.NeedsAnswer)
	}
	return nil
}

// outcomeTitles are the titles of results, by exit code.
var outcomeTitles = map[int]string{
	exitOK: "Finished", exitUnexpected: "Failed", exitCaution: "Marked complete", exitBlocked: "Blocked", exitNeedsAnswer: "Waits for you", exitHeld: "Already being worked on",
	exitNothing: "Stopped on purpose", exitUnreadable: "Cannot be read", exitWait: "Waits for a time", exitInterrupt: "Stopped", exitTerminated: "Stopped",
}

// workSummary says what was done, what was not and why, and what to do next.
func (p *page) workSummary(r *reprise.Run, sum *engine.Summary, code int, next string) {
	title, finished := outcomeTitles[code], code == exitOK && sum.IsFinished()
	if code == exitOK && !finished {
		title = "Stopped as requested"
	}
	p.banner(title + ": " + subject(r))
	p.gap()
	if sum.Merged != "" {
		p.para("  ", sum.Merged, linesMessage)
	}
	for _, s := range sum.Finished {
		p.workStep("✓", green, s)
	}
	for _, s := range sum.Failed {
		if slices.ContainsFunc(sum.Finished, func(f engine.StepReport) bool { return f.ID == s.ID && f.Attempt > s.Attempt }) {
			p.workStep("·", faint, s) // a later attempt did it
		} else {
			p.workStep("✗", red, s)
		}
	}
	for _, s := range sum.Skipped {
		p.marked("  ", "–", faint, stepName(s.ID, s.Title)+"  left out", linesTitle)
	}
	if n := len(sum.Skipped); n > 0 && sum.Skipped[n-1].Reopens {
		p.para("  ", fmt.Sprintf("`reprise resume %s --from %s` takes that back.", reprise.Pasted(r.ID, "RUN"), reprise.Pasted(sum.Skipped[n-1].ID, "STEP")), linesMessage)
	}
	p.workLeft(r, sum)
	reasons := unasked(sum)
	switch {
	case finished:
		p.line("  Nothing is left to do.")
	case len(reasons)+len(sum.Refused) > 0:
		p.heading("Why:")
		p.items("  - ", reasons, 0, linesMessage)
	}
	for _, err := range sum.Refused {
		if !isReason(sum, err) {
			p.para("  - ", err.Error(), linesMessage)
		}
		if hint := reprise.HintOf(err); hint != "" {
			p.para("    ", hint, linesMessage)
		}
	}
	for i, q := range sum.Questions {
		if i == 0 {
			p.heading("Asked:")
		}
		p.asked(q)
	}
	p.noticed(sum.Findings)
	p.workEnd(sum, code, next)
}

// unasked returns the reasons that do not merely repeat a question.
func unasked(sum *engine.Summary) []string {
	return slices.DeleteFunc(slices.Clone(sum.Reasons), func(reason string) bool {
		return slices.ContainsFunc(sum.Questions, func(q reprise.Question) bool {
			return q.Text != "" && strings.HasSuffix(reason, ": "+q.Text)
		})
	})
}

// workStep prints one step that was worked on.
func (p *page) workStep(mark, colour string, s engine.StepReport) {
	text := stepName(s.ID, s.Title)
	if s.Role != "" {
		text += "  @" + clip(s.Role, 20)
	}
	if s.Took >= time.Second {
		text += "  " + spent(s.Took)
	}
	if s.Attempt > 1 || mark == "·" {
		text += fmt.Sprintf("  attempt %d", s.Attempt)
	}
	if s.Commit != "" {
		text += "  " + shortHash(s.Commit)
	}
	p.marked("  ", mark, colour, text, linesTitle)
	if s.Resolved {
		p.line("      was already done")
	}
	if said := readable(s.Text); said != "" {
		p.para("      ", said, linesTitle)
	}
	if mark != "✓" && s.Log != "" {
		p.place("      log: ", s.Log)
	}
}

// shownLeft is how many unstarted steps are listed.
const shownLeft = 8

func (p *page) workLeft(r *reprise.Run, sum *engine.Summary) {
	left := slices.DeleteFunc(slices.Clone(sum.Left), func(id string) bool {
		return slices.ContainsFunc(sum.Failed, func(s engine.StepReport) bool { return s.ID == id })
	})
	for _, id := range left[:min(len(left), shownLeft)] {
		title := ""
		if s := r.Step(id); s != nil {
			title = s.Title
		}
		p.marked("  ", "○", faint, stepName(id, title), 1)
	}
	if n := len(left) - shownLeft; n > 0 {
		p.line("  … and %d more", n)
	}
}

// workEnd prints the last lines: duration, how to undo, what is next.
func (p *page) workEnd(sum *engine.Summary, code int, next string) {
	var started []string
	if agents := sum.Launches - sum.Commands; agents > 0 || sum.Commands == 0 {
		started = append(started, count(agents, "agent"))
	}
	if sum.Commands > 0 {
		started = append(started, count(sum.Commands, "command"))
	}
	text := strings.Join(started, " and ") + " started in " + took(sum.Ended.Sub(sum.Started))
	if sum.Snapshot != "" {
		what := "takes back what it changed"
		if sum.StateOnly {
			what = "restores its state, but no other files"
		}
		text += fmt.Sprintf("; `reprise undo %s` %s", plain(sum.Snapshot), what)
	}
	p.gap()
	p.say(text + ".")
	p.used("", "Used by the run so far: ", sum.Usage)
	if code == exitWait {
		p.say(fmt.Sprintf("It can continue at %s, in %s; --wait sleeps until then, and `%s --option %s` tries before.", clock(sum.Until, p.now), spent(sum.Until.Sub(p.now)), cmp.Or(next, "reprise resume RUN"), reprise.OptionNow))
	}
	p.next(next)
}

// isReason reports whether a reason ends with why a step could not be started. Most do, and
// name the step as well.
func isReason(sum *engine.Summary, err error) bool {
	return slices.ContainsFunc(sum.Reasons, func(reason string) bool { return strings.HasSuffix(reason, ": "+err.Error()) })
}

func summaryDocument(root string, sum *engine.Summary, next string, code int) report.Summary {
	worked := func(s engine.StepReport) report.WorkStep {
		return report.WorkStep{ID: s.ID, Title: s.Title, Role: s.Role, Attempt: s.Attempt, Seconds: s.Took.Seconds(), Text: s.Text, Commit: s.Commit, Resolved: s.Resolved, Log: s.Log}
	}
	reasons := []string{}
	if sum.Merged != "" {
		reasons = append(reasons, sum.Merged)
	}
	reasons = append(reasons, sum.Reasons...)
	for _, err := range sum.Refused {
		if !isReason(sum, err) {
			reasons = append(reasons, err.Error())
		}
	}
	return report.Summary{
		Schema: report.SummarySchema, Root: root, Layout: sum.Run.Layout, ID: sum.Run.ID, Path: sum.Run.Path, Kind: string(sum.Run.Kind),
		State: sum.State, Action: sum.Action, Reasons: reasons, Finished: report.Each(sum.Finished, worked), Failed: report.Each(sum.Failed, worked),
		Skipped: report.Each(sum.Skipped, func(s engine.StepReport) string { return s.ID }), Parked: report.List(sum.Parked), Left: report.List(sum.Left),
		Questions: report.NewQuestions(sum.Questions), Until: report.When(sum.Until), Findings: report.NewFindings(sum.Findings), Snapshot: sum.Snapshot,
		Started: sum.Started.UTC(), Ended: sum.Ended.UTC(), Launches: sum.Launches, Usage: sum.Usage, Next: next, Exit: code,
	}
}

// workPreview shows what would be changed and started.
func (p *page) workPreview(preview *engine.Preview) {
	p.items("  - ", preview.Would, 0, linesMessage)
	if preview.Diff != "" {
		p.heading("Changes of state files:")
		p.diff(preview.Diff)
	}
	for _, st := range preview.Starts {
		p.starts(st)
	}
	if len(preview.Starts) == 0 && len(preview.Would) == 0 && preview.Diff == "" {
		p.line("Nothing would be done.")
	}
	p.gap()
	p.line("Nothing was changed or started.")
}

// starts shows what would be started: the command, where, and its prompt.
func (p *page) starts(st engine.PreviewStep) {
	what := clip(st.Step, 60)
	if st.Run != "" {
		what = clip(st.Step, p.columns/3) + " of " + clip(st.Run, p.columns/3)
	}
	p.heading("Starts " + what + ":")
	if st.Problem != "" {
		p.marked("  ", "✗", red, st.Problem, linesMessage)
	}
	if st.Role != "" {
		p.pair("  role:   ", st.Role)
	}
	p.pair("  agent:  ", clip(st.Agent, 60))
	p.command("  command: ", commandWords(st.Command))
	p.place("  in:      ", st.Dir)
	for _, e := range st.Expect {
		p.place("  expects: ", e)
	}
	if says := sessionWords(st.Session); says != "" {
		p.pair("  session: ", says)
	}
	if st.Prompt != "" {
		p.line("  prompt:")
	}
	for line := range strings.Lines(st.Prompt) {
		line = strings.TrimRight(line, "\r\n")
		body := strings.TrimLeft(line, " \t")
		lead := "    | " + strings.Repeat(" ", min(len(line)-len(body), 8))
		parts := wrap(plain(body), p.columns-width(lead))
		if len(parts) == 0 {
			parts = []string{""}
		}
		for _, part := range parts {
			p.line("%s", strings.TrimRight(lead+part, " "))
		}
	}
}
