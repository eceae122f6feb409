package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise"
	"reprise/evidence"
	"reprise/evidence/grade"
	"reprise/examine"
	"reprise/internal/doc"
	"reprise/internal/durable"
	"reprise/internal/tree"
	"reprise/journal"
)

// JudgeOptions says how closely runs are looked at.
type JudgeOptions struct {
	Options
	// Grade is how well a Done must be supported for the step to be skipped.
	Grade reprise.Grade
	// Full gathers all evidence and runs every check; otherwise only what is cheap enough
	// for a list of all runs. Alone starts no process: git is not asked.
	Full, Alone bool
	// Sessions asks for the sessions of agent CLIs too where Full does not.
	Sessions bool
	// SessionsTime limits that look; see evidence.Options.
	SessionsTime time.Duration
	// Verify, with Full, is a command to run in a throw-away copy of the project. If it
	// succeeds, what is evidenced counts as verified.
	Verify string
	// Adopt accepts a project that was copied along with its state.
	Adopt bool
	// Held is a run that the caller is working on. The judgement then has no digest,
	// since a digest covers what is read here.
	Held *Held
	// Budget returns how often each step of a run is tried before a person is asked. Its
	// error says why that is unknown, and that therefore nothing can be started. With
	// Full it is called for every run that would be resumed, otherwise for those with
	// failed attempts. It may be nil.
	Budget func(reprise.Ref) (func(step string) journal.Budget, error)
	// Distrusts returns the file whose commands must be trusted before a run can be
	// resumed, or "". With Full it is called for every run that would be resumed. It may
	// be nil.
	Distrusts func(reprise.Ref) string
	// Foresee returns what resuming a run does before anything it starts has ended. It is
	// the engine's own answer, if events that are yet to be recorded are. Without Full only
	// runs with a journal are asked about. It may be nil.
	Foresee func(ctx context.Context, ref reprise.Ref) (Foreseen, error)
	// Lapsed returns the events by which resuming a run closes recorded questions that no
	// one has to answer any more. It gets the questions as the journal has them, and may
	// be nil.
	Lapsed func(*durable.Store, *Record) []reprise.Event
	// From is the step at which a person wants to restart. Missing output of that step,
	// and of those resting on it, is then no problem.
	From string
	// Environ says where git and the stores of agent CLIs are; nil means the environment
	// of this process.
	Environ []string
	// Hide removes secrets from the text of agent sessions; it may be nil.
	// What only looks like a secret is removed in any case.
	Hide func(string) string
}

// Held is a run whose lease the caller holds and which it has just read, with its
// journal. It is judged as given and not read again.
type Held = Record

// is reports whether this is the run.
func (h *Record) is(ref reprise.Ref) bool {
	return h != nil && h.Run.Layout == ref.Layout && h.Run.Path == ref.Path
}

// Judgement is a project that was read and judged.
type Judgement struct {
	*Result
	Observed  reprise.Observed
	Decisions map[*reprise.Run]reprise.Decision
	// views are what the decisions are based on.
	views map[*reprise.Run]*View
	// Verified is the result of the Verify command, nil if none was run.
	Verified *evidence.Outcome

	// unverified are the steps of each run with their grades before Verified was applied;
	// empty if it was not run.
	unverified map[*reprise.Run][]reprise.Step
	seen       map[seenKey]reprise.Hash
}

// Judge reads a project, gathers evidence, runs the checks and decides. It changes
// nothing on disk: a Verify command runs in a folder of its own.
func Judge(ctx context.Context, dir string, opts JudgeOptions) (*Judgement, error) {
	j := &Judgement{}
	if opts.time = newPatience(quickly); opts.Full {
		opts.time = newPatience(thoroughly)
	}
	runs, err := j.look(ctx, dir, opts)
	if err == nil && j.Observed.Git != nil && len(j.Observed.Git.Lost) > 0 {
		opts.git = j.Observed.Git
		runs, err = j.look(ctx, dir, opts)
	}
	if err != nil {
		return nil, err
	}
	res := j.Result
	if opts.Full {
		var problem string
		j.Observed.Sections, problem = evidence.Sections(ctx, res.Root, runs, j.Observed)
		if problem != "" {
			j.Observed.GitError = strings.TrimPrefix(j.Observed.GitError+"; "+problem, "; ")
		}
	}
	if opts.Full && opts.Verify != "" {
		outcome := evidence.Verify(ctx, res.Root, opts.Verify)
		j.Verified = &outcome
	}
	set := examine.Cheap
	if opts.Full {
		set = examine.Every
	}
	files := listedAt(res.Root)
	files.time = opts.time
	grader, world := grade.New(j.Observed), examine.NewWorld(j.Observed)
	for _, r := range runs {
		if j.Observed.Git != nil {
			aim(files, j.views[r].upTo(files), r, j.Observed.Git.Past)
		}
		refine(r, j.Observed.Git)
		tellUnticked(r, j.Observed.Unticked[r.Ref])
		j.views[r].tellLeft(files, j.Observed.Git)
		j.views[r].tellUnheld(j.Observed.Git)
		if opts.Full {
			offerMerge(r, j.Observed.Git, j.views[r].History.Worktree != nil)
		}
		j.views[r].tellShrunk(j.Observed.Git)
		nameTarget(r, j.Observed.Git)
		r.Overstep(j.views[r].overstepped())
		j.views[r].doubt()
		grader.Run(r)
		j.views[r].unlanded(files)
		j.views[r].dropLanded()
		here, _ := j.here(r)
		j.views[r].tellUnmerged(ctx, files, here, j.Observed.Git, runs)
		j.views[r].tellCopies(res.copies[r])
		res.tellUnread(r)
		if j.Verified != nil {
			j.unverified[r] = slices.Clone(r.Steps)
			j.Verified.Apply(r)
		}
		world.Apply(r, set)
		j.views[r].Again = forgetRedone(r, opts.From)
	}
	for _, r := range runs {
		v := j.views[r]
		v.Observed = j.Observed
		policy := reprise.Policy{Grade: opts.Grade, Quick: !opts.Full}
		v.decide(policy)
		if opts.Full && v.refused(files, res.Root, opts) {
			v.decide(policy)
		}
		ask := opts.Foresee
		if !opts.Full && len(v.Events) == 0 {
			ask = nil // nothing is recorded here that the engine would go by
		}
		foreseen, changed := v.foresee(ctx, ask)
		if changed {
			v.decide(policy)
		}
		v.startsAt(foreseen, policy)
		v.tellCutOff(foreseen, world)
		j.Decisions[r] = v.Decision
	}
	res.Runs = order(runs, res.entries, j.Observed)
	return j, nil
}

// look reads the runs with their journals and gathers evidence about them.
func (j *Judgement) look(ctx context.Context, dir string, opts JudgeOptions) ([]*reprise.Run, error) {
	*j = Judgement{
		Decisions: map[*reprise.Run]reprise.Decision{}, views: map[*reprise.Run]*View{}, unverified: map[*reprise.Run][]reprise.Step{},
	}
	res, runs, err := gatherRuns(ctx, dir, opts.Options, opts.Full && opts.Held == nil, opts.Held)
	if err != nil {
		return nil, err
	}
	j.Result = res
	defer res.files.Close()
	for _, r := range runs {
		j.views[r] = newView(Record{Run: r}, Scope{Files: os.DirFS(j.Root), Observed: reprise.Observed{Now: opts.Now}})
	}
	j.recallJournals(ctx, runs, opts)
	j.tellElsewhere(runs, opts)
	j.Observed = evidence.Gather(ctx, res.Root, runs, opts.Now, evidence.Options{
		Cheap: !opts.Full && len(runs) > 0, Brief: !opts.Full, NoGit: opts.Alone, Sessions: opts.Sessions, SessionsTime: opts.SessionsTime, Environ: opts.Environ, Hide: opts.Hide, Checkpoints: j.checkpoints(), Claimed: res.claimed(runs), Logs: filepath.Join(res.Root, durable.StateDir, "logs"), Says: res.says, Away: j.away(runs),
	})
	for _, r := range runs {
		j.Observed.Settle(j.views[r].History.Settled)
	}
	j.Observed.Peers = runs
	j.tellAttempts()
	j.Observed.Index()
	return runs, nil
}

