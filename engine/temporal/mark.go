package temporal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// While the fleet has a run open, its branch says so: the journals of the run and of those
// inside it have a mark beside them, which the plain program reads (project/handed.go). A turn takes the marks away, since
// it is the fleet that works, and leaves them unless it left the run. They are part of the
// same push as what the turn did.

// The fleet does not leave a run of which a worker keeps work that the remote refused: the
// marks stay and say which attempts that are, so that no one does them again.

// keptAway is an attempt whose work its worker keeps.
type keptAway struct {
	Step   string // as keyOf has it
	Number int
	Name   string // as a person calls the step
	Ref    string // that its worker pushes it to
	Where  string `json:",omitempty"` // it is, where git could not commit it and no worker pushes it
	Within string `json:",omitempty"` // the step of the run that a run of its own does, of which this is a step
}

// mark marks a run in a checkout as the fleet's, and the runs inside it, also where nothing is on
// record of one yet. kept are the attempts whose work is not on the branch.
func mark(root string, run reprise.Ref, kept []keptAway) error {
	logs, err := marks(root, run)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, journalDir), 0o700); err != nil {
		return err
	}
	text := []byte(markText(root, run))
	for _, k := range kept {
		line, err := json.Marshal(k)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	for _, log := range logs {
		file := filepath.Join(root, filepath.FromSlash(durable.FleetMark(log)))
		if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, text) {
			continue
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// markText is what a mark of a run of the project in root begins with.
func markText(root string, run reprise.Ref) string {
	m := reprise.Marked{Run: run.ID, Kind: run.Kind, Path: run.Path}
	if r, err := reprise.Load(convention.Find(run.Layout), os.DirFS(root), run); err == nil {
		m.Title = r.Title
	}
	m.File, _ = engine.Origin(root, run)
	return m.Text()
}

// marks names the journals of a run and of those inside it.
func marks(root string, run reprise.Ref) ([]string, error) {
	known, err := journals(root)
	if err != nil {
		return nil, err
	}
	refs, err := insideOf(root, run)
	if err != nil {
		return nil, err
	}
	var logs []string
	for _, ref := range append(refs, run) {
		log := journal.Name(ref)
		if i := slices.IndexFunc(known, func(log string) bool { return journal.Placed(log, ref) }); i >= 0 {
			log = known[i]
		}
		if !slices.Contains(logs, log) {
			logs = append(logs, log)
		}
	}
	return logs, nil
}

// insideOf lists the runs inside a run of a project.
func insideOf(root string, run reprise.Ref) ([]reprise.Ref, error) {
	if !run.Kind.Facts().Hosts {
		return nil, nil
	}
	r, err := reprise.Load(convention.Find(run.Layout), os.DirFS(root), run)
	if err != nil {
		return nil, err
	}
	return project.Inside(os.DirFS(root), r), nil
}

// unmark takes the marks away, and tells which attempts they name. had is set if there were any.
func unmark(root string) (kept []keptAway, had bool, err error) {
	files, err := filepath.Glob(filepath.Join(literal(root), filepath.FromSlash(durable.FleetMark("*"))))
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		err = errors.Join(err, readErr, os.Remove(file))
		for line := range strings.Lines(string(text)) {
			var k keptAway
			if json.Unmarshal([]byte(line), &k) == nil && !slices.Contains(kept, k) { // the branch is no JSON
				kept = append(kept, k)
			}
		}
	}
	return kept, len(files) > 0, err
}

// ours checks that the fleet has not left a run whose branch has no marks at a tip: someone gave
// it back, for whom its server was gone. The error is a *GivenBackError.
func (m *Mirror) ours(ctx context.Context, run, tip string) error {
	subject, err := git(ctx, filepath.Join(m.Dir, "mirror.git"), nil, "log", "--first-parent", "-1", "--format=%s", "-E", "--grep", turnNote, "--grep", handed, tip)
	if err == nil && subject == leftSubject(run) {
		err = lasting(&GivenBackError{run})
	}
	return err
}

// leftSubject is that of the commit with which the fleet leaves a run that no turn left.
func leftSubject(run string) string { return "reprise: the fleet has left " + run }

// GivenBackError says that a person has a run that the fleet still works on: what that does no
// longer counts.
type GivenBackError struct{ Run string }

func (e *GivenBackError) Error() string {
	return fmt.Sprintf("work on %s: its branch says that the fleet has left it, and someone may go on with it", e.Run)
}

// Hint says what a person can do.
func (e *GivenBackError) Hint() string {
	return fmt.Sprintf("`reprise-fleet resume %s` has the fleet take it up again", reprise.Pasted(e.Run, "RUN"))
}

// Outcome implements the rule that outcomes have exit codes.
func (e *GivenBackError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// literal keeps a path from being a pattern.
func literal(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// journals names the journals of a project.
func journals(root string) ([]string, error) {
	if _, err := os.Lstat(filepath.Join(root, durable.StateDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	store, err := durable.Open(root, durable.Options{AllowNetwork: true, Adopt: true})
	if err != nil {
		return nil, err
	}
	return store.Logs()
}

// release takes the marks off the branch of a run that no workflow has open, such as one that
// was terminated or failed, once what is pushed of it has landed. It reports whether there were
// any. The error is a *KeptAwayError if a worker keeps work of the run, and an *UnlandedError if
// what is pushed cannot be landed here.
func (f *Fleet) release(ctx context.Context, name string) (had bool, err error) {
	err = f.apart(func(m *Mirror) error {
		if had, err = f.landPushed(ctx, m, name, false); err != nil || !had {
			return err
		}
		return f.unmarkBranch(ctx, m, name)
	})
	return had, err
}

// marked checks out the branch of a run that has marks; nil if it has none, or is gone.
func (f *Fleet) marked(ctx context.Context, m *Mirror, name string) (*Checkout, error) {
	branch := "refs/heads/" + Branch(name)
	found, err := m.fetchRun(ctx, name, "")
	if found[branch] == "" {
		if gone := new(NoBranchError); errors.As(err, &gone) {
			return nil, nil // there is nothing to take them off
		}
	}
	if err != nil || found[branch] == "" {
		return nil, err
	}
	c, err := m.Checkout(ctx, found[branch], Branch(name))
	if err != nil {
		return nil, err
	}
	marks, err := c.git(ctx, "ls-files", "--", filepath.Join(f.Folder, filepath.FromSlash(durable.FleetMark("*"))))
	if err != nil || marks == "" {
		return nil, err
	}
	return c, nil
}

// unmarkBranch takes the marks off the branch of a run.
func (f *Fleet) unmarkBranch(ctx context.Context, m *Mirror, name string) error {
	c, err := f.marked(ctx, m, name)
	if err != nil || c == nil {
		return err
	}
	kept, _, err := unmark(filepath.Join(c.Dir, filepath.FromSlash(f.Folder)))
	if err == nil && len(kept) > 0 {
		err = &KeptAwayError{"give back " + name, name, kept}
	}
	if err != nil {
		return err
	}
	commit, _, err := c.Commit(ctx, leftSubject(name)+"\n", CommitOptions{Parents: []string{c.Base}, Folder: f.Folder, Journal: true, Ignored: true})
	if err != nil {
		return err
	}
	return c.Push(ctx, commit, "refs/heads/"+Branch(name), c.Base)
}

// KeptAwayError says that attempts are finished and that their work is not on the branch of the
// run: the remote refused it or git could not commit it, and a worker keeps it.
type KeptAwayError struct {
	Doing, Run string
	attempts   []keptAway
}

func (e *KeptAwayError) kept() bool { return true }

func (e *KeptAwayError) Error() string {
	var all []string
	for _, k := range e.attempts {
		if k.Where != "" {
			all = append(all, fmt.Sprintf("attempt %d of %s is finished, and git could not commit its work: %s", k.Number, k.Name, k.Where))
		} else {
			all = append(all, fmt.Sprintf("attempt %d of %s is finished, and the remote refused its work, which its worker keeps", k.Number, k.Name))
		}
	}
	return e.Doing + ": " + strings.Join(all, "; ")
}

// Hint says what a person can do.
func (e *KeptAwayError) Hint() string {
	var all []string
	run := reprise.Pasted(e.Run, "RUN")
	for _, k := range e.attempts {
		step, once := reprise.Pasted(cmp.Or(k.Within, k.Step), "STEP"), "the remote allows "+k.Ref
		if k.Where != "" {
			once = "git can commit it: end there what is under way"
		}
		all = append(all, fmt.Sprintf("%[4]s: its worker pushes it once %[2]s; after that `reprise-fleet resume %[1]s --until %[3]s` takes it and starts no agent for it. If that is gone for good, `reprise-fleet resume %[1]s --from %[3]s` does it again", run, once, step, k.Name))
	}
	return strings.Join(all, "\n  ")
}

// Outcome implements the rule that outcomes have exit codes.
func (e *KeptAwayError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }
