package temporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// HandOver brings to the branch of a run what this clone has committed of it and the remote has not,
// and its journal: where the run was begun here, and where it went on in a checkout of the clone. No
// one may be working on it in any of them. From then on every copy in the clone says that the branch
// is the run. The error is a *DivergedError if it went on in two places, and a *NotTakenError if the
// fleet does not take it.
func (f *Fleet) HandOver(ctx context.Context, ref reprise.Ref) (run Begun, err error) {
	return f.handOver(ctx, ref, func(*localCopy, bool) error { return nil })
}

// Resume is HandOver for a run that is to go on in a way. Where it cannot, for what Check says,
// nothing is handed over.
func (f *Fleet) Resume(ctx context.Context, ref reprise.Ref, c engine.Choice) (run Begun, err error) {
	run, err = f.handOver(ctx, ref, func(best *localCopy, there bool) error {
		if best == nil || best.dir == "" {
			return f.Check(ctx, ref, c)
		}
		err := f.checkIn(ctx, best.dir, ref, c)
		if err == nil {
			err = f.offers(ctx, filepath.Join(best.dir, filepath.FromSlash(f.Folder)), ref, c)
		}
		if _, over := errors.AsType[*OverError](err); over && there {
			return nil // what was done here comes to the branch
		}
		return err
	})
	return run, f.overHere(ctx, f.Clone, ref, c, err)
}

// handOver hands a run over that a check lets pass, which is told the copy that has more than the
// remote, nil if none has, and whether the remote has the run.
func (f *Fleet) handOver(ctx context.Context, ref reprise.Ref, check func(best *localCopy, there bool) error) (run Begun, err error) {
	run.Ref = ref
	err = f.apart(func(m *Mirror) error {
		h := &handing{Fleet: f, mirror: m, ref: ref}
		defer h.release()
		if err := h.look(ctx); err != nil {
			return err
		}
		best, err := h.ahead(ctx)
		if err == nil {
			err = check(best, h.was != "")
		}
		if _, over := errors.AsType[*OverError](err); over {
			more, asked := h.grown(ctx)
			if h.anew = more; more || asked != nil {
				err = asked
			}
		}
		if err == nil {
			err = h.committed(best)
		}
		atWork := false // its turns move the branch
		if err == nil && f.Client != nil {
			atWork, err = f.Open(ctx, ref.ID)
		}
		if err == nil && !atWork {
			err = h.alone(ctx, best)
		}
		if err == nil && !atWork {
			err = h.pushed(ctx, best)
		}
		if err == nil && best != nil {
			run.Ignored, err = h.bring(ctx, best)
		}
		if err == nil && !atWork {
			err = h.catchUp(ctx)
		}
		if err != nil {
			return err
		}
		if err := h.note(ctx, nil, reprise.HandedOver); err != nil {
			return err
		}
		return f.track(ctx, ref.ID)
	})
	return run, err
}

// Track has the clone know how the branch of a run stands, if the remote says so.
func (f *Fleet) Track(ctx context.Context, run string) {
	_ = f.track(ctx, run) // until then the clone says what it knew
}

// alone is Fleet.alone for a run that is not at work, where it stands.
func (h *handing) alone(ctx context.Context, best *localCopy) error {
	if h.Client == nil {
		return nil
	}
	if best != nil && best.dir != "" {
		return h.Fleet.alone(ctx, h.mirror, h.root(best), h.ref)
	}
	at, err := h.mirror.Checkout(ctx, h.was, Branch(h.ref.ID))
	if err != nil {
		return err
	}
	defer at.Close()
	return h.Fleet.alone(ctx, h.mirror, filepath.Join(at.Dir, filepath.FromSlash(h.Folder)), h.ref)
}

// tracked is what the clone knows of the branch of a run.
func tracked(run string) string { return "refs/remotes/origin/" + Branch(run) }

// track has the clone know the branch of a run as the remote has it: as after a fetch, plain
// reprise reads there which runs the fleet has, also those that have no files here. A beginning that
// never arrived is forgotten.
func (f *Fleet) track(ctx context.Context, run string) error {
	known := tracked(run)
	_, err := git(ctx, f.Clone, nil, "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", f.Remote,
		"+refs/heads/"+Branch(run)+":"+known)
	switch {
	case err == nil:
	case raced(err.Error()):
		err = &RejectedError{known, err.Error()}
	case strings.Contains(err.Error(), "couldn't find remote ref"):
		at, asked := git(ctx, f.Clone, nil, "for-each-ref", "--format=%(objectname) %(subject)", known)
		if commit, subject, _ := strings.Cut(at, " "); asked == nil && subject == startSubject(run) {
			_, err = git(ctx, f.Clone, nil, "update-ref", "-d", known, commit)
		}
	}
	return err
}

// startSubject is that of the commit with which a run begins on the fleet.
func startSubject(run string) string { return "reprise: start " + run }

// copiedError says that the clone is a copy of another one. What it has of a run is not handed
// over by accident.
type copiedError struct {
	error
	run string
}

func (e *copiedError) Unwrap() error { return e.error }

// Hint says what a person can do; the program has no --adopt of its own.
func (e *copiedError) Hint() string {
	return "hand it over from the original, or go on in this copy first: `reprise resume " + reprise.Pasted(e.run, "RUN") + " --adopt`"
}

// DivergedError says that a run went on in several places, each without the others.
type DivergedError struct {
	Run    string
	Places []string
	linked []string // the checkouts among them that are beside the clone
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("hand over %s: it went on in %s, each without the other", e.Run, strings.Join(e.Places, " and "))
}

