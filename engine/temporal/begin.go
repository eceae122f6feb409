package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/project"
	"reprise/report"
)

// Begun is a run that is on a branch of its own.
type Begun struct {
	reprise.Ref
	// Ignored are the files of it that the project's .gitignore names. They are on the
	// branch all the same: the fleet has no other disk.
	Ignored []string
	// From is what it was begun from; nil if that is not known.
	From *From `json:",omitempty"`
}

// From is what a run was begun from: a kind or a file, and the goal.
type From struct{ What, Text, Path string }

func (f From) String() string { return strings.Join(strings.Fields(f.What+" "+f.Path+" "+f.Text), " ") }

// Begin makes a run on a branch of its own, from what is committed in the clone. A branch
// that is there already is the run's, and stays as it is. Without a name, a run that was
// begun without one from the same and is not over is found, however short a time ago that
// was: whoever begins one claims that first. So is any other run that plain `run` would go on with in
// place of a second one, such as one that was handed over from another clone. What is finished already
// is not begun: the error is an *OverError.
func (f *Fleet) Begin(ctx context.Context, what string, g reprise.Goal) (run Begun, err error) {
	what, g.Path = f.inside(what), f.inside(g.Path)
	claim := f.claim(what, g)
	err = f.apart(func(m *Mirror) (err error) {
		was := ""
		if run, was, err = f.begun(ctx, m, claim); err == nil && run.ID == "" {
			run, err = f.make(ctx, m, what, g, claim, was)
		}
		return err
	})
	return run, err
}