// tellAttempts says which sessions are of attempts at runs of the project.
func (j *Judgement) tellAttempts() {
	for _, v := range j.views {
		for i := range v.Events {
			for _, list := range [][]reprise.Session{j.Observed.Sessions, j.Observed.Folder} {
				for k := range list {
					s := &list[k]
					s.Attempt = s.Attempt || s.ID != "" && v.Events[i].Kind != reprise.SessionCheckpoint && v.Events[i].Agent == s.ID
				}
			}
		}
	}
}

// Sessions lists the sessions of agent CLIs in this folder that a person could want back: those
// with the worst outcome first, the latest of them first. all adds those that a person ended in
// the middle of their work.
func (j *Judgement) Sessions(all bool) []reprise.Session {
	out, now := j.Observed.WantedSessions(all), j.Observed.Now
	slices.SortStableFunc(out, func(a, b reprise.Session) int {
		switch x, y := a.Outcome(now), b.Outcome(now); {
		case x == y:
			return 0
		case x.Worse(y) == x:
			return -1
		}
		return 1
	})
	return out
}

// Foremost returns the session that a person has to look at before these runs: its outcome is
// worse than theirs, or the same and it was at work after all of them; nil if there is none.
func (j *Judgement) Foremost(runs []*reprise.Run) *reprise.Session {
	list := j.Sessions(false)
	if len(list) == 0 {
		return nil
	}
	worst, last := reprise.OutcomeNothing, time.Time{}
	for _, r := range runs {
		worst = worst.Worse(j.Decisions[r].Outcome())
		if r.LastActivity.After(last) {
			last = r.LastActivity
		}
	}
	s := &list[0]
	if to := s.Outcome(j.Observed.Now); to == worst && !s.Last.After(last) || to != worst && worst.Worse(to) == worst {
		return nil
	}
	return s
}

// Unread lists what was not read of the stores of agent CLIs and may be of a session that a person
// could want back.
func (j *Judgement) Unread() []reprise.UnreadSession {
	return slices.DeleteFunc(slices.Clone(j.Observed.FolderUnread), func(u reprise.UnreadSession) bool {
		return u.Left || !u.Last.IsZero() && !reprise.Lately(u.Last, j.Observed.Now)
	})
}

// Idle is the outcome where no run was interrupted: that of the sessions, or of the folder.
func (j *Judgement) Idle() reprise.Outcome {
	worst := j.Result.Nothing()
	if len(j.Unread()) > 0 {
		worst = worst.Worse(reprise.OutcomeCaution)
	}
	for _, s := range j.Sessions(false) {
		worst = worst.Worse(s.Outcome(j.Observed.Now))
	}
	return worst
}

// View returns what is known of a run, or nil if it is not part of the judgement.
func (j *Judgement) View(r *reprise.Run) *View { return j.views[r] }

// Find returns the run with this ref, or nil.
func (j *Judgement) Find(ref reprise.Ref) *reprise.Run {
	i := slices.IndexFunc(j.Runs, func(r *reprise.Run) bool { return r.Layout == ref.Layout && r.Path == ref.Path })
	if i < 0 {
		return nil
	}
	return j.Runs[i]
}

// Imagine judges a run that is not on disk together with those that are, as if its files
// existed. It sets the run's grades and findings.
func (j *Judgement) Imagine(r *reprise.Run) reprise.Decision {
	o := j.Observed
	o.Peers = append(slices.Clone(o.Peers), r)
	grade.New(o).Run(r)
	if full := noRoom(j.Root, r); full != nil {
		r.Report(*full)
	}
	examine.Apply(r, o, examine.Every)
	v := &View{Run: r, Observed: o, Decision: reprise.Next(r, o, reprise.Policy{})}
	if v.Decision.Action == reprise.Start {
		if f := v.blockedBelow(os.DirFS(j.Root)); f != nil {
			r.Report(*f)
			v.decide(reprise.Policy{})
		}
	}
	return v.Decision
}

// forgetRedone removes findings about work that is repeated, and returns the steps
// concerned.
func forgetRedone(r *reprise.Run, from string) map[string]bool {
	at := slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return from != "" && s.ID == from })
	if at < 0 {
		return nil
	}
	again := r.AgainFrom(at)
	r.Findings = slices.DeleteFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeWorkNotHere && again[f.Subject] })
	return again
}

