package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/evidence"
	"reprise/internal/durable"
	"reprise/internal/tree"
	"reprise/journal"
)

// An attempt at one run is not there to change what the files of another one say. What they say
// is on record with its start. Whoever judges its end, the engine that saw it or the next holder
// of the lease, compares. A run that says something else, that is gone, or that was made with
// something done in it, is in doubt: it asks a person.

// Attempt is one at a step of a run.
type Attempt struct {
	Of    *reprise.Run
	Step  string
	Began time.Time
	// Gen is the holder of the lease who began it: what is changed after a later one has taken
	// it is not the attempt's.
	Gen    uint64
	Beside []reprise.Beside // what the other runs said then; nil if that is not on record
	// wrote are the files that runs wrote since then, by their journals. A run that reads one of
	// them and whose own file is as it was says something else because of that.
	wrote map[string]bool
	// left is how runs left files that this or a later holder of the lease wrote. A run whose own
	// file is as one of them left it was changed by that one, such as a story by its epic.
	left map[string][]reprise.Hash
}

// Changed is a run that does not say what it said when an attempt at another one began. since is
// when that was, and gen who held the lease: what a later holder did is not meant.
type Changed struct {
	Ref   reprise.Ref
	Doubt reprise.Event
	Gone  bool
	since time.Time
	gen   uint64
}

// Beside gives what the other runs of a project say, also in the checkout inside it that a run
// works in, "" for none.
func Beside(root, inside string, own *reprise.Run) ([]reprise.Beside, error) {
	out := []reprise.Beside{}
	for _, in := range slices.Compact([]string{"", inside}) {
		fsys, now, err := besides(root, in, own)
		if err != nil {
			return nil, err
		}
		fsys.Close()
		for i := range now {
			if now[i].counts {
				out = append(out, now[i].Beside)
			}
		}
	}
	return out, nil
}

// BesideAt gives what was on record of the other runs when the attempt with a key began.
func BesideAt(events []reprise.Event, key string) (then []reprise.Beside) {
	for i := range events {
		if ev := &events[i]; ev.Kind == reprise.StepStarted {
			if ev.Beside != nil {
				then = ev.Beside
			}
			if ev.Key == key {
				return then
			}
		}
	}
	return nil
}

// Changed gives the runs that do not say what they said when the attempt began, in the project and
// in the checkout that it worked in.
func (a *Attempt) Changed(root string) (out []Changed, err error) {
	folders := []string{""}
	for _, b := range a.Beside {
		if !slices.Contains(folders, b.In) {
			folders = append(folders, b.In)
		}
	}
	for _, in := range folders {
		fsys, now, err := besides(root, in, a.Of)
		if in != "" && errors.Is(err, fs.ErrNotExist) {
			continue // its checkout is gone, and all that was only there
		}
		if err != nil {
			return out, err
		}
		defer fsys.Close()
		for _, n := range now {
			was := slices.IndexFunc(a.Beside, n.same)
			switch {
			case !n.counts || was >= 0 && a.Beside[was].Says.IsZero(): // nothing of it was to be settled
			case was >= 0 && !n.File.IsZero() && n.File == a.Beside[was].File && slices.ContainsFunc(slices.Collect(maps.Keys(a.wrote)), func(name string) bool { return n.reads[name] }):
			case was >= 0 && !n.File.IsZero() && n.File != a.Beside[was].File && slices.Contains(a.left[n.Run.Path], n.File):
			case was >= 0 && a.Beside[was].Says != n.Says:
				out = append(out, a.doubts(a.Beside[was], "changed what its files say (%s)"))
			case was < 0 && n.begun:
				n.Says = reprise.Hash{}
				out = append(out, a.doubts(n.Beside, "made %s"))
			}
		}
		for _, b := range a.Beside {
			if b.In == in && !b.Says.IsZero() && !slices.ContainsFunc(now, func(n neighbour) bool { return n.same(b) }) && !putAway(fsys, b) {
				out = append(out, a.doubts(b, removal))
			}
		}
	}
	return out, nil
}

const removal = "removed %s"

