package cli

import (
	"context"
	"errors"
	"slices"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/report"
	"reprise/settings"
)

// toTheEnd works on a run until it is finished or somebody is needed, and says
// what came of it.
func (s *shift) toTheEnd(e *engine.Engine, j judged, c engine.Choice) error {
	sum, err := s.carry(e, j, c)
	if sum == nil || err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if sum.Review != "" {
		return s.reviewed(e, j, sum, c)
	}
	s.code = s.workCode(sum)
	next := s.nextCommand(j.name, sum, s.code)
	if s.json {
		return s.writeLine(summaryDocument(s.root, sum, next, s.code))
	}
	columns, colour := s.terminal(s.out)
	f := face{view: view{w: s.out, columns: columns, colour: colour && s.colours(), now: e.Now()}}
	f.gap()
	f.workSummary(j.run, sum, s.code, next)
	return nil
}

// reviewed shows what was built; whoever looked at it says what becomes of it.
func (s *shift) reviewed(e *engine.Engine, j judged, sum *engine.Summary, c engine.Choice) error {
	s.code = exitNeedsAnswer
	next := s.command("resume", j.name)
	if s.json {
		doc := summaryDocument(s.root, sum, next, s.code)
		doc.Review = sum.Review
		return s.writeLine(doc)
	}
	columns, colour := s.terminal(s.out)
	f := face{view: view{w: s.out, columns: columns, colour: colour && s.colours(), now: e.Now()}, asking: true}
	f.diff(sum.Review)
	options := slices.DeleteFunc(slices.Clone(j.d.Options(j.run)), func(o reprise.Option) bool { return o.Key == "review" })
	if !s.asks() {
		f.gap()
		f.line("%s", f.paint("1", "Next: ")+next+" --option "+anyOf(options))
		return nil
	}
	f.heading("Options:")
	f.numbered(options)
	key, err := s.choose(s.ctx, options)
	if err != nil {
		return err
	}
	s.code = exitOK
	if c, err = s.picked(&f, j, c, key); err != nil || c.Option == leave {
		return err
	}
	s.opens(&f, j, c)
	return s.toTheEnd(e, j, c)
}

// anyOf names options as a person would say them.
func anyOf(options []reprise.Option) string {
	text := ""
	for i, o := range options {
		switch {
		case i == 0:
		case i == len(options)-1:
			text += " or "
		default:
			text += ", "
		}
		text += o.Key
	}
	return text
}

// preview shows what would be done.
func (s *shift) preview(e *engine.Engine, ref reprise.Ref, c engine.Choice) error {
	p, err := e.Preview(s.ctx, ref, c)
	if err != nil {
		return err
	}
	return s.showPreview(e, p)
}

// showPreview shows a preview.
func (s *shift) showPreview(e *engine.Engine, p *engine.Preview) error {
	ref := p.Run
	if s.json {
		doc := report.Preview{
			Schema: report.PreviewSchema, Root: s.root, Layout: ref.Layout, ID: ref.ID, Action: p.Decision.Action,
			Reasons: append([]string{}, p.Decision.Reasons...), Would: append([]string{}, p.Would...), Diff: p.Diff, Starts: []report.PreviewStart{},
		}
		for _, st := range p.Starts {
			doc.Starts = append(doc.Starts, report.PreviewStart{
				Run: st.Run, Step: st.Step, Role: st.Role, Agent: st.Agent, Problem: st.Problem, Command: append([]string{}, st.Command...), Dir: st.Dir, Prompt: st.Prompt, Expect: append([]string{}, st.Expect...),
			})
		}
		return s.writeJSON(s.out, doc)
	}
	columns, colour := s.terminal(s.out)
	f := face{view: view{w: s.out, columns: columns, colour: colour && s.colours(), now: e.Now()}}
	f.banner("Dry run: " + kinds[ref.Kind] + " " + plain(ref.ID))
	f.workPreview(p)
	return nil
}

// answerFirst asks a person what a run asks, and keeps the answers. ok is false
// if something stays open, which has been said then.
func (s *shift) answerFirst(e *engine.Engine, j judged) (ok bool, err error) {
	if !s.asks() {
		return false, &waitsError{run: j.run, name: j.name}
	}
	answers, err := s.answerAll(j.run.PendingQuestions())
	if err != nil {
		return false, err
	}
	if len(answers) > 0 {
		if err := e.Answer(s.ctx, j.run.Ref, answers); err != nil {
			return false, err
		}
	}
	if len(answers) < len(j.run.PendingQuestions()) {
		return false, &waitsError{run: j.run, name: j.name}
	}
	return true, nil
}

// answerAll asks one question after the other until one is left open.
func (s *shift) answerAll(open []reprise.Question) (map[string]string, error) {
	answers := map[string]string{}
	for _, q := range open {
		answer, ok, err := s.answerTo(s.ctx, q)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		answers[q.ID] = answer
	}
	return answers, nil
}

// waitsError tells that a run waits for an answer.
type waitsError struct {
	run  *reprise.Run
	name string
}

// Error implements error.
func (e *waitsError) Error() string {
	open := e.run.PendingQuestions()
	if len(open) == 0 {
		return "resume " + e.run.ID + ": a person has to say how it goes on"
	}
	return "resume " + e.run.ID + ": it waits for an answer: " + open[0].Text
}

// Hint says how to answer.
func (e *waitsError) Hint() string {
	return "`reprise answer " + quoted(e.name) + "` takes it; then `reprise resume " + quoted(e.name) + "` goes on"
}

// Unwrap says that an answer is needed.
func (e *waitsError) Unwrap() error { return errUnanswered }

// cleanRun gives a run up, as `reprise clean` does.
func (s *shift) cleanRun(j judged, flags resumeFlags) error {
	return s.clean(s.ctx, flags.upkeepFlags, j.name)
}

// repairRun mends a run, as `reprise repair` does, and goes on with it.
func (s *shift) repairRun(j judged, flags resumeFlags) error {
	if err := s.repair(s.ctx, flags.upkeepFlags, j.name); err != nil || s.code != exitOK {
		return err
	}
	again, found, err := s.which(j.name, false, flags.from)
	if err != nil || again == nil || again.d.Action == reprise.Repair {
		return err
	}
	flags.option, flags.fresh = "", false
	return s.resume(*again, found, flags)
}

// workErrorCode maps the errors of working to exit codes; 0 for others.
func workErrorCode(err error) int {
	var unsafe *engine.UnsafeError
	var gone *engine.GoneError
	var stands *engine.InTheWayError
	var stale *engine.StaleError
	var option *engine.OptionError
	var question *engine.UnknownQuestionError
	var untrusted *untrustedError
	var revised *engine.FlowError
	var noFlow *goneFlowError
	var unbound *settings.UnboundError
	var problems settings.Problems
	var kind *convention.UnknownKindError
	var step *stepError
	switch {
	case errors.Is(err, errLeft):
		return exitNeedsAnswer
	case errors.As(err, &unsafe), errors.As(err, &gone), errors.As(err, &stands), errors.As(err, &untrusted), errors.As(err, &revised), errors.As(err, &noFlow), errors.As(err, &unbound):
		return exitBlocked
	case errors.As(err, &stale):
		return exitChanged
	case errors.As(err, &option), errors.As(err, &question), errors.As(err, &problems), errors.As(err, &kind), errors.As(err, &step), errors.Is(err, reprise.ErrNotFromNothing):
		return exitUsage
	}
	return 0
}