// offerMerge offers to merge a build that has no checkout, where all of it was finished; if
// its branch is not in the repository either, or it was built in place without one, to record
// that it is merged: then nothing else would end it, and one that was built here waits for a
// person who knows.
func offerMerge(r *reprise.Run, git *reprise.Git, ours bool) {
	left := slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return !s.Status.Closed() && s.Ended == 0 })
	if r.Kind != reprise.KindBuild || !r.State.Open() || r.Branch == "" && r.State != reprise.Waiting || r.Worktree != "" || len(r.Steps) == 0 || git == nil || git.Unheard ||
		slices.Contains(git.Broken, r.Branch) || left || len(r.Options) == 0 {
		return
	}
	way := reprise.Option{Key: reprise.OptionMerged, Label: "Record that it is merged and finished: " + r.Branch + " is not here"}
	if r.Branch == "" {
		way.Label = "Record that it is finished: it was built here, without a branch of its own"
	} else if slices.ContainsFunc(git.Branches, func(b reprise.Branch) bool { return b.Name == r.Branch }) {
		way = reprise.Option{Key: reprise.OptionMerge, Label: "Merge the existing build"}
	} else if ours && !slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return !s.Status.Closed() }) {
		r.State, r.Reason = reprise.Waiting, "all of it was built, on "+r.Branch+", which is not here"
		r.Options = slices.DeleteFunc(slices.Clone(r.Options), func(o reprise.Option) bool { return o.Key == reprise.OptionContinue })
	}
	r.Options = slices.Insert(slices.Clone(r.Options), min(1, len(r.Options)-1), way)
}

// nameTarget adds to the merge option what is merged into: the checked-out branch, which
// must be the one the run is for.
func nameTarget(r *reprise.Run, git *reprise.Git) {
	at := slices.IndexFunc(r.Options, func(o reprise.Option) bool { return o.Key == reprise.OptionMerge })
	if at < 0 || git == nil || git.Branch == "" {
		return
	}
	into := " into " + git.Branch
	if r.Base != "" && strings.TrimPrefix(r.Base, "origin/") != git.Branch {
		into = " into " + r.Base + " (check it out first: " + git.Branch + " is checked out)"
	}
	r.Options = slices.Clone(r.Options)
	r.Options[at].Label += into
}

// tellUnticked says of a run that its files call not begun that git shows work on it.
func tellUnticked(r *reprise.Run, why string) {
	if why == "" || r.State != reprise.NotStarted {
		return
	}
	r.State, r.Untold, r.Reason = reprise.Interrupted, true, "git shows work on it, nobody ticked it"
	r.Report(reprise.Finding{
		Code: reprise.CodeAmbiguous, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: r.Path},
		Message: r.Reason + ": " + why,
		Hint:    "see what is done and tick it; what is marked open would be done again",
	})
}

// refine corrects a run's last activity with what git knows. If the history does not reach back
// to the last change, the time is unknown: it becomes zero and keeps its source. A recorded day
// gets a time of day if a commit on that day touched the run's own file.
func refine(r *reprise.Run, git *reprise.Git) {
	day := r.LastActivity
	if git == nil || day.IsZero() {
		return
	}
	if at := git.LastActivity(r); !at.Equal(day) {
		if r.LastActivity = at; at.After(day) {
			r.LastActivitySource = reprise.Source{File: r.Path}
		}
		return
	}
	if r.LastActivitySource.Line == 0 || !day.Equal(day.Truncate(24*time.Hour)) {
		return
	}
	for _, c := range git.Commits {
		if c.At.Before(day) || c.At.Sub(day) >= 24*time.Hour {
			continue
		}
		if slices.ContainsFunc(c.Files, func(f reprise.FileChange) bool { return f.Path == r.Path }) {
			r.LastActivity = c.At
			return
		}
	}
}

