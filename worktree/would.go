package worktree

import (
	"context"
	"fmt"
)

// Merging tells in a sentence what Merge would merge into what, and refuses what it
// would refuse before it begins. It changes nothing; whether the branches go together
// only merging tells.
func Merging(ctx context.Context, p Project) (string, error) {
	s, err := p.open()
	if err != nil {
		return "", err
	}
	if _, _, err := s.mergeable(ctx); err != nil {
		return "", err
	}
	before, err := s.Repo.IsAncestor(ctx, s.branch, "HEAD")
	if err != nil {
		return "", err
	}
	if before {
		return s.branch + " was merged before: nothing is merged.", nil
	}
	into, err := s.Repo.MergesInto(ctx)
	if err != nil {
		return "", err
	}
	head, _, err := s.Repo.Resolve(ctx, s.branch)
	if err != nil {
		return "", err
	}
	base, err := s.Repo.MergeBase(ctx, s.branch, "HEAD")
	if err != nil {
		return "", err
	}
	if base == "" {
		return fmt.Sprintf("%s at %.12s is merged into %s, with which it has nothing in common.", s.branch, head, into), nil
	}
	commits, err := s.Repo.Subjects(ctx, base, head, maxListed)
	if err != nil {
		return "", err
	}
	files, err := s.Repo.DiffStat(ctx, base, head)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s at %.12s (commits: %d, files changed: %d) is merged into %s; if they do not go together, nothing is changed.", s.branch, head, len(commits), len(files), into), nil
}

// Discarding tells in a sentence what Discard would give up, and refuses what it
// would refuse. place is the checkout that is archived, "" if there is none. It
// changes nothing.
func Discarding(ctx context.Context, p Project) (place, text string, err error) {
	s, err := p.open()
	if err != nil {
		return "", "", err
	}
	place, c, linked, err := s.find(ctx)
	if err != nil {
		return "", "", err
	}
	if c == whole {
		if err := s.own(place, linked); err != nil {
			return "", "", err
		}
	}
	head, have, err := s.Repo.Resolve(ctx, s.branch)
	if err != nil {
		return "", "", err
	}
	if c == absent || c == gone {
		place = ""
	} else {
		text = fmt.Sprintf("The checkout in %s is archived, with what is not committed. ", place)
	}
	if have {
		ref, err := s.freeRef(ctx, keptStem+s.keptAs+"/"+s.spec)
		if err != nil {
			return "", "", err
		}
		text += fmt.Sprintf("Branch %s at %.12s is kept as %s.", s.branch, head, branchName(ref))
	}
	if text == "" {
		text = "There is nothing to give up."
	}
	return place, text, nil
}
