package engine

import (
	"context"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
)

// opened gives the steps that are open while an attempt begins, where it is to close its
// own and no other; nil elsewhere, and where the journal tells them already. What is at
// work may have closed or removed some since: those are judged at its end.
func (w *work) opened() []reprise.Listed {
	open := convention.Of(w.ref.Layout).Open
	if open == nil {
		return nil
	}
	out := open(w.led.Files(), w.run)
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

// tellOverstepped records which other steps were marked done since an attempt began, by
// none of their own, and which were removed, its own included: a person is asked before
// anything builds on that.
func (w *work) tellOverstepped(ctx context.Context, s *Seen) error {
	if convention.Of(w.ref.Layout).Open != nil && w.hist.Listed == nil && s.Number > 0 {
		w.notice(reprise.Finding{
			Code: reprise.CodeStepsChanged, Severity: reprise.Warning, Subject: s.Step, Source: reprise.Source{File: w.ref.Path},
			Message: "whether the attempt at " + s.Step + " marked other tasks done, or removed some, is unknown: no record shows which were open when it began",
			Hint:    "`git log -p " + w.ref.Path + "` shows what was changed",
		})
	}
	if w.files.State == reprise.Unreadable {
		return nil // that tells nothing of a single step
	}
	var events []reprise.Event
	for _, l := range w.hist.Listed {
		ev := reprise.Event{Kind: reprise.StepOverstepped, Step: l.ID, By: s.Step, Actor: actor}
		now := w.run.Step(l.ID)
		if now == nil {
			ev.Listed = &l
		}
		inParts := slices.ContainsFunc(w.run.Steps, func(p reprise.Step) bool { return strings.HasPrefix(p.ID, l.ID+".") && !p.Status.Closed() })
		own := l.ID == s.Step
		switch {
		case inParts, !own && w.hist.Step(l.ID).Open != nil:
		case own && (now != nil || w.continued(l.ID)):
		case now == nil || now.Status.Closed():
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return nil
	}
	// What has happened is recorded even while we are being stopped.
	if err := w.recordAll(context.WithoutCancel(ctx), events...); err != nil {
		return err
	}
	return w.load()
}

// continued reports whether a step stands in the files with more words, where it has no
// number, or in parts.
func (w *work) continued(id string) bool {
	return slices.ContainsFunc(w.run.Steps, func(p reprise.Step) bool {
		return strings.HasPrefix(p.ID, id+"-") || strings.HasPrefix(p.ID, id+".")
	})
}