// doubts is what something did to a run since the attempt began.
func (a *Attempt) doubts(b reprise.Beside, did string) Changed {
	return Changed{reprise.Ref(b.Run), reprise.Event{
		Kind: reprise.StepOverstepped, By: a.Step + " of " + a.Of.ID, At: a.Began, Actor: "reprise", Run: &b.Run, Old: (*reprise.Place)(&a.Of.Ref), Text: fmt.Sprintf(did, b.Run.Path),
		Expect: []reprise.Expected{{Path: b.Run.Path, Before: b.Says, Changed: true}},
	}, did == removal, a.Began, a.Gen}
}

// neighbour is a run beside another one. begun tells that something of it is done, and counts that
// it can be read and that an attempt at the other one is not there to change it.
type neighbour struct {
	reprise.Beside
	begun, counts bool
	reads         map[string]bool
}

// same reports whether this is what was at the same place.
func (n *neighbour) same(b reprise.Beside) bool {
	return b.In == n.In && b.Run.Layout == n.Run.Layout && b.Run.Path == n.Run.Path
}

// besides lists the runs beside one in a folder of the project. What it returns has to be closed.
func besides(root, in string, own *reprise.Run) (fsys *tree.FS, out []neighbour, err error) {
	if fsys, err = openBeside(filepath.Join(root, filepath.FromSlash(in)), own.Ref); err != nil {
		return nil, nil, err
	}
	for _, e := range convention.All() {
		refs, err := e.Find(fsys)
		if err != nil {
			fsys.Close()
			return nil, nil, fmt.Errorf("look for runs: %w", err)
		}
		for _, ref := range refs {
			n := neighbour{Beside: reprise.Beside{In: in, Run: reprise.Place(ref)}}
			if together(ref, own.Ref) {
				continue
			}
			seen := &noting{FS: fsys, names: map[string]bool{}}
			if r, err := reprise.Load(e.Layout, seen, ref); err == nil && concerns(r, own) {
				if info, err := fs.Stat(fsys, ref.Path); err == nil && info.Mode().IsRegular() {
					n.File, _ = HashIn(fsys, ref.Path) // what cannot be read counts as changed
				}
				n.reads = seen.names
				n.Says, n.counts = says(fsys, r, own.Ref), true
				n.begun = !r.State.Open() || slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return s.Status.Closed() && !hosted(fsys, r, &s, own.Ref) })
			}
			out = append(out, n)
		}
	}
	return fsys, out, nil
}

// says is a fingerprint of what the files of a run say that decides how it goes on, without its
// steps that are runs of their own or what the run beside it does. Where there are such steps, more
// follows from them. It is zero for a run that is over.
func says(fsys fs.FS, r *reprise.Run, own reprise.Ref) reprise.Hash {
	if !r.State.Open() {
		return reprise.Hash{}
	}
	var b strings.Builder
	whole := !within(own.Path, r.Path)
	for i := range r.Steps {
		if s := &r.Steps[i]; hosted(fsys, r, s, own) {
			whole = false
		} else {
			fmt.Fprintf(&b, "step %q %q %v %t\n", s.ID, s.Title, s.Status, s.Optional)
		}
	}
	for _, q := range r.Questions {
		fmt.Fprintf(&b, "question %q %t %q\n", q.ID, q.Answered, q.Answer)
	}
	fmt.Fprintf(&b, "paused %t measured by %q\n", r.Paused, Measure(fsys, r))
	if whole {
		fmt.Fprintf(&b, "%v\n", r.State)
		for _, u := range r.Next {
			fmt.Fprintf(&b, "next %q\n", u.ID)
		}
	}
	return reprise.HashOf([]byte(b.String()))
}

// hosted reports whether a step of a run is a run of its own, or a given one.
func hosted(fsys fs.FS, r *reprise.Run, s *reprise.Step, own reprise.Ref) bool {
	if s.ID == own.ID || s.Path == own.Path {
		return true
	}
	if !r.Kind.Facts().Hosts || s.Path == "" || within(s.Path, r.Path) {
		return false
	}
	_, err := fs.Stat(fsys, s.Path)
	return err == nil
}

// concerns reports whether an attempt at another run is not there to change a run.
func concerns(r, own *reprise.Run) bool {
	return r.State != reprise.Unreadable && !storyOf(r.Ref, own) && !together(r.Ref, own.Ref) &&
		!slices.ContainsFunc(own.Also, func(also reprise.Ref) bool { return also.Path == r.Path })
}

// storyOf reports whether a run lies within the state of another one: it is a step of it, such as
// a story of an epic.
func storyOf(ref reprise.Ref, whole *reprise.Run) bool {
	return within(ref.Path, whole.Path) || slices.ContainsFunc(whole.Steps, func(s reprise.Step) bool { return s.Path != "" && within(ref.Path, s.Path) })
}

// together reports whether two runs are told by the same files: one run, in another checkout
// perhaps, or the same work in the eyes of another convention.
func together(a, b reprise.Ref) bool {
	if a.Layout != b.Layout {
		in := path.Dir(a.Path)
		return within(a.Path, b.Path) || within(b.Path, a.Path) || in == path.Dir(b.Path) && in != "."
	}
	return a.Path == b.Path || strings.HasSuffix(b.Path, "/"+a.Path)
}

// within reports whether a file is a folder, or in it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// putAway reports whether a run is in the archive of its tool.
func putAway(fsys fs.FS, b reprise.Beside) bool {
	of := convention.Of(b.Run.Layout)
	if of.PutAway == nil {
		return false
	}
	to, ok := of.PutAway(fsys, reprise.Ref(b.Run))
	if !ok {
		return false
	}
	r, err := reprise.Load(convention.Find(b.Run.Layout), fsys, to)
	return err == nil && r.State == reprise.Complete
}

// Places gives where the runs of a project are, as a run sees it.
func Places(dir string, own reprise.Ref) (out []string, err error) {
	fsys, err := openBeside(dir, own)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	for _, e := range convention.All() {
		refs, err := e.Find(fsys)
		if err != nil {
			return nil, fmt.Errorf("look for runs: %w", err)
		}
		for _, ref := range refs {
			out = append(out, ref.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// openBeside opens a project to look for the runs beside one. A folder beside its own counts
// though git ignores it.
func openBeside(dir string, own reprise.Ref) (*tree.FS, error) {
	marks := convention.Marks()
	if in := path.Dir(path.Dir(own.Path)); in != "." {
		beside, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(in))) // the tree reports it
		for _, e := range beside {
			marks = append(marks, e.Name())
		}
	}
	return tree.Open(dir, tree.Options{Marks: marks})
}

// ChangedElsewhere tells that since an attempt at a step began the files of another run were
// changed.
func ChangedElsewhere(step string, c *Changed) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeUnrecordedEnd, Severity: reprise.Warning, Subject: step, Source: reprise.Source{File: c.Ref.Path},
		Message: fmt.Sprintf("%s, something other than %s %s", reprise.SinceAttempt(step), c.Ref.ID, c.Doubt.Text),
		Hint:    "`reprise check " + reprise.Pasted(c.Ref.ID, "RUN") + "` tells more; nothing builds on it until you decide there",
	}
}

// explains reports whether the journal of a run tells where a change of its files comes from, or
// has it in doubt already. A run with an attempt of its own that is not settled asks about its steps when
// that is, and one that was worked on since then changed its files itself. Where a later holder of
// the lease has worked on it, all was told before.
func (l *logged) explains(c *Changed) bool {
	return l.hist != nil && len(l.hist.Open()) > 0 || slices.ContainsFunc(reprise.Doubts(l.events()), func(ev reprise.Event) bool { return ev.Step == "" }) ||
		slices.ContainsFunc(l.entries, func(e journal.Entry) bool {
			return e.Event.Kind != reprise.StepOverstepped && (e.Generation > c.gen || !e.Event.At.Before(c.since))
		})
}

// logged is the journal of a run as far as it was read.
type logged struct {
	entries []journal.Entry
	hist    *journal.History
}

func loggedIn(account *journal.Account) logged {
	return logged{account.Entries, journal.Fold(account.Entries)}
}

func (l *logged) events() (out []reprise.Event) {
	for i := range l.entries {
		out = append(out, l.entries[i].Event)
	}
	return out
}

