package upkeep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// RepairPlan is what is damaged in a project and what can be done about it.
type RepairPlan struct {
	// Mends are files of runs that can be rebuilt from other ledgers.
	Mends []RunMend
	// Logs are our own journals that need repair.
	Logs []LogDamage
	// Leftovers are residues of interrupted writes; they are archived.
	Leftovers []reprise.Finding
	// Hopeless is damage nothing can be rebuilt from.
	Hopeless []reprise.Finding
	// Elsewhere tells which runs with damage are to be repaired from another
	// folder; nothing of them is in the plan.
	Elsewhere []reprise.Finding

	runs []*reprise.Run // those that something is changed of
}

// RunMend is one mend of one run, with its diff.
type RunMend struct {
	Run  *reprise.Run
	Mend reprise.Mend
	Diff string

	ref *branchMend // it mends a branch and no file; nil otherwise
}

// LogDamage is a journal that cannot be trusted.
type LogDamage struct {
	Name   string
	Damage *durable.DamageError
}

// Empty reports whether there is nothing to repair.
func (p *RepairPlan) Empty() bool { return len(p.Mends)+len(p.Logs)+len(p.Leftovers) == 0 }

// Outcome gives in one word why there is nothing to repair; it is OK where nothing is
// damaged.
func (p *RepairPlan) Outcome() reprise.Outcome {
	switch {
	case slices.ContainsFunc(p.Elsewhere, func(f reprise.Finding) bool { return f.Code == reprise.CodeLiveOwner }):
		return reprise.OutcomeHeld
	case len(p.Elsewhere) > 0:
		return reprise.OutcomeBlocked
	case len(p.Hopeless) > 0:
		return reprise.OutcomeUnreadable
	}
	return reprise.OutcomeOK
}

// PlanRepair looks for damage in the given runs and in our own journals. It
// changes nothing. A *durable.UnusableError is for the person to mend.
func (t Tender) PlanRepair(ctx context.Context, runs []*reprise.Run) (*RepairPlan, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	if err := store.Usable(); err != nil {
		return nil, err
	}
	plan := &RepairPlan{}
	elsewhere := project.Elsewhere(store.Dir(), runs, t.Now)
	git := repositoryOf(ctx, store)
	for _, r := range runs {
		if f, is := elsewhere[r]; is {
			if f.Code == reprise.CodeJournalDamaged || slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeLeftover || isDamage(f) }) {
				f.Hint = (&ElsewhereError{Op: "repair", Finding: f}).Hint()
				plan.Elsewhere = append(plan.Elsewhere, f)
			}
			continue
		}
		if err := t.planRun(ctx, store, git, r, plan); err != nil {
			return nil, err
		}
	}
	plan.writeOnce()
	names, err := store.Logs()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, err := store.ReadLog(name, func(durable.Record) error { return nil })
		var damage *durable.DamageError
		switch {
		case errors.As(err, &damage):
			plan.Logs = append(plan.Logs, LogDamage{name, damage})
		case err != nil:
			return nil, err
		}
	}
	return plan, nil
}

// writeOnce leaves out mends of files that a mend before brings back: several runs may read
// one file.
func (p *RepairPlan) writeOnce() {
	brought := map[string]bool{}
	p.Mends = slices.DeleteFunc(p.Mends, func(m RunMend) bool {
		again := len(m.Mend.Edits) > 0
		for _, e := range m.Mend.Edits {
			again = again && brought[e.Path] && !e.Append
		}
		for _, e := range m.Mend.Edits {
			brought[e.Path] = brought[e.Path] || !e.Append
		}
		return again
	})
}

func (t Tender) planRun(ctx context.Context, store *durable.Store, git repository, r *reprise.Run, plan *RepairPlan) error {
	l, err := layoutOf(r)
	if err != nil {
		return err
	}
	changes := len(plan.Mends) + len(plan.Leftovers)
	planBranches(ctx, store, git, r, plan)
	made, err := rebuild(ctx, store, l, r, plan)
	if err != nil {
		return err
	}
	after, then := durable.NewDryRun(store), r
	switch {
	case made != nil:
		// What else there is to mend shows once it is there.
		after = made.Files
		if then, err = reprise.Load(l, after, r.Ref); err != nil {
			return err
		}
	case goneFinding(r) != nil:
		return nil // what is left of it tells nothing
	default:
		// What git has comes back first, as it was. The layout rebuilds from the rest what git
		// does not have, and knows less of it.
		before := len(plan.Mends)
		if err := t.planFromGit(ctx, after, git, store, l, r, r.Unread, plan); err != nil {
			return err
		}
		if len(plan.Mends) > before {
			if then, err = reprise.Load(l, after, r.Ref); err != nil {
				return err
			}
		}
	}
	if err := planMends(ctx, after, l, then, plan); err != nil {
		return err
	}
	damaged, err := reprise.Load(l, after, r.Ref)
	if err != nil {
		return err
	}
	if err := t.planFromGit(ctx, after, git, store, l, r, damaged.Unread, plan); err != nil {
		return err
	}
	for _, f := range r.Findings {
		if f.Code == reprise.CodeLeftover {
			plan.Leftovers = append(plan.Leftovers, f)
		}
	}
	if len(plan.Mends)+len(plan.Leftovers) > changes {
		plan.runs = append(plan.runs, r)
	}
	// What is still damaged once everything is mended, nothing can be done about.
	rest, err := reprise.Load(l, after, r.Ref)
	if err != nil {
		return err
	}
	for _, f := range rest.Findings {
		if isDamage(f) {
			plan.Hopeless = append(plan.Hopeless, f)
		}
	}
	return nil
}

