package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
)

// optionKeys are the words that choose how to go on, of all layouts.
var optionKeys = []string{"continue", "resume", "resume-agent", "respawn", "restart", "skip", "fresh", "answer", "clean", "from-phase", "review", "merge", "discard", "repair"}

type resumeFlags struct {
	workFlags
	option string
	auto   bool
	from   string
	skip   []string
	fresh  bool
	digest string
}

func (a *app) newResume() *cobra.Command {
	var flags resumeFlags
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with an interrupted run until it is finished or a person is needed",
		Long: "Show what was interrupted and the ways to go on, let a person choose, and work\n" +
			"until the run is finished, an answer is needed, or going on would be unsafe.\n\n" +
			"Modes: interactive asks before it goes on; preflight shows every file, every step\n" +
			"and the whole plan and wants the word \"proceed\"; autopilot goes on by itself where\n" +
			"nothing blocks. Without RUN: the one that was interrupted, or the list.\n\n" +
			"Exit code: 0 finished, 1 steps failed for good, 3 nothing interrupted, 11 blocked,\n" +
			"12 needs an answer, 13 changed since --if, 20 held by a live run, 75 wait for a\n" +
			"limit to end, 130 and 143 stopped by a signal.",
		Example: "  reprise resume\n  reprise resume 4.2 --mode autopilot\n  reprise resume 004 --option review\n" +
			"  reprise resume 004 --dry-run\n  reprise resume 4.2 --from implement --until qa",
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeRuns(&flags.dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.resume(cmd.Context(), flags, strings.Join(args, ""))
		},
	}
	flags.workFlags.add(a, cmd)
	f := cmd.Flags()
	f.StringVar(&flags.option, "option", "", "how to go on: "+strings.Join(optionKeys, ", "))
	f.BoolVar(&flags.auto, "auto-continue", false, "take the usual way without asking")
	f.StringVar(&flags.from, "from", "", "begin again at this step")
	f.StringArrayVar(&flags.skip, "skip", nil, "pass over this step (can be repeated)")
	f.BoolVar(&flags.fresh, "fresh", false, "start from scratch; the old state is archived first")
	f.StringVar(&flags.digest, "if", "", "only if the state is still the one with this digest of `check`")
	_ = cmd.RegisterFlagCompletionFunc("option", cobra.FixedCompletions(optionKeys, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *resumeFlags) check() error {
	if err := f.workFlags.check(); err != nil {
		return err
	}
	if f.fresh {
		if f.option != "" && f.option != "fresh" {
			return usageError{fmt.Errorf("--fresh and --option %s cannot both be meant", f.option)}
		}
		f.option = "fresh"
	}
	if f.option != "" && !slices.Contains(optionKeys, f.option) {
		return usageError{fmt.Errorf("--option is %q; it can be %s", f.option, strings.Join(optionKeys, ", "))}
	}
	return nil
}

// choice is what the flags say.
func (f *resumeFlags) choice() engine.Choice {
	return engine.Choice{Option: f.option, From: f.from, Until: f.until, Skip: f.skip, If: f.digest}
}

// chosen reports whether the flags say how to go on, so that nobody is asked.
func (f *resumeFlags) chosen() bool {
	return f.auto || f.yes || f.option != "" || f.from != "" || len(f.skip) > 0
}

func (a *app) resume(ctx context.Context, flags resumeFlags, arg string) error {
	if err := flags.check(); err != nil {
		return err
	}
	return a.work(ctx, flags.workFlags, func(s *shift) error {
		j, found, err := s.which(arg)
		if err != nil || j == nil {
			return err
		}
		return s.resume(*j, found, flags)
	})
}

// which finds the run that is meant; without a name and with several, a person
// chooses. nil if there is none, which has been said then.
func (s *shift) which(arg string) (*judged, *project.Judgement, error) {
	found, err := s.judge(s.ctx, s.root, project.JudgeOptions{Full: true})
	if err != nil {
		return nil, nil, err
	}
	list, err := candidates(found, arg)
	if err != nil {
		return nil, nil, err
	}
	f := s.newFace(found)
	switch {
	case len(list) == 0:
		s.code = exitNothing
		if s.json {
			return nil, nil, s.writeLine(s.nothingDocument())
		}
		f.nothingToResume(found.Result)
		return nil, nil, nil
	case len(list) == 1:
		return &list[0], found, nil
	case !s.asks():
		return nil, nil, &severalError{list: list}
	}
	f.asking = true
	f.candidates(list)
	n, err := s.chooseNumber(s.ctx, len(list))
	if err != nil || n == 0 {
		s.code = exitNeedsAnswer
		return nil, nil, err
	}
	return &list[n-1], found, nil
}

func (s *shift) nothingDocument() report.Summary {
	return report.Summary{
		Schema: report.SummarySchema, Root: s.root, State: reprise.Complete, Action: reprise.Finish, Reasons: []string{"nothing is interrupted here"},
		Finished: []report.WorkStep{}, Failed: []report.WorkStep{}, Left: []string{}, Questions: []report.Question{}, Findings: []report.Finding{}, Exit: exitNothing,
	}
}

// severalError is returned where several runs could be meant and nobody can be
// asked.
type severalError struct{ list []judged }

// Error implements error.
func (e *severalError) Error() string {
	return fmt.Sprintf("%d runs could be meant, and nobody can be asked here", len(e.list))
}

// Hint lists them.
func (e *severalError) Hint() string {
	var names []string
	for _, j := range e.list[:min(8, len(e.list))] {
		names = append(names, j.name)
	}
	return "name one: " + strings.Join(names, ", ")
}

// Unwrap says that an answer is needed.
func (e *severalError) Unwrap() error { return errUnanswered }

func (a *app) newFace(found *project.Judgement) face {
	columns, colour := a.terminal(a.out)
	return face{view: view{w: a.out, columns: columns, colour: colour && a.env("NO_COLOR") == "", now: found.Observed.Now}}
}

// modeOf is the mode for a run: the one asked for, else the one it was started
// in, else interactive.
func (s *shift) modeOf(r *reprise.Run) (engine.Mode, error) {
	if s.flags.mode != "" {
		return engine.Mode(s.flags.mode), nil
	}
	t, err := s.tender(s.flags.upkeepFlags)
	if err != nil {
		return "", err
	}
	h, err := t.Log(r)
	if err != nil {
		return "", err
	}
	if m := journal.Fold(h.Entries).Mode; slices.Contains(modes, m) {
		return engine.Mode(m), nil
	}
	return engine.Interactive, nil
}

// resume goes on with one run: asks what has to be asked, works, and says what
// came of it.
func (s *shift) resume(j judged, found *project.Judgement, flags resumeFlags) error {
	if flags.digest != "" && flags.digest != j.digest {
		return &engine.StaleError{Want: flags.digest, Have: j.digest}
	}
	if err := flags.names(j); err != nil {
		return err
	}
	mode, err := s.modeOf(j.run)
	if err != nil {
		return err
	}
	f := s.newFace(found)
	if done, err := s.refused(&f, j, flags); done || err != nil {
		return err
	}
	choice := flags.choice()
	if !flags.dry {
		if choice, err = s.decide(&f, j, mode, flags); err != nil || choice.Option == leave {
			return err
		}
	}
	switch choice.Option {
	case "clean":
		return s.cleanRun(j, flags)
	case "repair":
		return s.repairRun(j, flags)
	}
	if !flags.dry {
		if err := s.trustOrigin(j.run.Ref); err != nil {
			return err
		}
	}
	e, err := s.engine(mode)
	if err != nil || e == nil {
		return err
	}
	if flags.dry {
		return s.preview(e, j.run.Ref, choice)
	}
	if choice.Option == "answer" {
		if ok, err := s.answerFirst(e, j); err != nil || !ok {
			return err
		}
		choice.Option, choice.If = "", ""
	}
	return s.toTheEnd(e, j, choice)
}

// names refuses steps that the run does not have, before anything is touched.
func (f *resumeFlags) names(j judged) error {
	for flag, steps := range map[string][]string{"from": {f.from}, "until": {f.until}, "skip": f.skip} {
		for _, step := range steps {
			if step != "" && j.run.Step(step) == nil {
				return &stepError{flag: flag, step: step, run: j.run}
			}
		}
	}
	if f.option == "from-phase" && f.from == "" {
		return &stepError{flag: "from", run: j.run}
	}
	return nil
}

// stepError is returned for a step that a run does not have.
type stepError struct {
	flag, step string
	run        *reprise.Run
}

// Error implements error.
func (e *stepError) Error() string {
	if e.step == "" {
		return "resume " + e.run.ID + ": --" + e.flag + " has to name a step"
	}
	return fmt.Sprintf("resume %s: --%s is %q, and it has no such step", e.run.ID, e.flag, e.step)
}

// Hint lists the steps.
func (e *stepError) Hint() string {
	var ids []string
	for i := range e.run.Steps {
		if i == 20 {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, e.run.Steps[i].ID)
	}
	return "its steps are " + strings.Join(ids, ", ")
}

// leave is the choice of somebody who wants nothing done.
const leave = "leave"

// refused tells where nothing can be resumed at all.
func (s *shift) refused(f *face, j judged, flags resumeFlags) (bool, error) {
	switch {
	case j.d.Action == reprise.Refuse && j.d.State == reprise.Running:
		s.code = exitHeld
	case j.d.Action == reprise.Finish && flags.option == "" && flags.from == "":
		s.code = exitNothing
	default:
		return false, nil
	}
	if s.json {
		doc := s.nothingDocument()
		doc.Layout, doc.ID, doc.Path, doc.Kind = j.run.Layout, j.run.ID, j.run.Path, string(j.run.Kind)
		doc.State, doc.Action, doc.Reasons, doc.Exit = j.d.State, j.d.Action, append([]string{}, j.d.Reasons...), s.code
		return true, s.writeLine(doc)
	}
	if s.code == exitHeld {
		f.asking = true
		f.layout(j)
		return true, nil
	}
	f.headline(j)
	f.gap()
	f.say("Nothing is left to do. `reprise status` lists the other runs, `reprise run` starts a new one.")
	return true, nil
}

// decide finds out how to go on: from the flags, by the rules of the mode, or
// from a person.
func (s *shift) decide(f *face, j judged, mode engine.Mode, flags resumeFlags) (engine.Choice, error) {
	choice := flags.choice()
	blocked := j.d.Verdict == reprise.BlockedVerdict
	if mode == engine.Autopilot || flags.chosen() {
		if choice.Option == "" && flags.from == "" {
			choice.Option = usual(j)
			if givesUp(choice.Option) || choice.Option == "repair" {
				// Nobody chose to give up what was made so far.
				choice.Option, blocked = "", true
			}
		}
		ok, err := s.byItself(f, j, mode, choice.Option, blocked, flags)
		if err != nil || ok {
			return choice, err
		}
	}
	if !s.asks() {
		return choice, unattended{j.name}
	}
	f.asking, f.preflight = true, mode == engine.Preflight
	if f.preflight {
		f.check(j)
		return s.proceed(f, j, choice)
	}
	return s.choice(f, j, choice)
}

// usual is the first way to go on that is offered.
func usual(j judged) string {
	if options := j.d.Options(j.run); len(options) > 0 {
		return options[0].Key
	}
	return ""
}

// givesUp reports whether an option gives up what was made so far.
func givesUp(option string) bool {
	return option == "clean" || option == "fresh" || option == "discard"
}

// unattended is returned where a person must choose and none is there.
type unattended struct{ run string }

// Error implements error.
func (e unattended) Error() string { return "resume " + e.run + ": nobody can be asked here" }

// Hint says what to do.
func (e unattended) Hint() string {
	return "say --yes, --option KEY or --mode autopilot; --dry-run only looks"
}

// Unwrap says that an answer is needed.
func (e unattended) Unwrap() error { return errUnanswered }

// byItself goes on without asking how, where that is allowed. A conflict turns
// autopilot to a person, and so does what cannot be taken back lightly.
func (s *shift) byItself(f *face, j judged, mode engine.Mode, option string, blocked bool, flags resumeFlags) (bool, error) {
	if option == "answer" && mode == engine.Autopilot && !s.asks() {
		return false, &waitsError{run: j.run, name: j.name}
	}
	mends := option == "repair" || givesUp(option)
	if blocked && !mends && option != "answer" {
		if s.asks() && !flags.yes {
			return false, nil
		}
		return false, &engine.UnsafeError{Run: j.run.ID, Reasons: j.d.Reasons}
	}
	if mends && option != "clean" && option != "repair" { // those two ask for themselves
		agreed, err := s.confirm(s.ctx, flags.upkeepFlags, "The old state is archived and the work starts from scratch. Do it?")
		if err != nil {
			return false, err
		}
		if !agreed {
			return false, errLeft
		}
	}
	if !s.json && !mends {
		s.confirmation(f, j)
	}
	return true, nil
}

// errLeft is returned where a person said no.
var errLeft = errors.New("nothing was started")

// confirmation is shown before the work goes on.
func (s *shift) confirmation(f *face, j judged) {
	if j.run.Layout == "eventrun" {
		f.asking = true
		f.eventrun(j)
	} else {
		f.confirmation(j)
	}
	if !f.preflight {
		f.listFindings("Warnings:", j.run.Findings, reprise.Warning)
	}
	f.gap()
}

// choice shows the run as its seed does and lets a person choose.
func (s *shift) choice(f *face, j judged, choice engine.Choice) (engine.Choice, error) {
	options := j.d.Options(j.run)
	if j.run.Layout == "eventrun" { // its own report is what is shown when it goes on
		f.headline(j)
		f.validation(j)
	} else {
		f.layout(j)
	}
	if j.d.Verdict == reprise.BlockedVerdict && j.run.Layout != "orchestrate" {
		f.listFindings("Must be resolved before it goes on:", j.run.Findings, reprise.Blocking)
	}
	if len(options) == 0 {
		f.gap()
		f.say("There is no way to go on from here; `reprise check` tells why.")
		s.code = exitBlocked
		choice.Option = leave
		return choice, nil
	}
	if !listsOptions(j) {
		f.heading("Options:")
		f.numbered(options)
	}
	f.gap()
	key, err := s.choose(s.ctx, options)
	if err != nil {
		return choice, err
	}
	return s.picked(f, j, choice, key)
}

// listsOptions reports whether the presentation of the layout lists them.
func listsOptions(j judged) bool {
	switch j.run.Layout {
	case "specloop", "longrun", "autoclaude":
		return true
	case "orchestrate":
		return j.d.Unrecoverable(j.run)
	}
	return false
}

// picked takes in what a person picked, and asks for what it needs.
func (s *shift) picked(f *face, j judged, choice engine.Choice, key string) (engine.Choice, error) {
	choice.Option = key
	switch key {
	case "":
		choice.Option = leave
		s.code = exitNeedsAnswer
		f.say("Nothing was started.")
	case "fresh", "discard":
		agreed, err := s.confirm(s.ctx, s.flags.upkeepFlags, "The old state is archived and the work starts from scratch. Do it?")
		if err != nil {
			return choice, err
		}
		if !agreed {
			choice.Option, s.code = leave, exitNeedsAnswer
			f.say("Nothing was started.")
		}
	case "from-phase":
		step, err := s.chooseStep(f, j)
		choice.From = step
		if err != nil || step == "" {
			choice.Option, s.code = leave, exitNeedsAnswer
			return choice, err
		}
	case "continue", "resume", "resume-agent", "respawn", "restart", "skip":
		if j.d.Verdict == reprise.BlockedVerdict {
			return choice, &engine.UnsafeError{Run: j.run.ID, Reasons: j.d.Reasons}
		}
		f.gap()
		s.confirmation(f, j)
	}
	return choice, nil
}

// chooseStep asks at which step to begin again.
func (s *shift) chooseStep(f *face, j judged) (string, error) {
	f.heading("Steps:")
	for i := range j.run.Steps {
		st := &j.run.Steps[i]
		f.para(fmt.Sprintf("  %d. ", i+1), stepName(st.ID, st.Title)+" -- "+stepWords(st), linesTitle)
	}
	n, err := s.chooseNumber(s.ctx, len(j.run.Steps))
	if err != nil || n == 0 {
		return "", err
	}
	return j.run.Steps[n-1].ID, nil
}

// proceed wants the word that a pre-flight check ends with.
func (s *shift) proceed(f *face, j judged, choice engine.Choice) (engine.Choice, error) {
	if j.d.Verdict == reprise.BlockedVerdict {
		return choice, &engine.UnsafeError{Run: j.run.ID, Reasons: j.d.Reasons}
	}
	if choice.Option == "" && choice.From == "" {
		choice.Option = usual(j)
	}
	fmt.Fprint(s.err, "> ")
	line, _, err := s.readLine(s.ctx)
	if err != nil {
		return choice, err
	}
	if strings.ToLower(strings.TrimSpace(line)) != "proceed" {
		f.say("Nothing was started.")
		choice.Option, s.code = leave, exitNeedsAnswer
		return choice, nil
	}
	return choice, nil
}