// inside is the name in the project of a file that a person named, however that was spelled:
// from the top of the project, else from the current folder. A link is the file that it leads to.
// Other words stay as they are.
func (f *Fleet) inside(name string) string {
	if name == "" || isKind(name) {
		return name
	}
	root := filepath.Join(f.Clone, filepath.FromSlash(f.Folder)) // git names the clone without links
	places := []string{filepath.Join(root, name)}
	if !filepath.IsLocal(name) {
		places = nil
	}
	if abs, err := filepath.Abs(name); err == nil {
		places = append(places, abs)
	}
	for _, at := range places {
		if file, err := filepath.EvalSymlinks(at); err == nil {
			at = file
		} else if dir, err := filepath.EvalSymlinks(filepath.Dir(at)); err == nil && at != filepath.Join(root, name) {
			at = filepath.Join(dir, filepath.Base(at)) // it is committed, and deleted here
		} else {
			continue
		}
		if rel, err := filepath.Rel(root, at); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path.Clean(filepath.ToSlash(name))
}

// isKind reports whether a word is a kind of run.
func isKind(word string) bool {
	return slices.ContainsFunc(convention.All(), func(l convention.Entry) bool { return l.Playbooks[reprise.Kind(word)] != nil })
}

// claim is the ref that says which run was begun without a name; "" if it has one.
func (f *Fleet) claim(what string, g reprise.Goal) string {
	if g.ID != "" {
		return ""
	}
	return fmt.Sprintf("refs/reprise-begun/%x", sha256.Sum256([]byte(strings.Join([]string{f.Folder, what, g.Path, g.Text}, "\n"))))[:49]
}

// apart has f work with a mirror of its own. Whoever wants to move a ref that someone else moves at
// the same moment looks again, and works with what that one left.
func (f *Fleet) apart(do func(*Mirror) error) error {
	dir, err := os.MkdirTemp("", "reprise-fleet-")
	if err != nil {
		return err
	}
	m := &Mirror{Remote: f.Remote, Dir: dir}
	for range maxLooks {
		err = do(m)
		if _, rejected := errors.AsType[*RejectedError](err); !rejected {
			break
		}
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// maxLooks is how often a person's command looks again. Each time someone else got on.
const maxLooks = 20

// begun finds the run that has a claim and is not over; zero if there is none. One that was
// claimed and has no branch gets it. at is where the claim is, "" if no one made it.
func (f *Fleet) begun(ctx context.Context, m *Mirror, claim string) (run Begun, at string, err error) {
	if claim == "" {
		return run, "", nil
	}
	found, err := m.Fetch(ctx, claim)
	if at = found[claim]; err != nil || at == "" {
		return run, at, err
	}
	read, err := m.about(ctx, at)
	if err != nil {
		return run, at, err
	}
	var was Begun
	if err := readNote(read[at].message, &was); err != nil || was.ID == "" {
		return run, at, fmt.Errorf("read %s: it names no run: %w", claim, err)
	}
	if over, err := f.over(ctx, m, was.Ref); err != nil || over {
		return run, at, err
	}
	branch := "refs/heads/" + Branch(was.ID)
	if there, err := m.fetchRun(ctx, was.ID, ""); err != nil || there[branch] != "" {
		return was, at, err
	}
	h, err := f.first(ctx, m, was.Ref)
	if err != nil {
		return run, at, err
	}
	defer h.release()
	dir, err := m.open(ctx)
	if err != nil {
		return run, at, err
	}
	return was, at, h.push(ctx, &Checkout{Dir: dir, mirror: m}, at, nil)
}

// first is a run that is about to get its branch: it never was on the fleet, and no one began it in
// a checkout of the clone. The error is a *RejectedError if someone else has made the branch.
func (f *Fleet) first(ctx context.Context, m *Mirror, ref reprise.Ref) (*handing, error) {
	if err := f.unused(ctx, m, ref.ID); err != nil {
		return nil, err
	}
	h := &handing{Fleet: f, mirror: m, ref: ref}
	copies, err := f.copies(ctx, ref.ID)
	if err != nil {
		return nil, err
	}
	for _, c := range copies {
		if err := h.read(c); err != nil {
			return nil, err
		}
		if len(c.ours) > 0 || c.last == reprise.HandedOver {
			return nil, &BegunHereError{Name: ref.ID, Dir: c.dir}
		}
	}
	if err = h.look(ctx); err == nil && h.was != "" {
		err = &RejectedError{h.branch(), "it is there"}
	}
	if err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

// over reports whether nothing is left of a run that no workflow has open: the server says so, or
// the last commit of its branch. A server forgets, and does not know who went on with a run.
func (f *Fleet) over(ctx context.Context, m *Mirror, ref reprise.Ref) (over bool, err error) {
	if f.Client != nil {
		d, err := f.Client.DescribeWorkflowExecution(ctx, f.ID(ref.ID), "")
		switch status := d.GetWorkflowExecutionInfo().GetStatus(); {
		case isNotFound(err):
		case err != nil || status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
			return false, err
		case status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
			var sum report.Summary
			if err := f.Client.GetWorkflow(ctx, f.ID(ref.ID), "").Get(ctx, &sum); err != nil || sum.Action == reprise.Finish && len(sum.Left) == 0 {
				return err == nil, err
			}
		}
	}
	found, err := m.fetchRun(ctx, ref.ID, "")
	tip := found["refs/heads/"+Branch(ref.ID)]
	if gone, is := errors.AsType[*NoBranchError](err); is && gone.At == "" {
		tip, err = gone.Last, nil // it may have been deleted because nothing was left to do
	}
	if err != nil || tip == "" {
		return false, err
	}
	err = m.at(ctx, tip, ref.ID, f.Folder, func(at *Checkout, _ turned) error { return f.checkIn(ctx, at.Dir, ref, engine.Choice{}) })
	if _, over = errors.AsType[*OverError](err); over {
		err = nil
	}
	return over, err
}

// here checks out what is committed in the clone.
func (f *Fleet) here(ctx context.Context, m *Mirror) (*Checkout, error) {
	at, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.fetchHere(ctx, at, "+HEAD:refs/kept/begin/here"); err != nil {
		return nil, err
	}
	base, err := git(ctx, at, nil, "rev-parse", "refs/kept/begin/here")
	if err != nil {
		return nil, err
	}
	return m.Checkout(ctx, base, "reprise-begin")
}

// make makes a run on a branch of its own. The error is a *RejectedError if someone moved the
// claim from where it was.
func (f *Fleet) make(ctx context.Context, m *Mirror, what string, g reprise.Goal, claim, was string) (run Begun, err error) {
	c, err := f.here(ctx, m)
	if err != nil {
		return run, err
	}
	e, err := deciderFor(filepath.Join(c.Dir, filepath.FromSlash(f.Folder)), time.Now)
	if err != nil {
		return run, err
	}
	if run.Ref, err = begin(ctx, e, what, g); err != nil {
		return run, err
	}
	branch := "refs/heads/" + Branch(run.ID)
	found, err := m.fetchRun(ctx, run.ID, "")
	if err != nil {
		return run, asRun(f.overHere(ctx, c.Dir, run.Ref, engine.Choice{}, err))
	}
	run.From = &From{what, g.Text, g.Path}
	if at := found[branch]; at != "" {
		return run, f.same(ctx, m, run, at)
	}
	if err := f.checkIn(ctx, c.Dir, run.Ref, engine.Choice{}); err != nil {
		return run, asRun(err)
	}
	there, err := f.wanted(ctx, m, what, g, run.Ref)
	if err != nil {
		return run, err
	}
	if err := f.begunHere(ctx, m, what, g, run.Ref, there); err != nil {
		return run, err
	}
	switch len(there) {
	case 0:
	case 1:
		return Begun{Ref: there[0]}, nil
	default:
		return run, &SeveralError{report.Each(there, func(ref reprise.Ref) string { return ref.ID })}
	}
	h, err := f.first(ctx, m, run.Ref)
	if err != nil {
		return run, err
	}
	defer h.release()
	if err := f.alone(ctx, m, e.Dir, run.Ref); err != nil {
		return run, err
	}
	if err := h.pushedBut(ctx, e.Dir, c.Base, nil); err != nil {
		return run, err
	}
	if err := mark(e.Dir, run.Ref, nil); err != nil {
		return run, err
	}
	message, err := withNote(startSubject(run.ID), run)
	if err != nil {
		return run, err
	}
	commit, _, err := c.Commit(ctx, message, CommitOptions{Parents: []string{c.Base}, Folder: f.Folder, Journal: true, Ignored: true})
	if err == nil {
		run.Ignored, err = c.ignored(ctx, filepath.Join(f.Folder, run.Path))
	}
	if err != nil {
		return run, err
	}
	var claims []heldRef
	if claim != "" {
		claims = append(claims, heldRef{claim, was, commit})
	}
	return run, h.push(ctx, c, commit, nil, claims...)
}

// asRun is an error that says what a person typed, where it says that a run is over.
func asRun(err error) error {
	if over, is := errors.AsType[*OverError](err); is {
		over.Verb = "run"
	}
	return err
}

// same checks that the run of a name, whose branch is at a commit, is of what run says. A goal
// that is left out is that of the run. Where the branch does not tell, its files do.
func (f *Fleet) same(ctx context.Context, m *Mirror, run Begun, at string) error {
	message, err := git(ctx, filepath.Join(m.Dir, "mirror.git"), nil, "log", "--first-parent", "-1", "--format=%B", "--grep", "^reprise: start ", at)
	if err != nil {
		return err
	}
	var was Begun
	if message != "" && readNote(message, &was) == nil && was.From != nil && was.ID == run.ID {
		now, then := *run.From, *was.From
		if now.What != then.What || now.Text != "" && now.Text != then.Text || now.Path != "" && now.Path != then.Path {
			return &OtherRunError{run.From.String(), run.ID, then.String()}
		}
		return nil
	}
	c, err := m.Checkout(ctx, at, Branch(run.ID))
	if err != nil {
		return err
	}
	defer c.Close()
	ref, err := f.findIn(ctx, c.Dir, run.ID)
	if err != nil {
		return err
	}
	of, _ := engine.Origin(filepath.Join(c.Dir, filepath.FromSlash(f.Folder)), ref)
	if of = cmp.Or(of, string(ref.Kind)); of != run.From.What {
		return &OtherRunError{run.From.String(), run.ID, of}
	}
	return nil
}

// OtherRunError says that a name is that of another run.
type OtherRunError struct{ What, Name, Of string }

func (e *OtherRunError) Error() string {
	return fmt.Sprintf("run %s: the run %s is of %s; give this one another name with --id", e.What, e.Name, e.Of)
}

// UnknownFlowError says that there is neither a kind nor a committed file of this name.
type UnknownFlowError struct{ Name string }

func (e *UnknownFlowError) Error() string {
	return fmt.Sprintf("run %s: it is neither a kind nor a file that is committed here", e.Name)
}

// Hint says what a person can do.
func (e *UnknownFlowError) Hint() string {
	return "commit the workflow file first, or name a kind: `reprise run --help` lists them"
}

// wanted are the runs with a branch on the remote, and not over, that a goal without a name asks for:
// one more would do their work twice. ref is the one that would be begun.
func (f *Fleet) wanted(ctx context.Context, m *Mirror, what string, g reprise.Goal, ref reprise.Ref) (out []reprise.Ref, err error) {
	if g.ID != "" {
		return nil, nil
	}
	dir, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	listed, err := git(ctx, dir, nil, "ls-remote", m.Remote, runBranches+"*")
	if err != nil || listed == "" {
		return nil, err
	}
	var branches []string
	for line := range strings.Lines(listed) {
		_, branch, _ := strings.Cut(strings.TrimSpace(line), "\t")
		branches = append(branches, branch)
	}
	found, err := m.Fetch(ctx, branches...)
	if err != nil {
		return nil, err
	}
	for _, branch := range branches {
		logs, err := f.journalFiles(ctx, m, found[branch])
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(logs, func(log string) bool { return strings.HasPrefix(log, ref.Layout+"-") }) {
			continue // nothing is left to do, or it is of another convention
		}
		one, err := f.isFor(ctx, m, found[branch], branch, what, g, ref.Kind)
		if err != nil {
			return nil, err
		}
		if one == nil {
			continue
		}
		if over, err := f.over(ctx, m, *one); err != nil {
			return nil, err
		} else if !over {
			out = append(out, *one)
		}
	}
	return out, nil
}

// isFor is the run of a branch, at a commit of the mirror, if a goal asks for it; nil if not.
func (f *Fleet) isFor(ctx context.Context, m *Mirror, at, branch, what string, g reprise.Goal, kind reprise.Kind) (*reprise.Ref, error) {
	c, err := m.Checkout(ctx, at, strings.TrimPrefix(branch, "refs/heads/"))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	root := filepath.Join(c.Dir, filepath.FromSlash(f.Folder))
	found, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Alone: true, Adopt: true})
	if err != nil {
		return nil, err
	}
	for _, r := range found.Runs {
		if "refs/heads/"+Branch(r.ID) == branch && engine.IsFor(found.Root, r, kind, g, fileOf(what)) {
			return &r.Ref, nil
		}
	}
	return nil, nil
}

// fileOf is what a run is begun from if that is a workflow file, "" for a kind.
func fileOf(what string) string {
	if isKind(what) {
		return ""
	}
	return what
}

// begunHere checks that the clone has no other run than ref, and than those on the remote, that plain
// `run` would go on with in place of a second one. Whether ref itself was begun is asked later, but
// for one that is at work.
func (f *Fleet) begunHere(ctx context.Context, m *Mirror, what string, g reprise.Goal, ref reprise.Ref, there []reprise.Ref) error {
	root := filepath.Join(f.Clone, filepath.FromSlash(f.Folder))
	found, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Adopt: true})
	if err != nil {
		return err
	}
	for _, r := range engine.Begun(found, ref.Kind, g, fileOf(what)) {
		live := found.Decisions[r].Outcome() == reprise.OutcomeHeld
		if !live && (r.ID == ref.ID || slices.ContainsFunc(there, func(on reprise.Ref) bool { return on.ID == r.ID })) {
			continue
		}
		if over, err := f.over(ctx, m, r.Ref); err != nil || !over { // the fleet may have finished it
			return cmp.Or(err, error(&BegunHereError{Name: r.ID, what: what, live: live}))
		}
	}
	return nil
}

