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
)

// startable lists the kinds of runs that can be started, as command words.
func startable() (words []string) {
	for _, k := range reprise.Kinds() {
		if k.Startable {
			words = append(words, string(k.Kind))
		}
	}
	return words
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
		Short: "Start a workflow and work until it is finished",
		Long: "Start a workflow and work until it is finished, needs an answer, or cannot safely\n" +
			"continue. KIND is one of\n" + strings.Join(startable(), ", ") + ";\n" +
			"FILE is a workflow of your own (docs/reference/workflows.md). GOAL says in words what\n" +
			"is to be done; a FILE contains it. If the same work was interrupted before, it is\n" +
			"resumed; --id NAME starts another run beside it. --dry-run shows which files would be\n" +
			"created and what would be started first, with command and prompt, and changes nothing.\n\n" +
			"Exit codes are those of `reprise resume`.",
		Example: "  reprise run sdc --story docs/stories/4.2.story.md\n  reprise run build --id 005-export 'Export the list as CSV'\n" +
			"  reprise run spec-loop --spec specs/012/spec.md\n  reprise run release.yaml",
		Args: args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return startable(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), flags, args[0], strings.Join(args[1:], " "))
		},
	}
	flags.workFlags.add(a, cmd)
	f := cmd.Flags()
	f.StringVar(&flags.id, "id", "", "the name of the run (default: generated)")
	for _, name := range []string{"story", "epic", "spec", "path"} {
		f.StringVar(&flags.path, name, "", map[string]string{
			"story": "the story to work on", "epic": "the epic to work on", "spec": "the specification to work on", "path": "the file or folder to work on",
		}[name])
	}
	cmd.MarkFlagsMutuallyExclusive("story", "epic", "spec", "path")
	return cmd
}

func (a *app) run(ctx context.Context, flags runFlags, what, goal string) error {
	if err := flags.check(); err != nil {
		return err
	}
	if err := reprise.CheckText(goal); goal != "" && err != nil {
		return misuse("the goal %w", err)
	}
	if flags.id != "" && !isID(flags.id) {
		return badID(what, flags.id)
	}
	a.starts = !around(flags.dir, what)
	return a.work(ctx, flags.workFlags, func(s *job) error {
		if !slices.Contains(startable(), what) {
			if goal != "" || flags.path != "" {
				return misuse("run %s: the file says what to do; it takes no goal and no other file", what)
			}
			return s.startFlow(what, reprise.Goal{ID: flags.id})
		}
		g := reprise.Goal{Text: goal, ID: flags.id, Path: s.inside(flags.path)}
		if g.Path != "" && !local(g.Path) {
			return misuse("run %s: %s is not in the project", what, flags.path)
		}
		return s.start(reprise.Kind(what), g)
	})
}

// around reports whether a workflow file is not in a folder but in the project around it,
// which is then where it is started.
func around(dir, file string) bool {
	root, _ := project.Locate(dir)
	abs, err := filepath.Abs(file)
	if err != nil || root == dir || slices.Contains(startable(), file) {
		return false
	}
	there := func(base, name string) bool {
		_, err := os.Stat(filepath.Join(base, name))
		return filepath.IsLocal(name) && err == nil
	}
	in, err := filepath.Rel(root, abs)
	return !there(dir, file) && (there(root, file) || err == nil && there(root, in))
}

// longestID limits the length of a run's id, which is used in file names.
const longestID = 100

// isID reports whether a text can be the id of a run. Runs begun by others may use any
// script.
func isID(id string) bool {
	first, _ := utf8.DecodeRuneInString(id)
	odd := strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) })
	return (unicode.IsLetter(first) || unicode.IsDigit(first)) && !odd && fs.ValidPath(id) && len(id) <= longestID
}

func badID(what, id string) error {
	short := []rune(id)
	return fail(exitUsage, flow.NameForm, "run %s: --id is %q, which cannot be the name of a run", what, string(short[:min(len(short), 60)]))
}

// local reports whether a slash path stays in the project.
func local(name string) bool { return filepath.IsLocal(filepath.FromSlash(name)) }

