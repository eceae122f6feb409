package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/project"
	"reprise/report"
)

// optionKeys are the words that choose how to go on, of all layouts.
var optionKeys = []string{"continue", "resume", "resume-agent", "respawn", "restart", "skip", "skip-group", "fresh", "answer", "clean", "from-phase", "review", "merge", "discard", "repair"}

type resumeFlags struct {
	workFlags
	option string
	auto   bool
	from   string
	skip   []string
	fresh  bool
	digest digest
}

// digest is one that check shows, "" where nobody said one.
type digest string

// Set implements pflag.Value. A variable that turned out empty must not be no guard at
// all.
func (d *digest) Set(text string) error {
	if !digestForm.MatchString(text) {
		return errors.New("that is no digest; `reprise check RUN --json` shows it")
	}
	*d = digest(text)
	return nil
}

// String implements pflag.Value.
func (d *digest) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *digest) Type() string { return "digest" }

var digestForm = regexp.MustCompile(`^v[0-9]+:[0-9a-f]{32}$`)

func (a *app) newResume() *cobra.Command {
	var flags resumeFlags
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with an interrupted run until it is finished or a person is needed",
		Long: "Show what was interrupted and the ways to go on, let a person choose, and work\n" +
			"until the run is finished, an answer is needed, or going on would be unsafe.\n\n" +
			"Modes: interactive asks before it goes on; preflight shows every file, every step\n" +
			"and the whole plan and wants the word \"proceed\"; autopilot goes on by itself where\n" +
			"nothing blocks. Without RUN: the one that was interrupted, or the list; in\n" +
			"autopilot the one that was updated last, unless a person paused it.\n\n" +
			"Exit code: 0 finished, 1 steps failed for good, 3 nothing interrupted, 11 blocked,\n" +
			"12 needs an answer, 13 changed since --if, 20 held by a live run, 75 wait for a\n" +
			"limit to end, 130 and 143 stopped by a signal, 141 since nobody reads the output.",
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
	f.StringVar(&flags.from, "from", "", "begin again at this step or stage; what failed for good is tried again")
	f.StringArrayVar(&flags.skip, "skip", nil, "pass over this step (can be repeated)")
	f.BoolVar(&flags.fresh, "fresh", false, "start from scratch; the old state is archived first")
	f.Var(&flags.digest, "if", "only if the state is still the one with this `digest`, which check shows")
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
	starts := f.option == "fresh" || f.option == "discard"
	for flag, idle := range map[string]bool{
		"from": f.from != "" && (starts || !goesOn(f.option)),
		"skip": len(f.skip) > 0 && !starts && !goesOn(f.option),
	} {
		if idle {
			return usageError{fmt.Errorf("--%s and %s cannot both be meant", flag, f.way())}
		}
	}
	return nil
}

// way is how the flags say to go on, as a person typed it.
func (f *resumeFlags) way() string {
	if f.fresh {
		return "--fresh"
	}
	return "--option " + f.option
}

// goesOn reports whether an option takes the run up where it stands, mended or not.
func goesOn(option string) bool {
	switch option {
	case "", "continue", "resume", "resume-agent", "respawn", "restart", "skip", "skip-group", "answer", "from-phase", "repair":
		return true
	}
	return false
}

// choice is what the flags say.
func (f *resumeFlags) choice() engine.Choice {
	return engine.Choice{Option: f.option, From: f.from, Until: f.until, Skip: f.skip, If: string(f.digest)}
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
		j, found, err := s.which(arg, flags.mode == string(engine.Autopilot) && flags.option == "" && flags.from == "" && len(flags.skip) == 0, flags.from)
		if err != nil || j == nil {
			return err
		}
		return s.resume(*j, found, flags)
	})
}

