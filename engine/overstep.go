package engine

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/project"
	"reprise/settings"
)

// opened gives the steps that are open while an attempt begins, where it is to close its
// own and no other; nil elsewhere, and where the journal tells them already. What is at
// work may have closed or removed some since: those are judged at its end.
func (w *work) opened() []reprise.Listed {
	known, out := convention.Of(w.ref.Layout), []reprise.Listed{}
	switch {
	case known.Open != nil:
		out = known.Open(w.led.Files(), w.run)
	case w.own(), project.OneWord(w.run):
		return nil // its journal alone counts, or all its steps follow from one word
	default:
		for i := range w.run.Steps {
			switch s := &w.run.Steps[i]; {
			case s.Removed != nil:
				out = append(out, *s.Removed)
			case !s.Status.Closed():
				out = append(out, reprise.Listed{ID: s.ID, Title: s.Title})
			}
		}
	}
	file := map[string]bool{}
	for i := range out {
		if s := w.run.Step(out[i].ID); s != nil && s.Removed == nil {
			out[i].Required = !s.Optional
			name := s.Source.File
			if _, looked := file[name]; !looked {
				info, err := fs.Stat(w.led.Files(), name)
				file[name] = err == nil && info.Mode().IsRegular() || err != nil && !errors.Is(err, fs.ErrNotExist) // what cannot be looked at may be there
			}
			if file[name] {
				out[i].In = name
			}
		}
	}
	if len(w.hist.Open()) > 0 {
		for _, l := range w.hist.Listed {
			if !slices.ContainsFunc(out, func(o reprise.Listed) bool { return o.ID == l.ID }) {
				out = append(out, l)
			}
		}
	}
	if w.hist.Listed != nil && slices.Equal(out, w.hist.Listed) {
		return nil
	}
	return out
}

// stillSaid tells that the files call a step done or go on without it, or call the run ended,
// although the attempt at it is not accepted, where the events that say so cannot take that
// back, and which steps after it they call done. It is recorded with them, so that what is
// written there later can be told apart.
func (w *work) stillSaid(ctx context.Context, s *Seen, events []reprise.Event) []reprise.Event {
	over := func(fsys fs.FS, r *reprise.Run) bool {
		if st := r.Step(s.Step); st != nil {
			return r.State == reprise.Stopped || st.Status.Closed()
		}
		return !r.State.Open() || len(r.Next) > 0 && !project.Offers(fsys, w.playbook, r, s.Step)
	}
	if len(events) == 0 || s.Number == 0 || w.own() {
		return nil
	}
	out := w.overrun(s.Step)
	if !over(w.led.Files(), w.files) {
		return out
	}
	dry := durable.NewDryRun(w.led.Files())
	then, err := w.imagined(ctx, dry, events)
	if err != nil {
		then = w.files // what they say now is not believed either
	}
	if !over(dry, then) {
		return out
	}
	says := reprise.Says{Status: reprise.Unknown, Word: then.Reason, State: then.State}
	if st := then.Step(s.Step); st != nil {
		rewrites := slices.ContainsFunc(dry.Edits(), func(e reprise.Edit) bool { return e.Path == st.Said().File })
		if then.State != reprise.Stopped && project.ByPresence(st, s.Expect) && !rewrites {
			return out // the content of what it was to leave is on record, and that tells
		}
		says = st.Says(then.State)
	}
	return append(out, reprise.Event{Kind: reprise.StepOverstepped, Step: s.Step, By: s.Step, Actor: actor, Says: &says})
}

// tellOverrun records what an attempt with no recorded end wrote of its step and of those
// after it, if a person has the step done again or leaves it out: then nothing else settles it.
func (w *work) tellOverrun(ctx context.Context) error {
	var events []reprise.Event
	for _, open := range w.hist.Open() {
		if open.Step == w.choice.From || slices.Contains(w.choice.Skip, open.Step) {
			events = append(events, w.overrun(open.Step)...)
		}
		if st := w.files.Step(open.Step); open.Step == w.choice.From && st != nil && st.Status.Closed() && !w.own() {
			says := st.Says(w.files.State)
			events = append(events, reprise.Event{Kind: reprise.StepOverstepped, Step: open.Step, By: open.Step, Actor: actor, Says: &says})
		}
	}
	if err := w.recordAll(ctx, events...); err != nil || len(events) == 0 {
		return err
	}
	return w.load()
}

func (w *work) overrun(step string) []reprise.Event {
	if w.own() {
		return nil // its journal alone counts
	}
	events := project.Overrun(w.files, w.hist, step)
	for i := range events {
		events[i].Actor = actor
	}
	return events
}

// tellOverstepped records which other steps were marked done since an attempt began, by
// none of their own, and which were removed, its own included: a person is asked before
// anything builds on that.
func (w *work) tellOverstepped(ctx context.Context, s *Seen) error {
	if w.lists() && w.hist.Listed == nil && s.Number > 0 {
		w.notice(reprise.Finding{
			Code: reprise.CodeStepsChanged, Severity: reprise.Warning, Subject: s.Step, Source: reprise.Source{File: w.ref.Path},
			Message: "whether the attempt at " + s.Step + " marked other tasks done, or removed some, is unknown: no record shows which were open when it began",
			Hint:    "`git log -p -- " + reprise.Pasted(w.ref.Path, "FILE") + "` shows what was changed",
		})
	}
	if w.files.State == reprise.Unreadable {
		return nil // that tells nothing of a single step
	}
	events := project.Overstepped(w.run, w.hist, s.Step)
	if len(events) == 0 {
		return nil
	}
	for i := range events {
		ev := &events[i]
		ev.Actor = actor
		if s := w.run.Step(ev.Step); s != nil { // some files cannot take back what they say
			name := s.Said().File
			if now, err := w.hash(name); err == nil {
				ev.Expect = []reprise.Expected{{Path: name, Before: now}}
			}
		}
	}
	// What has happened is recorded even while we are being stopped.
	if err := w.recordAll(context.WithoutCancel(ctx), events...); err != nil {
		return err
	}
	return w.load()
}

// tellSettings tells that the settings are not what they were when an attempt began: they say
// what is started here, and are committed with its work.
func (w *work) tellSettings(f *Attempt) {
	name := path.Join(f.Inside, settings.FileName)
	now, err := w.hash(name)
	if f.Settings.IsZero() || err != nil || now == f.Settings {
		return
	}
	f.Settings = reprise.Hash{}
	what := "changed"
	if now.IsZero() {
		what = "removed"
	}
	w.notice(reprise.Finding{
		Code: reprise.CodeFilesChanged, Severity: reprise.Warning, Subject: f.Step, Source: reprise.Source{File: name},
		Message: name + ", which says what is started here, was " + what + " while " + f.Step + " was at work",
		Hint:    "look at it before you resume; `git log -p -- " + reprise.Pasted(name, "FILE") + "` shows what it was",
	})
}
