package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine"
	"reprise/project"
	"reprise/report"
)

// optionKeys lists the option keys of all kinds of runs.
func optionKeys() []string {
	return report.Each(reprise.OptionTable(), func(m reprise.OptionMeaning) string { return m.Key })
}

type resumeFlags struct {
	workFlags
	option string
	auto   bool
	from   string
	skip   []string
	fresh  bool
	digest string // a digest shown by check
}

func (a *app) newResume() *cobra.Command {
	var flags resumeFlags
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Resume an interrupted run until it is finished or needs you",
		Long: "Show what was interrupted and the ways to continue, let you choose, and work until\n" +
			"the run is finished, needs an answer, or cannot safely continue.\n\n" +
			"Modes: interactive asks before it starts; preflight shows every file, every step\n" +
			"and the whole plan and waits for the word \"proceed\"; autopilot continues by itself\n" +
			"unless something blocks it. Without RUN: the run that was interrupted, or the\n" +
			"list; in autopilot the one that was updated last, unless a person paused it.\n\n" +
			"Exit code: 0 finished, 1 steps failed for good, 3 nothing interrupted, 10 marked\n" +
			"complete, but something contradicts it, 11 blocked, 12 needs an answer, 13 changed\n" +
			"since --if, 20 held by a live process, 40 its files cannot be read, 75 waits for a\n" +
			"limit, 130 and 143 stopped by a signal, 141 its output was closed.",
		Example: "  reprise resume\n  reprise resume 4.2 --mode autopilot\n  reprise resume 004 --option review\n" +
			"  reprise resume 004 --dry-run\n  reprise resume 4.2 --from implement --until qa",
	}
	a.oneRun(cmd, &flags.dir, func(ctx context.Context, name string) error { return a.resume(ctx, flags, name) })
	flags.workFlags.add(a, cmd)
	f := cmd.Flags()
	f.StringVar(&flags.option, "option", "", "how to continue: "+strings.Join(optionKeys(), ", "))
	f.BoolVar(&flags.auto, "auto-continue", false, "take the default choice without asking")
	f.StringVar(&flags.from, "from", "", "begin again at this step or stage; what failed for good or was skipped is tried again")
	f.StringArrayVar(&flags.skip, "skip", nil, "skip this step (can be repeated)")
	f.BoolVar(&flags.fresh, "fresh", false, "start from scratch; the old state is archived first")
	addIf(cmd, &flags.digest)
	completes(cmd, "option", optionKeys()...)
	return cmd
}

// check rejects flags that cannot be combined.
func (f *resumeFlags) check() error {
	if err := f.workFlags.check(); err != nil {
		return err
	}
	way := "--option " + f.option
	if f.fresh {
		if f.option != "" && f.option != reprise.OptionFresh {
			return misuse("--fresh and --option %s cannot be used together", f.option)
		}
		f.option, way = reprise.OptionFresh, "--fresh"
	}
	means, known := reprise.OptionOf(f.option)
	switch {
	case !known:
		return misuse("--option is %q; it can be %s", f.option, strings.Join(optionKeys(), ", "))
	case f.from != "" && !means.Works:
		return misuse("--from and %s cannot be used together", way)
	case len(f.skip) > 0 && !means.StartsOver && !means.Works:
		return misuse("--skip and %s cannot be used together", way)
	}
	return nil
}

// choice returns what the flags select.
func (f *resumeFlags) choice() engine.Choice {
	return engine.Choice{Option: f.option, From: f.from, Until: f.until, Skip: f.skip, If: f.digest}
}

func (a *app) resume(ctx context.Context, flags resumeFlags, arg string) error {
	if err := flags.check(); err != nil {
		return err
	}
	return a.work(ctx, flags.workFlags, func(s *job) error {
		byAge := flags.mode == string(engine.Autopilot) && flags.option == "" && flags.from == "" && len(flags.skip) == 0
		j, found, err := s.which(arg, byAge, flags.from)
		if err != nil || j == nil {
			return err
		}
		if err := within(found, j.run); err != nil {
			return err
		}
		return s.resume(*j, found, flags)
	})
}

