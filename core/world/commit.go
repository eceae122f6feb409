//go:build unix

package world

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise/core"
)

// Trailers of the commits of a run.
const (
	RecordTrailer = "Reprise-Record: " // the run and the number of the record
	StepTrailer   = "Reprise-Step: "   // the run and the step
)

// Make makes a move, for the first time or again: files, index, commit. It is done when it
// returns no error, and is durable then; a kill or a power cut inside leaves what the next
// Make sees and completes. It gives
// the files that it left because the user has changed them.
func (r *Repo) Make(ctx context.Context, run string, rec core.Record) (left []string, err error) {
	m := rec.Move()
	if left, err = r.MoveFiles(ctx, m.From, m.To); err != nil || r.private || m.Message == "" {
		return left, errors.Join(err, r.Sync())
	}
	if busy := r.Busy(); busy != "" {
		return left, errors.New(busy)
	}
	unlock, err := r.lockIndex(ctx)
	if err != nil {
		return left, err
	}
	defer unlock()
	head, err := r.Head()
	if err != nil {
		return left, err
	}
	trailer := fmt.Sprintf("%s%s/%d", RecordTrailer, run, rec.Seq)
	commits, err := r.Commits(head.Commit, m.Head.Commit)
	if err != nil {
		return left, err
	}
	if i := slices.IndexFunc(commits, func(c Commit) bool { return HasLine(c.Message, trailer) }); i >= 0 {
		return left, errors.Join(r.catchUp(ctx, commits[i].ID), r.Sync())
	}
	return left, errors.Join(r.commit(ctx, m, head, trailer, rec.At), r.Sync())
}

// catchUp takes the index along to a commit that is there: a power cut can keep the branch, and
// take the index.
func (r *Repo) catchUp(ctx context.Context, commit string) error {
	text, tree, err := r.parse(commit)
	if err != nil {
		return err
	}
	was := ""
	if _, parent, ok := strings.Cut(text, "\nparent "); ok {
		if _, was, err = r.parse(parent[:r.idLen]); err != nil {
			return err
		}
	}
	return r.followIndex(ctx, was, tree)
}

// commit makes the commit of a move on a head, as the project wants commits made. Made again
// on the same head it is the same commit, unless it is signed.
func (r *Repo) commit(ctx context.Context, m *core.Move, head HeadNow, trailer string, at time.Time) error {
	files, _, err := r.Apart(ctx, m, head)
	if err != nil {
		return err
	}
	for _, e := range files {
		if err := r.copy(e); err != nil {
			return err
		}
	}
	tree, err := r.build(users, head.Tree, files)
	if err != nil || tree == head.Tree {
		return err
	}
	tree, message, err := r.heard(ctx, tree, m.Message+"\n"+trailer+"\n", trailer)
	if err != nil {
		return err
	}
	parent, was := "", strings.Repeat("0", r.idLen)
	if head.Commit != "" {
		parent, was = "parent "+head.Commit+"\n", head.Commit
	}
	var id string
	if len(r.want.sign) > 0 {
		id, err = r.signed(ctx, tree, head.Commit, message, at)
	} else {
		who := fmt.Sprintf("%s %d %s", r.ident, at.Unix(), at.Local().Format("-0700"))
		id, err = r.write(users, "commit", fmt.Appendf(nil, "tree %s\n%sauthor %s\ncommitter %s\n\n%s", tree, parent, who, who, message))
	}
	if err != nil {
		return err
	}
	// The index first, as git does: killed between the two, these files are staged. The commit
	// is durable before anything names it.
	if err := r.followIndex(ctx, head.Tree, tree); err != nil {
		return err
	}
	subject, _, _ := strings.Cut(m.Message, "\n")
	_, err = r.git(ctx, users, nil, "update-ref", "-m", "reprise: "+subject, "HEAD", id, was)
	if now, herr := r.Head(); err != nil && herr == nil && now.Commit == id { // by a git of an engine that was killed
		err = nil
	}
	if err == nil {
		r.hook(ctx, filepath.Join(r.gitDir, "index"), "post-commit") //nolint:errcheck // it is told, and has no say
	}
	return err
}

// Apart gives the files of a commit that applies the difference of a move to HEAD and
// nothing else, and those in which the move and changes of the user that are not
// committed touch the same lines.
func (r *Repo) Apart(ctx context.Context, m *core.Move, head HeadNow) (files map[string]Entry, torn []string, err error) {
	if r.private {
		return nil, nil, nil
	}
	changes, err := r.Diff(m.Base, m.To)
	if err != nil {
		return nil, nil, err
	}
	files = map[string]Entry{}
	for _, c := range changes {
		now, err := r.Entry(core.World(head.Tree), c.Path)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case now == c.New || c.Old.large() || c.New.large() || slices.Contains(m.Aside, c.Path):
		case now == c.Old || slices.Contains(m.Whole, c.Path):
			files[c.Path] = c.New
		case now.none() && !c.Old.none(): // he keeps it out of git
		case m.Own[c.Path] != "":
			files[c.Path] = Entry{now.Mode, m.Own[c.Path]}
		default:
			e, ok, err := r.merge(ctx, c.Old, now, c.New)
			if err == nil && !ok {
				e, ok, err = r.overtaken(c, m.Since)
			}
			if err != nil {
				return nil, nil, err
			}
			if ok {
				files[c.Path] = e
			} else {
				torn = append(torn, c.Path)
			}
		}
	}
	return files, torn, nil
}

// overtaken tells that HEAD had a file as it was before, and has it otherwise now: it was
// committed while the attempt was at work, and what is there now came after that.
func (r *Repo) overtaken(c Change, commit string) (Entry, bool, error) {
	if commit == "" {
		return Entry{}, false, nil
	}
	_, tree, err := r.parse(commit)
	if err != nil {
		return Entry{}, false, err
	}
	then, err := r.Entry(core.World(tree), c.Path)
	return c.New, then == c.Old, err
}
