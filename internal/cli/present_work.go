package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/project"
	"reprise/report"
)

// workCode says what came of the work as an exit code.
func (s *shift) workCode(sum *engine.Summary) int {
	switch {
	case s.stopped():
		return s.signalCode()
	case len(sum.Held) > 0:
		return exitBlocked
	case sum.Action == reprise.Finish:
		return exitOK
	case len(sum.Questions) > 0:
		return exitNeedsAnswer
	case len(sum.Refused) > 0:
		return exitBlocked
	case sum.Action == reprise.Wait || !sum.Until.IsZero():
		return exitWait
	case sum.Action == reprise.Refuse && sum.State == reprise.Running:
		return exitHeld
	case sum.Action == reprise.Repair:
		return exitUnreadable
	case sum.Action == reprise.Refuse:
		return exitBlocked
	case sum.Reached:
		return exitOK
	case len(sum.Parked) > 0, len(sum.Failed) > 0 && sum.Action == reprise.Start:
		return exitUnexpected
	case sum.Action == reprise.Ask && sum.State == reprise.Stopped:
		return exitNothing // a person ended it, and nothing is asked
	case sum.Action == reprise.Ask:
		return exitNeedsAnswer
	}
	return exitOK
}

// nextCommand is what a person would type to go on from here, "" if nothing is
// left.
func (s *shift) nextCommand(name string, sum *engine.Summary, code int) string {
	verb := ""
	switch code {
	case exitNeedsAnswer:
		verb = "resume" // shows what there is to decide
		if len(sum.Questions) > 0 {
			return s.answerCommand(sum.Run.Kind, name)
		}
	case exitBlocked, exitHeld:
		verb = "check"
		if len(sum.Refused)+len(sum.Held) > 0 { // once the settings are right, or git can commit
			verb = "resume"
		}
	case exitUnreadable:
		verb = "repair"
	case exitWait, exitInterrupt, exitTerminated:
		verb = "resume"
	case exitUnexpected:
		if len(sum.Parked) > 0 { // from the first of them on, all are tried again
			return s.command("resume", name) + " --from " + quoted(sum.Parked[0])
		}
		verb = "resume"
	default:
		if len(sum.Left) == 0 && sum.Action == reprise.Finish {
			return ""
		}
		if sum.State == reprise.Stopped && (sum.Run.Kind == reprise.KindGraph || slices.Contains(sum.Reasons, reprise.StoppedOnPurpose)) {
			return s.command("resume", name) + " --option continue"
		}
		verb = "resume"
	}
	return s.command(verb, name)
}

// answerCommand is what a person would type to answer what a run asks.
func (s *shift) answerCommand(kind reprise.Kind, name string) string {
	if kind == reprise.KindEpic { // its stories ask, each for itself
		return s.command("answer", "--list")
	}
	return s.command("answer", name)
}

// command is a call of ours for a run of this project.
func (s *shift) command(verb, name string) string {
	text := "reprise " + verb + " " + quoted(name)
	if s.flags.dir != "." && s.flags.dir != "" {
		text += " -C " + quoted(s.flags.dir)
	}
	return text
}

// outcomeTitles name what came of it, by exit code.
var outcomeTitles = map[int]string{
	exitOK: "Finished", exitUnexpected: "Failed", exitBlocked: "Blocked", exitNeedsAnswer: "Waits for you", exitHeld: "Somebody else is at it",
	exitNothing: "Stopped on purpose", exitUnreadable: "Cannot be read", exitWait: "Waits for a time", exitInterrupt: "Stopped", exitTerminated: "Stopped",
}

