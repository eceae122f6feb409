package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/journal"
	"reprise/project"
)

// The work of an attempt that the remote refuses stays in the mirror of its worker, below
// keptRefs. The attempt is taken back. Once the remote allows it, the worker pushes the work to
// the ref of the attempt, and the next attempt at the step ends with it: its agent is not
// started for what is finished.
const keptRefs = "refs/kept/refused/"

// keepEvery is how often a worker tries to push what it keeps.
const keepEvery = 10 * time.Second

// message is that of the commit of an attempt.
func (e *attemptEnd) message(s *Start) (string, error) {
	note, err := json.Marshal(e)
	return fmt.Sprintf("%s: attempt %d (%s)\n\n%s\n\n%s: %s\n", s.Name(), s.Number, e.Result.Outcome, note, reprise.TrailerKey, e.Key), err
}

// again makes a commit like that of an attempt, with another note.
func (c *Checkout) again(ctx context.Context, of string, e attemptEnd, s *Start) (string, error) {
	message, err := e.message(s)
	if err != nil {
		return "", err
	}
	tree, err := c.git(ctx, "rev-parse", of+"^{tree}")
	if err != nil {
		return "", err
	}
	return c.feed(ctx, []byte(message), "commit-tree", tree, "-p", of)
}

// keepRefused keeps the work of an attempt that the remote refuses on this worker, and says
// where.
func (a *Activities) keepRefused(ctx context.Context, c *Checkout, commit string, in AttemptInput, told attemptEnd, refused *RefusedError) error {
	told.Kept = true
	commit, err := c.again(ctx, commit, told, &in.Start)
	if err != nil {
		return errors.Join(refused, err)
	}
	where, err := a.keepCommit(ctx, c, commit, in)
	if err != nil {
		return errors.Join(refused, err)
	}
	return lasting(&RefusedError{
		refused.Ref, fmt.Sprintf("%s; the worker %s keeps the work and pushes it once it may: %s", refused.Text, a.Name, where),
		in.Run.Ref.ID, told.Result.Outcome == agent.Done,
	})
}

// keepCommit keeps the commit of an attempt in the mirror, and says where that is.
func (a *Activities) keepCommit(ctx context.Context, c *Checkout, commit string, in AttemptInput) (string, error) {
	mirror := filepath.Join(a.Mirror.Dir, "mirror.git")
	kept := keptRefs + strings.TrimPrefix(AttemptRef(in.Run.Ref.ID, in.Start.Elsewhere), "refs/reprise/")
	_, err := c.git(ctx, "push", "-q", mirror, "+"+commit+":"+kept)
	return kept + " in " + mirror, err
}

// pushKept pushes what the worker keeps, and forgets what the remote has.
func (a *Activities) pushKept(ctx context.Context) {
	dir := filepath.Join(a.Mirror.Dir, "mirror.git")
	list, err := git(ctx, dir, nil, "for-each-ref", "--format=%(objectname) %(refname)", keptRefs)
	if err != nil {
		return // it is kept
	}
	for line := range strings.Lines(list) {
		commit, kept, _ := strings.Cut(strings.TrimSpace(line), " ")
		ref := "refs/reprise/" + strings.TrimPrefix(kept, keptRefs)
		if err := (&Checkout{Dir: dir, mirror: a.Mirror}).Push(ctx, commit, ref, ""); err != nil {
			if found, err := a.Mirror.Fetch(ctx, ref); err != nil || found[ref] != commit {
				continue // it is tried again
			}
		}
		_, _ = git(ctx, dir, nil, "update-ref", "-d", kept, commit)
	}
}

// keptFolder is a folder that a worker keeps because git could not commit it, and the attempt that
// is finished in it.
type keptFolder struct {
	In   AttemptInput
	End  attemptEnd
	Base string
}

// noteKept notes beside a kept folder what is in it.
func noteKept(dir string, k keptFolder) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return os.WriteFile(dir+".json", text, 0o600)
}

// takeKeptFolders commits what is in kept folders, once git can do that, as work that the worker
// keeps. A folder that it cannot commit yet stays.
func (a *Activities) takeKeptFolders(ctx context.Context) {
	notes, _ := filepath.Glob(filepath.Join(literal(a.Mirror.Dir), "kept-*.json"))
	for _, note := range notes {
		var k keptFolder
		if text, err := os.ReadFile(note); err != nil || json.Unmarshal(text, &k) != nil {
			continue
		}
		c := &Checkout{Dir: strings.TrimSuffix(note, ".json"), Base: k.Base, branch: Branch(k.In.Run.Ref.ID), folder: k.In.Run.Folder, mirror: a.Mirror, still: &journal.Still{}}
		err := c.setApart(ctx)
		commit := ""
		if err == nil {
			commit, err = a.commitEnd(ctx, c, k.In, &k.End)
		}
		if err == nil && k.End.Result.Outcome == agent.Done {
			k.End.Kept = true
			if commit, err = c.again(ctx, commit, k.End, &k.In.Start); err == nil {
				_, err = a.keepCommit(ctx, c, commit, k.In)
			}
			if err == nil && os.Remove(note) == nil {
				_ = os.RemoveAll(c.Dir)
			}
		}
		if c.own != nil {
			_ = c.own.Close()
		}
	}
}

// keepPushing has a worker push what it keeps, until ctx ends.
func (a *Activities) keepPushing(ctx context.Context) {
	for ctx.Err() == nil {
		a.takeKeptFolders(ctx)
		a.pushKept(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(keepEvery):
		}
	}
}

// doneAgain tells which steps, as keyOf has them, a person says are to be done again: those that
// rest on the one to begin at. Where that cannot be told of a step, it is one of them.
func doneAgain(ctx context.Context, root string, in *Run) (func(step string) bool, error) {
	if in.Choice.Option != "" || in.Choice.From == "" {
		return func(string) bool { return in.Choice.Option != "" }, nil
	}
	judged, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return nil, err
	}
	r := judged.Find(in.Ref)
	if r == nil || r.Step(in.Choice.From) == nil {
		return func(string) bool { return true }, nil
	}
	rests, within := r.RestsOn(slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return s.ID == in.Choice.From })), outerOf(root, judged, r)
	return func(step string) bool {
		step = within.step(step)
		return rests[step] || r.Step(step) == nil
	}, nil
}

// finishedBefore ends an attempt with what an earlier one finished that the remote refused, at a
// step that no one says is to be done again. It gives nil if left, the commit of the attempt before,
// is none of that sort.
func (a *Activities) finishedBefore(ctx context.Context, c *Checkout, in AttemptInput, left string) (*AttemptResult, error) {
	if left == "" || in.Start.Verify {
		return nil, nil
	}
	if again, err := doneAgain(ctx, filepath.Join(c.Dir, filepath.FromSlash(in.Run.Folder)), &in.Run); err != nil || again(keyOf(in.Start.Elsewhere)) {
		return nil, err
	}
	read, err := a.Mirror.about(ctx, left)
	if err != nil {
		return nil, err
	}
	end, err := readEnd(read[left].message)
	if err != nil || !end.Kept || end.Result.Outcome != agent.Done {
		return nil, nil
	}
	end.Key, end.Kept = in.Start.Key, false
	commit, err := c.again(ctx, left, end, &in.Start)
	if err == nil {
		err = c.Push(ctx, commit, AttemptRef(in.Run.Ref.ID, in.Start.Elsewhere), "")
	}
	if err != nil {
		return nil, err
	}
	return &AttemptResult{Commit: commit, Outcome: string(end.Result.Outcome)}, nil
}