// DoubtIn records in the journal of a run what something else did to its files, and reports
// whether that is new there and not explained by it. The lease must be held.
func DoubtIn(store *durable.Store, c Changed, now time.Time) (bool, error) {
	account, err := journal.ReadAccount(store, journal.Name(c.Ref))
	if err != nil {
		return false, err
	}
	if log := loggedIn(account); log.explains(&c) {
		return false, nil
	}
	j, err := journal.Open(store, convention.Find(c.Ref.Layout), c.Ref)
	if err == nil {
		c.Doubt.At = now
		err = j.Note(c.Doubt)
	}
	return err == nil, err
}

// meanwhile is what an attempt with no end on record changed in another run.
type meanwhile struct {
	Changed
	by *Attempt
}

// changedMeanwhile gives what was changed in other runs since attempts with no end on record
// began. What another run does for a step is told by that run. last is the latest holder of the
// lease who recorded more than that: what is later was told.
func changedMeanwhile(root string, runs []*reprise.Run, logs map[*reprise.Run]logged, last uint64) (out []meanwhile, err error) {
	for _, own := range runs {
		log, known := logs[own]
		if !known {
			continue
		}
		for _, open := range log.hist.Open() {
			at := slices.IndexFunc(log.entries, func(e journal.Entry) bool { return e.Event.Kind == reprise.StepStarted && e.Event.Key == open.Key })
			a := &Attempt{Of: own, Step: open.Step, Began: open.At, Beside: BesideAt(log.events(), open.Key)}
			if at < 0 || log.entries[at].Generation < last || a.Beside == nil || isChild(own.Step(open.Step), runs, own) {
				continue
			}
			a.Gen = log.entries[at].Generation
			a.wrote, a.left = map[string]bool{}, map[string][]reprise.Hash{}
			for _, other := range logs {
				last := map[string]reprise.Hash{}
				for _, e := range other.entries {
					if e.Generation < a.Gen {
						continue
					}
					for _, f := range e.Files {
						last[f.Path] = f.After
						if !e.Event.At.Before(a.Began) {
							a.wrote[f.Path] = true
						}
					}
				}
				for name, as := range last {
					a.left[name] = append(a.left[name], as)
				}
			}
			changed, err := a.Changed(root)
			if err != nil {
				return out, err
			}
			for _, c := range changed {
				out = append(out, meanwhile{c, a})
			}
		}
	}
	return out, nil
}

// isChild reports whether another run does a step.
func isChild(s *reprise.Step, runs []*reprise.Run, own *reprise.Run) bool {
	return s != nil && slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r != own && (s.ID == r.ID || s.Path == r.Path) })
}

// worked is the latest holder of the lease who recorded more than what it found.
func worked(entries []journal.Entry) (last uint64) {
	for i := range entries {
		if e := &entries[i]; e.Event.Kind != reprise.StepOverstepped {
			last = max(last, e.Generation)
		}
	}
	return last
}

// DoubtOthers records what attempts that were cut off changed in other runs: whoever holds the
// lease calls it before anything else, since from then on the attempts may be settled, undone or
// put away. It returns what is worth telling.
func DoubtOthers(ctx context.Context, store *durable.Store, now time.Time) (found []reprise.Finding, err error) {
	names, err := journal.Logs(store)
	if err != nil {
		return nil, err
	}
	read, last, cut := map[string]logged{}, uint64(0), false
	for _, name := range names {
		account, err := journal.ReadAccount(store, name)
		if err != nil {
			continue // it blocks its run, and is told there
		}
		log := loggedIn(account)
		read[name], last, cut = log, max(last, worked(log.entries)), cut || len(log.hist.Open()) > 0
	}
	if !cut {
		return nil, nil
	}
	res, runs, err := gatherRuns(ctx, store.Dir(), Options{Now: now}, false, nil)
	if err != nil {
		return nil, err
	}
	res.files.Close()
	logs := map[*reprise.Run]logged{}
	for _, r := range runs {
		if log, known := read[journalOf(store, names, r)]; known {
			logs[r] = log
		}
	}
	changed, err := changedMeanwhile(store.Dir(), runs, logs, last)
	for i := range changed {
		c := &changed[i]
		switch noted, failed := DoubtIn(store, c.Changed, now); {
		case failed != nil:
			return found, failed
		case noted:
			found = append(found, ChangedElsewhere(c.by.Step, &c.Changed))
		}
	}
	return found, err
}