// summary tells what was done, what was not and why, and what to do next.
func (f *face) workSummary(r *reprise.Run, sum *engine.Summary, code int, next string) {
	title := outcomeTitles[code]
	if code == exitOK && (len(sum.Left) > 0 || sum.Action != reprise.Finish) {
		title = "Stopped where you said"
	}
	f.banner(title + ": " + subject(r))
	f.gap()
	if sum.Merged != "" {
		f.para("  ", sum.Merged, linesMessage)
	}
	for _, s := range sum.Finished {
		f.workStep("✓", "32", s)
	}
	for _, s := range sum.Failed {
		f.workStep("✗", "31", s)
	}
	for _, s := range sum.Skipped {
		f.marked("  ", "–", "2", stepName(s.ID, s.Title)+"  left out", linesTitle)
	}
	f.workLeft(r, sum)
	if code == exitOK && len(sum.Left) == 0 && sum.Action == reprise.Finish {
		f.line("  Nothing is left to do.")
	} else if reasons := unasked(sum); len(reasons)+len(sum.Refused) > 0 {
		f.heading("Why:")
		for _, reason := range reasons {
			f.para("  - ", reason, linesMessage)
		}
	}
	for _, err := range sum.Refused {
		// Most are the end of a reason, which names the step, too.
		if !slices.ContainsFunc(sum.Reasons, func(reason string) bool { return strings.HasSuffix(reason, ": "+err.Error()) }) {
			f.para("  - ", err.Error(), linesMessage)
		}
		if h, ok := err.(hinted); ok {
			f.para("    ", h.Hint(), linesMessage)
		}
	}
	for i, q := range sum.Questions {
		if i == 0 {
			f.heading("Asked:")
		}
		f.para("  ? "+clip(q.ID, f.columns/3)+"  ", q.Text, linesMessage)
		for k, o := range q.Options {
			f.para(fmt.Sprintf("      %d. ", k+1), o, linesTitle)
		}
	}
	f.listFindings("Noticed:", sum.Findings, reprise.Warning)
	f.workEnd(sum, code, next)
}

// unasked are the reasons beside those that only repeat a question.
func unasked(sum *engine.Summary) []string {
	return slices.DeleteFunc(slices.Clone(sum.Reasons), func(reason string) bool {
		return slices.ContainsFunc(sum.Questions, func(q reprise.Question) bool {
			return q.Text != "" && strings.HasSuffix(reason, ": "+q.Text)
		})
	})
}

// workStep prints one step that was worked on.
func (f *face) workStep(mark, colour string, s engine.StepReport) {
	text := stepName(s.ID, s.Title)
	if s.Role != "" {
		text += "  @" + clip(s.Role, 20)
	}
	if s.Took >= time.Second {
		text += "  " + spent(s.Took)
	}
	if s.Attempt > 1 {
		text += fmt.Sprintf("  attempt %d", s.Attempt)
	}
	if s.Commit != "" {
		text += "  " + shortHash(s.Commit)
	}
	f.marked("  ", mark, colour, text, linesTitle)
	if s.Resolved {
		f.line("      found done from before")
	}
	if said := readable(s.Text); said != "" {
		f.para("      ", said, linesTitle)
	}
	if mark == "✗" && s.Log != "" {
		f.place("      log: ", s.Log)
	}
}

// shownLeft is how many steps that were not begun are listed.
const shownLeft = 8

func (f *face) workLeft(r *reprise.Run, sum *engine.Summary) {
	failed := map[string]bool{}
	for _, s := range sum.Failed {
		failed[s.ID] = true
	}
	n := 0
	for _, id := range sum.Left {
		if failed[id] {
			continue
		}
		if n++; n > shownLeft {
			continue
		}
		title := ""
		if s := r.Step(id); s != nil {
			title = s.Title
		}
		f.marked("  ", "○", "2", stepName(id, title), 1)
	}
	if n > shownLeft {
		f.line("  … and %d more", n-shownLeft)
	}
}

// workEnd prints the last lines: time, how to take it back, what is next.
func (f *face) workEnd(sum *engine.Summary, code int, next string) {
	f.gap()
	text := launched(sum) + " started in " + took(sum.Ended.Sub(sum.Started))
	switch {
	case sum.Snapshot == "":
	case sum.StateOnly:
		text += fmt.Sprintf("; `reprise undo %s` takes its state back, no other files", plain(sum.Snapshot))
	default:
		text += fmt.Sprintf("; `reprise undo %s` takes it all back", plain(sum.Snapshot))
	}
	f.say(text + ".")
	if code == exitWait {
		f.say(fmt.Sprintf("It may go on at %s, in %s; --wait sleeps until then.", clock(sum.Until, f.now), spent(sum.Until.Sub(f.now))))
	}
	if next != "" {
		f.line("%s", f.paint("1", "Next: ")+next)
	}
}

