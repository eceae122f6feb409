package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/demo"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
)

type demoFlags struct {
	layout string
	dir    string
	keep   bool
	pause  time.Duration

	interrupted bool
}

func (a *app) newDemo() *cobra.Command {
	var flags demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start a workflow, kill it with SIGKILL, and watch it finish",
		Long: "Start a workflow in a scratch folder, kill the engine with SIGKILL in the middle of\n" +
			"a step, show what is left, finish it, and prove from the journal and the\n" +
			"agents' own log that no finished step ran twice.\n\n" +
			"The agents are played by this program: no model, no network, nothing outside the\n" +
			"scratch folder is read or changed. Exit code 0 only if the proof holds.",
		Example: "  reprise demo\n  reprise demo --convention autoclaude\n  reprise demo --interrupted --dir lab\n  reprise demo --json --keep=false",
		Args:    args(cobra.NoArgs),
		RunE: a.guarded(func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), flags)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&a.json, "json", false, "print only the result (schema/demo.v1.json)")
	f.StringVar(&flags.layout, "convention", demo.Plays()[0].Layout, "a workflow of this convention: "+strings.Join(convention.Names(), ", "))
	f.StringVar(&flags.dir, "dir", "", "play in this folder, which must be empty or missing (default: a temporary one)")
	f.BoolVar(&flags.keep, "keep", true, "keep the folder, so that you can look around in it")
	f.BoolVar(&flags.interrupted, "interrupted", false, "stop after the kill and leave an interrupted project to try things on")
	cmd.MarkFlagsMutuallyExclusive("interrupted", "keep")
	cmd.MarkFlagsMutuallyExclusive("interrupted", "json")
	f.DurationVar(&flags.pause, "pause", 500*time.Millisecond, "how long each agent works")
	completes(cmd, "convention", convention.Names()...)
	return cmd
}

// performance is one demo in progress.
type performance struct {
	*app
	*page
	play    demo.Play
	scene   *demo.Scene
	program string
	part    int
	unseen  bytes.Buffer // hidden output, shown if something goes wrong
	left    []string     // processes that outlived the engine
}

func (a *app) demo(ctx context.Context, flags demoFlags) error {
	play, ok := demo.PlayOf(flags.layout)
	if !ok {
		return misuse("--convention is %q; it can be %s", flags.layout, strings.Join(convention.Names(), ", "))
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	began := time.Now()
	scene, err := demo.Set(play, flags.dir, program, flags.pause)
	if has[*demo.OccupiedError](err) {
		return misuse("%w", err)
	}
	if err != nil {
		return fmt.Errorf("set the demo up: %w", err)
	}
	d := &performance{app: a, page: a.page(a.out), play: play, scene: scene, program: program}
	if a.json {
		d.w = &d.unseen
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-a.unread:
			cancel()
		case <-ctx.Done():
		}
	}()
	doc, err := d.perform(ctx, flags.interrupted)
	if err != nil && a.isUnread() {
		err = context.Canceled // however its parts ended when there was no one to write to
	}
	if !flags.keep {
		err = errors.Join(err, scene.Remove())
	}
	if errors.Is(err, context.Canceled) {
		if a.code = a.interruptCode(); a.isUnread() {
			a.code, d.w = exitUnread, a.err
		}
		d.line("")
		d.say("Stopped. " + map[bool]string{true: "What there is stays in ", false: "Nothing is left of "}[flags.keep] + plain(scene.Dir) + ".")
		return nil
	}
	if err != nil {
		if a.json {
			fmt.Fprintf(a.err, "%s", d.unseen.Bytes())
		}
		return err
	}
	if flags.interrupted {
		return nil
	}
	doc.Kept, doc.Seconds = flags.keep, time.Since(began).Seconds()
	if !doc.Proven {
		a.code = exitUnexpected
	}
	doc.Exit = a.code
	if a.json {
		return a.writeJSON(a.out, doc)
	}
	d.farewell(doc)
	return nil
}

// perform plays all parts and reports the result. An interrupted demo has only a
// beginning and proves nothing.
func (d *performance) perform(ctx context.Context, interrupted bool) (*report.Demo, error) {
	title := "A run is started, killed with SIGKILL, and finished."
	if interrupted {
		title = "A run is started and killed with SIGKILL. Finish it yourself."
	}
	d.line("%s", d.paint(bold, title))
	d.say("This program plays the agents, without a model. Everything happens in " + plain(d.scene.Dir) + ".")
	d.chapter("A workflow is started: " + d.play.Title + ".")
	killed, err := d.startAndKill(ctx)
	if err != nil {
		return nil, err
	}
	if interrupted {
		d.chapter("Continue here:")
		d.line("")
		d.line("%s", d.paint(faint, "$ ")+d.paint(cyan, "cd "+commandWords([]string{d.scene.Project})))
		d.line("%s", d.paint(faint, "$ ")+d.paint(cyan, "reprise check"))
		return nil, nil
	}
	d.chapter("What is left is on disk, and nowhere else.")
	for _, args := range [][]string{{"status"}, {"check"}} {
		if err := d.show(ctx, args, exitOK, exitCaution); err != nil {
			return nil, err
		}
	}
	d.chapter("It continues where it stopped.")
	ends := []int{exitOK}
	if len(d.play.Person) > 0 {
		ends = append(ends, exitNeedsAnswer)
	}
	if err := d.show(ctx, []string{"resume", "--mode", string(engine.Autopilot)}, ends...); err != nil {
		return nil, err
	}
	for _, c := range d.play.Person {
		d.line("")
		d.say(c.Why)
		if err := d.show(ctx, c.Args, exitOK); err != nil {
			return nil, err
		}
	}
	return d.prove(ctx, killed)
}

