// Package autoclaude reads and writes the specs of Auto-Claude: one run per spec folder
// (.auto-claude/specs/NNN-slug), from the first spec phase over coding and QA
// to the review by a person.
//
// The guarantee: a plan that cannot be read is never taken for a finished or a
// fresh one, an item is done only if its own status says so in a known word,
// and nothing here is ever taken as proof that an agent is alive or dead.
//
// Which ledger wins. The items of implementation_plan.json decide what is
// open. Where a worktree holds a second copy of the plan, the copy with more
// completed items wins, because the agent edits the copy in the worktree and a
// crash can come before it is copied back; at a tie the copy that QA has taken
// further wins, then the one with the later time, then the one in the project.
// Within a plan that lists its items twice (`subtasks` and `chunks`), the list
// current programs read (`subtasks`) wins. plan.status is used for one thing
// only: done, completed and pr_created are a decision to close the spec.
// attempt_history.json and build_commits.json never win;
// where they contradict the plan, that is a finding.
//
// The folder's .env files are never opened.
package autoclaude

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

const (
	layoutName = "autoclaude"
	planFile   = "implementation_plan.json"
	historyLog = "memory/attempt_history.json"
	commitsLog = "memory/build_commits.json"
)

// The roles of Auto-Claude's agents; human stands for the person in the loop.
const (
	rolePlanner    = "planner"
	roleCoder      = "coder"
	roleQAReviewer = "qa-reviewer"
	roleQAFixer    = "qa-fixer"
	roleHuman      = "human"
)

// Layout implements reprise.Layout.
type Layout struct{}

// New returns the layout.
func New() reprise.Layout { return Layout{} }

// Name returns "autoclaude".
func (Layout) Name() string { return layoutName }

// Load reads one spec folder, with its second copies in worktrees. The error
// is always nil: whatever is wrong with the files is a finding of the run.
func (Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	return load(fsys, ref).run, nil
}

// load reads a spec and keeps what it was read from.
func load(fsys fs.FS, ref reprise.Ref) *loader {
	ref.Layout, ref.Kind = layoutName, reprise.KindBuild
	ref.ID = cmp.Or(ref.ID, path.Base(ref.Path))
	l := &loader{fsys: fsys, rd: doc.NewReader(fsys), run: &reprise.Run{Ref: ref}}
	l.where = locate(fsys, ref.Path)
	l.readCopies()
	l.readMemory()
	l.readMarks()
	l.describe()
	l.decide()
	l.settleQuestions()
	l.run.Options = l.options()
	l.run.Findings = l.allFindings()
	return l
}

// loader holds what was read about one spec while its run is put together.
type loader struct {
	fsys  fs.FS
	rd    *doc.Reader
	run   *reprise.Run
	where location

	copies []*plan // in the order of where.copies
	plan   *plan   // the copy that won; nil if there is none that can be read
	memory memory
	marks  marks
}

// dirs returns the folders of the spec, the one whose plan won first. Agents
// write their notes beside the plan they edit.
func (l *loader) dirs() []string {
	var first string
	if l.plan != nil {
		first = l.plan.dir
	}
	var out []string
	if first != "" {
		out = append(out, first)
	}
	for _, c := range l.where.copies {
		if c != first {
			out = append(out, c)
		}
	}
	return out
}

// pathOf gives the first copy of a file of the spec that is there; where no
// folder has it, the place where it would be.
func (l *loader) pathOf(name string) (at string, present bool) {
	dirs := l.dirs()
	for _, dir := range dirs {
		p := path.Join(dir, name)
		// What may not be looked at is there all the same: the reader says
		// why when it is opened.
		if _, err := fs.Stat(l.fsys, p); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return p, true
		}
	}
	return path.Join(dirs[0], name), false
}

// open opens the first copy of a file of the spec.
func (l *loader) open(name string) *doc.File {
	at, _ := l.pathOf(name)
	return l.rd.Open(at)
}

// find opens a file of the spec if it is there.
func (l *loader) find(name string) (f *doc.File, ok bool) {
	at, ok := l.pathOf(name)
	if !ok {
		return nil, false
	}
	return l.rd.Open(at), true
}