// launched counts the agents and the commands of a workflow file that were started.
func launched(sum *engine.Summary) string {
	agents := sum.Launches - sum.Commands
	switch {
	case sum.Commands == 0:
		return count(agents, "agent")
	case agents == 0:
		return count(sum.Commands, "command")
	}
	return count(agents, "agent") + " and " + count(sum.Commands, "command")
}

func summaryDocument(root string, sum *engine.Summary, next string, code int) report.Summary {
	steps := func(list []engine.StepReport) []report.WorkStep {
		out := make([]report.WorkStep, 0, len(list))
		for _, s := range list {
			out = append(out, report.WorkStep{ID: s.ID, Title: s.Title, Role: s.Role, Attempt: s.Attempt, Seconds: s.Took.Seconds(), Text: s.Text, Commit: s.Commit, Resolved: s.Resolved, Log: s.Log})
		}
		return out
	}
	skipped := []string{}
	for _, s := range sum.Skipped {
		skipped = append(skipped, s.ID)
	}
	reasons := append([]string{}, sum.Reasons...)
	if sum.Merged != "" {
		reasons = append([]string{sum.Merged}, reasons...)
	}
	for _, err := range sum.Refused {
		reasons = append(reasons, err.Error())
	}
	return report.Summary{
		Schema: report.SummarySchema, Root: root, Layout: sum.Run.Layout, ID: sum.Run.ID, Path: sum.Run.Path, Kind: string(sum.Run.Kind),
		State: sum.State, Action: sum.Action, Reasons: reasons, Finished: steps(sum.Finished), Failed: steps(sum.Failed),
		Skipped: skipped, Parked: append([]string{}, sum.Parked...), Left: append([]string{}, sum.Left...),
		Questions: report.NewQuestions(sum.Questions), Until: report.When(sum.Until), Findings: report.NewFindings(sum.Findings), Snapshot: sum.Snapshot,
		Started: sum.Started.UTC(), Ended: sum.Ended.UTC(), Launches: sum.Launches, Next: next, Exit: code,
	}
}

// nothingToResume is the answer where nothing is interrupted: no failure, and
// what can be done instead.
func (f *face) nothingToResume(res *project.Result) {
	if len(res.Runs) == 0 {
		f.nothing(res)
	} else {
		f.uninterrupted(res)
	}
	f.gap()
	f.say("`reprise run KIND` starts something new: " + strings.Join(startable, ", ") + ", or a workflow file.")
}

// preview tells what would be changed and started.
func (f *face) workPreview(p *engine.Preview) {
	for _, text := range p.Would {
		f.para("  - ", text, linesMessage)
	}
	if p.Diff != "" {
		f.heading("Changes of state files:")
		f.diff(p.Diff)
	}
	for _, st := range p.Starts {
		what := clip(st.Step, 60)
		if st.Run != "" {
			what = clip(st.Step, f.columns/3) + " of " + clip(st.Run, f.columns/3)
		}
		f.heading("Starts " + what + ":")
		if st.Problem != "" {
			f.marked("  ", "✗", "31", st.Problem, linesMessage)
		}
		if st.Role != "" {
			f.pair("  role:   ", st.Role)
		}
		f.pair("  agent:  ", clip(st.Agent, 60))
		f.command("  command: ", commandWords(st.Command))
		f.place("  in:      ", st.Dir)
		for _, e := range st.Expect {
			f.place("  expects: ", e)
		}
		if st.Prompt != "" {
			f.line("  prompt:")
		}
		for line := range strings.Lines(st.Prompt) {
			line = strings.TrimRight(line, "\r\n")
			body := strings.TrimLeft(line, " \t")
			lead := "    | " + strings.Repeat(" ", min(len(line)-len(body), 8))
			parts := wrap(plain(body), f.columns-width(lead))
			if len(parts) == 0 {
				parts = []string{""}
			}
			for _, part := range parts {
				f.line("%s", strings.TrimRight(lead+part, " "))
			}
		}
	}
	if len(p.Starts) == 0 && len(p.Would) == 0 && p.Diff == "" {
		f.line("Nothing would be done.")
	}
	f.gap()
	f.line("Nothing was changed or started.")
}
