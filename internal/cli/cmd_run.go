package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/flow"
	"reprise/project"
	"reprise/settings"
)

// startable are the kinds of runs that can be started, as the words of the
// command.
var startable = []string{
	string(reprise.KindStory), string(reprise.KindSpecPipeline), string(reprise.KindQALoop), string(reprise.KindEpic),
	string(reprise.KindSpecLoop), string(reprise.KindBuild), string(reprise.KindPlans), string(reprise.KindGraph),
}

type runFlags struct {
	workFlags
	id   string
	path string
}

func (a *app) newRun() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run KIND|FILE [GOAL…]",
		Short: "Start a workflow and carry it to its end",
		Long: "Start a workflow and work until it is finished, an answer is needed, or going on\n" +
			"would be unsafe. KIND is one of " + strings.Join(startable, ", ") + ";\n" +
			"FILE is a workflow of your own (docs/workflows.md). GOAL is what is to be done, in\n" +
			"words; a FILE says it itself. Where the same thing was interrupted before, that is\n" +
			"gone on with: starting and resuming are one and the same, and --id NAME starts\n" +
			"another one beside it. --dry-run shows which files would be made and\n" +
			"what would be started first, with which command and prompt, and changes nothing.\n\n" +
			"Exit codes are those of `reprise resume`.",
		Example: "  reprise run sdc --story docs/stories/4.2.story.md\n  reprise run build --id 005-export 'Export the list as CSV'\n" +
			"  reprise run spec-loop --spec specs/012/spec.md\n  reprise run release.yaml",
		Args: args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return startable, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), flags, args[0], strings.Join(args[1:], " "))
		},
	}
	flags.workFlags.add(a, cmd)
	f := cmd.Flags()
	f.StringVar(&flags.id, "id", "", "the name of the run (default: one is made)")
	for _, name := range []string{"story", "epic", "spec", "path"} {
		f.StringVar(&flags.path, name, "", map[string]string{
			"story": "the story it is about", "epic": "the epic it is about", "spec": "the specification it is about", "path": "the file it is about",
		}[name])
	}
	cmd.MarkFlagsMutuallyExclusive("story", "epic", "spec", "path")
	return cmd
}

func (a *app) run(ctx context.Context, flags runFlags, what, goal string) error {
	if err := flags.check(); err != nil {
		return err
	}
	if err := checkGoal(goal); err != nil {
		return err
	}
	if err := checkID(what, flags.id); err != nil {
		return err
	}
	return a.work(ctx, flags.workFlags, func(s *shift) error {
		if !slices.Contains(startable, what) {
			if goal != "" || flags.path != "" {
				return usageError{fmt.Errorf("run %s: the file says what is to be done; a goal, or another file, cannot be given with it", what)}
			}
			return s.startFlow(what, reprise.Goal{ID: flags.id})
		}
		g := reprise.Goal{Text: goal, ID: flags.id, Path: s.inside(flags.path)}
		if g.Path != "" && !local(g.Path) {
			return usageError{fmt.Errorf("run %s: %s is not in the project", what, flags.path)}
		}
		return s.start(reprise.Kind(what), g)
	})
}

// longestID bounds the name of a run: files are called after it.
const longestID = 100

// checkID refuses what cannot be the name of a run, before anything is made. Runs that
// others began may be called in any script.
func checkID(what, id string) error {
	first, _ := utf8.DecodeRuneInString(id)
	odd := strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) })
	if id == "" || (unicode.IsLetter(first) || unicode.IsDigit(first)) && !odd && fs.ValidPath(id) && len(id) <= longestID {
		return nil
	}
	return &idError{what, id}
}

// idError is returned for what cannot be the name of a run.
type idError struct{ what, id string }

// Error implements error.
func (e *idError) Error() string {
	id := []rune(e.id)
	return fmt.Sprintf("run %s: --id is %q, which cannot be the name of a run", e.what, string(id[:min(len(id), 60)]))
}

// Hint says what can.
func (e *idError) Hint() string { return flow.NameForm }

// Unwrap says that the call is mistaken.
func (e *idError) Unwrap() error { return usageError{errors.New("no name of a run")} }

// local reports whether a slash path stays in the project.
func local(name string) bool { return filepath.IsLocal(filepath.FromSlash(name)) }

// checkGoal refuses text that must not reach a state file.
func checkGoal(goal string) error {
	if goal == "" {
		return nil
	}
	if err := checkAnswer(goal); err != nil {
		return usageError{errors.New(strings.Replace(err.Error(), "the answer", "the goal", 1))}
	}
	return nil
}

// inside gives a path a person typed as one in the project.
func (s *shift) inside(name string) string {
	if name == "" {
		return ""
	}
	if _, err := os.Stat(filepath.Join(s.root, name)); err == nil && !filepath.IsAbs(name) {
		return path.Clean(filepath.ToSlash(name))
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	if rel, err := filepath.Rel(s.root, abs); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(name)
}

// start starts a workflow of a known kind.
func (s *shift) start(kind reprise.Kind, g reprise.Goal) error {
	layout := ""
	for _, e := range convention.All() {
		if e.Playbooks[kind] != nil {
			layout = e.Name()
		}
	}
	if layout == "" {
		return &convention.UnknownKindError{Kind: kind}
	}
	if g.Text == "" && g.ID == "" && g.Path == "" && kind != reprise.KindPlans {
		return usageError{fmt.Errorf("run %s: say what is to be done: GOAL, --id or a file", kind)}
	}
	return s.begin(beginning{
		goal: &g, kind: kind,
		same: func(r *reprise.Run) bool { return sameGoal(r, g) },
		make: func(e *engine.Engine) (reprise.Ref, error) { return e.Begin(s.ctx, layout, kind, g) },
		preview: func(e *engine.Engine, c engine.Choice) (*engine.Preview, error) {
			return e.PreviewBegin(s.ctx, layout, kind, g, c)
		},
	})
}

// sameGoal reports whether a run is about what a person asks for.
func sameGoal(r *reprise.Run, g reprise.Goal) bool {
	switch {
	case g.ID != "":
		return r.ID == g.ID
	case g.Path != "":
		return r.Path == g.Path || strings.HasPrefix(g.Path, r.Path+"/") || slices.ContainsFunc(r.Also, func(also reprise.Ref) bool { return also.Path == g.Path })
	case g.Text != "":
		return strings.EqualFold(strings.TrimSpace(r.Title), strings.TrimSpace(g.Text))
	}
	return true
}

// startFlow starts a workflow of the person's own.
func (s *shift) startFlow(what string, g reprise.Goal) error {
	name := s.inside(what)
	if _, err := os.Stat(filepath.FromSlash(name)); err == nil && !local(name) {
		return usageError{fmt.Errorf("run %s: the file must be in the project", what)}
	}
	w, hash, err := s.readFlow(s.flowPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("%q is no workflow and no file; the workflows are %s", what, strings.Join(startable, ", "))}
	}
	if err != nil {
		return err
	}
	if until := s.flags.until; until != "" && w.Step(until) == nil {
		e := &untilError{what: what, step: until}
		for _, st := range w.Steps() {
			e.steps = append(e.steps, st.ID)
		}
		return e
	}
	if g.ID != "" && !flow.IsName(g.ID) {
		return &idError{what, g.ID}
	}
	if err := s.trustFlow(name, w, hash); err != nil {
		return err
	}
	return s.begin(beginning{
		goal: &g, kind: reprise.KindGraph, stepsKnown: true,
		same: func(r *reprise.Run) bool {
			if g.ID != "" {
				return r.ID == g.ID
			}
			file, _ := s.originOf(r.Ref)
			return file == name
		},
		fits: func(r *reprise.Run) error {
			if file, _ := s.originOf(r.Ref); file != name {
				return usageError{fmt.Errorf("run %s: the run %s is of %s; give this one another name with --id", what, r.ID, cmp.Or(file, "no workflow file"))}
			}
			return nil
		},
		make: func(e *engine.Engine) (reprise.Ref, error) { return e.BeginFlow(s.ctx, w, name, hash, g) },
		preview: func(e *engine.Engine, c engine.Choice) (*engine.Preview, error) {
			return e.PreviewFlow(s.ctx, w, name, hash, g, c)
		},
	})
}

