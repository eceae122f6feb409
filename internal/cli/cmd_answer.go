package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine"
	"reprise/project"
	"reprise/report"
	"reprise/settings"
)

type answerFlags struct {
	workFlags
	Said
	digest string // a digest shown by check
}

func (a *app) newAnswer() *cobra.Command {
	var flags answerFlags
	cmd := &cobra.Command{
		Use:   "answer [RUN]",
		Short: "Answer a run's questions; an answer is kept and never asked for again",
		Long: "Answer the questions of a run: one after the other at a prompt, or one of them\n" +
			"with --text, --option or --file. A file with a JSON object answers several at\n" +
			"once: {\"C1.1\": \"…\", \"C1.2\": \"…\"}; - is standard input. The answer is on disk\n" +
			"before the command returns, and `reprise resume` continues with it. Where a\n" +
			"question has fixed options, other answers are refused; the options of an\n" +
			"agent's own question are proposals, and --text takes any answer. What became of a\n" +
			"call that a session left without a result, a push for example, is listed too:\n" +
			"nothing waits for that answer, but only it settles the warning.\n\n" +
			"Exit code: 0 kept, 3 nothing is asked, 11 the answer was already used, 12\n" +
			"questions are left open, 13 changed since --if.",
		Example: "  reprise answer --list\n  reprise answer 012 --question C2.1 --text '30 minutes'\n" +
			"  reprise answer 012 --file answers.json",
	}
	a.oneRun(cmd, &flags.dir, func(ctx context.Context, name string) error {
		if err := flags.Said.Check(cmd); err != nil {
			return err
		}
		return a.answer(ctx, flags, name)
	})
	a.folderFlags(cmd, &flags.dir, "schema/answer.v1.json")
	flags.Said.Add(cmd)
	addIf(cmd, &flags.digest)
	flags.addStore(cmd)
	return cmd
}

func (a *app) answer(ctx context.Context, flags answerFlags, arg string) error {
	flags.dry = flags.List // it changes nothing
	return a.work(ctx, flags.workFlags, func(s *job) error {
		found, err := s.judge(s.ctx, s.root, project.JudgeOptions{Full: true, Adopt: s.flags.adopt})
		if err != nil {
			return err
		}
		runs := found.Runs
		if arg != "" {
			run, err := pick(found.Runs, arg)
			if err != nil {
				return err
			}
			s.about(run, reprise.Names(found.Runs)[run])
			runs = []*reprise.Run{run}
		}
		meant := judgedOf(found, runs...)
		j, err := s.asking(found, meant, &flags, arg != "")
		if err == nil && j != nil {
			err = within(found, j.run)
		}
		if err != nil || j == nil {
			return err
		}
		s.about(j.run, j.name)
		if flags.List {
			return s.listQuestions(waiting(meant))
		}
		if err := cmp.Or(j.as("answer", flags.digest), s.elsewhere("answer", *j)); err != nil {
			return err
		}
		answers, err := s.answers(*j, flags)
		if err != nil {
			return err
		}
		return s.keep(*j, flags.digest, answers)
	})
}

// asking finds, among the runs that are meant, the one whose questions are or, if none is
// open, the one whose answer is to be changed. It returns nil, after saying so, if nothing
// is asked. named says that a name was given.
func (s *job) asking(found *project.Judgement, meant []judged, flags *answerFlags, named bool) (*judged, error) {
	list := waiting(meant)
	asked := func(j judged) bool {
		return slices.ContainsFunc(j.askable(), func(q reprise.Question) bool { return q.ID == flags.Question })
	}
	if flags.Question != "" && !flags.List && !slices.ContainsFunc(list, asked) {
		if j, err := answeredBefore(found, meant, flags.Question, len(list) == 0); j != nil || err != nil {
			return j, err
		}
	}
	if flags.Question != "" && len(list) > 0 {
		if _, err := questionOf(allOpen(list), flags.Question); err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(j judged) bool { return !asked(j) })
	}
	if len(list) == 0 && flags.Question == "" && (flags.Text != "" || flags.Option != 0) {
		changed := slices.DeleteFunc(slices.Clone(meant), func(j judged) bool { return changeable(j.run, named) == "" })
		if len(changed) == 1 {
			flags.Question = changeable(changed[0].run, named)
			return &changed[0], nil
		}
	}
	switch {
	case len(list) == 0:
		return nil, s.nothingOpen(meant)
	case len(list) == 1 || flags.List:
		return &list[0], nil
	case !s.asks():
		return nil, s.several("answer", list)
	}
	p := s.page(s.out)
	p.say("Several runs ask something:")
	p.numbered("  ", report.Each(list, func(j judged) string { return subject(j.run) + ": " + j.askable()[0].Text }), linesSource)
	n, err := s.chooseNumber(s.ctx, len(list))
	if err != nil || n == 0 {
		s.came(reprise.OutcomeAsk)
		return nil, err
	}
	return &list[n-1], nil
}

// answeredBefore finds the run in which a closed question has an answer; the engine
// decides whether it can still be changed. It returns nil if there is none, or more than
// one. Where nothing is open, the error says what became of the question.
func answeredBefore(found *project.Judgement, meant []judged, id string, idle bool) (only *judged, err error) {
	for i, j := range meant {
		switch q := j.run.Question(id); {
		case q != nil && q.Answered && only != nil:
			return nil, nil
		case q != nil && q.Answered:
			only = &meant[i]
		case q == nil && idle:
			err = cmp.Or(err, engine.AnsweredBefore(found.View(j.run).Events, id))
		}
	}
	if only != nil {
		return only, nil
	}
	return nil, err
}

// changeable finds the question whose answer is to be changed: the only one whose answer
// is unused, else, where the run was named, the only one with an answer, in which case the
// engine says what used it. It returns "" if there is none or more than one.
func changeable(r *reprise.Run, named bool) string {
	for _, used := range []bool{false, true} {
		if used && !named {
			break
		}
		answered := slices.DeleteFunc(slices.Clone(r.Questions), func(q reprise.Question) bool { return !q.Answered || q.Applied != used })
		if len(answered) == 1 {
			return answered[0].ID
		}
		if len(answered) > 1 {
			break
		}
	}
	return ""
}

// nothingOpen says that no question is open, and what needs deciding instead.
func (s *job) nothingOpen(meant []judged) error {
	for _, j := range meant {
		if next := s.decides(j); next != "" && j.d.State == reprise.Waiting && j.d.Outcome() == reprise.OutcomeAsk {
			s.came(reprise.OutcomeAsk)
			doc := s.answered(j.run.ID)
			doc.Next = next
			return s.print(doc, func(p *page) {
				p.say(fmt.Sprintf("No question is open, but %s waits for a decision of yours: %s.", subject(j.run), firstReason(j.d, j.run.Reason)))
				p.next(next)
			})
		}
	}
	if i := slices.IndexFunc(meant, judged.stuck); i >= 0 {
		s.came(reprise.OutcomeAsk)
		return s.print(s.answered(meant[i].run.ID), func(p *page) {
			p.say(fmt.Sprintf("No question is open, but %s waits for you. %s.", subject(meant[i].run), s.site.yourTurn(meant[i])))
		})
	}
	s.came(reprise.OutcomeNothing)
	return s.print(s.answered(""), func(p *page) {
		unused := 0
		for _, j := range meant {
			for _, q := range j.run.Questions {
				if !q.Answered || q.Applied || q.Answer == "" || !j.d.State.Open() {
					continue
				}
				unused++
				p.say(fmt.Sprintf("Nothing is open: %s was answered, and `%s` uses the answer. To change it:", clip(q.ID, 40), s.command("resume", j.name)))
				for _, command := range s.answering(j.name, q) {
					p.line("  %s", command)
				}
			}
		}
		if unused == 0 {
			p.say("Nothing is asked here. `reprise status` lists the runs.")
		}
	})
}

// askable are the questions of a run, and those about calls of sessions, for which nothing waits.
func (j judged) askable() []reprise.Question {
	return append(j.open(), j.o.CallsAsked(j.run)...)
}

// waiting lists those of the runs that have questions.
func waiting(meant []judged) []judged {
	return slices.DeleteFunc(slices.Clone(meant), func(j judged) bool { return len(j.askable()) == 0 })
}

// allOpen lists the questions of some runs.
func allOpen(list []judged) []reprise.Question {
	return slices.Concat(report.Each(list, judged.askable)...)
}

