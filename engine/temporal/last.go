package temporal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"reprise"
)

// Others can delete the branch of a run or move it. What was accepted since must not be done
// again, so each push to the branch leaves its commit on a ref beside it, in one step, and
// whoever works on the branch checks first that it still has that commit.

const runBranches = "refs/heads/reprise/"

// lastOf is the ref that keeps the last commit that was pushed to the branch of a run, "" if
// the ref is no such branch.
func lastOf(branch string) string {
	if run, is := strings.CutPrefix(branch, runBranches); is {
		return "refs/reprise-last/" + run
	}
	return ""
}

// fetchRun brings the branch of a run and other refs to the mirror, as Fetch does. known is the
// last commit that the server knows to be pushed to the branch, "" for none. The error is a
// *NoBranchError if the branch does not have it, or not the one that the remote keeps.
func (m *Mirror) fetchRun(ctx context.Context, run, known string, refs ...string) (found map[string]string, err error) {
	branch := "refs/heads/" + Branch(run)
	kept := lastOf(branch)
	refs = append(refs, branch, kept)
	var lost bool
	for range 2 { // a push under way may show one of the two refs before the other
		if found, err = m.Fetch(ctx, refs...); err != nil {
			return nil, err
		}
		if lost, err = m.lacks(ctx, found[branch], known, found[kept]); err != nil || !lost {
			return found, err
		}
	}
	e := &NoBranchError{Run: run, At: found[branch], Last: found[kept], Kept: found[kept] != ""}
	// A remote that cannot change two refs at once may keep an older one.
	if older, err := m.lacks(ctx, e.Last, known); err != nil {
		return nil, err
	} else if older {
		e.Last, e.Kept = known, false
	}
	return found, e
}

// lacks reports whether the history of a commit, "" for none, lacks one of others.
func (m *Mirror) lacks(ctx context.Context, at string, others ...string) (bool, error) {
	for _, other := range others {
		if other == "" || other == at {
			continue
		}
		if at == "" {
			return true, nil
		}
		dir := filepath.Join(m.Dir, "mirror.git")
		// What a commit has came here with it.
		if _, err := git(ctx, dir, nil, "cat-file", "-e", other+"^{commit}"); isExit(err) {
			return true, nil
		} else if err != nil {
			return false, err
		}
		in, err := m.in(ctx, other, at)
		if err != nil || !in {
			return !in, err
		}
	}
	return false, nil
}

// in reports whether a commit is part of the history of another one.
func (m *Mirror) in(ctx context.Context, commit, of string) (bool, error) {
	_, err := git(ctx, filepath.Join(m.Dir, "mirror.git"), nil, "merge-base", "--is-ancestor", commit, of)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// isExit reports whether git ran and said no.
func isExit(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Exited()
}

// unused says whether a name that has no branch never was that of a run: the server knows none,
// and no attempt left a commit on the remote. Else the error is a *NoBranchError.
func (f *Fleet) unused(ctx context.Context, m *Mirror, name string) error {
	dir, err := m.open(ctx)
	if err != nil {
		return err
	}
	left, err := git(ctx, dir, nil, "ls-remote", m.Remote, "refs/reprise/"+refWord(name)+"/*")
	if err != nil {
		return err
	}
	if left == "" {
		if f.Client == nil {
			return nil // no one to ask
		}
		if _, err := f.Client.DescribeWorkflowExecution(ctx, f.ID(name), ""); isNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return &NoBranchError{Run: name}
}

// NoBranchError says that the branch of a run is gone from the remote, or was moved to a
// commit At that does not have what is recorded of the run. Last is the last commit that was
// pushed to it, "" if that is not known. Kept is set if the remote has it.
type NoBranchError struct {
	Run, At, Last string
	Kept          bool
}

func (e *NoBranchError) Error() string {
	switch {
	case e.At == "":
		return fmt.Sprintf("find %s: the remote has no branch %s", e.Run, Branch(e.Run))
	case e.Last == "":
		return fmt.Sprintf("find %s: its branch %s was moved to %.12s, which does not have what is recorded of it", e.Run, Branch(e.Run), e.At)
	}
	return fmt.Sprintf("find %s: its branch %s was moved to %.12s, which does not have what is recorded of it up to %.12s", e.Run, Branch(e.Run), e.At, e.Last)
}

// Hint says what a person can do.
func (e *NoBranchError) Hint() string {
	branch, force := "refs/heads/"+Branch(e.Run), ""
	if e.At != "" {
		force = "--force "
	}
	push := "git push " + force + "origin " + e.Last + ":" + branch
	switch {
	case e.Last == "":
		return "whoever has a clone with its last commit can push that to " + branch + "; a new run needs another name (--id)"
	case e.Kept:
		return "bring it back: `git fetch origin " + lastOf(branch) + " && " + push + "`"
	}
	return "a clone that has its last commit can bring it back: `" + push + "`"
}

// Outcome implements the rule that outcomes have exit codes.
func (e *NoBranchError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }
