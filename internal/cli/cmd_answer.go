package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine"
	"reprise/internal/doc"
	"reprise/project"
	"reprise/report"
	"reprise/settings"
)

type answerFlags struct {
	workFlags
	question, text, file string
	option               int
	list                 bool
}

func (a *app) newAnswer() *cobra.Command {
	var flags answerFlags
	cmd := &cobra.Command{
		Use:   "answer [RUN]",
		Short: "Answer what a run asks; the answer is kept and never asked for again",
		Long: "Answer the questions of a run: one after the other at a prompt, or one with --text,\n" +
			"--option or --file. A file that holds a JSON object answers several at once:\n" +
			"{\"C1.1\": \"…\", \"C1.2\": \"…\"}; - is standard input. The answer is on disk before this\n" +
			"returns; `reprise resume` goes on with it. Where only the answers that are offered\n" +
			"are taken, other words are refused: nothing is started by a word nobody understands.\n\n" +
			"Exit code: 0 kept, 3 nothing is asked, 12 questions are left open.",
		Example: "  reprise answer --list\n  reprise answer 012 --question C2.1 --text '30 minutes'\n" +
			"  reprise answer 012 --file answers.json",
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeRuns(&flags.dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(cmd); err != nil {
				return err
			}
			return a.answer(cmd.Context(), flags, strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&a.json, "json", false, "print JSON (schema/answer.v1.json)")
	f.StringVarP(&flags.dir, "dir", "C", ".", "the project folder")
	f.StringVar(&flags.question, "question", "", "the id of the question (default: the only one)")
	f.StringVar(&flags.text, "text", "", "the answer")
	f.StringVar(&flags.file, "file", "", "a file with the answer, or with a JSON object of several; - for standard input")
	f.IntVar(&flags.option, "option", 0, "the number of an answer that is offered")
	f.BoolVar(&flags.list, "list", false, "list what is asked and answer nothing")
	f.BoolVar(&flags.network, "allow-network-fs", false, "trust the locks of a network file system")
	f.BoolVar(&flags.adopt, "adopt", false, "go on with a state folder that was copied with its project")
	return cmd
}

// check refuses answers that are none.
func (f *answerFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"text", "file", "question"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && strings.TrimSpace(flag.Value.String()) == "" {
			return usageError{fmt.Errorf("--%s is empty", name)}
		}
	}
	if cmd.Flags().Changed("option") && f.option < 1 {
		return usageError{fmt.Errorf("--option is %d; the first answer is 1", f.option)}
	}
	return nil
}

func (a *app) answer(ctx context.Context, flags answerFlags, arg string) error {
	given := 0
	for _, is := range []bool{flags.text != "", flags.file != "", flags.option != 0} {
		if is {
			given++
		}
	}
	if given > 1 {
		return usageError{errors.New("only one of --text, --file and --option can be meant")}
	}
	flags.dry = flags.list // it changes nothing
	return a.work(ctx, flags.workFlags, func(s *shift) error {
		found, err := s.judge(s.ctx, s.root, project.JudgeOptions{Full: true, Adopt: s.flags.adopt})
		if err != nil {
			return err
		}
		j, err := s.asking(found, arg, flags)
		if err != nil || j == nil {
			return err
		}
		if flags.list {
			return s.listQuestions(found, arg)
		}
		answers, err := s.answers(*j, flags, given > 0)
		if err != nil {
			return err
		}
		return s.keep(*j, answers)
	})
}

// asking finds the run whose questions are meant. nil if nothing is asked, which
// has been said then.
func (s *shift) asking(found *project.Judgement, arg string, flags answerFlags) (*judged, error) {
	list := waiting(found, arg)
	if arg != "" {
		if _, err := pick(found.Runs, arg); err != nil {
			return nil, err
		}
	}
	if flags.question != "" && len(list) > 0 {
		var open []reprise.Question
		for _, j := range list {
			open = append(open, j.run.PendingQuestions()...)
		}
		if _, err := questionOf(open, flags.question); err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(j judged) bool {
			return !slices.ContainsFunc(j.run.PendingQuestions(), func(q reprise.Question) bool { return q.ID == flags.question })
		})
	}
	switch {
	case len(list) == 0:
		s.code = exitNothing
		if s.json {
			return nil, s.writeJSON(s.out, report.Answers{Schema: report.AnswerSchema, Root: s.root, Answered: []string{}, Open: []report.Question{}})
		}
		f := s.newFace(found)
		f.say(nothingAsked(found, arg))
		return nil, nil
	case len(list) == 1 || flags.list:
		return &list[0], nil
	case !s.asks():
		return nil, &severalError{list: list}
	}
	f := s.newFace(found)
	f.say("Several runs ask something:")
	for i, j := range list {
		f.para(fmt.Sprintf("  %d. ", i+1), subject(j.run)+": "+j.run.PendingQuestions()[0].Text, linesSource)
	}
	n, err := s.chooseNumber(s.ctx, len(list))
	if err != nil || n == 0 {
		s.code = exitNeedsAnswer
		return nil, err
	}
	return &list[n-1], nil
}

