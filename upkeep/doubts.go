package upkeep

import (
	"cmp"
	"context"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// doubts gives, by the journals that are told of an undo, what is in doubt after it: what was when
// the snapshot was taken, and of what is now the steps whose marks stay in the files that are
// kept. In the other journals it records what was in doubt then, where the marks come back.
func (p *UndoPlan) doubts(ctx context.Context, store *durable.Store, snap *durable.Snapshot, told func(log string) bool) (map[string][]reprise.Event, error) {
	names, err := journal.Logs(store)
	if err != nil {
		return nil, err
	}
	read := journal.ReadAccount
	if store.Whole() != nil {
		read = journal.ReadUndone // it is begun once more
	}
	then, out := durable.NewDryRun(store), map[string][]reprise.Event{}
	for _, k := range p.Kept {
		if k.merged == nil {
			continue
		}
		is, err := store.HashFile(k.Path)
		if err == nil {
			err = then.Apply(ctx, []reprise.Edit{{Path: k.Path, Base: is, Content: k.merged}})
		}
		if err != nil {
			return nil, err
		}
	}
	for _, r := range p.all {
		name := journal.Name(r.Ref)
		if !slices.Contains(names, name) {
			continue
		}
		account, err := read(store, name)
		if err != nil {
			continue // the journal is damaged, which blocks the run
		}
		was, is := account.Doubts(snap)
		if len(was)+len(is) == 0 {
			continue
		}
		l, run, err := load(then, r)
		if err != nil {
			return nil, err
		}
		kept, back := only(is, was), only(was, is)
		if told == nil || told(name) {
			stays := func(d reprise.Event) bool {
				s := run.Step(d.Step)
				return (s == nil || s.Status.Closed() || s.Optional) && slices.ContainsFunc(p.Kept, func(k Kept) bool { return marks(run, &d, k.Path) })
			}
			out[name] = append(was, slices.DeleteFunc(kept, func(d reprise.Event) bool { return !stays(d) })...)
			continue
		}
		for _, d := range back {
			if !slices.ContainsFunc(p.Back, func(file string) bool { return marks(run, &d, file) }) {
				continue
			}
			j, err := journal.Open(store, l, r.Ref)
			if err == nil {
				err = j.Note(d)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// only gives the doubts of a list that are not in another.
func only(list, but []reprise.Event) []reprise.Event {
	return slices.DeleteFunc(slices.Clone(list), func(d reprise.Event) bool {
		return slices.ContainsFunc(but, func(o reprise.Event) bool { return o.Step == d.Step && o.By == d.By })
	})
}

// marks reports whether a file, or one in a folder, has that by which a run or a step of it is in
// doubt.
func marks(r *reprise.Run, d *reprise.Event, file string) bool {
	in := r.Path
	switch s := r.Step(d.Step); {
	case d.Step == "":
		return true
	case s != nil:
		in = s.Said().File
	case d.Listed != nil:
		in = cmp.Or(d.Listed.In, r.Path)
	}
	return within(file, in)
}
