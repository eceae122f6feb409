package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"reprise"
)

// accepted marks the trailer of commits that we make ourselves, once everything
// an attempt must leave is there. A commit with the plain trailer is an agent's
// own and may be one of several.
const accepted = reprise.TrailerAccepted

// commitOf finds the commit of this checkout that carries a trailer, "" if there
// is none or it cannot be told.
func (w *work) commitOf(ctx context.Context, f *attempt, value string) string {
	if w.repo == nil || f.key == "" {
		return ""
	}
	repo, err := w.repoAt(ctx, f.dir)
	if err != nil {
		return ""
	}
	commit, _, err := repo.HasTrailer(ctx, "HEAD", reprise.TrailerKey, value)
	if err != nil {
		w.notice(reprise.Finding{Code: reprise.CodeGitUnavailable, Severity: reprise.Warning, Subject: f.a.Step, Message: "the commit of the step was not found out: " + err.Error()})
		return ""
	}
	return commit
}

// commitBefore finds the latest commit of attempts before this one that were not
// accepted, "" if there is none: this one may have found that their work was whole.
func (w *work) commitBefore(ctx context.Context, f *attempt) string {
	for _, key := range slices.Backward(w.hist.Step(f.a.Step).Keys) {
		if key == f.key {
			continue
		}
		if made := first(w.commitOf(ctx, f, key+accepted), w.commitOf(ctx, f, key)); made != "" {
			return made
		}
	}
	return ""
}

// changedAnything reports whether something is uncommitted where an attempt
// worked that was not before; it does where that cannot be told.
func (w *work) changedAnything(ctx context.Context, f *attempt) bool {
	now, err := w.dirty(ctx, f.dir)
	if err != nil || f.dirty == nil {
		return true
	}
	return slices.ContainsFunc(now, func(name string) bool { return !slices.Contains(*f.dirty, name) && !w.isState(name) })
}

// someOf names a few of many files.
func someOf(names []string) string {
	if more := len(names) - 5; more > 0 {
		return fmt.Sprintf("%s and %d more files are", strings.Join(names[:5], ", "), more)
	}
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// made reports whether a changed file of the project's own checkout is the work
// of this attempt: what it was to leave and, where nobody else is at work, all
// that was not changed before it began. What was changed by then may be a
// person's; only what an earlier attempt changed or was to leave, too, can be ours.
func (w *work) made(f *attempt, prefix, name string) bool {
	if f.held != nil {
		its := slices.ContainsFunc(f.held.Work, func(e reprise.Expected) bool { return e.Path == name })
		// Where git could not even tell what it changed, what it was to leave is its work.
		its = its || len(f.held.Work) == 0 && f.leaves(prefix, name)
		return its && !slices.Contains(f.changed, name)
	}
	if f.dirty == nil || w.isState(name) {
		return false
	}
	if slices.Contains(*f.dirty, name) {
		return slices.Contains(f.left, name) || f.attempt > 1 && f.leaves(prefix, name) && !slices.Contains(f.after, name)
	}
	return !w.folders.shared(f) || f.leaves(prefix, name)
}

// maxLeft bounds how many files are kept of an attempt that is not accepted: what
// changes more than that is a build or an installation, and nobody's to commit.
const maxLeft = 1000

// leftBy lists what an attempt changed in the project's own checkout and no commit
// holds; a checkout of the run's own holds nothing else.
func (w *work) leftBy(ctx context.Context, f *attempt) []string {
	if w.repo == nil || f.dirty == nil || f.inside != "" {
		return nil
	}
	now, err := w.dirty(ctx, f.dir)
	if err != nil {
		w.notice(reprise.Finding{Code: reprise.CodeGitUnavailable, Severity: reprise.Warning, Subject: f.a.Step, Message: "what the attempt changed was not found out: " + err.Error()})
		return nil
	}
	prefix := w.repo.Prefix()
	now = slices.DeleteFunc(now, func(name string) bool { return !w.made(f, prefix, name) })
	if len(now) > maxLeft {
		return nil
	}
	return now
}

// leftSince tells of what earlier attempts of a step left uncommitted in the project's
// own checkout which of it is as they left it, and which somebody changed after that.
// What an attempt may have changed whose end nobody saw counts as left by it.
func (w *work) leftSince(ctx context.Context, f *attempt) (left, after []string) {
	step := w.hist.Step(f.a.Step)
	if len(step.LeftAs) == 0 || w.repo == nil || f.inside != "" {
		return step.Left, nil
	}
	repo, err := w.repoAt(ctx, f.dir)
	if err != nil {
		return step.Left, nil
	}
	for _, name := range step.Left {
		was, known := step.LeftAs[name]
		if now, err := repo.Print(name); known && (err != nil || now != was) {
			after = append(after, name)
		} else {
			left = append(left, name)
		}
	}
	return left, after
}

// printed gives what files are that an attempt left, as far as that can be told.
func (w *work) printed(ctx context.Context, f *attempt, names []string) (out []reprise.Expected) {
	if len(names) == 0 {
		return nil
	}
	repo, err := w.repoAt(ctx, f.dir)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if print, err := repo.Print(name); err == nil {
			out = append(out, reprise.Expected{Path: name, Before: print})
		}
	}
	return out
}

// leaves reports whether a file of the repository is one that the attempt was to
// leave, or in a folder that it was to.
func (f *attempt) leaves(prefix, name string) bool {
	return slices.ContainsFunc(f.a.Expect, func(e reprise.Expected) bool {
		own := prefix + strings.TrimPrefix(e.Path, f.inside+"/")
		return name == own || strings.HasPrefix(name, own+"/")
	})
}

// isState reports whether a file is part of the run's state or of ours: it
// changes with every event and is committed by whoever keeps it.
func (w *work) isState(name string) bool {
	rel, inside := strings.CutPrefix(name, w.prefix())
	if !inside {
		return false
	}
	return rel == w.ref.Path || strings.HasPrefix(rel, w.ref.Path+"/") || strings.HasPrefix(rel, ".reprise/")
}

// message is that of a commit of ours.
func (w *work) message(f *attempt) string {
	subject := f.a.Facts["commit_subject"]
	if subject == "" {
		subject = f.a.Step
		if f.a.Unit.Title != "" && f.a.Unit.Title != f.a.Step {
			subject += ": " + f.a.Unit.Title
		}
	}
	subject = strings.Join(strings.Fields(strings.Map(printable, subject)), " ")
	if r := []rune(subject); len(r) > 100 {
		subject = string(r[:99]) + "…"
	}
	return subject
}

// printable takes out what nobody sees or what changes how the rest looks.
func printable(r rune) rune {
	if !unicode.IsGraphic(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == unicode.ReplacementChar {
		return ' '
	}
	return r
}