// Digest identifies everything that a full judgement of an open run is based on: its
// files, and what git and the process table said. It changes exactly when any of that
// changes. The Verify command and the requested grade are not part of it. It is "" for
// any other run, and if a run is held.
func (j *Judgement) Digest(r *reprise.Run) string {
	if !j.watch || !r.State.Open() {
		return ""
	}
	files := j.read[r]
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %s\n", name, files[name])
	}
	seen := struct {
		Run   *reprise.Run
		Git   *reprise.Git
		Owner reprise.OwnerLife
		// What sessions left open, without the ages that their reasons contain.
		Sessions reprise.Hash
	}{Run: r, Sessions: j.seenSessions(j.Observed.SessionsOn(r)), Git: settled(j.Observed.Git)}
	if r.Owner != nil {
		seen.Owner = j.Observed.Owners[r.Owner.Source]
	}
	// Findings contain ages in words; what they are based on is included already.
	run := *r
	run.Findings = nil
	if steps, ok := j.unverified[r]; ok {
		run.Steps = steps
	}
	seen.Run = &run
	if err := json.NewEncoder(h).Encode(seen); err != nil {
		panic(fmt.Sprintf("encode digest: %v", err)) // plain data of our own
	}
	return "v1:" + hex.EncodeToString(h.Sum(nil))[:32]
}

// seenSession is the part of a session that a judgement is based on.
type seenSession struct {
	CLI, ID string
	Alive   bool
	Last    time.Time
	Calls   []reprise.Call
}

func (j *Judgement) seenSessions(list []reprise.Session) reprise.Hash {
	var first *reprise.Session
	if len(list) > 0 {
		first = &list[0]
	}
	key := seenKey{first, len(list)} // most runs share one list
	if known, ok := j.seen[key]; ok {
		return known
	}
	var out []seenSession
	for _, s := range list {
		calls := slices.Clone(s.Calls)
		for i := range calls {
			// How much of these texts is hidden depends on which secrets are known. Wrote
			// and Landing stand in for them.
			calls[i].ID, calls[i].Tool, calls[i].Text, calls[i].Whole, calls[i].Source, calls[i].Signs = "", "", "", "", "", nil
		}
		out = append(out, seenSession{s.CLI, s.ID, s.Owner.Life == reprise.Alive, s.Last, calls})
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(fmt.Sprintf("encode sessions: %v", err)) // plain data of our own
	}
	if j.seen == nil {
		j.seen = map[seenKey]reprise.Hash{}
	}
	j.seen[key] = reprise.HashOf(b)
	return j.seen[key]
}

type seenKey struct {
	first *reprise.Session
	n     int
}

// settled omits what changes on its own, and the commits, which the branch heads
// represent.
func settled(g *reprise.Git) *reprise.Git {
	if g == nil {
		return nil
	}
	c := *g
	c.Commits, c.Past, c.Unmerged = nil, nil, nil
	if g.IndexLock != nil {
		lock := *g.IndexLock
		lock.Reason = ""
		c.IndexLock = &lock
	}
	return &c
}

// claimed lists the files that runs which are complete were read from.
func (res *Result) claimed(runs []*reprise.Run) (out []string) {
	for _, r := range runs {
		if r.State == reprise.Complete {
			out = append(slices.AppendSeq(out, maps.Keys(res.read[r])), r.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// watched is a file system that keeps the name of every file read through it and, if asked
// for, its hash.
type watched struct {
	*tree.FS
	hash   bool
	mu     sync.Mutex
	hashes map[string]string
}

// Open implements fs.FS.
func (w *watched) Open(name string) (fs.File, error) {
	w.note(name)
	return w.FS.Open(name)
}

// ReadFile implements fs.ReadFileFS.
func (w *watched) ReadFile(name string) ([]byte, error) {
	w.note(name)
	return w.FS.ReadFile(name)
}

// OpenRegular is used by package doc.
func (w *watched) OpenRegular(name string) (fs.File, fs.FileInfo, error) {
	w.note(name)
	return w.FS.OpenRegular(name)
}

// note hashes the file as it is now. This reads it a second time, but only in a full
// check of open runs.
func (w *watched) note(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.hashes[name]; ok {
		return
	}
	sum := "-"
	if !w.hash {
		w.hashes[name] = sum
		return
	}
	if f, info, err := doc.OpenRegular(w.FS, name); err == nil {
		h := sha256.New()
		if info.Size() > doc.MaxSize {
			// It is never read completely: size and time represent its content.
			sum = fmt.Sprintf("%d bytes of %d", info.Size(), info.ModTime().UnixNano())
		} else if _, err := io.CopyBuffer(h, f, make([]byte, min(32<<10, info.Size()+512))); err == nil {
			sum = hex.EncodeToString(h.Sum(nil))
		}
		f.Close()
	}
	w.hashes[name] = sum
}