// nothingAsked says why there is nothing to answer.
func nothingAsked(found *project.Judgement, arg string) string {
	runs := found.Runs
	if arg != "" {
		runs = reprise.Select(found.Runs, arg)
	}
	for _, r := range runs {
		for _, q := range r.Questions {
			if q.Kept {
				return fmt.Sprintf("Nothing is asked any more: %s was answered, and whoever resumes takes that in.", clip(q.ID, 40))
			}
		}
	}
	return "Nothing is asked here. `reprise status` lists the runs."
}

// waiting lists the runs that ask something, of those an argument means.
func waiting(found *project.Judgement, arg string) []judged {
	names := reprise.Names(found.Runs)
	runs := found.Runs
	if arg != "" {
		runs = reprise.Select(found.Runs, arg)
	}
	var list []judged
	for _, r := range runs {
		if len(r.PendingQuestions()) > 0 {
			list = append(list, newJudged(r, names[r], found))
		}
	}
	return list
}

func (s *shift) listQuestions(found *project.Judgement, arg string) error {
	list := waiting(found, arg)
	if s.json {
		doc := report.Answers{Schema: report.AnswerSchema, Root: s.root, ID: list[0].run.ID, Answered: []string{}, Open: []report.Question{}}
		for _, j := range list {
			doc.Open = append(doc.Open, report.NewQuestions(j.run.PendingQuestions())...)
		}
		doc.Next = s.command("answer", list[0].name)
		return s.writeJSON(s.out, doc)
	}
	f := s.newFace(found)
	for i, j := range list {
		if i > 0 {
			f.gap()
		}
		f.marked("", "◇", "36", subject(j.run), linesTitle)
		for _, q := range j.run.PendingQuestions() {
			f.para("  ? "+clip(q.ID, f.columns/3)+"  ", q.Text, linesMessage)
			for k, o := range q.Options {
				f.para(fmt.Sprintf("      %d. ", k+1), o, linesTitle)
			}
		}
		f.line("  %s", s.command("answer", j.name))
	}
	return nil
}

// answers gathers what is said: from the flags, from a file, or from a person.
func (s *shift) answers(j judged, flags answerFlags, given bool) (map[string]string, error) {
	open := j.run.PendingQuestions()
	if flags.file != "" {
		return s.fromFile(open, flags)
	}
	if !given {
		if flags.question != "" {
			q, err := questionOf(open, flags.question)
			if err != nil {
				return nil, err
			}
			open = []reprise.Question{q}
		}
		if !s.asks() {
			return nil, &waitsError{run: j.run, name: j.name}
		}
		return s.answerAll(open)
	}
	q, err := questionOf(open, flags.question)
	if err != nil {
		return nil, err
	}
	text := flags.text
	if flags.option != 0 {
		if flags.option < 1 || flags.option > len(q.Options) {
			return nil, usageError{fmt.Errorf("--option is %d; %s offers %s", flags.option, q.ID, count(len(q.Options), "answer"))}
		}
		text = q.Options[flags.option-1]
	}
	return checked(open, map[string]string{q.ID: text})
}

// questionOf finds the question that is meant: the one with the id, else the
// only one.
func questionOf(open []reprise.Question, id string) (reprise.Question, error) {
	var ids []string
	for _, q := range open {
		if q.ID == id || id == "" && len(open) == 1 {
			return q, nil
		}
		ids = append(ids, q.ID)
	}
	if id == "" {
		return reprise.Question{}, usageError{fmt.Errorf("%d questions are open; name one with --question: %s", len(open), strings.Join(ids, ", "))}
	}
	return reprise.Question{}, usageError{fmt.Errorf("no open question is called %q; there are %s", id, strings.Join(ids, ", "))}
}