// planMends adds what the layout of a run rebuilds from its other ledgers.
func planMends(ctx context.Context, after *durable.DryRun, l reprise.Layout, r *reprise.Run, plan *RepairPlan) error {
	m, ok := l.(reprise.Mender)
	if !ok {
		return nil
	}
	mends, err := m.Mend(after, r)
	if err != nil {
		return fmt.Errorf("look for repairs of %s: %w", r.ID, err)
	}
	for _, mend := range mends {
		if err := plan.add(ctx, after, r, mend); err != nil {
			return err
		}
	}
	return nil
}

// add adds a mend to the plan and to the files as they are after it. A file in UTF-16 is left
// to a person, who converts it and has all of it.
func (p *RepairPlan) add(ctx context.Context, after *durable.DryRun, r *reprise.Run, mend reprise.Mend) error {
	if slices.ContainsFunc(mend.Edits, func(e reprise.Edit) bool {
		have, _ := fs.ReadFile(after, e.Path) // an edit of what cannot be read is refused
		return reprise.UTF16(have)
	}) {
		return nil
	}
	dry := durable.NewDryRun(after)
	if err := dry.Apply(ctx, mend.Edits); err != nil {
		return err
	}
	p.Mends = append(p.Mends, RunMend{Run: r, Mend: mend, Diff: dry.Diff()})
	return after.Apply(ctx, mend.Edits)
}

// goneFinding tells that files of a run are gone that its journal wrote; nil if none are.
func goneFinding(r *reprise.Run) *reprise.Finding {
	at := slices.IndexFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeStateGone })
	if at < 0 {
		return nil
	}
	return &r.Findings[at]
}