// which finds the run that is meant; without a name and with several, a person
// chooses, or it is the latest where that is asked for. nil if there is none, which has
// been said then.
func (s *shift) which(arg string, byAge bool, from string) (*judged, *project.Judgement, error) {
	found, err := s.lookUp(from)
	if err != nil {
		return nil, nil, err
	}
	if here := under(found.Runs, s.below); s.below != "" && len(here) > 0 {
		found.Runs = here
	}
	list, err := candidates(found, arg)
	if err != nil {
		return nil, nil, err
	}
	f := s.newFace(found)
	switch {
	case len(list) == 0:
		s.code = nothingCode(found.Result)
		if s.json {
			return nil, nil, s.writeLine(s.nothingDocument(found.Findings))
		}
		f.nothingToResume(found.Result)
		return nil, nil, nil
	case len(list) == 1:
		return &list[0], found, nil
	case byAge && latest(list) != nil:
		j := latest(list)
		s.tellWaiting(engine.Progress{
			Kind: engine.Noticed, At: found.Observed.Now, Run: j.run.ID,
			Text: fmt.Sprintf("%d runs could be meant; %s was updated last (%s) and is taken", len(list), j.name, f.ago(*j)),
		})
		return j, found, nil
	case !s.asks():
		return nil, nil, &severalError{list: list}
	}
	f.asking = true
	f.candidates(list)
	n, err := s.chooseNumber(s.ctx, len(list))
	if err != nil || n == 0 {
		s.code = exitNeedsAnswer
		if err == nil {
			f.say("Nothing was resumed. `reprise run` starts something new, `reprise resume RUN --fresh` one of them from scratch.")
		}
		return nil, nil, err
	}
	return &list[n-1], found, nil
}

// latest is the run that was updated last, of those that nobody works on and no person
// holds. nil if there is none: a time that is not known, or has not come yet, counts for
// nothing.
func latest(list []judged) *judged {
	var best *judged
	for i := range list {
		j := &list[i]
		if j.d.State == reprise.Running || j.run.OnHold() || j.plan.AgeSeconds == nil {
			continue
		}
		if best == nil || j.run.LastActivity.After(best.run.LastActivity) {
			best = j
		}
	}
	return best
}

func (s *shift) nothingDocument(about []reprise.Finding) report.Summary {
	reason := "nothing is interrupted here"
	if s.code == exitUnreadable {
		reason = "nothing was found, and not everything can be read"
	}
	return report.Summary{
		Schema: report.SummarySchema, Root: s.root, State: reprise.Complete, Action: reprise.Finish, Reasons: []string{reason},
		Finished: []report.WorkStep{}, Failed: []report.WorkStep{}, Skipped: []string{}, Parked: []string{}, Left: []string{}, Questions: []report.Question{}, Findings: append([]report.Finding{}, report.NewFindings(about)...), Exit: s.code,
	}
}

// lookUp judges the project, for whoever wants to begin again at a step if from names
// one. What a dead engine left running is waited for first,
// but by those who only look.
func (s *shift) lookUp(from string) (*project.Judgement, error) {
	opts := project.JudgeOptions{Full: true, From: from, Adopt: s.flags.adopt}
	found, err := s.judge(s.ctx, s.root, opts)
	if err != nil || s.flags.dry || !slices.ContainsFunc(found.Runs, func(r *reprise.Run) bool { return r.Owner != nil && r.Owner.Orphan }) {
		return found, err
	}
	now, err := s.clock()
	if err != nil {
		return nil, err
	}
	e := &engine.Engine{Dir: s.root, Now: now, StopOrphans: s.flags.orphans, Tell: s.tellWaiting}
	if err := e.Await(s.ctx); err != nil {
		if s.json && errors.Is(err, context.Canceled) {
			s.code = s.signalCode()
			doc := s.nothingDocument(nil)
			doc.State, doc.Action = reprise.Running, reprise.Refuse
			doc.Reasons = []string{"it was stopped while what a reprise that is gone left running was waited for; nothing was started"}
			err = errors.Join(err, s.writeLine(doc))
		}
		return nil, err
	}
	return s.judge(s.ctx, s.root, opts)
}

// tellWaiting tells what is waited for, or was chosen, before anything is worked on.
func (s *shift) tellWaiting(p engine.Progress) {
	if s.json {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.Done = 0
		_ = s.writeLine(progressDocument(p))
		return
	}
	s.say("! " + noticeWords(p))
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
	return face{view: view{w: a.out, columns: columns, colour: colour && a.colours(), now: found.Observed.Now}}
}

// modeOf is the mode for a run: the one asked for, else the one it was started
// in, else interactive.
func (s *shift) modeOf(r *reprise.Run) engine.Mode {
	switch {
	case s.flags.mode != "":
		return engine.Mode(s.flags.mode)
	case slices.Contains(modes, r.Mode):
		return engine.Mode(r.Mode)
	}
	return engine.Interactive
}