// changedElsewhere gives what DoubtOthers would record, by run. Who is at work here has done that,
// and judges its own attempts.
func (j *Judgement) changedElsewhere(h *home, runs []*reprise.Run, logs map[*reprise.Run]logged, opts JudgeOptions) (map[*reprise.Run][]reprise.Event, error) {
	out := map[*reprise.Run][]reprise.Event{}
	owner := reprise.Owner{Host: h.holder.Host, BootID: h.holder.BootID, PID: h.holder.PID, StartTicks: h.holder.StartTicks}
	if opts.Alone || opts.Held != nil || evidence.Life(owner, opts.Now).Life == reprise.Alive {
		return out, nil
	}
	h.look()
	last := worked(slices.Collect(maps.Values(h.entries)))
	for _, log := range logs {
		last = max(last, worked(log.entries))
	}
	changed, err := changedMeanwhile(j.Root, runs, logs, last)
	for i := range changed {
		c := &changed[i]
		at := slices.IndexFunc(runs, func(r *reprise.Run) bool { return r.Layout == c.Ref.Layout && r.Path == c.Ref.Path })
		if at < 0 { // it is gone, or not looked at
			c.by.Of.Report(ChangedElsewhere(c.by.Step, &c.Changed))
		} else if log := logs[runs[at]]; !log.explains(&c.Changed) && len(out[runs[at]]) == 0 {
			c.by.Of.Report(ChangedElsewhere(c.by.Step, &c.Changed))
			out[runs[at]] = append(out[runs[at]], c.Doubt)
		}
	}
	return out, err
}

// believe takes events that the next holder of the lease has yet to record as recorded.
func (v *View) believe(events []reprise.Event) {
	if len(events) == 0 {
		return
	}
	v.Unrecorded = append(v.Unrecorded, events...)
	v.Events, v.History = slices.Concat(v.Events, events), v.History.Copy()
	for i := range events {
		v.History.Add(&events[i])
	}
}

// withoutPutBack leaves out what something else did to the files of a run that say again what they
// said, and what was asked about that.
func (s *Scope) withoutPutBack(r *reprise.Run, events []reprise.Event) []reprise.Event {
	alters := func(ev reprise.Event) bool {
		return ev.Kind == reprise.StepOverstepped && ev.Step == "" && len(ev.Expect) > 0 && ev.Old != nil
	}
	if !slices.ContainsFunc(events, alters) {
		return events
	}
	now, err := reprise.Load(convention.Find(r.Layout), s.Files, r.Ref)
	if err != nil {
		return events
	}
	left := slices.DeleteFunc(slices.Clone(events), func(ev reprise.Event) bool {
		return alters(ev) && !ev.Expect[0].Before.IsZero() && ev.Expect[0].Before == says(s.Files, now, reprise.Ref(*ev.Old))
	})
	if slices.ContainsFunc(left, alters) {
		return left
	}
	return slices.DeleteFunc(left, func(ev reprise.Event) bool { return strings.HasPrefix(ev.Question, AlteredPrefix) })
}

// altered asks whether what was done to the files of a run since attempts at other runs began stays.
func altered(r *reprise.Run) []Doubt {
	if len(r.Altered) == 0 {
		return nil
	}
	d := Doubt{Prefix: AlteredPrefix, Done: "keep it as it is"}
	var did []string
	for _, ev := range r.Altered {
		d.Ends = append(d.Ends, reprise.Event{Kind: ev.Kind, Stands: ev.Expect})
		did = append(did, ev.Altered())
	}
	what := strings.Join(did, "; ")
	d.Finding = reprise.Finding{Code: reprise.CodeUnrecordedEnd, Message: what + ": nothing builds on it until you decide"}
	d = d.about(r, what+". Put it back and resume, or keep it as it is? `reprise undo` lists what was kept.")
	d.Question.Options = []string{d.Done}
	return []Doubt{d}
}
