package worktree

import (
	"context"
	"errors"
	"fmt"

	"reprise"
	"reprise/internal/gitx"
)

// Merging tells in a sentence what Merge would merge into what. What it would refuse,
// or take back because the branches do not go together, is the same error here. It
// changes nothing. edits are what it would change in the project's copy of the spec.
func Merging(ctx context.Context, p Project) (text string, edits []reprise.Edit, err error) {
	s, err := p.open()
	if err != nil {
		return "", nil, err
	}
	place, c, err := s.mergeable(ctx)
	if err != nil {
		return "", nil, err
	}
	if c == whole {
		if edits, err = s.backEdits(place); err != nil {
			return "", nil, err
		}
	}
	if text, err = s.merging(ctx); err != nil {
		err = withoutState(err, place, c)
	}
	return text, edits, err
}

func (s *site) merging(ctx context.Context) (string, error) {
	_, before, err := s.before(ctx)
	if err != nil {
		return "", err
	}
	if before {
		return s.mergedBefore() + ": nothing is merged.", nil
	}
	if err := s.rightBase(ctx); err != nil {
		return "", err
	}
	into, err := s.Repo.MergesInto(ctx)
	if err != nil {
		return "", err
	}
	outcome := "no file conflicts"
	if err := s.Repo.Foresee(ctx, s.branch); errors.Is(err, gitx.ErrCannotForesee) {
		outcome = "whether files conflict shows only when merging; if they do, nothing is changed"
	} else if err != nil {
		return "", err
	}
	head, _, err := s.Repo.Resolve(ctx, s.branch)
	if err != nil {
		return "", err
	}
	commits, files, err := s.built(ctx, head)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s at %.12s (commits: %d, files changed: %d) is merged into %s; %s.", s.branch, head, len(commits), len(files), into, outcome), nil
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
		text = fmt.Sprintf("The checkout in %s is archived, with its uncommitted files. ", place)
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
