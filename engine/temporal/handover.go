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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// HandOver brings to the branch of a run what this clone has of it and the remote has not:
// everything, where the run was begun here; what was done since, where it went on in a
// checkout of the branch, committed or not. No one may be working on it here. From then on
// the copy here says that the branch is the run. The error is a *DivergedError if it went on
// in both places.
func (f *Fleet) HandOver(ctx context.Context, ref reprise.Ref) (run Begun, err error) {
	run.Ref = ref
	err = f.apart(func(m *Mirror) error {
		h, err := f.copyOf(ctx, m, ref)
		switch {
		case err != nil:
			return err
		case h.ahead && h.dir == "":
			return (&Checkout{Dir: f.Clone, mirror: m}).Push(ctx, h.base, h.branch(), h.was)
		case !h.ahead && !h.made:
			return nil
		}
		store, err := durable.Open(h.root(), durable.Options{Now: time.Now, Adopt: h.was != ""})
		if err != nil {
			return err
		}
		if _, err := store.Take(ctx); err != nil {
			if _, is := errors.AsType[*durable.CopiedError](err); is {
				err = &copiedError{err, ref.ID}
			}
			return err
		}
		defer store.Release()
		if h.ahead {
			if run.Ignored, err = h.commit(ctx); err != nil {
				return err
			}
		}
		j, err := journal.Open(store, convention.Find(ref.Layout), ref)
		if err != nil {
			return err
		}
		return j.Note(reprise.Event{Kind: reprise.EngineLeft, At: time.Now(), Actor: "reprise-fleet", Outcome: reprise.HandedOver, Text: Branch(ref.ID)})
	})
	return run, err
}

// copiedError says that the clone is a copy of another one. What it has of a run is not handed
// over by accident.
type copiedError struct {
	error
	run string
}

func (e *copiedError) Unwrap() error { return e.error }

// Hint says what a person can do; the program has no --adopt of its own.
func (e *copiedError) Hint() string {
	return "hand it over from the original, or go on in this copy first: `reprise resume " + reprise.Pasted(e.run, "RUN") + " --adopt`"
}

// DivergedError says that a run went on in this clone and on the fleet.
type DivergedError struct{ Run, Dir string }

func (e *DivergedError) Error() string {
	return fmt.Sprintf("hand over %s: it went on in %s and on its branch %s of the remote, each without the other", e.Run, e.Dir, Branch(e.Run))
}

// Hint says what a person can do.
func (e *DivergedError) Hint() string {
	return fmt.Sprintf("see both: `git fetch origin %s && git log --oneline --left-right HEAD...FETCH_HEAD`; move aside the one that is not to count", Branch(e.Run))
}