// answered returns the document about a run's answers, still empty.
func (s *job) answered(run string) report.Answers {
	return report.Answers{Schema: report.AnswerSchema, Root: s.root, ID: run, Answered: []string{}, Open: []report.Question{}}
}

func (s *job) listQuestions(list []judged) error {
	doc := s.answered(list[0].run.ID)
	doc.Open = report.NewQuestions(allOpen(list))
	if s.asks() || len(list[0].askable()[0].Options) == 0 { // else there is a command for each answer
		doc.Next = s.replies(list[0].name, list[0].askable())
	}
	return s.print(doc, func(p *page) {
		for i, j := range list {
			if i > 0 {
				p.gap()
			}
			p.marked("", "◇", cyan, subject(j.run), linesTitle)
			for _, q := range j.askable() {
				if s.asks() {
					p.asked(q)
					continue
				}
				options := q.Options
				q.Options = nil // each is shown with its command
				p.asked(q)
				q.Options = options
				for _, command := range s.answering(j.name, q) {
					p.line("      %s", command)
				}
			}
			if s.asks() {
				p.line("  %s", s.command("answer", j.name))
			}
		}
	})
}

// answers collects the answers, from the flags or from a person.
func (s *job) answers(j judged, flags answerFlags) (map[string]string, error) {
	open := j.askable()
	if q := j.run.Question(flags.Question); q != nil && q.Answered {
		open = append(open, *q)
	}
	if flags.said() {
		return flags.Answers(open, s.in)
	}
	if flags.Question != "" {
		q, err := questionOf(open, flags.Question)
		if err != nil {
			return nil, err
		}
		open = []reprise.Question{q}
	}
	if !s.asks() {
		return nil, s.unattended(j, engine.NeedsAnswer, open...)
	}
	return s.answerAll(open)
}

// keep records the answers and says what is left to answer.
func (s *job) keep(j judged, digest string, answers map[string]string) error {
	doc := s.answered(j.run.ID)
	if len(answers) > 0 {
		e := &engine.Engine{
			Dir: s.root, Settings: settings.Default(), Environ: os.Environ(), Now: s.clock, AllowNetwork: s.flags.network, Adopt: s.flags.adopt, Hard: s.hard,
			Workflow: s.untrustedWorkflow, // the answer is recorded; nothing is started
			Tell: func(p engine.Progress) {
				if p.Kind == engine.Noticed && p.Step != "" {
					doc.Told = append(doc.Told, p.Text)
				}
			},
		}
		if err := e.AnswerIf(s.ctx, j.run.Ref, digest, answers); err != nil {
			return err
		}
	}
	var left []reprise.Question
	asked, used := j.askable(), 0
	for id := range answers {
		if q := j.run.Question(id); q != nil && q.Answered {
			asked = append(asked, *q)
			if q.Applied {
				used++
			}
		}
	}
	for _, q := range asked {
		if text, ok := answers[q.ID]; ok && !q.Postpones(text) {
			doc.Answered = append(doc.Answered, q.ID)
		} else {
			left = append(left, q)
		}
	}
	doc.Open = report.NewQuestions(left)
	said := "Nothing was answered."
	if len(doc.Answered) > 0 {
		said = "Kept: " + strings.Join(doc.Answered, ", ") + "."
	} else if len(answers) > 0 {
		said = "Noted; it is still asked."
	}
	verb := "resume"
	switch {
	case used > 0 && used == len(answers):
		said, verb = "It was answered that way before, and the answer was used: "+strings.Join(doc.Answered, ", ")+".", "check"
	case j.d.State == reprise.Running:
		verb = "check"
		if len(doc.Answered) > 0 {
			said += " The run is being worked on and picks the answer up."
		}
	}
	doc.Next = s.command(verb, j.name)
	if len(left) > 0 {
		s.came(reprise.OutcomeAsk)
		doc.Next = s.replies(j.name, left)
	}
	return s.print(doc, func(p *page) {
		p.say(said)
		for _, text := range doc.Told {
			p.say(text + ".")
		}
		for _, q := range left {
			q.Options = nil
			p.asked(q)
		}
		p.next(doc.Next)
	})
}

// answerAll asks one question after another until one is left open.
func (s *job) answerAll(open []reprise.Question) (map[string]string, error) {
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
