package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"reprise/internal/durable"
	"reprise/internal/gitx"
)

// Look tells the branch and the checkout of a run as they are. A checkout that is
// half made, or that is a person's, is none. It changes nothing.
func Look(ctx context.Context, p Project) (*durable.CheckoutState, error) {
	s, err := p.open()
	if err != nil {
		return nil, err
	}
	out := &durable.CheckoutState{Branch: s.branch}
	if out.Commit, _, err = s.Repo.Resolve(ctx, s.branch); err != nil {
		return nil, err
	}
	place, c, linked, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	if c == whole && s.own(place, linked) == nil {
		out.Path, out.State = place, s.copyDir(place)
	}
	return out, nil
}

// CanBringBack tells why BringBack would be refused, nil if it would not. It
// changes nothing.
func CanBringBack(ctx context.Context, p Project, then *durable.CheckoutState) error {
	s, err := p.open()
	if err != nil {
		return err
	}
	if then.Commit != "" {
		if _, ok, err := s.Repo.Resolve(ctx, then.Commit); err != nil || !ok {
			return &RefusedError{Path: s.spec, Reason: fmt.Sprintf("the commit %.12s its branch was at is not in the repository", then.Commit), Todo: "fetch it, then undo again"}
		}
	}
	for _, at := range s.Repo.CheckedOut(s.branch) {
		if !s.mine(at, then) {
			return &RefusedError{Path: at, Reason: s.branch + " is checked out there", Todo: "switch to another branch there, then undo again"}
		}
	}
	place, c, linked, err := s.find(ctx)
	if err != nil {
		return err
	}
	if c == whole {
		if err := s.own(place, linked); err != nil {
			return err
		}
		if err := s.atRest(ctx, place); err != nil {
			return err
		}
	}
	if c != absent && c != gone && place != then.Path {
		if err := s.Store.CanArchive(place); err != nil {
			return err
		}
	}
	if then.Path != "" && then.Path != place {
		if c, _, err := s.look(ctx, then.Path); err != nil {
			return err
		} else if c == whole {
			return &RefusedError{Path: then.Path, Reason: "another checkout is there", Todo: "move it away"}
		}
	}
	return nil
}

// mine reports whether a folder is where the run's checkout may be.
func (s *site) mine(abs string, then *durable.CheckoutState) bool {
	for _, place := range append(s.places(), then.Path) {
		if place != "" && s.abs(place) == abs {
			return true
		}
	}
	return false
}

// atRest refuses a checkout that git is at work in, or has left in the middle of
// something: its notes about that are in no snapshot.
func (s *site) atRest(ctx context.Context, place string) error {
	in, err := s.Repo.In(ctx, s.abs(place))
	if err != nil {
		return err
	}
	if op := gitx.Operation(in.GitDir()); op != "" {
		return &RefusedError{Path: place, Reason: "git is in the middle of a " + op + " there", Todo: "finish or abort it there, then undo again"}
	}
	if _, err := os.Lstat(filepath.Join(string(in.GitDir()), "index.lock")); err == nil {
		return &RefusedError{Path: place, Reason: "git is running there (index.lock exists)", Todo: "wait for it; remove the file if no git is running"}
	}
	return nil
}

// BringBack gives the run the branch and the checkout it had, or takes away those
// it did not have. What is there now and cannot stay is kept: folders are archived,
// the branch gets another name. A checkout that is in its place already stays, with
// all that is in it, and so does its branch: what they held is for durable.UndoRuns to
// bring back, as is a branch that had no checkout.
//
// If the process dies here, bringing back again comes to the same end.
func BringBack(ctx context.Context, p Project, then *durable.CheckoutState) (notes []string, err error) {
	if err := CanBringBack(ctx, p, then); err != nil {
		return nil, err
	}
	s, err := p.open()
	if err != nil {
		return nil, err
	}
	s.keptAs = "undone"
	place, c, _, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	if c == whole && place == then.Path {
		return nil, nil
	}
	tip, have, err := s.Repo.Resolve(ctx, s.branch)
	if err != nil {
		return nil, err
	}
	if c == whole || c != absent && place != then.Path || have && tip != then.Commit {
		if _, err := s.discard(ctx); err != nil {
			return s.notes, err
		}
	}
	if then.Path == "" {
		return s.notes, nil
	}
	there := func(ctx context.Context) (string, condition, *gitx.Linked, error) {
		c, linked, err := s.look(ctx, then.Path)
		return then.Path, c, linked, err
	}
	if _, _, err := s.complete(ctx, there, then.Commit); err != nil {
		return s.notes, err
	}
	return s.notes, s.Store.Flush()
}

// Describe tells in words what bringing back a branch and a checkout changes, ""
// if nothing.
func Describe(now, then *durable.CheckoutState) string {
	var out []string
	switch {
	case now.Commit == then.Commit:
	case then.Commit == "":
		out = append(out, fmt.Sprintf("branch %s, which did not exist, is kept under another name", then.Branch))
	case now.Commit == "":
		out = append(out, fmt.Sprintf("branch %s is recreated at %.12s", then.Branch, then.Commit))
	default:
		out = append(out, fmt.Sprintf("branch %s goes from %.12s back to %.12s; its present commits are kept", then.Branch, now.Commit, then.Commit))
	}
	switch {
	case then.Path == "" && now.Path != "":
		out = append(out, fmt.Sprintf("checkout %s, which did not exist, is archived", now.Path))
	case then.Path != "" && now.Path != then.Path:
		out = append(out, fmt.Sprintf("checkout %s is recreated", then.Path))
	case then.Path != "":
		out = append(out, fmt.Sprintf("the files of checkout %s are restored", then.Path))
	}
	return strings.Join(out, "; ")
}
