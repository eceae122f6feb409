package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine"
	"reprise/flow"
	"reprise/playbook"
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
			"words. Where the same thing was interrupted before, that is gone on with: starting\n" +
			"and resuming are one and the same. --dry-run shows which files would be made and\n" +
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
	return a.work(ctx, flags.workFlags, func(s *shift) error {
		g := reprise.Goal{Text: goal, ID: flags.id, Path: s.inside(flags.path)}
		if slices.Contains(startable, what) {
			return s.start(reprise.Kind(what), g)
		}
		return s.startFlow(what, g)
	})
}

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
	for _, e := range playbook.All() {
		if e.Kind == kind {
			layout = e.Layout
			break
		}
	}
	if layout == "" {
		return &playbook.UnknownKindError{Kind: kind}
	}
	if g.Text == "" && g.ID == "" && g.Path == "" && kind != reprise.KindPlans {
		return usageError{fmt.Errorf("run %s: say what is to be done: GOAL, --id or a file", kind)}
	}
	return s.begin(beginning{
		same: func(r *reprise.Run) bool { return r.Kind == kind && sameGoal(r, g) },
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
	w, hash, err := s.readFlow(s.flowPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("%q is no workflow and no file; the workflows are %s", what, strings.Join(startable, ", "))}
	}
	if err != nil {
		return err
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return usageError{fmt.Errorf("run %s: the file must be in the project", what)}
	}
	if err := s.trustFlow(name, w, hash); err != nil {
		return err
	}
	return s.begin(beginning{
		same: func(r *reprise.Run) bool { return r.Kind == reprise.KindGraph && g.ID != "" && r.ID == g.ID },
		make: func(e *engine.Engine) (reprise.Ref, error) { return e.BeginFlow(s.ctx, w, name, hash, g) },
		preview: func(e *engine.Engine, c engine.Choice) (*engine.Preview, error) {
			return e.PreviewFlow(s.ctx, w, name, hash, g, c)
		},
	})
}

// beginning is how a run of one kind comes to be.
type beginning struct {
	same    func(*reprise.Run) bool // a run is the one that is asked for
	make    func(*engine.Engine) (reprise.Ref, error)
	preview func(*engine.Engine, engine.Choice) (*engine.Preview, error) // changes nothing
}

// begin makes the run, or finds the one that was interrupted, and works on it.
func (s *shift) begin(b beginning) error {
	found, err := s.judge(s.ctx, s.root, project.JudgeOptions{Full: true})
	if err != nil {
		return err
	}
	list, err := candidates(found, "")
	if err != nil {
		return err
	}
	flags := resumeFlags{workFlags: s.flags}
	if i := slices.IndexFunc(list, func(j judged) bool { return b.same(j.run) }); i >= 0 {
		return s.insteadOfSecond(list[i], found, flags)
	}
	mode := engine.Interactive
	if s.flags.mode != "" {
		mode = engine.Mode(s.flags.mode)
	}
	e, err := s.engine(mode)
	if err != nil || e == nil {
		return err
	}
	if s.flags.dry {
		p, err := b.preview(e, engine.Choice{Until: s.flags.until})
		if err != nil {
			return err
		}
		return s.showPreview(e, p)
	}
	ref, err := b.make(e)
	if err != nil {
		return err
	}
	// It is there now and is gone on with like any other. Whoever typed the
	// command wants it started; only a pre-flight check asks once more.
	if found, err = s.judge(s.ctx, s.root, project.JudgeOptions{Full: true}); err != nil {
		return err
	}
	j, err := judgedRef(found, ref)
	if err != nil {
		return err
	}
	choice := engine.Choice{Until: s.flags.until}
	if mode == engine.Preflight && !s.flags.yes {
		if !s.asks() {
			return unattended{j.name}
		}
		f := s.newFace(found)
		f.asking, f.preflight = true, true
		f.check(j)
		if choice, err = s.proceed(&f, j, choice); err != nil || choice.Option == leave {
			return err
		}
	}
	choice.Option = ""
	return s.toTheEnd(e, j, choice)
}

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
	trust, err := settings.OpenTrust(settings.TrustFile(s.env))
	if err != nil {
		return err
	}
	if !trust.Trusted(s.flowPath(name), hash) {
		u := s.untrustedFlow(name, w, hash)
		if s.flags.dry && !s.flags.trust {
			return &untrustedError{u}
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
