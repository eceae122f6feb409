package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/journal"
)

// A copy that is handed over says so in its journal. It says before the push that this is about to
// happen, and after it that it has happened.

// isNote reports whether an event is a note about handing a run over, and nothing that was done.
func isNote(ev *reprise.Event) bool {
	return ev.Kind == reprise.EngineLeft && slices.Contains([]string{reprise.HandedOver, reprise.HandingOver, reprise.NotHandedOver, reprise.CameBack}, ev.Outcome)
}

// note has every copy say that the fleet has the run, or is about to, also one with nothing on
// record: its files alone say that there is something to do.
func (h *handing) note(ctx context.Context, best *localCopy, outcome string) error {
	for _, c := range h.copies {
		if c.dir == "" || c != best && (c.said && !h.anew || !c.files) || c.last == outcome && !h.anew {
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

// push pushes a commit to the branch of the run, and with it to a claim. The clone says before that
// what is about to happen: whoever is cut off here leaves no copy that seems to be the run, or to be
// free for it. That is taken back where the remote has refused it and does not have the commit.
func (h *handing) push(ctx context.Context, in *Checkout, commit string, best *localCopy, claim ...heldRef) error {
	if err := h.note(ctx, best, reprise.HandingOver); err != nil {
		return err
	}
	forget, err := h.foretell(ctx, in.Dir, commit)
	if err == nil {
		err = in.Push(ctx, commit, h.branch(), h.was, claim...)
	}
	_, refused := errors.AsType[*RefusedError](err)
	_, rejected := errors.AsType[*RejectedError](err)
	if refused || rejected {
		refs := []string{h.branch()}
		for _, c := range claim { // others make the branch of what is claimed
			refs = append(refs, c.name)
		}
		if found, asked := h.mirror.Fetch(ctx, refs...); asked == nil && !slices.Contains(slices.Collect(maps.Values(found)), commit) {
			err = errors.Join(err, h.takeBack(ctx), forget())
		}
	}
	if err != nil {
		return err
	}
	h.was = commit
	return h.note(context.WithoutCancel(ctx), best, reprise.HandedOver)
}

// foretell has the clone know the branch as it is about to be, where no copy has anything of the run
// that could say so: then that is all that keeps a second run from being begun by its name. forget
// takes it back.
func (h *handing) foretell(ctx context.Context, from, commit string) (forget func() error, err error) {
	forget = func() error { return nil }
	if slices.ContainsFunc(h.copies, func(c *localCopy) bool { return c.said || c.last == reprise.HandingOver }) {
		return forget, nil
	}
	known := tracked(h.ref.ID)
	was, err := git(ctx, h.Clone, nil, "for-each-ref", "--format=%(objectname)", known)
	if err != nil {
		return forget, err
	}
	if _, err := git(ctx, h.Clone, nil, "-c", "protocol.version=2", "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", from, "+"+commit+":"+known); err != nil {
		return forget, err
	}
	return func() error {
		args := []string{"update-ref", known, was, commit}
		if was == "" {
			args = []string{"update-ref", "-d", known, commit}
		}
		_, err := git(ctx, h.Clone, nil, args...)
		return err
	}, nil
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

// CameBack has the copies of the clone whose history has the files of a run as the fleet left it when
// it had finished it say that they are no old ones, and names them: it came back, if not by a merge of
// its branch.
func (f *Fleet) CameBack(ctx context.Context, run string) (in []string, err error) {
	err = f.apart(func(m *Mirror) error {
		kept := lastOf("refs/heads/" + Branch(run))
		found, err := m.Fetch(ctx, kept)
		if err != nil || found[kept] == "" {
			return err
		}
		last, err := m.Checkout(ctx, found[kept], "reprise-look")
		if err != nil {
			return err
		}
		defer last.Close()
		if subject, err := git(ctx, last.Dir, nil, "log", "-1", "--format=%s"); err != nil || subject != reprise.OverSubject(run) {
			return err
		}
		h := &handing{Fleet: f, mirror: m}
		defer h.release()
		if h.ref, err = f.findIn(ctx, last.Dir, run); err != nil {
			return err
		}
		state := path.Join(f.Folder, h.ref.Path)
		as, err := git(ctx, last.Dir, nil, "rev-parse", "HEAD:"+state)
		if err != nil {
			return err
		}
		if h.copies, err = f.copies(ctx, run); err != nil {
			return err
		}
		for _, c := range h.copies {
			if err := h.read(c); err != nil {
				return err
			}
			if c.dir == "" || c.last != reprise.HandedOver {
				continue
			}
			commits, err := git(ctx, c.dir, nil, "log", fmt.Sprintf("--max-count=%d", maxCameBack), "--format=%H", "--", ":(top,literal)"+state)
			if err != nil {
				return err
			}
			for commit := range strings.FieldsSeq(commits) {
				if is, err := git(ctx, c.dir, nil, "rev-parse", commit+":"+state); err == nil && is == as {
					if err := h.noteIn(ctx, c, reprise.CameBack); err != nil {
						return err
					}
					in = append(in, c.dir)
					break
				}
			}
		}
		return nil
	})
	return in, err
}

// maxCameBack bounds how many commits that changed the files of a run are looked at.
const maxCameBack = 1000