// chapter begins a part.
func (d *performance) chapter(text string) {
	d.part++
	d.line("")
	for i, l := range wrap(strconv.Itoa(d.part)+". "+text, d.columns-3) {
		if i > 0 {
			l = "   " + l
		}
		d.line("%s", d.paint(bold, l))
	}
}

// child is a call of this program in the project, displayed as a person would type it.
func (d *performance) child(ctx context.Context, args []string) *exec.Cmd {
	d.line("")
	d.line("%s", d.paint(faint, "$ ")+d.paint(cyan, "reprise "+commandWords(args)))
	cmd := exec.CommandContext(ctx, d.program, args...)
	cmd.Dir = d.scene.Project
	cmd.Env = append(d.scene.Environ(os.Environ()), "COLUMNS="+strconv.Itoa(d.columns))
	cmd.Stdout, cmd.Stderr = d.w, d.app.err
	if d.json {
		cmd.Stderr = d.w
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// show runs one command, which must exit with one of these codes.
func (d *performance) show(ctx context.Context, args []string, codes ...int) error {
	cmd := d.child(ctx, args)
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if cmd.ProcessState == nil {
		return err
	}
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(codes, code) {
		return fmt.Errorf("play %s: `reprise %s` ended with %d", d.play.Layout, args[0], code)
	}
	return nil
}

// startAndKill starts the run and kills its engine in the middle of a step.
func (d *performance) startAndKill(ctx context.Context) (demo.Moment, error) {
	args := append([]string{"run"}, d.play.Run...)
	cmd := d.child(ctx, append(args, "--mode", string(engine.Autopilot), "--trust"))
	// Plain lines instead of a live view, which a killed process could not remove.
	cmd.Stdout = struct{ io.Writer }{d.w}
	if err := cmd.Start(); err != nil {
		return demo.Moment{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-ended:
			tick.Stop()
			if ctx.Err() != nil {
				return demo.Moment{}, ctx.Err()
			}
			return demo.Moment{}, fmt.Errorf("play %s: the run ended before it could be killed", d.play.Layout)
		case <-tick.C:
		}
		if ready, err := d.halfway(ctx); err == nil && ready {
			tick.Stop()
			break
		}
	}
	time.Sleep(100 * time.Millisecond) // for a line about it
	if err := cmd.Process.Kill(); err != nil {
		return demo.Moment{}, err
	}
	<-ended
	d.line("%s", d.paint(red, "✗ kill -9 "+strconv.Itoa(cmd.Process.Pid))+": the engine is dead, "+d.play.Hold+" was halfway")
	return d.moment(ctx)
}

// halfway reports whether the step to be cut off is in progress and all steps that should
// be finished by then are.
func (d *performance) halfway(ctx context.Context) (bool, error) {
	if !d.scene.Held() {
		return false, nil
	}
	run, events, err := d.journal(ctx)
	if err != nil {
		return false, err
	}
	for _, step := range d.play.After {
		if !slices.ContainsFunc(events, func(ev reprise.Event) bool { return ev.Kind == reprise.StepFinished && ev.Step == step }) {
			return false, nil
		}
		// The files follow the journal; a kill in between would be another demo.
		if s := run.Step(step); s != nil && !s.Status.Closed() {
			return false, nil
		}
	}
	return true, nil
}

// moment records how far the run had come, and waits until all of its processes are gone.
func (d *performance) moment(ctx context.Context) (demo.Moment, error) {
	_, events, err := d.journal(ctx)
	if err != nil {
		return demo.Moment{}, err
	}
	launches, err := d.scene.Launches()
	if err != nil {
		return demo.Moment{}, err
	}
	began := time.Now()
	for d.look(launches); len(d.left) > 0 && time.Since(began) < 5*time.Second; d.look(launches) {
		time.Sleep(10 * time.Millisecond)
	}
	if demo.SeesProcesses && len(d.left) == 0 {
		d.line("  Its agent ended with it: no process was left %d ms later.", time.Since(began).Milliseconds())
	}
	return demo.Moment{Events: len(events), Launches: len(launches)}, nil
}

func (d *performance) look(launches []demo.Launch) {
	d.left = nil
	for _, p := range demo.Left(launches) {
		d.left = append(d.left, p.String())
	}
}

// journal reads the run and its recorded events.
func (d *performance) journal(ctx context.Context) (*reprise.Run, []reprise.Event, error) {
	res, err := project.Read(ctx, d.scene.Project, project.Options{Layouts: []string{d.play.Layout}})
	if err != nil {
		return nil, nil, err
	}
	if len(res.Runs) != 1 {
		return nil, nil, fmt.Errorf("play %s: there are %d runs where one was started", d.play.Layout, len(res.Runs))
	}
	store, err := durable.Open(d.scene.Project, durable.Options{})
	if err != nil {
		return nil, nil, err
	}
	entries, _, err := journal.Read(store, journal.Name(res.Runs[0].Ref))
	if err != nil {
		return nil, nil, err
	}
	return res.Runs[0], report.Each(entries, func(e journal.Entry) reprise.Event { return e.Event }), nil
}

// prove compares the journal with what the agents reported.
func (d *performance) prove(ctx context.Context, killed demo.Moment) (*report.Demo, error) {
	_, events, err := d.journal(ctx)
	if err != nil {
		return nil, err
	}
	launches, err := d.scene.Launches()
	if err != nil {
		return nil, err
	}
	var opts project.JudgeOptions
	opts.Now, opts.Full = time.Now(), true
	found, err := project.Judge(ctx, d.scene.Project, opts)
	if err != nil {
		return nil, err
	}
	proof := demo.Prove(events, launches, killed)
	doc := &report.Demo{
		Schema: report.DemoSchema, Layout: d.play.Layout, Dir: d.scene.Dir, Project: d.scene.Project, State: reprise.Unreadable,
		Processes: report.List(d.left), Problems: report.List(proof.Problems),
		Steps: report.Each(proof.Steps, func(s demo.StepProof) report.DemoStep {
			return report.DemoStep{
				ID: s.ID, Launches: s.Launches, Finished: s.Finished, FinishedBefore: s.Before, CutOff: s.CutOff, Asked: s.Asked, Resolution: s.Resolution, Why: s.Why,
			}
		}),
	}
	for _, r := range found.Runs {
		doc.Run, doc.State = r.ID, found.Decisions[r].State
	}
	if doc.State != reprise.Complete {
		doc.Problems = append(doc.Problems, "the run is not complete but "+words(doc.State))
	}
	d.look(launches)
	doc.Processes = append(doc.Processes, d.left...)
	if len(doc.Processes) > 0 {
		doc.Problems = append(doc.Problems, "a process was left: "+doc.Processes[0])
	}
	doc.Proven = len(doc.Problems) == 0
	d.showProof(doc)
	return doc, nil
}

// showProof prints the table and what follows from it.
func (d *performance) showProof(doc *report.Demo) {
	d.chapter("The proof, from the journal and the agents' own log.")
	d.line("")
	wide := max(len("STEP"), widest(doc.Steps, func(s report.DemoStep) string { return plain(s.ID) }))
	d.line("  %s", d.paint(faint, pad("STEP", wide)+"  LAUNCHED  FINISHED"))
	cut := ""
	for _, s := range doc.Steps {
		launched, note := strconv.Itoa(s.Launches), ""
		if s.Launches == 0 {
			launched = "-"
		}
		switch {
		case s.CutOff:
			note = "cut off by the kill; " + s.Resolution + ": " + s.Why
			cut = s.ID + ", " + s.Resolution
		case s.FinishedBefore:
			note = "before the kill, and not again"
		case s.Asked:
			note = "asked a person"
		case s.Launches == 0:
			note = "without an agent"
		}
		row := fmt.Sprintf("  %s  %8s  %8d", pad(plain(s.ID), wide), launched, s.Finished)
		room := d.columns - width(row) - 2
		if note == "" {
			d.line("%s", row)
		}
		for _, l := range wrap(plain(note), max(20, room)) {
			d.line("%s  %s", row, l)
			row = strings.Repeat(" ", width(row))
		}
	}
	d.line("")
	if !doc.Proven {
		for _, p := range doc.Problems {
			d.line("%s", d.paint(red, "✗ ")+fit(plain(p), d.columns-2))
		}
		return
	}
	once := "Every step was accepted as finished once, and once only."
	if slices.ContainsFunc(doc.Steps, func(s report.DemoStep) bool { return s.Asked }) {
		once = "Every step was accepted as finished once, or asked a person."
	}
	lines := []string{
		once,
		"No step that was finished before the kill was started again.",
		"What was cut off was settled by an event: " + plain(cut) + ".",
		"The run is complete, and no process is left.",
	}
	if !demo.SeesProcesses {
		lines[3] = "The run is complete. (Processes cannot be looked for on this system.)"
	}
	for _, l := range lines {
		d.line("%s", d.paint(green, "✓ ")+l)
	}
}

// farewell says how long it took, and where to look.
func (d *performance) farewell(doc *report.Demo) {
	d.line("")
	d.line("That took %.1f s. The other workflows:", doc.Seconds)
	for _, p := range demo.Plays() {
		if p.Layout != d.play.Layout {
			d.line("  reprise demo --convention %-11s  %s", p.Layout, p.Title)
		}
	}
	if doc.Kept {
		d.line("Everything is still there: cd %s", quoted(doc.Project))
	}
}
