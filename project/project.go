// Package project reads a whole project folder: it finds the runs of every layout in it
// and in the other checkouts of the same repository, loads them, and sorts them in the
// order in which one would resume them.
//
// Reading changes nothing. Whatever cannot be read is reported with its path and cause,
// and the rest is still read.
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise"
	"reprise/convention"
	"reprise/examine"
	"reprise/internal/doc"
	"reprise/internal/tree"
)

// Options narrow what is read.
type Options struct {
	// Now is the reference time for ages; zero disables them.
	Now time.Time
	// Layouts are the names of the layouts to look for; none means all.
	Layouts []string
	// Ignored also looks into vendored packages and folders that git ignores.
	Ignored bool
	// Within, if not nil, restricts the search to folders with a layout's mark and to
	// these paths. What is found is there; nothing is known about the rest.
	Within []string
	// Newest, if not zero, is how many lists of tasks are read: those written last. The
	// others are counted.
	Newest int
	// Progress, if set, is called from time to time with the number of runs loaded and
	// the total. It must be safe for concurrent use.
	Progress func(loaded, total int)

	git  *reprise.Git // if set, look for what it has and the disk does not
	time *patience    // nil has no end
}

// Result is a project as it was read.
type Result struct {
	Root string // absolute
	// Runs are in the order in which one would resume them.
	Runs []*reprise.Run
	// Findings are about the folder rather than a single run.
	Findings []reprise.Finding
	// Left counts the lists of tasks that were not read; see Options.Newest.
	Left int
	// Skipped are folders that were not searched because git ignores them.
	Skipped []string

	entries []convention.Entry
	unread  []unreadCheckout
	copies  map[*reprise.Run][]checkoutCopy // of the runs of this checkout in others
	seen    survey
	watch   bool
	held    *Held // not to be loaded
	// read holds, for each run, the files it was loaded from, with their hashes if watched.
	mu   sync.Mutex
	read map[*reprise.Run]map[string]string
	// said is what the files say of each run; files are open until it was looked at.
	said  map[reprise.Ref]string
	files *tree.FS
}

// Read reads the project in a folder, from its files alone. It fails only if the folder
// cannot be opened or a layout name is unknown; everything else is a finding.
func Read(ctx context.Context, dir string, opts Options) (*Result, error) {
	opts.time = newPatience(quickly)
	res, runs, err := gatherRuns(ctx, dir, opts, false, nil)
	if err != nil {
		return nil, err
	}
	res.files.Close()
	world := examine.NewWorld(reprise.Observed{Now: opts.Now, Peers: runs})
	for _, r := range runs {
		r.Doubt()
		world.Apply(r, examine.Cheap)
	}
	res.Runs = order(runs, res.entries, world.Observed)
	return res, nil
}

// gatherRuns finds and loads the runs of a folder and of the other checkouts of its
// repository, in no particular order. The held run is not loaded. The caller closes the files.
func gatherRuns(ctx context.Context, dir string, opts Options, watch bool, held *Held) (res *Result, runs []*reprise.Run, err error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	entries, err := chosen(opts.Layouts)
	if err != nil {
		return nil, nil, err
	}
	fsys, err := tree.Open(root, tree.Options{Marks: convention.Marks(), All: opts.Ignored, Within: opts.Within, Time: opts.time.within})
	if err != nil {
		return nil, nil, fmt.Errorf("open project: %w", err)
	}
	defer func() {
		if err != nil {
			fsys.Close()
		}
	}()
	res = &Result{
		Root: root, entries: entries, watch: watch, held: held, files: fsys,
		read: map[*reprise.Run]map[string]string{}, copies: map[*reprise.Run][]checkoutCopy{}, said: map[reprise.Ref]string{},
	}
	jobs := res.find(fsys, entries)
	res.seen = surveyOf(jobs, fsys)
	jobs = res.newest(fsys, jobs, opts.Newest)
	runs, err = res.load(ctx, fsys, jobs, opts)
	if err != nil {
		return nil, nil, err
	}
	ours := homeAt(map[string]*home{}, root)
	if ours != nil {
		ours.look()
		if ours.store != nil {
			defer ours.store.Release()
		}
	}
	told := ours != nil && ours.err == nil // recallJournals reports what is wrong with it
	if told {
		runs = res.addRenewed(ctx, ours, runs, entries)
	}
	if runs, err = res.restore(ctx, fsys, ours, runs, opts); err != nil {
		return nil, nil, err
	}
	res.held = nil // other checkouts have their own files under the same names
	runs, err = res.joinCheckouts(ctx, fsys, runs, entries, opts)
	if err != nil {
		return nil, nil, err
	}
	if told {
		runs = res.addLost(ctx, ours, runs, entries, held)
	}
	placed(root, runs)
	res.Skipped = fsys.Skipped()
	res.listProblems("", fsys)
	if !opts.Now.IsZero() {
		for _, r := range runs {
			r.Settle(opts.Now.Add(reprise.ClockSlack))
		}
	}
	return res, runs, nil
}