// describe fills what does not depend on the state: title, activity, the files
// referred to and the second copies.
func (l *loader) describe() {
	r := l.run
	r.Title = titleOf(l.copies, r.ID)
	for _, c := range l.where.copies {
		if c != r.Path {
			r.Also = append(r.Also, reprise.Ref{Layout: layoutName, ID: r.ID, Path: c, Kind: reprise.KindBuild})
		}
	}
	for _, p := range l.copies {
		for _, t := range p.times {
			r.Active(t.Time(), t.Source())
		}
	}
	for _, t := range l.memory.times {
		r.Active(t.Time(), t.Source())
	}
	if r.LastActivity.IsZero() {
		l.useFileTimes()
	}
	if l.plan != nil {
		r.Steps = l.plan.steps()
		l.addCopies()
		l.addMemory()
	}
	l.addHooks()
	if l.where.worktree != "" {
		r.Artifacts = append(r.Artifacts, reprise.Artifact{
			Name: "worktree", Path: l.where.worktree, Presence: reprise.Present, NeededBy: "coding",
			Source: reprise.Source{File: l.where.worktree},
		})
	}
	l.artifact("spec", "spec.md", "planning")
	l.artifact("plan", planFile, "coding")
}

// useFileTimes takes the newest file of the spec folder, for a spec whose files
// record no time at all.
func (l *loader) useFileTimes() {
	for _, dir := range l.dirs() {
		for _, e := range l.rd.Dir(dir) {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				l.run.Active(info.ModTime(), reprise.Source{File: path.Join(dir, e.Name())})
			}
		}
	}
}

// artifact records whether one of the run's own files is there. A plan of which
// no copy can be read is critical: nothing else says what is done.
func (l *loader) artifact(name, file, neededBy string) {
	at, present := l.pathOf(file)
	a := reprise.Artifact{Name: name, Path: at, Presence: reprise.Missing, NeededBy: neededBy}
	if present {
		a.Presence = reprise.Present
	}
	for _, p := range l.copies {
		if file == planFile && p.broken && p.file.Path == a.Path {
			a.Presence, a.Critical = reprise.Damaged, l.plan == nil
		}
	}
	a.Source = reprise.Source{File: path.Dir(a.Path)}
	l.run.Artifacts = append(l.run.Artifacts, a)
}

// titleOf takes the name a copy of the plan gives the work, else the words of
// the folder's name.
func titleOf(copies []*plan, id string) string {
	for _, p := range copies {
		if p.title != "" {
			return p.title
		}
	}
	_, slug, _ := strings.Cut(id, "-")
	if slug = strings.TrimSpace(strings.ReplaceAll(slug, "-", " ")); slug != "" {
		return slug
	}
	return id
}

// options are the choices of the original program when it finds an existing
// build. Continue comes first, since --auto-continue takes the first; a build
// that waits for its review has nothing to continue. One whose plan cannot be read
// can be neither continued nor merged: what is done, and what a merge would end, is
// not known.
func (l *loader) options() []reprise.Option {
	resume := reprise.Option{Key: reprise.OptionContinue, Label: "Continue where it stopped"}
	review := reprise.Option{Key: reprise.OptionReview, Label: "Review what was built"}
	merge := reprise.Option{Key: reprise.OptionMerge, Label: "Merge the existing build"}
	discard := reprise.Option{Key: reprise.OptionDiscard, Label: "Discard and start fresh (the old state is archived)"}
	if !l.run.State.Open() {
		return nil
	}
	var out []reprise.Option
	switch {
	case l.run.State == reprise.Unreadable && l.where.worktree == "":
		return []reprise.Option{discard}
	case l.run.State == reprise.Unreadable:
		return []reprise.Option{review, discard}
	case l.run.Phase == phaseHumanReview:
		out = append(out, review)
	case l.where.worktree == "":
		out = append(out, resume)
	default:
		out = append(out, resume, review)
	}
	if l.where.worktree != "" {
		out = append(out, merge)
	}
	if l.where.worktree == "" && l.run.State == reprise.NotStarted {
		return out // nothing was built that could be discarded
	}
	return append(out, discard)
}

// allFindings joins what the readers collected. Of a copy that lost, only
// damage is reported; its unknown words would repeat those of the copy that won.
func (l *loader) allFindings() []reprise.Finding {
	var out []reprise.Finding
	for _, p := range l.copies {
		for _, f := range p.rd.Findings() {
			if p == l.plan || damage(f.Code) {
				out = append(out, f)
			}
		}
	}
	out = append(out, l.rd.Findings()...)
	return append(out, l.run.Findings...)
}

func damage(code string) bool {
	switch code {
	case reprise.CodeUnknownStatus, reprise.CodeDuplicateID, reprise.CodeUnknownDependency,
		reprise.CodeCycle, reprise.CodeIntegrity, reprise.CodeStatusDrift:
		return false
	}
	return true
}