// rebuild plans to write files of a run again that are gone or damaged, as its journal
// tells them; nil where there are none, or nothing can be made of them. Of what is gone
// the plan tells that; what is damaged, other ledgers may have.
func rebuild(ctx context.Context, store *durable.Store, l reprise.Layout, r *reprise.Run, plan *RepairPlan) (*journal.Rebuilt, error) {
	account, err := journal.ReadAccount(store, journal.Name(r.Ref))
	if err != nil {
		return nil, nil // the plan has the journal
	}
	now, err := reprise.Load(l, store, r.Ref) // r may tell it as the journal does
	if err != nil {
		return rebuildGone(ctx, store, account, l, r, plan)
	}
	now.Unread, now.Lost = append(now.Unread, r.Unread...), r.Lost
	if names := damagedFiles(store, account, now); len(names) > 0 {
		made, err := account.Rebuild(ctx, store, l, r.Ref, names...)
		if err == nil && len(made.Other) == 0 && coverDamage(store, now, made) {
			what := strings.Join(names, ", ") + " cannot be read as the journal wrote it"
			plan.Mends = append(plan.Mends, RunMend{Run: r, Mend: reprise.Mend{
				What: what, From: made.From + "; later changes by other programs are lost", Edits: made.Edits,
			}, Diff: made.Files.Diff()})
			return made, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return rebuildGone(ctx, store, account, l, r, plan)
}

// damagedFiles are those of a run that are there, are damaged, and are not as its
// journal wrote them. A file that may not be opened is not one of them: another content
// would not help.
func damagedFiles(store *durable.Store, account *journal.Account, r *reprise.Run) (out []string) {
	names := slices.Clone(r.Unread)
	for _, f := range r.Findings {
		if isDamage(f) && !reprise.Unopened(f.Code) {
			names = append(names, f.Source.File)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if account.Differs(store, r.Ref, name) {
			out = append(out, name)
		}
	}
	return out
}

// coverDamage reports whether nothing that can still be read is lost with the rebuilt
// files: what stood in a file is of no use, or is the beginning of the rebuilt one.
func coverDamage(store *durable.Store, r *reprise.Run, made *journal.Rebuilt) bool {
	for _, e := range made.Edits {
		if e.Base.IsZero() || r.Restorable(e.Path) && !slices.Contains(r.Lost, e.Path) {
			continue
		}
		have, err := store.ReadFile(e.Path)
		if err != nil || !bytes.HasPrefix(e.Content, bytes.TrimRight(have, "\x00")) {
			return false
		}
	}
	return true
}

// rebuildGone plans to make files of a run again that are gone.
func rebuildGone(ctx context.Context, store *durable.Store, account *journal.Account, l reprise.Layout, r *reprise.Run, plan *RepairPlan) (*journal.Rebuilt, error) {
	gone := goneFinding(r)
	if gone == nil {
		return nil, nil
	}
	f := *gone
	made, err := account.Rebuild(ctx, store, l, r.Ref)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil && len(made.Other) > 0 {
		// Half of a document must not look like the whole of it.
		err = fmt.Errorf("agents or other programs wrote to %s, and the journal does not have that: restore it first, with whatever else they left there", strings.Join(made.Other, ", "))
	}
	if err != nil || len(made.Edits) == 0 {
		if err != nil {
			f.Message += ": " + err.Error()
		}
		f.Message += "; a branch or `git stash list` may have it, and `reprise undo` lists the snapshots"
		f.Source = reprise.Source{File: r.Path}
		plan.Hopeless = append(plan.Hopeless, f)
		return nil, nil
	}
	mend := reprise.Mend{What: f.Message, From: made.From, Edits: made.Edits}
	plan.Mends = append(plan.Mends, RunMend{Run: r, Mend: mend, Diff: made.Files.Diff()})
	return made, nil
}

// damaged are the codes of findings about files that are not whole.
var damaged = map[string]bool{
	reprise.CodeUnreadable: true, reprise.CodeSalvaged: true, reprise.CodeDamagedLine: true, reprise.CodeIntegrity: true,
	reprise.CodeStateGone: true, reprise.CodePermission: true, reprise.CodeNotRegular: true, reprise.CodeLinkOutside: true,
	reprise.CodeEncoding: true,
}

func isDamage(f reprise.Finding) bool { return damaged[f.Code] && f.Severity > reprise.Info }

// Repaired is what a repair did.
type Repaired struct {
	Mended   []string // files written again
	Archived []string // where leftovers are now
	Logs     []*durable.RepairReport
	Snapshot string // brings the originals back
}

// writes is what carrying a plan out writes.
func (p *RepairPlan) writes(store *durable.Store) (out []durable.FileState, err error) {
	for _, m := range p.Mends {
		for _, e := range m.Mend.Edits {
			h := reprise.HashOf(e.Content)
			if e.Append && !e.Base.IsZero() {
				if h, err = store.HashFile(e.Path, e.Content); err != nil {
					return nil, err
				}
			}
			out = append(out, durable.FileState{Path: e.Path, Hash: h})
		}
	}
	return out, nil
}

// clearFolders archives folders that stand where files are to be made.
func clearFolders(store *durable.Store, edits []reprise.Edit, done *Repaired) error {
	for _, e := range edits {
		info, err := store.Stat(e.Path)
		if err != nil || !info.IsDir() {
			continue // writing the file tells what else is in the way
		}
		to, err := store.Archive(e.Path)
		if err != nil {
			return err
		}
		done.Archived = append(done.Archived, to)
	}
	return nil
}

// Repair carries a plan out. The originals are in the snapshot that is taken
// first, and those of journals beside them.
func (t Tender) Repair(ctx context.Context, plan *RepairPlan) (*Repaired, error) {
	store, err := t.take(ctx, "repair", plan.runs...)
	if err != nil {
		return nil, err
	}
	defer store.Release()
	done := &Repaired{}
	// No snapshot can be taken of a checkout whose branch is broken.
	if err := mendBranches(ctx, store, plan.Mends); err != nil {
		return nil, err
	}
	var runs []*reprise.Run
	for _, m := range plan.Mends {
		runs = append(runs, m.Run)
	}
	writes, err := plan.writes(store)
	if err != nil {
		return nil, err
	}
	if done.Snapshot, err = keep(ctx, store, runs, "before repair", nil, writes); err != nil {
		return nil, err
	}
	for _, log := range plan.Logs {
		report, err := store.Repair(log.Name, false)
		if err != nil {
			return done, err
		}
		done.Logs = append(done.Logs, report)
	}
	for _, m := range plan.Mends {
		if err := clearFolders(store, m.Mend.Edits, done); err != nil {
			return done, err
		}
		if err := store.Apply(ctx, m.Mend.Edits); err != nil {
			return done, err
		}
		for _, e := range m.Mend.Edits {
			done.Mended = append(done.Mended, e.Path)
		}
	}
	for _, f := range plan.Leftovers {
		to, err := store.Archive(f.Source.File)
		if err != nil {
			return done, err
		}
		done.Archived = append(done.Archived, to)
	}
	return done, nil
}