// which finds the run that is meant. Without a name and with several runs, a person
// chooses, or it is the latest if requested. It returns nil, after saying so, if there is
// none.
func (s *job) which(arg string, byAge bool, from string) (*judged, *project.Judgement, error) {
	found, err := s.lookUp(from)
	if err != nil {
		return nil, nil, err
	}
	if here := project.Under(found.Runs, s.below); len(here) > 0 {
		found.Runs = here
	}
	list, err := candidates(found, arg)
	if err != nil {
		return nil, nil, err
	}
	p := s.page(s.out)
	switch {
	case len(list) == 0:
		s.came(found.Nothing().Worse(worst(contested(found))))
		if s.json {
			return nil, nil, s.writeLine(s.noWork(found.Findings))
		}
		p.nothingToResume(found)
		return nil, nil, nil
	case len(list) == 1:
		return &list[0], found, nil
	case byAge:
		if j := latest(list, found); j != nil {
			s.tellBefore(engine.Progress{
				Kind: engine.Noticed, At: found.Observed.Now, Run: j.run.ID,
				Text: fmt.Sprintf("%d runs to choose from; taking %s, updated last (%s)", len(list), j.name, p.ago(*j)),
			})
			return j, found, nil
		}
	}
	if !s.asks() {
		return nil, nil, s.several("resume", list)
	}
	p.asking = true
	p.candidates(list)
	n, err := s.chooseNumber(s.ctx, len(list))
	if err != nil || n == 0 {
		s.came(reprise.OutcomeAsk)
		if err == nil {
			p.say("Nothing was resumed. `reprise run --help` shows how to start something new; --fresh starts one of these from scratch.")
		}
		return nil, nil, err
	}
	return &list[n-1], found, nil
}

// latest returns the run updated last, or nil if unknown.
func latest(list []judged, found *project.Judgement) *judged {
	i := reprise.Latest(report.Each(list, func(j judged) *reprise.Run { return j.run }), found.Decisions, found.Observed)
	if i < 0 {
		return nil
	}
	return &list[i]
}

// noWork returns the summary of a job that worked on nothing, with its exit code.
func (s *job) noWork(about []reprise.Finding) report.Summary {
	reason := "nothing is interrupted here"
	if s.code == exitUnreadable {
		reason = "no runs were found, but not everything can be read"
	}
	return report.Summary{
		Schema: report.SummarySchema, Root: s.root, State: reprise.Complete, Action: reprise.Finish, Reasons: []string{reason},
		Finished: []report.WorkStep{}, Failed: []report.WorkStep{}, Skipped: []string{}, Parked: []string{}, Left: []string{},
		Questions: []report.Question{}, Findings: report.NewFindings(about), Exit: s.code,
	}
}

// lookUp judges the project; from is the step to restart at. It first waits for what a
// dead engine left running, except for commands that only read.
func (s *job) lookUp(from string) (*project.Judgement, error) {
	opts := project.JudgeOptions{Full: true, From: from, Adopt: s.flags.adopt}
	found, err := s.judge(s.ctx, s.root, opts)
	orphaned := func(r *reprise.Run) bool {
		return r.Owner != nil && r.Owner.Orphan || r.Holder != nil && r.Holder.Orphan
	}
	if err != nil || s.flags.dry || !slices.ContainsFunc(found.Runs, orphaned) {
		return found, err
	}
	e := &engine.Engine{Dir: s.root, Now: s.clock, StopOrphans: s.flags.orphans, Tell: s.tellBefore}
	if err := e.Await(s.ctx); err != nil {
		if s.json && errors.Is(err, context.Canceled) {
			s.code = s.interruptCode()
			doc := s.noWork(nil)
			doc.State, doc.Action = reprise.Running, reprise.Refuse
			doc.Reasons = []string{"stopped while waiting for processes that a dead reprise left running; nothing was started"}
			err = errors.Join(err, s.writeLine(doc))
		}
		return nil, err
	}
	return s.judge(s.ctx, s.root, opts)
}