// Hint says what a person can do.
func (e *DivergedError) Hint() string {
	run := reprise.Pasted(e.Run, "RUN")
	hint := fmt.Sprintf("see them: `git fetch origin %s && git worktree list && git log --oneline --graph --all`; if the branch is what counts: `git clone \"$(git remote get-url origin)\" ../%[2]s-again && reprise-fleet resume %[2]s -C ../%[2]s-again`", Branch(e.Run), run)
	for _, dir := range e.linked {
		hint += fmt.Sprintf("; if nothing that was done in %[1]s is to count: `mv %[1]s %[1]s.put-away && git worktree prune`", reprise.Pasted(dir, "DIR"))
	}
	return hint
}

// Outcome implements the rule that outcomes have exit codes.
func (e *DivergedError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// never says whether a run without a branch never was on the fleet. If it was, what is here is
// at best an old copy: the error is a *NoBranchError.
func (h *handing) never(ctx context.Context) error {
	if slices.ContainsFunc(h.copies, func(c *localCopy) bool { return c.said }) {
		return &NoBranchError{Run: h.ref.ID}
	}
	return h.unused(ctx, h.mirror, h.ref.ID)
}

// recorded is the journal of a run in a project.
func recorded(root string, ref reprise.Ref) ([]journal.Entry, error) {
	if _, err := os.Lstat(filepath.Join(root, durable.StateDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	store, err := durable.Open(root, durable.Options{AllowNetwork: true, Adopt: true})
	if err != nil {
		return nil, err
	}
	entries, _, err := journal.Read(store, journal.Name(ref))
	return entries, err
}

// bring brings a copy to the branch of the run: what is committed there, the journals, and the state
// that git ignores. An index of our own is used: nothing is changed there.
func (h *handing) bring(ctx context.Context, from *localCopy) (ignored []string, err error) {
	if from.dir == "" {
		return nil, h.push(ctx, &Checkout{Dir: h.Clone, mirror: h.mirror}, from.base, from)
	}
	c, err := h.mirror.Checkout(ctx, from.base, "reprise-begin")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	// The branch is not about to be handed over: its journal ends with what was done.
	if err := h.takeBack(ctx); err != nil {
		return nil, err
	}
	own, err := h.journalsOf(ctx, h.root(from))
	if err != nil {
		return nil, err
	}
	marked, err := marks(h.root(from), h.ref)
	if err != nil {
		return nil, err
	}
	state := filepath.Join(h.Folder, h.ref.Path)
	in := &Checkout{Dir: from.dir, Base: c.Base, mirror: h.mirror, index: filepath.Join(c.Dir, ".git", "index")}
	subject := "reprise: hand over " + h.ref.ID
	if h.was != "" {
		subject = "reprise: " + h.ref.ID + " went on in a clone" // where the run begins is another commit
	}
	subject, claims, err := h.claimed(ctx, from, subject)
	if err != nil {
		return nil, err
	}
	commit, _, err := in.Commit(ctx, subject, CommitOptions{Parents: []string{c.Base}, Folder: h.Folder, Committed: true, Journal: true, Of: own, Mark: markText(h.root(from), h.ref), Marks: marked, Also: []string{state}})
	if err == nil {
		ignored, err = in.ignored(ctx, state)
	}
	if err != nil {
		return nil, err
	}
	for i := range claims {
		claims[i].to = commit
	}
	if err := h.push(ctx, in, commit, from, claims...); err != nil {
		return ignored, err
	}
	return ignored, h.fetch(ctx, commit)
}

// claimed is the message with which a copy is brought to the branch of its run. One that the fleet
// did not have makes the claim that a start of the same makes, unless another run that is not over
// has it: whoever starts that meanwhile finds this run.
func (h *handing) claimed(ctx context.Context, from *localCopy, subject string) (message string, claims []heldRef, err error) {
	if h.was != "" {
		return subject + "\n", nil, nil
	}
	of := &From{}
	if of.What, _ = engine.Origin(h.root(from), h.ref); of.What == "" {
		r, err := reprise.Load(convention.Find(h.ref.Layout), os.DirFS(h.root(from)), h.ref)
		if err != nil {
			return subject + "\n", nil, nil // what it was begun with is not known
		}
		of.What, of.Text = string(h.ref.Kind), r.Title
	}
	claim := h.claim(of.What, reprise.Goal{Text: of.Text})
	other, at, err := h.begun(ctx, h.mirror, claim)
	if err != nil {
		return "", nil, err
	}
	if other.ID == "" || other.ID == h.ref.ID {
		claims = []heldRef{{name: claim, at: at}}
	}
	message, err = withNote(subject, Begun{Ref: h.ref, From: of})
	return message, claims, err
}

// journalsOf names the journals that are brought with the run. Runs of the same layout and another
// kind may share its state, as stories do with their epic: theirs come along.
func (h *handing) journalsOf(ctx context.Context, root string) (own []string, err error) {
	logs, err := journals(root)
	if err != nil {
		return nil, err
	}
	found, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
	if err != nil {
		return nil, err
	}
	own = []string{journal.Name(h.ref)}
	for _, r := range found.Runs {
		if r.Layout != h.ref.Layout || r.Kind == h.ref.Kind && r.Path != h.ref.Path {
			continue
		}
		if i := slices.IndexFunc(logs, func(log string) bool { return journal.Placed(log, r.Ref) }); i >= 0 && !slices.Contains(own, logs[i]) {
			own = append(own, logs[i])
		}
	}
	return own, nil
}
