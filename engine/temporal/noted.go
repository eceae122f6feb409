package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/journal"
)

// A copy that is handed over says so in its journal. It says before the push that this is about to
// happen, and after it that it has happened.

// isNote reports whether an event is a note about handing a run over, and nothing that was done.
func isNote(ev *reprise.Event) bool {
	return ev.Kind == reprise.EngineLeft && slices.Contains([]string{reprise.HandedOver, reprise.HandingOver, reprise.NotHandedOver}, ev.Outcome)
}

// note has every copy say that the fleet has the run, or is about to, also one with nothing on
// record: its files alone say that there is something to do.
func (h *handing) note(ctx context.Context, best *localCopy, outcome string) error {
	for _, c := range h.copies {
		if c.dir == "" || c != best && (c.said || !c.files) || c.last == outcome {
			continue
		}
		if err := h.noteIn(ctx, c, outcome); err != nil {
			return err
		}
	}
	return nil
}

// noteIn notes in a copy how handing it over stands.
func (h *handing) noteIn(ctx context.Context, c *localCopy, outcome string) error {
	if c.store == nil {
		if err := h.take(ctx, c); err != nil {
			return err
		}
	}
	j, err := journal.Open(c.store, convention.Find(h.ref.Layout), h.ref)
	if err == nil {
		err = j.Note(reprise.Event{Kind: reprise.EngineLeft, At: time.Now(), Actor: "reprise-fleet", Outcome: outcome, Text: Branch(h.ref.ID)})
	}
	if err != nil {
		return fmt.Errorf("hand over %s: note it in %s: %w", h.ref.ID, c.dir, err)
	}
	c.last, c.said = outcome, c.said || outcome == reprise.HandedOver
	return nil
}

// push pushes a commit to the branch of the run. Every copy says before that what is about to
// happen: whoever is cut off here leaves no copy that seems to be the run. That is taken back where
// the remote has refused it and does not have the commit.
func (h *handing) push(ctx context.Context, in *Checkout, commit string, best *localCopy) error {
	if err := h.note(ctx, best, reprise.HandingOver); err != nil {
		return err
	}
	err := in.Push(ctx, commit, h.branch(), h.was)
	_, refused := errors.AsType[*RefusedError](err)
	_, rejected := errors.AsType[*RejectedError](err)
	if refused || rejected {
		if found, asked := h.mirror.Fetch(ctx, h.branch()); asked == nil && found[h.branch()] != commit {
			err = errors.Join(err, h.takeBack(ctx))
		}
	}
	if err != nil {
		return err
	}
	h.was = commit
	return h.note(context.WithoutCancel(ctx), best, reprise.HandedOver)
}

// takeBack takes back that copies are about to be handed over.
func (h *handing) takeBack(ctx context.Context) (err error) {
	for _, c := range h.copies {
		if err == nil && c.last == reprise.HandingOver {
			err = h.noteIn(ctx, c, reprise.NotHandedOver)
		}
	}
	return err
}