// resume works on one run: it asks what must be asked, works, and reports the result.
func (s *job) resume(j judged, found *project.Judgement, flags resumeFlags) error {
	s.about(j.run, j.name)
	if err := j.as("resume", flags.digest); err != nil {
		return err
	}
	choice, mode := flags.choice(), flags.modeOf(j.run.Mode)
	if gone := j.run.Gone(); gone != nil && j.d.State != reprise.Running && choice.Option != reprise.OptionRepair && choice.Option != reprise.OptionClean {
		return &engine.GoneError{Run: j.run.ID, Reason: gone.Message}
	}
	if err := engine.CheckSteps(choice, j.run, j.d); err != nil {
		return err
	}
	p := s.page(s.out)
	p.ahead = s.ahead()
	if done, err := s.refused(p, j, flags); done || err != nil {
		return err
	}
	if j.run.Behind && !flags.dry && (j.d.Action == reprise.Ask || j.d.Action == reprise.Wait) { // whoever starts something does it too
		e := &engine.Engine{Dir: s.root, Now: s.clock, Adopt: s.flags.adopt}
		if err := e.BringUp(s.ctx, j.run.Ref); err != nil {
			return err
		}
	}
	if choice.Means().Works {
		if err := s.elsewhere("resume", j); err != nil && j.d.Verdict != reprise.BlockedVerdict {
			return err
		}
	}
	wish := engine.Wish{Choice: choice, Mode: mode, Auto: flags.auto, Yes: flags.yes, Asks: s.asks()}
	switch {
	case flags.dry && choice.Option == reprise.OptionAnswer && !s.asks() && len(j.run.PendingQuestions()) > 0:
		return s.unattended(j, engine.NeedsAnswer)
	case flags.dry:
		// If the work would be refused, so is the preview, which takes the same path as
		// the work. Where a person would choose, the default is shown.
		how, taken, err := wish.Approach(j.run, j.d)
		alone, is := errors.AsType[*engine.UnattendedError](err)
		switch {
		case is && alone.Need != engine.NeedsWay:
			return s.unattended(j, alone.Need)
		case err != nil && !is:
			return err
		case how == engine.Go:
			choice = taken
		}
	default:
		var ok bool
		var err error
		if choice, ok, err = s.approach(p, j, wish); err != nil || !ok {
			return err
		}
	}
	switch choice.Option {
	case reprise.OptionClean:
		return s.clean(s.ctx, flags.upkeepFlags, j.name)
	case reprise.OptionRepair:
		return s.repairRun(j, flags)
	}
	if err := s.trustOrigin(j.run.Ref); err != nil {
		return err
	}
	e, err := s.engine(mode)
	if err != nil {
		return err
	}
	if flags.dry {
		preview, err := e.Preview(s.ctx, j.run.Ref, choice)
		if err != nil {
			return err
		}
		return s.showPreview(e, preview)
	}
	s.opens(p, j, choice)
	if choice.Option == reprise.OptionAnswer {
		if err := s.answerFirst(e, j); err != nil {
			return err
		}
		choice.Option, choice.If = "", ""
	}
	return s.carry(e, j, choice)
}