// fromFile reads answers: a JSON object of several, else the text of one.
func (s *shift) fromFile(open []reprise.Question, flags answerFlags) (map[string]string, error) {
	data, err := s.readAnswer(flags.file)
	if err != nil {
		return nil, err
	}
	if text := bytes.TrimSpace(data); flags.question == "" && len(text) > 0 && text[0] == '{' {
		answers, err := answerObject(flags.file, data)
		if err != nil {
			return nil, usageError{fmt.Errorf("read %s: %w", flags.file, err)}
		}
		for id := range answers {
			if _, err := questionOf(open, id); err != nil {
				return nil, err
			}
		}
		return checked(open, answers)
	}
	q, err := questionOf(open, flags.question)
	if err != nil {
		return nil, err
	}
	return checked(open, map[string]string{q.ID: strings.TrimRight(string(data), "\n")})
}

// answerObject reads a JSON object of texts. A question that stands twice has two
// answers, and nobody can tell which is meant.
func answerObject(name string, data []byte) (map[string]string, error) {
	read, file := doc.Memory(name, data)
	answers := map[string]string{}
	for _, f := range file.JSON().Fields() {
		if _, doubled := answers[f.Name]; doubled {
			return nil, fmt.Errorf("%q is answered twice", f.Name)
		}
		if f.Value.Kind != doc.String {
			return nil, fmt.Errorf("the answer to %q is no text; put it in quotation marks", f.Name)
		}
		answers[f.Name] = f.Value.Text
	}
	for _, f := range read.Findings() {
		return nil, fmt.Errorf("line %d: %s", f.Source.Line, f.Message)
	}
	return answers, nil
}

func (s *shift) readAnswer(name string) ([]byte, error) {
	in := s.in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxAnswer<<4))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// checked gives answers as they are kept, and refuses those that must not be: one
// that cannot be a text of a state file, or that its question does not take.
func checked(open []reprise.Question, answers map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for id, text := range answers {
		if err := checkAnswer(text); err != nil {
			return nil, usageError{fmt.Errorf("answer %s: %w", id, err)}
		}
		q, err := questionOf(open, id)
		if err != nil {
			return nil, err
		}
		if out[id], err = q.Choose(text); err != nil {
			return nil, usageError{err}
		}
	}
	return out, nil
}

// keep records the answers and says what is left.
func (s *shift) keep(j judged, answers map[string]string) error {
	now, err := s.clock()
	if err != nil {
		return err
	}
	if len(answers) > 0 {
		e := &engine.Engine{Dir: s.root, Settings: settings.Default(), Environ: os.Environ(), Now: now, AllowNetwork: s.flags.network, Adopt: s.flags.adopt, Hard: s.hard}
		e.Workflow = s.untrustedWorkflow // an answer is kept; nothing is started
		if err := e.Answer(s.ctx, j.run.Ref, answers); err != nil {
			return err
		}
	}
	var ids []string
	var left []reprise.Question
	for _, q := range j.run.PendingQuestions() {
		if _, ok := answers[q.ID]; ok {
			ids = append(ids, q.ID)
		} else {
			left = append(left, q)
		}
	}
	next, working := s.command("resume", j.name), j.d.State == reprise.Running
	if working {
		next = s.command("check", j.name)
	}
	if len(left) > 0 {
		s.code, next = exitNeedsAnswer, s.command("answer", j.name)
	}
	if s.json {
		return s.writeJSON(s.out, report.Answers{Schema: report.AnswerSchema, Root: s.root, ID: j.run.ID, Answered: append([]string{}, ids...), Open: report.NewQuestions(left), Next: next})
	}
	columns, colour := s.terminal(s.out)
	f := face{view: view{w: s.out, columns: columns, colour: colour && s.colours()}}
	if len(ids) > 0 {
		text := "Kept: " + strings.Join(ids, ", ") + "."
		if working {
			text += " It is being worked on, and the answer is taken in there."
		}
		f.say(text)
	} else {
		f.say("Nothing was answered.")
	}
	for _, q := range left {
		f.para("  ? "+clip(q.ID, f.columns/3)+"  ", q.Text, linesMessage)
	}
	f.line("%s", f.paint("1", "Next: ")+next)
	return nil
}