// Outcome implements the rule that outcomes have exit codes.
func (e *DivergedError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// localCopy is what the clone has of a run.
type localCopy struct {
	*Fleet
	mirror *Mirror
	ref    reprise.Ref
	was    string // where the branch is on the remote, "" if it is not there
	dir    string // the checkout with the files, "" if only a branch of the clone has them
	base   string // the commit that they are based on
	ahead  bool   // it has what the remote has not
	made   bool   // it was worked on here, and that it was handed over is not on record
}

func (h *localCopy) branch() string { return "refs/heads/" + Branch(h.ref.ID) }

func (h *localCopy) root() string { return filepath.Join(h.dir, filepath.FromSlash(h.Folder)) }

// copyOf compares what the clone has of a run with its branch on the remote.
func (f *Fleet) copyOf(ctx context.Context, m *Mirror, ref reprise.Ref) (*localCopy, error) {
	h := &localCopy{Fleet: f, mirror: m, ref: ref, dir: f.Clone}
	found, err := m.Fetch(ctx, h.branch())
	if err != nil {
		return nil, err
	}
	h.was = found[h.branch()]
	own, err := h.checkedOut(ctx)
	if err != nil {
		return nil, err
	}
	if own != "" {
		h.dir = own
	}
	if h.base, err = h.bring(ctx, h.dir, "HEAD"); err != nil {
		return nil, err
	}
	if h.was == "" {
		h.ahead = true
		return h, h.never(ctx)
	}
	more, err := h.records(ctx)
	if err != nil {
		return nil, err
	}
	return h, h.compare(ctx, own != "", more)
}

// never says whether a run without a branch never was on the fleet. If it was, what is here is
// at best an old copy: the error is a *NoBranchError.
func (h *localCopy) never(ctx context.Context) error {
	ours, _, err := recorded(h.root(), h.ref)
	if err != nil {
		return err
	}
	was := false
	if n := len(ours); n > 0 {
		last := ours[n-1].Event
		was = last.Kind == reprise.EngineLeft && last.Outcome == reprise.HandedOver
	}
	if !was && h.Client != nil {
		_, err := h.Client.DescribeWorkflowExecution(ctx, h.ID(h.ref.ID), "")
		if was = err == nil; err != nil && !isNotFound(err) {
			return err
		}
	}
	if !was {
		return nil
	}
	last, err := git(ctx, h.Clone, nil, "for-each-ref", "--sort=-committerdate", "--count=1", "--format=%(objectname)", "refs/remotes/origin/"+Branch(h.ref.ID), h.branch())
	if err != nil {
		return err
	}
	return &NoBranchError{h.ref.ID, last}
}

// NoBranchError says that the branch of a run is gone from the remote. Last is the last
// commit of it that the clone has, "" for none.
type NoBranchError struct{ Run, Last string }

func (e *NoBranchError) Error() string {
	return fmt.Sprintf("resume %s: the remote has no branch %s", e.Run, Branch(e.Run))
}

// Hint says what a person can do.
func (e *NoBranchError) Hint() string {
	if e.Last == "" {
		return "a clone that fetched it can bring it back: `git push origin refs/remotes/origin/" + Branch(e.Run) + ":refs/heads/" + Branch(e.Run) + "`"
	}
	return "this clone has its commit " + e.Last[:12] + "; to bring it back: `git push origin " + e.Last + ":refs/heads/" + Branch(e.Run) + "`"
}

// Outcome implements the rule that outcomes have exit codes.
func (e *NoBranchError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// compare fills in whether the copy is ahead of the branch on the remote. own is set if the
// branch is checked out here, more if the journal here has records that the branch has not.
func (h *localCopy) compare(ctx context.Context, own, more bool) error {
	tip := h.base
	if !own {
		var err error
		if tip, err = h.bring(ctx, h.Clone, h.branch()); err != nil {
			return err
		}
	}
	if !more && tip == "" {
		return nil // nothing of it is here, or an old copy
	}
	if !own && !more {
		h.dir, h.base = "", tip
	}
	follows, err := h.in(ctx, h.was, h.base)
	if err != nil {
		return err
	}
	behind, err := h.in(ctx, h.base, h.was)
	if err != nil {
		return err
	}
	switch {
	case follows && (more || h.base != h.was):
		h.ahead = true
	case follows && own:
		changed, err := git(ctx, h.dir, nil, "status", "--porcelain")
		h.ahead = changed != ""
		return err
	case !follows && (more || !behind):
		return &DivergedError{h.ref.ID, cmp.Or(h.dir, h.Clone)}
	}
	return nil
}

// checkedOut is the checkout of the clone that has the branch, "" if none has.
func (h *localCopy) checkedOut(ctx context.Context) (string, error) {
	list, err := git(ctx, h.Clone, nil, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return "", err
	}
	for one := range strings.SplitSeq(list, "\x00\x00") {
		lines := strings.Split(one, "\x00")
		if slices.Contains(lines, "branch "+h.branch()) && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "prunable") }) {
			return strings.TrimPrefix(lines[0], "worktree "), nil
		}
	}
	return "", nil
}

// bring brings a commit of the clone to the mirror; "" if there is no such ref.
func (h *localCopy) bring(ctx context.Context, dir, ref string) (string, error) {
	at, err := git(ctx, dir, nil, "for-each-ref", "--format=%(objectname)", ref)
	if ref == "HEAD" {
		at, err = git(ctx, dir, nil, "rev-parse", "--verify", "HEAD")
	}
	if err != nil || at == "" {
		return "", err
	}
	in, err := h.mirror.open(ctx)
	if err != nil {
		return "", err
	}
	_, err = git(ctx, in, nil, "fetch", "-q", "--no-tags", dir, "+"+ref+":refs/kept/begin/"+refWord(ref))
	return at, err
}