// resume goes on with one run: asks what has to be asked, works, and says what
// came of it.
func (s *shift) resume(j judged, found *project.Judgement, flags resumeFlags) error {
	if flags.digest != "" {
		if have := j.digest(); have != string(flags.digest) {
			return &engine.StaleError{Want: string(flags.digest), Have: have}
		}
	}
	if gone := j.run.Gone(); gone != nil && j.d.State != reprise.Running && flags.option != "repair" && flags.option != "clean" {
		return &engine.GoneError{Run: j.run.ID, Reason: gone.Message}
	}
	if err := flags.names(j); err != nil {
		return err
	}
	mode := s.modeOf(j.run)
	f := s.newFace(found)
	if done, err := s.refused(&f, j, flags); done || err != nil {
		return err
	}
	choice := flags.choice()
	if flags.dry {
		if choice.Option == "answer" && !s.asks() && len(j.run.PendingQuestions()) > 0 {
			return &waitsError{run: j.run, name: j.name}
		}
	} else {
		var err error
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
	if err := s.trustOrigin(j.run.Ref); err != nil {
		return err
	}
	e, err := s.engine(mode)
	if err != nil || e == nil {
		return err
	}
	if flags.dry {
		return s.preview(e, j.run.Ref, choice)
	}
	s.opens(&f, j, choice)
	if choice.Option == "answer" {
		if ok, err := s.answerFirst(e, j); err != nil || !ok {
			return err
		}
		choice.Option, choice.If = "", ""
	}
	return s.toTheEnd(e, j, choice)
}

// names refuses steps that the run does not have, before anything is touched. What
// is to be left out has to be a step of the files; the work may begin again at any stage
// that it came to, and end behind any that it can come to.
func (f *resumeFlags) names(j judged) error {
	known := func(step string) bool {
		return step == "" || j.run.Step(step) != nil || slices.Contains(j.run.Stages, step) || slices.ContainsFunc(j.d.Units, func(u reprise.Unit) bool { return u.ID == step })
	}
	if !known(f.from) {
		return &stepError{flag: "from", step: f.from, run: j.run}
	}
	if !known(f.until) && !convention.Later(j.run.Kind, f.until) {
		return &stepError{flag: "until", step: f.until, run: j.run}
	}
	for _, step := range f.skip {
		if j.run.Step(step) == nil {
			return &stepError{flag: "skip", step: step, run: j.run}
		}
	}
	if f.option == "from-phase" && f.from == "" {
		return &stepError{flag: "from", run: j.run}
	}
	return f.span(j.run)
}

// span refuses an end that lies before the beginning: what begins again would be taken
// back, and nothing done.
func (f *resumeFlags) span(r *reprise.Run) error {
	from, until := r.Step(f.from), r.Step(f.until)
	if from == nil || until == nil || from.ID == until.ID || comesAfter(r, until, from) {
		return nil
	}
	if until.Status.Closed() || comesAfter(r, from, until) {
		return usageError{fmt.Errorf("resume %s: --until %s does not come after --from %s", r.ID, until.ID, from.ID)}
	}
	return nil
}

// comesAfter reports whether a step of a run comes after another: it needs it or, where
// no step of the run needs any, stands behind it.
func comesAfter(r *reprise.Run, a, b *reprise.Step) bool {
	if !slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return len(s.Needs) > 0 }) {
		place := func(s *reprise.Step) int {
			return slices.IndexFunc(r.Steps, func(o reprise.Step) bool { return o.ID == s.ID })
		}
		return place(a) > place(b)
	}
	seen := map[string]bool{}
	todo := slices.Clone(a.Needs)
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		if id == b.ID {
			return true
		}
		if s := r.Step(id); s != nil && !seen[id] {
			seen[id] = true
			todo = append(todo, s.Needs...)
		}
	}
	return false
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
	if len(ids) == 0 {
		return "its files name no steps yet"
	}
	return "its steps are " + strings.Join(ids, ", ")
}

// finishedError is returned where a finished run is to begin again at a step.
type finishedError struct{ run string }

// Error implements error.
func (e finishedError) Error() string {
	return "resume " + e.run + ": it is finished, no step of it can begin again"
}

// Hint says what can be done.
func (finishedError) Hint() string {
	return "--fresh starts it from scratch; the old state is archived first"
}

// leave is the choice of somebody who wants nothing done.
const leave = "leave"

// refused tells where nothing can be resumed at all.
func (s *shift) refused(f *face, j judged, flags resumeFlags) (bool, error) {
	switch {
	case j.d.Action == reprise.Refuse && j.d.State == reprise.Running:
		s.code = exitHeld
	case j.d.Action == reprise.Finish && flags.from != "" && flags.option != "fresh":
		return true, usageError{finishedError{j.run.ID}}
	case j.d.Action == reprise.Finish && flags.option == "":
		s.code = exitNothing
	default:
		return false, nil
	}
	if s.json {
		doc := s.nothingDocument(nil)
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