// refused reports that nothing can be resumed at all.
func (s *job) refused(p *page, j judged, flags resumeFlags) (bool, error) {
	running := j.d.Outcome() == reprise.OutcomeHeld
	finished := j.d.Action == reprise.Finish && flags.option == "" && flags.from == ""
	if !running && !finished {
		return false, nil
	}
	s.came(j.d.Outcome())
	if s.json {
		doc := s.noWork(nil)
		doc.Layout, doc.ID, doc.Path, doc.Kind = j.run.Layout, j.run.ID, j.run.Path, string(j.run.Kind)
		doc.State, doc.Action, doc.Reasons = j.d.State, j.d.Action, report.List(j.d.Reasons)
		return true, s.writeLine(doc)
	}
	if s.code == exitHeld {
		p.asking = true
		p.show(j)
		return true, nil
	}
	p.headline(j)
	if !j.d.Contested() {
		p.noticed(j.run.Findings)
	}
	p.gap()
	if j.d.Contested() {
		p.next(s.command("check", j.name))
		return true, nil
	}
	p.say("Nothing is left to do. `reprise status` lists the other runs, `reprise run --help` shows how to start a new one.")
	return true, nil
}

// repairRun repairs a run, like `reprise repair`, and resumes it.
func (s *job) repairRun(j judged, flags resumeFlags) error {
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

// stuck reports whether nothing can be started, chosen or answered until the files of the
// run are changed.
func (j judged) stuck() bool {
	_, _, stuck := j.d.Stuck(j.run)
	return stuck
}

// yourTurn says what a person does where the run is stuck, and what continues after that.
func (s site) yourTurn(j judged) string {
	step, at, _ := j.d.Stuck(j.run)
	what := "do or decide what is open there"
	if step != "" {
		what = "do or decide " + step
	}
	return s.fill(fmt.Sprintf("%s: %s, and mark it in that file; then `reprise resume %s` continues", at, what, quoted(j.name)))
}

// unattended reports that a person must decide something and none can be asked. about is the
// question that is to be answered, none for the first.
func (s *job) unattended(j judged, need engine.Need, about ...reprise.Question) error {
	looks := ""
	if !s.flags.dry {
		looks = "; `" + s.again("--dry-run") + "` only looks"
	}
	var hint string
	if options := j.d.Options(j.run); j.stuck() {
		hint = s.site.yourTurn(j)
	} else if len(options) > 0 && options[0].Key == reprise.OptionAnswer {
		need = engine.NeedsAnswer // that way leads to the same answer
	} else if len(options) > 0 {
		hint = "`" + s.command("resume", j.name, "--option", options[0].Key) + "` takes the first way (" + strconv.Quote(options[0].Label) + "), `" + s.command("check", j.name) + "` shows the other ways" + looks
	} else {
		hint = "`" + s.command("resume", j.name, "--mode", string(engine.Autopilot)) + "` starts it without a question" + looks
	}
	unread := readFirst(j.run)
	switch {
	case unread != "":
		hint = unread + "; `" + s.command("check", j.name) + "` shows the other ways"
	case need == engine.NeedsRelease && !j.stuck():
		options := j.d.Options(j.run)
		if reprise.Offered(options, reprise.OptionContinue) || len(options) == 0 {
			hint = "`" + s.command("resume", j.name, "--option", reprise.OptionContinue) + "` resumes it anyway"
		}
	case need == engine.NeedsAnswer:
		hint = "`" + s.command("answer", j.name) + "` answers it"
		if open := append(about, j.open()...); len(open) > 0 {
			hint = "`" + s.replies(j.name, open) + "` answers it"
			if len(open[0].Options) > 0 {
				hint = "`" + s.command("answer", j.name, "--list") + "` shows a command for each answer"
			}
		}
		hint += ", then `" + s.command("resume", j.name) + "` continues"
		if len(j.d.Options(j.run)) > 1 {
			hint += "; `" + s.command("check", j.name) + "` shows the other ways"
		}
	}
	code := exitNeedsAnswer
	if j.d.Verdict == reprise.BlockedVerdict {
		code = outcomeCodes[j.d.Outcome()]
	}
	return &failure{code: code, hint: hint, err: &engine.UnattendedError{Run: j.run, Need: need, Reason: j.d.Reason()}}
}