// in reports whether a commit is part of the history of another one.
func (h *localCopy) in(ctx context.Context, commit, of string) (bool, error) {
	_, err := git(ctx, filepath.Join(h.mirror.Dir, "mirror.git"), nil, "merge-base", "--is-ancestor", commit, of)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// records compares the journal here with that on the branch, and reports whether it has more.
func (h *localCopy) records(ctx context.Context) (more bool, err error) {
	ours, copied, err := recorded(h.root(), h.ref)
	if err != nil || len(ours) == 0 {
		return false, err
	}
	n := len(ours)
	for n > 0 && ours[n-1].Event.Kind == reprise.EngineLeft && ours[n-1].Event.Outcome == reprise.HandedOver {
		n--
	}
	h.made, ours = n == len(ours) && !copied, ours[:n]
	c, err := h.mirror.Checkout(ctx, h.was, Branch(h.ref.ID))
	if err != nil {
		return false, err
	}
	defer c.Close()
	read, err := h.mirror.about(ctx, h.was)
	if err != nil {
		return false, err
	}
	var was turned
	if readNote(read[h.was].message, &was) == nil && was.Journal != "" {
		if err := c.restoreJournal(ctx, h.Folder, was.Journal); err != nil {
			return false, err
		}
	}
	theirs, _, err := recorded(filepath.Join(c.Dir, filepath.FromSlash(h.Folder)), h.ref)
	if err != nil {
		return false, err
	}
	for i := range min(len(ours), len(theirs)) {
		one, err := json.Marshal(ours[i])
		two, err2 := json.Marshal(theirs[i])
		if err := errors.Join(err, err2); err != nil {
			return false, err
		}
		if !bytes.Equal(one, two) {
			return false, &DivergedError{h.ref.ID, h.dir}
		}
	}
	return len(ours) > len(theirs), nil
}

// recorded is the journal of a run in a project, and whether it came there as a copy.
func recorded(root string, ref reprise.Ref) (entries []journal.Entry, copied bool, err error) {
	if _, err := os.Lstat(filepath.Join(root, durable.StateDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	store, err := durable.Open(root, durable.Options{AllowNetwork: true, Adopt: true})
	if err != nil {
		return nil, false, err
	}
	entries, _, err = journal.Read(store, journal.Name(ref))
	return entries, store.Copied() != nil, err
}

// commit makes the branch of a run from the files here, with an index of our own: nothing is
// changed here.
func (h *localCopy) commit(ctx context.Context) (ignored []string, err error) {
	c, err := h.mirror.Checkout(ctx, h.base, "reprise-begin")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	own, others, err := h.apartFrom(ctx)
	if err != nil {
		return nil, err
	}
	state := filepath.Join(h.Folder, h.ref.Path)
	in := &Checkout{Dir: h.dir, Base: c.Base, mirror: h.mirror, index: filepath.Join(c.Dir, ".git", "index")}
	subject := "reprise: hand over " + h.ref.ID
	if h.was != "" {
		subject = "reprise: " + h.ref.ID + " went on in a clone" // where the run begins is another commit
	}
	commit, _, err := in.Commit(ctx, subject+"\n", CommitOptions{Parents: []string{c.Base}, Folder: h.Folder, Journal: true, Of: own, Mark: Branch(h.ref.ID), Also: []string{state}, Without: others})
	if err == nil {
		ignored, err = in.ignored(ctx, state)
	}
	if err != nil {
		return nil, err
	}
	return ignored, in.Push(ctx, commit, h.branch(), h.was)
}

// apartFrom tells the run from others in the clone: own are the journals that are brought with
// it, others the files of runs that are not. Runs of the same layout and another kind may
// share its state, as stories do with their epic: they come along.
func (h *localCopy) apartFrom(ctx context.Context) (own, others []string, err error) {
	logs, err := journals(h.root())
	if err != nil {
		return nil, nil, err
	}
	found, err := project.Judge(ctx, h.root(), project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return nil, nil, err
	}
	own = []string{journal.Name(h.ref)}
	within := func(a, b string) bool { return a == b || strings.HasPrefix(a, b+"/") }
	for _, r := range found.Runs {
		if r.Layout != h.ref.Layout || r.Kind == h.ref.Kind && r.Path != h.ref.Path {
			if filepath.IsLocal(r.Path) && !within(r.Path, h.ref.Path) && !within(h.ref.Path, r.Path) {
				others = append(others, ":(literal)"+filepath.ToSlash(filepath.Join(h.Folder, r.Path)))
			}
			continue
		}
		if i := slices.IndexFunc(logs, func(log string) bool { return journal.Placed(log, r.Ref) }); i >= 0 && !slices.Contains(own, logs[i]) {
			own = append(own, logs[i])
		}
	}
	return own, others, nil
}