// inside converts a path that a person typed to one in the project.
func (s *job) inside(name string) string {
	if name == "" {
		return ""
	}
	if _, err := os.Stat(filepath.Join(s.root, name)); err == nil && filepath.IsLocal(name) {
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
func (s *job) start(kind reprise.Kind, g reprise.Goal) error {
	layout := ""
	for _, e := range convention.All() {
		if e.Playbooks[kind] != nil {
			layout = e.Name()
		}
	}
	if layout == "" {
		return &convention.UnknownKindError{Kind: kind}
	}
	if g.Text != "" && kind == reprise.KindTasks {
		return misuse("run %s: the list says what to do; it takes no goal", kind)
	}
	if g.Text == "" && g.ID == "" && g.Path == "" && !kind.Facts().Goalless {
		return misuse("run %s: say what to do: %s", kind, cmp.Or(map[reprise.Kind]string{
			"sdc": "a GOAL or --story FILE", "qa-loop": "--story FILE", "epic": "a GOAL or --epic FILE", "spec-loop": "a GOAL or --spec FILE", "tasks": "--path FILE_OR_FOLDER",
		}[kind], "a GOAL"))
	}
	return s.begin(beginning{
		goal: &g, kind: kind,
		make: func(e *engine.Engine, c engine.Choice) (reprise.Ref, error) {
			return e.Begin(s.ctx, layout, kind, g, c)
		},
		preview: func(e *engine.Engine, c engine.Choice) (*engine.Preview, error) {
			return e.PreviewBegin(s.ctx, layout, kind, g, c)
		},
	})
}

// startFlow starts a person's own workflow.
func (s *job) startFlow(what string, g reprise.Goal) error {
	name := s.inside(what)
	if _, err := os.Stat(filepath.FromSlash(name)); err == nil && !local(name) {
		return misuse("run %s: the file must be in the project", what)
	}
	w, hash, err := s.readFlow(name)
	if errors.Is(err, fs.ErrNotExist) {
		return misuse("%q is neither a workflow nor a file; the workflows are %s", what, strings.Join(startable(), ", "))
	}
	if err != nil {
		return err
	}
	if until := s.flags.until; until != "" && w.Step(until) == nil {
		e := &engine.StepError{Run: "run " + what, Flag: "until", Step: until}
		for _, st := range w.Steps() {
			e.Steps = append(e.Steps, st.ID)
		}
		return e
	}
	if g.ID != "" && !flow.IsName(g.ID) {
		return badID(what, g.ID)
	}
	if err := s.trustFlow(name, w, hash, false); err != nil {
		return err
	}
	return s.begin(beginning{
		goal: &g, kind: reprise.KindGraph, file: name, stepsKnown: true,
		fits: func(r *reprise.Run) error {
			if file, _ := engine.Origin(s.root, r.Ref); file != name {
				return misuse("run %s: the run %s is of %s; give this one another name with --id", what, r.ID, cmp.Or(file, "no workflow file"))
			}
			return nil
		},
		make: func(e *engine.Engine, c engine.Choice) (reprise.Ref, error) {
			return e.BeginFlow(s.ctx, w, name, hash, g, c)
		},
		preview: func(e *engine.Engine, c engine.Choice) (*engine.Preview, error) {
			return e.PreviewFlow(s.ctx, w, name, hash, g, c)
		},
	})
}

// beginning says how a run of one kind is created.
type beginning struct {
	goal *reprise.Goal // what the rest is based on
	kind reprise.Kind
	file string // of the workflow, "" for a kind of its own
	// fits says why the run of this name is not the requested one; nil if any is.
	fits func(*reprise.Run) error
	make func(*engine.Engine, engine.Choice) (reprise.Ref, error)
	// preview changes nothing.
	preview    func(*engine.Engine, engine.Choice) (*engine.Preview, error)
	stepsKnown bool // --until names one of its steps
}

// begin creates the run, or finds the interrupted one, and works on it.
func (s *job) begin(b beginning) error {
	found, err := s.lookUp("")
	if err != nil {
		return err
	}
	b.goal.ID = reprise.WholeID(found.Runs, b.kind, b.goal.ID)
	for _, r := range found.Runs {
		if b.fits != nil && r.Kind == b.kind && r.ID == b.goal.ID {
			if err := b.fits(r); err != nil {
				return err
			}
		}
	}
	list := judgedOf(found, engine.Begun(found, b.kind, *b.goal, b.file)...)
	switch {
	case len(list) == 1:
		return s.insteadOfSecond(list[0], found)
	case len(list) > 1:
		return s.several("resume", list)
	}
	e, err := s.engine(s.flags.modeOf(""))
	if err != nil {
		return err
	}
	choice := engine.Choice{Until: s.flags.until}
	if done, err := s.before(e, b, choice); done || err != nil {
		return err
	}
	if open := found.Observed.LiveSession(&reprise.Run{State: reprise.NotStarted}, false); open != nil {
		if agreed, err := s.beside(open.Waits()); !agreed || err != nil {
			return err
		}
		choice.Option = reprise.OptionContinue
	}
	ref, err := b.make(e, choice)
	if err != nil {
		return err
	}
	// It exists now and is worked on like any other. The command itself asks to start it,
	// and a pre-flight check has already asked.
	if found, err = s.judge(s.ctx, s.root, project.JudgeOptions{Full: true, Adopt: s.flags.adopt}); err != nil {
		return err
	}
	j, err := judgedRef(found, ref)
	if err != nil {
		return err
	}
	return s.carry(e, j, choice)
}

// before makes a preview if one is needed before anything is created: for a dry run, for
// a pre-flight approval, and to find the step named as the last. done is set if nothing
// is to be started.
func (s *job) before(e *engine.Engine, b beginning, choice engine.Choice) (done bool, err error) {
	preflight := e.Mode == engine.Preflight && !s.flags.yes
	if !s.flags.dry && !preflight && (choice.Until == "" || b.stepsKnown) {
		return false, nil
	}
	preview, err := b.preview(e, choice)
	if err == nil && !b.stepsKnown {
		err = preview.Comes(choice.Until)
	}
	switch {
	case err != nil:
		return true, err
	case s.flags.dry:
		return true, s.showPreview(e, preview)
	case preflight:
		agreed, err := s.preflight(preview)
		return !agreed, err
	}
	return false, nil
}

// beside asks whether to start a run although a session is open in its folder. Nothing of
// the run is created before.
func (s *job) beside(waits string) (agreed bool, err error) {
	if s.flags.yes {
		return true, nil
	}
	if !s.asks() {
		return false, fail(exitNeedsAnswer, "end it, or `"+s.again("--yes")+"` starts the run beside it", "start the run: %s", waits)
	}
	p := s.page(s.out)
	p.say(plain(waits))
	p.say("Type \"proceed\" if no one uses it while the run works; anything else cancels.")
	return s.saysProceed(p)
}

// preflight shows what starting a run would do and asks for confirmation. Nothing of the
// run is created before.
func (s *job) preflight(preview *engine.Preview) (agreed bool, err error) {
	if !s.asks() {
		return false, s.unattended(judged{run: &reprise.Run{Ref: preview.Run}}, engine.NeedsWay)
	}
	if preview.Decision.Verdict == reprise.BlockedVerdict {
		return false, &engine.UnsafeError{Run: preview.Run.ID, Reasons: preview.Decision.Reasons, Came: preview.Decision.Outcome()}
	}
	p := s.page(s.out)
	p.banner("Pre-flight: " + formOf(preview.Run.Kind).name + " " + plain(preview.Run.ID))
	p.workPreview(preview)
	if len(preview.Steps) > 0 {
		p.para("Steps: ", strings.Join(preview.Steps, ", "), linesMessage)
	}
	p.say("Type \"proceed\" to start it; anything else cancels.")
	return s.saysProceed(p)
}

// insteadOfSecond says that the same thing was interrupted, and resumes it instead of
// starting a second one.
func (s *job) insteadOfSecond(j judged, found *project.Judgement) error {
	if !s.json {
		p := s.page(s.out)
		p.say(fmt.Sprintf("%s was already begun (%s); a second one would do its work twice.", subject(j.run), p.since(j)))
		p.gap()
	}
	return s.resume(j, found, resumeFlags{workFlags: s.flags})
}

// judgedRef finds a run that was just created.
func judgedRef(found *project.Judgement, ref reprise.Ref) (judged, error) {
	for _, r := range found.Runs {
		if r.Layout == ref.Layout && (r.Path == ref.Path || slices.ContainsFunc(r.Also, func(also reprise.Ref) bool { return also.Path == ref.Path })) {
			return judgedOf(found, r)[0], nil
		}
	}
	return judged{}, fmt.Errorf("start %s: it was created at %s but is not found there", ref.ID, ref.Path)
}