// beginning is how a run of one kind comes to be.
type beginning struct {
	goal *reprise.Goal // what the rest is about
	kind reprise.Kind
	same func(*reprise.Run) bool // a run of the kind is the one that is asked for
	// fits tells why the run of this name is not the one that is asked for; nil if
	// any is.
	fits func(*reprise.Run) error
	make func(*engine.Engine) (reprise.Ref, error)
	// preview changes nothing.
	preview    func(*engine.Engine, engine.Choice) (*engine.Preview, error)
	stepsKnown bool // what --until names is one of its steps
}

// begin makes the run, or finds the one that was interrupted, and works on it.
func (s *shift) begin(b beginning) error {
	found, err := s.lookUp("")
	if err != nil {
		return err
	}
	b.goal.ID = wholeID(found.Runs, b.kind, b.goal.ID)
	for _, r := range found.Runs {
		if b.fits != nil && r.Kind == b.kind && r.ID == b.goal.ID {
			if err := b.fits(r); err != nil {
				return err
			}
		}
	}
	list, err := candidates(found, "")
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(j judged) bool { return j.run.Kind != b.kind || !b.same(j.run) })
	switch {
	case len(list) == 1:
		return s.insteadOfSecond(list[0], found, resumeFlags{workFlags: s.flags})
	case len(list) > 1:
		return &severalError{list: list}
	}
	mode := engine.Interactive
	if s.flags.mode != "" {
		mode = engine.Mode(s.flags.mode)
	}
	e, err := s.engine(mode)
	if err != nil || e == nil {
		return err
	}
	choice := engine.Choice{Until: s.flags.until}
	preflight := mode == engine.Preflight && !s.flags.yes
	if s.flags.dry || preflight || choice.Until != "" && !b.stepsKnown {
		p, err := b.preview(e, choice)
		if err == nil && !b.stepsKnown {
			err = until(p, choice.Until)
		}
		if err != nil {
			return err
		}
		if s.flags.dry {
			return s.showPreview(e, p)
		}
		if preflight {
			if agreed, err := s.preflight(found, p); !agreed || err != nil {
				return err
			}
		}
	}
	ref, err := b.make(e)
	if err != nil {
		return err
	}
	// It is there now and is gone on with like any other. Whoever typed the
	// command wants it started; a pre-flight check has asked already.
	if found, err = s.judge(s.ctx, s.root, project.JudgeOptions{Full: true, Adopt: s.flags.adopt}); err != nil {
		return err
	}
	j, err := judgedRef(found, ref)
	if err != nil {
		return err
	}
	s.warnOfLock(found, j)
	return s.toTheEnd(e, j, choice)
}

// warnOfLock has it said before anything is started that git's index is locked: what
// is made could not be committed.
func (s *shift) warnOfLock(found *project.Judgement, j judged) {
	locks := slices.DeleteFunc(slices.Clone(j.run.Findings), func(f reprise.Finding) bool { return f.Code != reprise.CodeIndexLock })
	if len(locks) > 0 {
		s.opening = func() {
			f := s.newFace(found)
			f.listFindings("Warnings:", locks, reprise.Warning)
			f.gap()
		}
	}
}

// wholeID gives the id of the run of a kind that is listed under a name; a name that
// no run has is that of a new one.
func wholeID(runs []*reprise.Run, kind reprise.Kind, name string) string {
	if slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r.Kind == kind && r.ID == name }) {
		return name
	}
	for r, short := range reprise.Names(runs) {
		if r.Kind == kind && short == name {
			return r.ID
		}
	}
	return name
}

// preflight shows what starting a run would do, and wants the word. Nothing of the
// run is made before.
func (s *shift) preflight(found *project.Judgement, p *engine.Preview) (agreed bool, err error) {
	if !s.asks() {
		return false, unattended{p.Run.ID}
	}
	if p.Decision.Verdict == reprise.BlockedVerdict {
		return false, &engine.UnsafeError{Run: p.Run.ID, Reasons: p.Decision.Reasons}
	}
	f := s.newFace(found)
	f.banner("Pre-flight: " + kinds[p.Run.Kind] + " " + plain(p.Run.ID))
	f.workPreview(p)
	if len(p.Steps) > 0 {
		f.para("Steps: ", strings.Join(p.Steps, ", "), linesMessage)
	}
	f.say("Type \"proceed\" to start it; anything else leaves it.")
	return s.saysProceed(&f)
}