// BegunHereError says that a run of this name, or of the same thing, was begun in a checkout of the
// clone.
type BegunHereError struct {
	Name string
	Dir  string // "" if the clone has it
	what string // a kind or a file, "" if it is only the name that is the same
	live bool   // it is at work
}

func (e *BegunHereError) Error() string {
	switch {
	case e.live:
		return fmt.Sprintf("run %s: %s is at work in this clone; a second one would do its work twice", e.what, e.Name)
	case e.what != "":
		return fmt.Sprintf("run %s: %s was already begun in this clone; a second one would do its work twice", e.what, e.Name)
	}
	return fmt.Sprintf("begin %s: a run of this name was begun in %s", e.Name, e.Dir)
}

// Hint says what a person can do.
func (e *BegunHereError) Hint() string {
	first := "hand it over"
	if e.live {
		first = "stop it there, then hand it over"
	}
	return first + ": `reprise-fleet resume " + reprise.Pasted(e.Name, "RUN") + "`, or begin another one with --id"
}

// Outcome implements the rule that outcomes have exit codes.
func (e *BegunHereError) Outcome() reprise.Outcome {
	if e.live {
		return reprise.OutcomeHeld
	}
	return reprise.OutcomeBlocked
}

// begin begins a run of a kind, or of a workflow file.
func begin(ctx context.Context, e *engine.Engine, what string, g reprise.Goal) (reprise.Ref, error) {
	for _, l := range convention.All() {
		if l.Playbooks[reprise.Kind(what)] != nil {
			return e.Begin(ctx, l.Name(), reprise.Kind(what), g, engine.Choice{})
		}
	}
	wf, hash, err := engine.ReadFlow(filepath.Join(e.Dir, filepath.FromSlash(what)))
	if errors.Is(err, fs.ErrNotExist) {
		return reprise.Ref{}, &UnknownFlowError{what}
	}
	if err != nil {
		return reprise.Ref{}, err
	}
	return e.BeginFlow(ctx, wf, what, hash, g, engine.Choice{})
}