// UnknownLayoutError reports a layout name that is not in the table.
type UnknownLayoutError struct{ Name string }

// Error implements error.
func (e *UnknownLayoutError) Error() string { return fmt.Sprintf("no convention is called %q", e.Name) }

// Hint lists the known names.
func (e *UnknownLayoutError) Hint() string {
	return "the conventions are " + strings.Join(convention.Names(), ", ")
}

func chosen(names []string) ([]convention.Entry, error) {
	all := convention.All()
	if len(names) == 0 {
		return all, nil
	}
	var out []convention.Entry
	for _, name := range names {
		i := slices.IndexFunc(all, func(e convention.Entry) bool { return e.Name() == name })
		if i < 0 {
			return nil, &UnknownLayoutError{Name: name}
		}
		out = append(out, all[i])
	}
	return out, nil
}

type job struct {
	layout reprise.Layout
	ref    reprise.Ref
}

// find lists the runs of a file system.
func (res *Result) find(fsys *tree.FS, entries []convention.Entry) (jobs []job) {
	for _, e := range entries {
		var refs, found []reprise.Ref
		var err, failed error
		if err = fmt.Errorf("%s", reprise.NotInTime); fsys.Search(func() { found, failed = e.Find(fsys) }) {
			refs, err = found, failed
		}
		if err != nil {
			res.report(reprise.Finding{
				Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: e.Name(),
				Message: fmt.Sprintf("the search for runs of this convention stopped: %s", err),
				Hint:    "runs of this convention may be missing from the list",
			})
		}
		for _, ref := range refs {
			// A run that is found at its own place is not another run behind a link.
			own := fsys.Real(ref.Path)
			if own != ref.Path && slices.ContainsFunc(refs, func(r reprise.Ref) bool { return r.Path == own }) {
				continue
			}
			jobs = append(jobs, job{e.Layout, ref})
		}
	}
	return jobs
}

// newest leaves out the lists of tasks beyond a number, those written first; 0 means no limit.
func (res *Result) newest(fsys *tree.FS, jobs []job, most int) []job {
	lists := slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return j.ref.Kind != reprise.KindTasks })
	if most == 0 || len(lists) <= most {
		return jobs
	}
	written := map[reprise.Ref]time.Time{}
	for _, j := range lists {
		if info, err := fs.Stat(fsys, j.ref.Path); err == nil {
			written[j.ref] = info.ModTime()
		}
	}
	slices.SortStableFunc(lists, func(a, b job) int { return written[b.ref].Compare(written[a.ref]) })
	res.Left = len(lists) - most
	for _, j := range lists[most:] {
		written[j.ref] = time.Time{}
	}
	return slices.DeleteFunc(jobs, func(j job) bool { at, list := written[j.ref]; return list && at.IsZero() })
}

// survey is what a walk through a folder finds before anything is loaded.
type survey struct {
	refs                []reprise.Ref
	checkouts, problems []string
}

func surveyOf(jobs []job, fsys *tree.FS) survey {
	s := survey{checkouts: fsys.Checkouts()}
	for _, j := range jobs {
		s.refs = append(s.refs, j.ref)
	}
	for _, p := range fsys.Problems() {
		s.problems = append(s.problems, p.Path)
	}
	return s
}

// Whole reports whether a search restricted by Within found everything in the folder. It
// walks all of it and loads nothing.
func (res *Result) Whole() bool {
	fsys, err := tree.Open(res.Root, tree.Options{Marks: convention.Marks()})
	if err != nil {
		return false
	}
	defer fsys.Close()
	all := &Result{}
	now := surveyOf(all.find(fsys, res.entries), fsys)
	return len(all.Findings) == 0 && reflect.DeepEqual(now, res.seen)
}

// load loads runs. The order of the result depends only on the files, not on which reader
// was faster.
func (res *Result) load(ctx context.Context, fsys *tree.FS, jobs []job, opts Options) ([]*reprise.Run, error) {
	runs := make([]*reprise.Run, len(jobs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	loaded := 0
	for i, j := range jobs {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			runs[i] = res.loadOne(j, fsys)
			if opts.Progress != nil {
				mu.Lock()
				loaded++
				opts.Progress(loaded, len(jobs))
				mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return runs, nil
}

// loadOne loads a run. If a layout fails, for whatever reason, only that run's details
// are lost, not the list.
func (res *Result) loadOne(j job, files *tree.FS) (r *reprise.Run) {
	if res.held.is(j.ref) {
		return res.held.Run.Clone()
	}
	fsys := &watched{FS: files, hash: res.watch, hashes: map[string]string{}}
	defer func() {
		fsys.mu.Lock() // a reader that nobody waits for may still note some
		hashes := maps.Clone(fsys.hashes)
		fsys.mu.Unlock()
		res.mu.Lock()
		defer res.mu.Unlock()
		if res.read[r] = hashes; files == res.files {
			res.said[r.Ref] = r.Says()
		}
	}()
	lost := func(cause string) *reprise.Run {
		return &reprise.Run{
			Ref: j.ref, State: reprise.Unreadable, Reason: "its files could not be read",
			Findings: []reprise.Finding{{
				Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: j.ref.ID,
				Message: "reading this run stopped: " + cause, Source: reprise.Source{File: j.ref.Path},
				Hint: "this is a bug in reprise or a disk fault; please report it",
			}},
		}
	}
	defer func() {
		if oops := recover(); oops != nil {
			r = lost(fmt.Sprint(oops))
		}
	}()
	run, err := reprise.Load(j.layout, fsys, j.ref)
	if err != nil {
		return lost(err.Error())
	}
	return run
}

func (res *Result) report(f reprise.Finding) { res.Findings = append(res.Findings, f) }

func (res *Result) listProblems(prefix string, fsys *tree.FS) {
	for _, p := range fsys.Problems() {
		code, hint := reprise.CodeUnreadable, "runs below it are missing from the list"
		switch {
		case errors.Is(p.Err, fs.ErrPermission):
			code, hint = reprise.CodePermission, "runs below it are missing from the list; check the folder's permissions"
		case errors.Is(p.Err, doc.ErrOutside):
			code, hint = reprise.CodeLinkOutside, "links that leave the project are not followed; run reprise there"
		}
		name := filepath.ToSlash(filepath.Join(prefix, p.Path))
		res.report(reprise.Finding{
			Code: code, Severity: reprise.Warning, Subject: name,
			Message: "cannot be searched: " + doc.Cause(p.Err), Source: reprise.Source{File: name}, Hint: hint,
		})
	}
}

// order sorts the runs of each layout by its own rule, if it has one, and merges the
// lists by the general one. Runs that were cut off here come first.
func order(runs []*reprise.Run, entries []convention.Entry, o reprise.Observed) []*reprise.Run {
	var lists [][]*reprise.Run
	for _, e := range entries {
		var own []*reprise.Run
		for _, r := range runs {
			if r.Layout == e.Name() {
				own = append(own, r)
			}
		}
		slices.SortStableFunc(own, reprise.Compare)
		if e.Rank != nil {
			e.Rank(own, o)
		}
		lists = append(lists, own)
	}
	all := reprise.Merge(lists...)
	for _, r := range all {
		if r.CutOff() {
			r.Placed = slices.Insert(slices.Clone(r.Reasons()), 0, reprise.Reason{Term: "cut off", Why: "what was in progress here when it was cut off comes first"})
		}
	}
	return slices.Concat(
		slices.DeleteFunc(slices.Clone(all), func(r *reprise.Run) bool { return !r.CutOff() }),
		slices.DeleteFunc(all, (*reprise.Run).CutOff),
	)
}