// until refuses a step that a run would not come to, before anything is made.
func until(p *engine.Preview, step string) error {
	if step == "" || slices.Contains(p.Steps, step) || convention.Later(p.Run.Kind, step) {
		return nil
	}
	return &untilError{what: string(p.Run.Kind), step: step, steps: p.Steps, more: convention.Grows(p.Run.Kind)}
}

// untilError is returned for a last step that a run does not have.
type untilError struct {
	what, step string
	steps      []string
	more       bool // others come with the work
}

// Error implements error.
func (e *untilError) Error() string {
	return fmt.Sprintf("run %s: --until is %q, and it has no such step", e.what, e.step)
}

// Hint lists the steps.
func (e *untilError) Hint() string {
	var parts []string
	if n := len(e.steps); n > 20 {
		parts = append(parts, "its steps are "+strings.Join(e.steps[:20], ", ")+", …")
	} else if n > 0 {
		parts = append(parts, "its steps are "+strings.Join(e.steps, ", "))
	}
	if e.more {
		parts = append(parts, "those that the work plans are known later: `reprise resume RUN --until STEP`")
	}
	return strings.Join(parts, "; ")
}

// Unwrap says that the call is mistaken.
func (e *untilError) Unwrap() error { return usageError{errors.New("no such step")} }

// insteadOfSecond says that the same thing was interrupted, and goes on with it
// rather than starting a second one.
func (s *shift) insteadOfSecond(j judged, found *project.Judgement, flags resumeFlags) error {
	if !s.json {
		f := s.newFace(found)
		f.say(fmt.Sprintf("%s was begun before (%s); a second one would do its work twice.", subject(j.run), f.since(j)))
		f.gap()
	}
	return s.resume(j, found, flags)
}

// judgedRef finds a run that was just made.
func judgedRef(found *project.Judgement, ref reprise.Ref) (judged, error) {
	names := reprise.Names(found.Runs)
	for _, r := range found.Runs {
		if r.Layout == ref.Layout && (r.Path == ref.Path || slices.ContainsFunc(r.Also, func(also reprise.Ref) bool { return also.Path == ref.Path })) {
			return newJudged(r, names[r], found), nil
		}
	}
	return judged{}, fmt.Errorf("start %s: it was made at %s and is not found there", ref.ID, ref.Path)
}

// readFlow reads a workflow file.
func (s *shift) readFlow(name string) (*flow.Workflow, reprise.Hash, error) {
	return engine.ReadFlow(name, settings.KeptFolder(s.env))
}

// flowPath is the place of a workflow file, as trust names it.
func (s *shift) flowPath(name string) string {
	return filepath.Join(s.root, filepath.FromSlash(name))
}

// trustFlow asks whether the commands of a workflow file may be started, once
// for each content. A dry run asks nobody: it would write the answer down.
func (s *shift) trustFlow(name string, w *flow.Workflow, hash reprise.Hash) error {
	trust, err := s.trusts()
	if err != nil {
		return err
	}
	if !trust.Trusted(s.flowPath(name), hash) {
		u := s.untrustedFlow(name, w, hash)
		if s.flags.dry && !s.flags.trust {
			return &untrustedError{Untrusted: u}
		}
		if err := s.askTrust(trust, u); err != nil {
			return err
		}
	}
	if s.flags.dry {
		return nil
	}
	// Also of one that was trusted long ago: another build of the program may have
	// kept it.
	if err := engine.KeepFlow(settings.KeptFolder(s.env), w, hash); err != nil {
		// What is kept only spares time.
		fmt.Fprintf(s.err, "reprise: %s is read anew every time: %s\n", plain(name), plain(err.Error()))
	}
	return nil
}

// untrustedFlow says what a workflow file would start.
func (s *shift) untrustedFlow(name string, w *flow.Workflow, hash reprise.Hash) *settings.Untrusted {
	u := &settings.Untrusted{Path: s.flowPath(name), Hash: hash}
	for _, st := range w.Steps() {
		for _, command := range [][]string{st.Command, st.Verify} {
			if len(command) > 0 {
				u.Starts = append(u.Starts, settings.Start{Agent: settings.Agent{Name: "step " + st.ID, Command: command, Env: st.Env}})
			}
		}
	}
	return u
}
