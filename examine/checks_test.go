package examine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/examine"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// scene is a run and what is observed around it, to be changed by a case.
type scene struct {
	r *reprise.Run
	o reprise.Observed
}

// quiet is a run in the middle of its work about which there is nothing to say.
func quiet() *scene {
	r := &reprise.Run{
		Ref:   reprise.Ref{Layout: "autoclaude", ID: "004-secrets", Path: ".auto-claude/specs/004-secrets", Kind: reprise.KindBuild},
		Title: "Remove secrets", State: reprise.Interrupted, Phase: "coding", LastActivity: now.Add(-30 * time.Minute),
		Steps: []reprise.Step{
			{ID: "one", Phase: "coding", Status: reprise.Done, Files: []string{"a.go"}, Traces: []reprise.Trace{{Subject: "auto-claude: one"}}},
			{ID: "two", Phase: "coding", Status: reprise.InProgress, Needs: []string{"one"}, Files: []string{"b.go"}},
			{ID: "three", Phase: "qa", Status: reprise.Pending, Needs: []string{"two"}},
		},
		Next: []reprise.Unit{{ID: "two", Phase: "coding"}},
		Artifacts: []reprise.Artifact{
			{Name: "spec", Path: "docs/spec.md", Presence: reprise.Present, Critical: true, NeededBy: "coding"},
		},
	}
	g := &reprise.Git{
		Head: "aaaaaaaaaaaa", Branch: "main", HasRemote: true,
		Branches:  []reprise.Branch{{Name: "main", Head: "aaaaaaaaaaaa", Upstream: "origin/main"}},
		Worktrees: []reprise.Worktree{{Path: ".", Branch: "main", Main: true}},
	}
	return &scene{r, reprise.Observed{Now: now, Git: g, Peers: []*reprise.Run{r}}}
}

// story is a QA loop at work on a story.
func story() *scene {
	s := quiet()
	*s.r = reprise.Run{
		Ref:   reprise.Ref{Layout: "orchestrate", ID: "qa-2.1", Path: "qa/2.1/loop-status.json", Kind: reprise.KindQALoop},
		State: reprise.Interrupted, Phase: "review", LastActivity: now.Add(-30 * time.Minute),
		Steps: []reprise.Step{{ID: "2.1", Phase: "story", Path: "docs/stories/2.1.md", Status: reprise.InReview}},
		Also:  []reprise.Ref{{Layout: "orchestrate", ID: "2.1", Path: "docs/stories/2.1.md", Kind: reprise.KindStory}},
	}
	return s
}

func (s *scene) sections(titles ...string) *scene {
	s.o.Sections = map[string][]reprise.SectionChange{}
	for _, t := range titles {
		s.o.Sections["docs/stories/2.1.md"] = append(s.o.Sections["docs/stories/2.1.md"], reprise.SectionChange{Title: t, Commit: "bbbbbbbbbbbbbb"})
	}
	return s
}

func (s *scene) commit(subject string, files ...string) *scene {
	c := reprise.Commit{Hash: "cccccccccccccccc", At: now.Add(-10 * time.Minute), Subject: subject, OnHead: true, Branch: "main"}
	for _, f := range files {
		c.Files = append(c.Files, reprise.FileChange{Path: f})
	}
	s.o.Git.Commits = append(s.o.Git.Commits, c)
	return s
}

func (s *scene) changed(c ...reprise.Change) *scene {
	s.o.Git.Changed = append(s.o.Git.Changed, c...)
	return s
}

func (s *scene) owner(l reprise.Life) *scene {
	s.r.Owner = &reprise.Owner{Agent: "agent-7", PID: 4242, Host: "box", Source: reprise.Source{File: "run.lock"}}
	if l != 0 {
		s.o.Owners = map[reprise.Source]reprise.OwnerLife{s.r.Owner.Source: {Life: l, Reason: "the process table says so"}}
	}
	return s
}

func (s *scene) with(edit func(s *scene)) *scene {
	edit(s)
	return s
}

func (s *scene) peer(edit func(p *reprise.Run)) *scene {
	p := *s.r
	p.ID, p.Path, p.Findings = "005-secrets", ".auto-claude/specs/005-secrets", nil
	edit(&p)
	s.o.Peers = append(s.o.Peers, &p)
	return s
}

type caseOf struct {
	name     string
	code     string
	s        *scene
	severity reprise.Severity // zero: must not be reported
	says     string
}

func (c caseOf) check(t *testing.T) {
	t.Helper()
	found := of(examine.All(c.s.r, c.s.o), c.code)
	if c.severity == 0 {
		if len(found) > 0 {
			t.Errorf("%s: reported: %v", c.name, found)
		}
		return
	}
	if len(found) == 0 {
		t.Errorf("%s: nothing reported", c.name)
		return
	}
	if f := found[0]; f.Severity != c.severity || !strings.Contains(f.Message, c.says) {
		t.Errorf("%s: want %s %q, got %s %q", c.name, c.severity, c.says, f.Severity, f.Message)
	}
}

func TestX1_nothing_to_say_about_a_quiet_run(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*scene{"build": quiet(), "story": story()} {
		if found := examine.All(s.r, s.o); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

const (
	info     = reprise.Info
	warning  = reprise.Warning
	blocking = reprise.Blocking
)

func TestOR3_checks_on_files_and_time(t *testing.T) {
	t.Parallel()
	artifact := func(edit func(a *reprise.Artifact)) *scene {
		return quiet().with(func(s *scene) {
			s.r.Artifacts[0].Presence = reprise.Missing
			edit(&s.r.Artifacts[0])
		})
	}
	aged := func(d time.Duration) *scene {
		return quiet().with(func(s *scene) { s.r.LastActivity = now.Add(-d) })
	}
	code := reprise.CodeMissingArtifact
	for _, c := range []caseOf{
		{"critical and needed now", code, artifact(func(*reprise.Artifact) {}), blocking, `"spec" ("docs/spec.md") is missing; "coding" needs it`},
		{"damaged", code, artifact(func(a *reprise.Artifact) { a.Presence = reprise.Damaged }), blocking, "is damaged"},
		{"needed by a step that is open", code, artifact(func(a *reprise.Artifact) { a.NeededBy = "three" }), blocking, `"three" needs it`},
		{"needed by a step that is done", code, artifact(func(a *reprise.Artifact) { a.NeededBy = "one" }), warning, `"one" needs it`},
		{"a closed step makes it", code, artifact(func(a *reprise.Artifact) { a.MadeBy = "one" }), warning, `and "one", which creates it, must run again`},
		{"an open step will make it", code, artifact(func(a *reprise.Artifact) { a.MadeBy = "two" }), 0, ""},
		{"not critical", code, artifact(func(a *reprise.Artifact) { a.Critical = false }), info, "is missing"},
		{"out of reach", code, artifact(func(a *reprise.Artifact) { a.Presence = reprise.Unchecked }), 0, ""},
		{"finished run", code, artifact(func(*reprise.Artifact) {}).with(func(s *scene) { s.r.State = reprise.Complete }), 0, ""},

		{"fresh", reprise.CodeAge, aged(59 * time.Minute), 0, ""},
		{"recent", reprise.CodeAge, aged(2 * time.Hour), info, "2 hours ago, which is recent"},
		{"moderate", reprise.CodeAge, aged(3 * 24 * time.Hour), info, "3 days ago, which is moderate"},
		{"stale has its own code", reprise.CodeAge, aged(8 * 24 * time.Hour), 0, ""},
		{"moderate is not stale", reprise.CodeStaleRun, aged(7 * 24 * time.Hour), 0, ""},
		{"stale", reprise.CodeStaleRun, aged(14 * 24 * time.Hour), warning, "14 days"},
		{"stale files, a session just now", reprise.CodeStaleRun, aged(14 * 24 * time.Hour).with(func(s *scene) {
			s.o.Sessions = []reprise.Session{{CLI: "gemini", Dir: ".", Last: s.o.Now.Add(-time.Minute)}}
		}), warning, "its files record nothing for 14 days, but a session of gemini worked in this folder"},
		{"stale and finished", reprise.CodeStaleRun, aged(14 * 24 * time.Hour).with(func(s *scene) { s.r.State = reprise.Complete }), 0, ""},
		{"future", reprise.CodeFutureTime, aged(-30 * time.Hour), warning, "is in the future"},
		{"another time zone", reprise.CodeFutureTime, aged(-14 * time.Hour), 0, ""},
	} {
		c.check(t)
	}
	for d, want := range map[time.Duration]string{-time.Hour: "fresh", 59 * time.Minute: "fresh", time.Hour: "recent", 24 * time.Hour: "moderate", 7 * 24 * time.Hour: "moderate", 8 * 24 * time.Hour: "stale"} {
		if got := reprise.BandOf(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}

func TestOR3_changed_sections(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]struct {
		code     string
		severity reprise.Severity
	}{
		"Acceptance Criteria": {reprise.CodeCriteriaChanged, blocking}, "✅ Critérios de Aceite": {reprise.CodeCriteriaChanged, blocking},
		"3. Critérios de Aceitação": {reprise.CodeCriteriaChanged, blocking}, "Scope": {reprise.CodeScopeChanged, blocking},
		"Escopo": {reprise.CodeScopeChanged, blocking}, "Out of Scope": {reprise.CodeScopeChanged, blocking}, "Story": {reprise.CodeScopeChanged, blocking},
		"Tasks / Subtasks": {reprise.CodeScopeChanged, warning}, "Tarefas": {reprise.CodeScopeChanged, warning},
		"Dependencies": {reprise.CodeNewDependency, warning}, "Dependências": {reprise.CodeNewDependency, warning}, "Pré-requisitos": {reprise.CodeNewDependency, warning},
		"Dev Notes": {reprise.CodeSectionChanged, info}, "Notas de Desenvolvimento": {reprise.CodeSectionChanged, info}, "Dev Agent Record": {reprise.CodeSectionChanged, info},
		"QA Results": {reprise.CodeSectionChanged, info}, "Resultados do QA": {reprise.CodeSectionChanged, info}, "Change Log": {reprise.CodeSectionChanged, info},
		"Histórico de Alterações": {reprise.CodeSectionChanged, info}, "File List": {reprise.CodeSectionChanged, info}, "Lista de Arquivos": {reprise.CodeSectionChanged, info},
		"Task completion notes": {reprise.CodeSectionChanged, info}, "": {reprise.CodeSectionChanged, info}, "Status": {"", 0},
	} {
		s := story().sections(title)
		found := examine.All(s.r, s.o)
		switch {
		case want.code == "" && len(found) > 0:
			t.Errorf("%q: %v", title, found)
		case want.code == "":
		case len(found) != 1 || found[0].Code != want.code || found[0].Severity != want.severity:
			t.Errorf("%q: want %s %s, got %v", title, want.severity, want.code, found)
		}
	}
	says := `"Dev Notes" section updated`
	caseOf{"message of the issue", reprise.CodeSectionChanged, story().sections("Dev Notes"), info, says}.check(t)
	step := func(st reprise.Status) *scene {
		return story().sections("Acceptance Criteria").with(func(s *scene) { s.r.Steps[0].Status = st })
	}
	itself := func(title string) *scene {
		return story().sections(title).with(func(s *scene) {
			s.r.Kind, s.r.Path, s.r.Steps[0].Path, s.r.Also = reprise.KindStory, "docs/stories/2.1.md", "docs/stories/2.1.md", nil
		})
	}
	for _, c := range []caseOf{
		{"not begun yet", reprise.CodeCriteriaChanged, step(reprise.Pending), info, "Acceptance Criteria"},
		{"finished work", reprise.CodeCriteriaChanged, step(reprise.Done), warning, "Acceptance Criteria"},
		{"under way", reprise.CodeCriteriaChanged, step(reprise.InProgress), blocking, "compared with bbbbbbbbbb"},
		{"run not started", reprise.CodeCriteriaChanged, story().sections("Acceptance Criteria").with(func(s *scene) { s.r.State = reprise.NotStarted }), 0, ""},
		{"another document", reprise.CodeCriteriaChanged, story().sections("Acceptance Criteria").with(func(s *scene) {
			s.r.Steps[0].Path, s.r.Also = "docs/stories/9.9.md", nil
		}), 0, ""},
		{"several sections", reprise.CodeScopeChanged, story().sections("Tasks", "Scope"), blocking, `"Tasks" section updated, "Scope" section updated`},
		{"a story itself", reprise.CodeCriteriaChanged, itself("Acceptance Criteria"), warning, "Acceptance Criteria"},
		{"how a story is cut up", reprise.CodeScopeChanged, itself("Tasks"), 0, ""},
		{"removed", reprise.CodeCriteriaChanged, story().sections("Acceptance Criteria").with(func(s *scene) {
			s.o.Sections["docs/stories/2.1.md"][0].Removed = true
		}), blocking, "section removed"},
	} {
		c.check(t)
	}
}

func TestOR3_files_and_dependencies_changed_by_others(t *testing.T) {
	t.Parallel()
	needs := func(edit func(s *scene)) *scene {
		return quiet().with(func(s *scene) { s.r.Steps[2].Needs = []string{"two", "006-more"} }).with(edit)
	}
	old := func(s *scene) { s.o.Git.Commits[0].At = now.Add(-time.Hour) }
	for _, c := range []caseOf{
		{"commit of others", reprise.CodeFilesChanged, quiet().commit("tidy up", "b.go", "x.go"), warning, `commit cccccccccc ("tidy up") changed 1 file of this run and does not belong to it: "b.go"`},
		{"renamed away", reprise.CodeFilesChanged, quiet().commit("move").with(func(s *scene) {
			s.o.Git.Commits[0].Files = []reprise.FileChange{{Path: "z.go", From: "b.go"}}
		}), warning, `"b.go"`},
		{"an artifact", reprise.CodeFilesChanged, quiet().commit("reword", "docs/spec.md"), warning, `"docs/spec.md"`},
		{"the run's own commit", reprise.CodeFilesChanged, quiet().commit("auto-claude: one - done", "b.go"), 0, ""},
		{"named by a trailer", reprise.CodeFilesChanged, quiet().commit("work", "b.go").with(func(s *scene) { s.o.Git.Commits[0].Steps = []string{"two"} }), 0, ""},
		{"recorded by a ledger", reprise.CodeFilesChanged, quiet().commit("work", "b.go").with(func(s *scene) { s.r.Steps[0].Commits = []string{"ccccccc"} }), 0, ""},
		{"with the run's state in it", reprise.CodeFilesChanged, quiet().commit("wip", "b.go", ".auto-claude/specs/004-secrets/implementation_plan.json"), 0, ""},
		{"before the last activity", reprise.CodeFilesChanged, quiet().commit("tidy up", "b.go").with(old), 0, ""},
		{"on the day of the last activity", reprise.CodeFilesChanged, quiet().commit("tidy up", "b.go").with(func(s *scene) { s.r.LastActivity = now.Truncate(24 * time.Hour) }), 0, ""},
		{"on another branch", reprise.CodeFilesChanged, quiet().commit("tidy up", "b.go").with(func(s *scene) { s.o.Git.Commits[0].OnHead, s.o.Git.Commits[0].Branch = false, "other" }), 0, ""},
		{"other files", reprise.CodeFilesChanged, quiet().commit("tidy up", "x.go"), 0, ""},
		{"of finished work", reprise.CodeFilesChanged, quiet().commit("tidy up", "a.go"), info, `"a.go"`},
		{"uncommitted in finished work", reprise.CodeFilesChanged, quiet().changed(reprise.Change{Path: "a.go"}), 0, ""},
		{"uncommitted in open work", reprise.CodeFilesChanged, quiet().changed(reprise.Change{Path: "b.go"}), 0, ""},

		{"manifest in a commit", reprise.CodeNewDependency, quiet().commit("bump", "web/package.json"), warning, `"web/package.json"`},
		{"requirements file", reprise.CodeNewDependency, quiet().commit("bump", "requirements-dev.txt"), warning, `by commit cccccccccc ("bump")`},
		{"vendored manifest", reprise.CodeNewDependency, quiet().commit("bump", "node_modules/x/package.json"), 0, ""},
		{"lock file", reprise.CodeNewDependency, quiet().commit("bump", "go.sum"), 0, ""},
		{"manifest by the run", reprise.CodeNewDependency, quiet().commit("auto-claude: one", "go.mod"), 0, ""},
		{"manifest not committed", reprise.CodeNewDependency, quiet().changed(reprise.Change{Path: "go.mod"}), warning, "without a commit"},
		{"manifest the run is to change", reprise.CodeNewDependency, quiet().changed(reprise.Change{Path: "go.mod"}).with(func(s *scene) { s.r.Steps[1].Files = []string{"go.mod"} }), 0, ""},
		{"needs a run the state does not list", reprise.CodeNewDependency, needs(func(s *scene) { s.peer(func(p *reprise.Run) { p.ID, p.Title = "006-more", "Other" }) }), warning, `waits for "006-more", which exists`},
		{"and that one is not unknown", reprise.CodeUnknownDependency, needs(func(s *scene) { s.peer(func(p *reprise.Run) { p.ID, p.Title = "006-more", "Other" }) }), 0, ""},
		{"needs nothing new", reprise.CodeNewDependency, quiet(), 0, ""},
	} {
		c.check(t)
	}
}

func TestX5_owners_and_other_workflows(t *testing.T) {
	t.Parallel()
	other := func(edit func(p *reprise.Run)) *scene {
		return story().peer(func(p *reprise.Run) {
			p.ID, p.Path, p.Kind = "wf", ".aiox/workflow-state/2.1-state.yaml", reprise.KindWorkflow
			p.LastActivity = now.Add(-10 * time.Minute)
			edit(p)
		})
	}
	for _, c := range []caseOf{
		{"alive", reprise.CodeLiveOwner, quiet().owner(reprise.Alive), info, `"agent-7" process 4242 on "box" is working on it: the process table says so`},
		{"left behind", reprise.CodeLiveOwner, quiet().owner(reprise.Alive).with(func(s *scene) { s.r.Owner.Orphan = true }), warning, "is left over from an earlier attempt and still running"},
		{"dead", reprise.CodeLiveOwner, quiet().owner(reprise.Dead), 0, ""},
		{"dead", reprise.CodeStaleMarker, quiet().owner(reprise.Dead), info, "is left over: the process table says so"},
		{"alive", reprise.CodeStaleMarker, quiet().owner(reprise.Alive), 0, ""},
		{"unknown", reprise.CodeOwnerMarker, quiet().owner(reprise.LifeUnknown), warning, "is unknown: the process table says so"},
		{"unknown", reprise.CodeStaleMarker, quiet().owner(reprise.LifeUnknown), 0, ""},
		{"nobody looked", reprise.CodeOwnerMarker, quiet().owner(0), 0, ""},
		{"no name", reprise.CodeLiveOwner, quiet().owner(reprise.Alive).with(func(s *scene) { *s.r.Owner = reprise.Owner{Source: s.r.Owner.Source} }), info, "an owner without a name"},

		{"started later", reprise.CodeConcurrent, other(func(*reprise.Run) {}), blocking, "was active later than this run"},
		{"older", reprise.CodeConcurrent, other(func(p *reprise.Run) { p.LastActivity = now.Add(-48 * time.Hour) }), info, "an older workflow"},
		{"at work", reprise.CodeConcurrent, other(func(p *reprise.Run) { p.State = reprise.Running }), blocking, "is working on the same story"},
		{"finished", reprise.CodeConcurrent, other(func(p *reprise.Run) { p.State = reprise.Complete }), 0, ""},
		{"another story", reprise.CodeConcurrent, other(func(p *reprise.Run) { p.Also = nil }), 0, ""},
		{"the epic of the story", reprise.CodeConcurrent, other(func(p *reprise.Run) { p.Kind = reprise.KindEpic }), 0, ""},
		{"the story itself", reprise.CodeConcurrent, other(func(p *reprise.Run) { p.Kind, p.Path = reprise.KindStory, "docs/stories/2.1.md" }), 0, ""},
		{"already joined", reprise.CodeConcurrent, other(func(p *reprise.Run) {}).with(func(s *scene) { s.r.Also = append(s.r.Also, s.o.Peers[1].Ref) }), 0, ""},

		{"a later try", reprise.CodeSuperseded, quiet().peer(func(*reprise.Run) {}), info, `begun again as "005-secrets", which is not finished either`},
		{"a later try that is finished", reprise.CodeSuperseded, quiet().peer(func(p *reprise.Run) { p.State = reprise.Complete }), warning, "finished there"},
		{"an earlier try", reprise.CodeSuperseded, quiet().peer(func(p *reprise.Run) { p.ID = "003-secrets" }), 0, ""},
		{"another title", reprise.CodeSuperseded, quiet().peer(func(p *reprise.Run) { p.Title = "Rotate secrets" }), 0, ""},
		{"no title, same slug", reprise.CodeSuperseded, quiet().with(func(s *scene) { s.r.ID = "004-remove-secrets" }).peer(func(p *reprise.Run) { p.ID, p.Title = "009-remove-secrets", "" }), info, "009"},
		{"another layout", reprise.CodeSuperseded, quiet().peer(func(p *reprise.Run) { p.Layout = "specloop" }), 0, ""},
		{"told by the reader", reprise.CodeSuperseded, quiet().peer(func(*reprise.Run) {}).with(func(s *scene) { s.r.Report(reprise.Finding{Code: reprise.CodeSuperseded, Subject: s.r.ID}) }), 0, ""},
		{"stories have no tries", reprise.CodeSuperseded, story().peer(func(p *reprise.Run) { p.LastActivity = now }), 0, ""},
	} {
		c.check(t)
	}
}

func TestX6_git_as_it_stands(t *testing.T) {
	t.Parallel()
	git := func(edit func(r *reprise.Run, g *reprise.Git)) *scene {
		return quiet().with(func(s *scene) { edit(s.r, s.o.Git) })
	}
	lock := func(l reprise.Life) *scene {
		return git(func(_ *reprise.Run, g *reprise.Git) {
			g.IndexLock = &reprise.LockFile{Path: ".git/index.lock", Holder: "git commit", Life: l, Reason: "seen"}
		})
	}
	tree := func(edit func(w *reprise.Worktree)) *scene {
		return git(func(r *reprise.Run, g *reprise.Git) {
			r.Branch, r.Worktree = "auto/x", ".worktrees/x"
			w := reprise.Worktree{Path: ".worktrees/x", Branch: "auto/x"}
			edit(&w)
			g.Branches = append(g.Branches, reprise.Branch{Name: "auto/x", Upstream: "origin/auto/x"})
			g.Worktrees = append(g.Worktrees, w)
		})
	}
	branch := func(exists bool) *scene {
		return git(func(r *reprise.Run, g *reprise.Git) {
			r.Branch = "auto/x"
			if exists {
				g.Branches = append(g.Branches, reprise.Branch{Name: "auto/x"})
			}
		})
	}
	keep := func(*reprise.Worktree) {}
	here := func(s *scene) { s.r.Kind = reprise.KindTasks }
	for _, c := range []caseOf{
		{"merge", reprise.CodeGitOperation, git(func(_ *reprise.Run, g *reprise.Git) { g.Operation = "merge" }), blocking, "in the middle of a merge"},
		{"in another checkout", reprise.CodeGitOperation, tree(keep).with(func(s *scene) { s.o.Git.Operation = "rebase" }), warning, "this run works in"},
		{"finished run", reprise.CodeGitOperation, git(func(r *reprise.Run, g *reprise.Git) { g.Operation, r.State = "merge", reprise.Complete }), 0, ""},
		{"none", reprise.CodeGitOperation, quiet(), 0, ""},

		{"held", reprise.CodeIndexLock, lock(reprise.Alive), blocking, `live process ("git commit")`},
		{"left behind", reprise.CodeIndexLock, lock(reprise.Dead), blocking, "its owner is gone"},
		{"unknown", reprise.CodeIndexLock, lock(reprise.LifeUnknown), blocking, "unknown owner"},
		{"none", reprise.CodeIndexLock, quiet(), 0, ""},

		{"another branch", reprise.CodeWrongBranch, branch(true).with(here), warning, `works on branch "auto/x", the checkout is on "main"`},
		{"no such branch", reprise.CodeWrongBranch, branch(false), info, "does not exist here"},
		{"no such branch yet", reprise.CodeWrongBranch, branch(false).with(func(s *scene) { s.r.State = reprise.NotStarted }), 0, ""},
		{"checked out elsewhere", reprise.CodeWrongBranch, tree(keep).with(func(s *scene) { s.r.Worktree = "" }).with(here), 0, ""},
		{"on it", reprise.CodeWrongBranch, git(func(r *reprise.Run, _ *reprise.Git) { r.Branch = "main" }).with(here), 0, ""},
		{"free for a checkout of its own", reprise.CodeWrongBranch, branch(true), 0, ""},
		{"held elsewhere", reprise.CodeWrongBranch, tree(keep).with(func(s *scene) { s.r.Worktree = "" }), blocking, ".worktrees/x has that branch checked out"},
		{"held here", reprise.CodeWrongBranch, git(func(r *reprise.Run, _ *reprise.Git) { r.Branch = "main" }), blocking, "the project itself has that branch checked out"},

		{"detached", reprise.CodeDetachedHead, git(func(_ *reprise.Run, g *reprise.Git) { g.Branch, g.Detached = "", true }), warning, "on no branch"},
		{"worktree detached", reprise.CodeDetachedHead, tree(func(w *reprise.Worktree) { w.Branch, w.Detached = "", true }), warning, `".worktrees/x"`},
		{"another one detached", reprise.CodeDetachedHead, tree(keep).with(func(s *scene) { s.o.Git.Branch, s.o.Git.Detached = "", true }), 0, ""},

		{"folder gone", reprise.CodeWorktreeGone, tree(func(w *reprise.Worktree) { w.Gone = true }), warning, "the folder is gone"},
		{"gone and locked", reprise.CodeWorktreeGone, tree(func(w *reprise.Worktree) { w.Gone, w.Locked, w.LockWhy = true, true, "usb" }), warning, `locked, but the folder is not there ("usb")`},
		{"gone, told by its branch", reprise.CodeWorktreeGone, tree(func(w *reprise.Worktree) { w.Gone = true }).with(func(s *scene) { s.r.Worktree = "" }), warning, "gone"},
		{"another one gone", reprise.CodeWorktreeGone, tree(func(w *reprise.Worktree) { w.Gone = true }).with(func(s *scene) { s.r.Worktree, s.r.Branch = "", "main" }), 0, ""},
		{"there", reprise.CodeWorktreeGone, tree(keep), 0, ""},

		{"no checkout", reprise.CodeWorktreeForeign, tree(func(w *reprise.Worktree) { w.Path = ".worktrees/y" }), blocking, "not a checkout of this repository"},
		{"checkout on another branch", reprise.CodeWorktreeForeign, tree(func(w *reprise.Worktree) { w.Branch = "other" }), warning, `on branch "other", the run works on "auto/x"`},
		{"the right one", reprise.CodeWorktreeForeign, tree(keep), 0, ""},
		{"no git", reprise.CodeWorktreeForeign, tree(keep).with(func(s *scene) { s.o.Git = nil }), 0, ""},

		{"ahead", reprise.CodeUnpushed, git(func(_ *reprise.Run, g *reprise.Git) { g.Branches[0].Ahead = 2 }), info, `2 commits of branch "main" not pushed`},
		{"never pushed", reprise.CodeUnpushed, git(func(_ *reprise.Run, g *reprise.Git) { g.Branches[0].Upstream, g.Unpushed = "", 3 }), info, "never pushed"},
		{"no remote", reprise.CodeUnpushed, git(func(_ *reprise.Run, g *reprise.Git) { g.Branches[0].Ahead, g.HasRemote = 2, false }), 0, ""},
		{"pushed", reprise.CodeUnpushed, quiet(), 0, ""},

		{"no git", reprise.CodeGitUnavailable, quiet().with(func(s *scene) { s.o.Git, s.o.GitError = nil, "git is not installed" }), warning, "git is not installed"},
		{"a part that was not looked at", reprise.CodeGitUnavailable, git(func(*reprise.Run, *reprise.Git) {}).with(func(s *scene) { s.o.GitError = "the history was not fully looked at" }), info, "the history was not fully looked at"},
		{"a call that took too long", reprise.CodeGitUnavailable, git(func(_ *reprise.Run, g *reprise.Git) { g.Unheard = true }).with(func(s *scene) { s.o.GitError = "git status: took too long" }), warning, "took too long"},
		{"a repository that git refuses", reprise.CodeGitUnavailable, quiet().with(func(s *scene) {
			s.o.Git, s.o.GitError, s.o.GitTodo = nil, "bad config line 1", "`git status` shows more"
		}), blocking, "bad config line 1"},
		{"a damaged index", reprise.CodeGitUnavailable, git(func(_ *reprise.Run, g *reprise.Git) { g.Untold = map[string]string{".": "index file corrupt"} }), blocking, "git cannot list uncommitted changes: index file corrupt"},
		{"one of another checkout", reprise.CodeGitUnavailable, git(func(_ *reprise.Run, g *reprise.Git) { g.Untold = map[string]string{"away": "index file corrupt"} }), 0, ""},
		{"one of its checkout", reprise.CodeGitUnavailable, tree(func(*reprise.Worktree) {}).with(func(s *scene) { s.o.Git.Untold = map[string]string{s.r.Worktree: "index file corrupt"} }), blocking, "index file corrupt"},
		{"no repository", reprise.CodeGitUnavailable, quiet().with(func(s *scene) { s.o.Git = nil }), 0, ""},
	} {
		c.check(t)
	}
}

func TestX6_uncommitted_work(t *testing.T) {
	t.Parallel()
	code := reprise.CodeUncommitted
	own := func() *scene {
		return quiet().with(func(s *scene) {
			s.r.Branch, s.r.Worktree = "auto/x", ".worktrees/x"
			s.o.Git.Worktrees = append(s.o.Git.Worktrees, reprise.Worktree{Path: ".worktrees/x", Branch: "auto/x"})
		})
	}
	for _, c := range []caseOf{
		{"changed", code, quiet().changed(reprise.Change{Path: "b.go"}, reprise.Change{Path: "n.go", Untracked: true}), warning, `2 files not committed: "b.go", "n.go"`},
		{"deleted", code, quiet().changed(reprise.Change{Path: "b.go", Deleted: true}), warning, `1 file deleted, which no commit says: "b.go"`},
		{"some deleted", code, quiet().changed(reprise.Change{Path: "b.go", Deleted: true}, reprise.Change{Path: "c.go"}), warning, `2 files not committed, 1 of them deleted: "b.go", "c.go"`},
		{"many", code, quiet().changed(reprise.Change{Path: "1"}, reprise.Change{Path: "2"}, reprise.Change{Path: "3"}, reprise.Change{Path: "4"}).with(func(s *scene) { s.o.Git.ChangedMore = 9 }), warning, "at least 4 files not committed, 9 more not checked: \"1\", \"2\", \"3\" and 1 more"},
		{"untracked only", code, quiet().changed(reprise.Change{Path: "n.go", Untracked: true}), info, "1 file untracked"},
		{"untracked in its own checkout", code, own().changed(reprise.Change{Path: ".worktrees/x/n.go", Untracked: true, Worktree: ".worktrees/x"}), warning, "1 file"},
		{"in another checkout", code, own().changed(reprise.Change{Path: "b.go"}), 0, ""},
		{"conflict", code, quiet().changed(reprise.Change{Path: "b.go", Conflict: true}), blocking, "unresolved conflicts"},
		{"state files", code, quiet().changed(reprise.Change{Path: ".auto-claude/specs/004-secrets/implementation_plan.json"}), 0, ""},
		{"the folder of the state", code, quiet().changed(reprise.Change{Path: ".auto-claude/", Untracked: true}), 0, ""},
		{"state files in conflict", code, quiet().changed(reprise.Change{Path: ".auto-claude/specs/004-secrets/implementation_plan.json", Conflict: true}), blocking, "1 file"},
		{"our own folder, where git knows it", code, quiet().changed(reprise.Change{Path: ".reprise/journal/x-000001.log"}, reprise.Change{Path: ".reprise/journal/x.anchor"}), 0, ""},
		{"state of a peer", code, quiet().peer(func(p *reprise.Run) { p.Title = "x" }).changed(reprise.Change{Path: ".auto-claude/specs/005-secrets/x.json"}), 0, ""},
		{"not started", code, quiet().changed(reprise.Change{Path: "b.go"}).with(func(s *scene) { s.r.State = reprise.NotStarted }), info, "not committed"},
		{"finished", code, quiet().changed(reprise.Change{Path: "b.go"}).with(func(s *scene) { s.r.State = reprise.Complete }), 0, ""},
		{"clean", code, quiet(), 0, ""},
	} {
		c.check(t)
	}
}

func TestX3_checks_on_steps(t *testing.T) {
	t.Parallel()
	step := func(i int, edit func(s *reprise.Step)) *scene {
		return quiet().with(func(s *scene) { edit(&s.r.Steps[i]) })
	}
	against := reprise.Evidence{Kind: reprise.EvidenceCommit, Text: "commit abc is not in the repository"}
	ask := func(st reprise.State) *scene {
		return quiet().with(func(s *scene) {
			s.r.State = st
			s.r.Questions = []reprise.Question{{ID: "q1", Text: "Which database?"}, {ID: "q2", Answered: true}}
		})
	}
	for _, c := range []caseOf{
		{"two wait for each other", reprise.CodeCycle, step(1, func(s *reprise.Step) { s.Needs = []string{"three"} }), warning, `"two" → "three" → "two"`},
		{"waits for itself", reprise.CodeCycle, step(1, func(s *reprise.Step) { s.Needs = []string{"two"} }), warning, `"two" waits for itself`},
		{"through a closed step", reprise.CodeCycle, step(0, func(s *reprise.Step) { s.Needs = []string{"three"} }), 0, ""},
		{"told by the reader", reprise.CodeCycle, step(1, func(s *reprise.Step) { s.Needs = []string{"two"} }).with(func(s *scene) { s.r.Report(reprise.Finding{Code: reprise.CodeCycle}) }), 0, ""},

		{"no such step", reprise.CodeUnknownDependency, step(2, func(s *reprise.Step) { s.Needs = []string{"two", "nine"} }), warning, `waits for "nine"`},
		{"closed step", reprise.CodeUnknownDependency, step(0, func(s *reprise.Step) { s.Needs = []string{"nine"} }), 0, ""},

		{"three attempts", reprise.CodeRetryLoop, step(1, func(s *reprise.Step) { s.Attempts = 3 }), warning, "tried 3 times and is not done"},
		{"failed twice", reprise.CodeRetryLoop, step(1, func(s *reprise.Step) { s.Attempts, s.Status = 2, reprise.Failed }), warning, "tried 2 times and failed"},
		{"accepted in each round", reprise.CodeRetryLoop, step(1, func(s *reprise.Step) { s.Attempts, s.Settled = 5, 3 }), 0, ""},
		{"ended by limits and questions", reprise.CodeRetryLoop, step(1, func(s *reprise.Step) { s.Attempts, s.Excused = 4, 2 }), 0, ""},
		{"two attempts", reprise.CodeRetryLoop, step(1, func(s *reprise.Step) { s.Attempts = 2 }), 0, ""},
		{"done at last", reprise.CodeRetryLoop, step(0, func(s *reprise.Step) { s.Attempts = 5 }), 0, ""},
		{"in review", reprise.CodeRetryLoop, step(1, func(s *reprise.Step) { s.Attempts, s.Status = 5, reprise.InReview }), 0, ""},

		{"evidence against it", reprise.CodeFalseCompletion, step(0, func(s *reprise.Step) { s.Evidence = []reprise.Evidence{against} }), warning, `"one" is marked done, but the evidence contradicts that: commit abc`},
		{"and some for it", reprise.CodeFalseCompletion, step(0, func(s *reprise.Step) { s.Evidence = []reprise.Evidence{against, {For: true}} }), 0, ""},
		{"open step", reprise.CodeFalseCompletion, step(1, func(s *reprise.Step) { s.Evidence = []reprise.Evidence{against} }), 0, ""},

		{"complete with open steps", reprise.CodeClosedOpen, quiet().with(func(s *scene) { s.r.State = reprise.Complete }), warning, `marked complete with 2 steps open: "two", "three"`},
		{"stopped with open steps", reprise.CodeClosedOpen, quiet().with(func(s *scene) { s.r.State = reprise.Stopped }), info, "ended on purpose"},
		{"complete with optional steps", reprise.CodeClosedOpen, step(2, func(s *reprise.Step) { s.Optional = true }).with(func(s *scene) {
			s.r.State, s.r.Steps = reprise.Complete, slices.Delete(s.r.Steps, 1, 2)
		}), info, `optional and still open: "three"`},
		{"complete", reprise.CodeClosedOpen, quiet().with(func(s *scene) { s.r.State, s.r.Steps = reprise.Complete, s.r.Steps[:1] }), 0, ""},
		{"complete with open boxes", reprise.CodeClosedOpen, quiet().with(func(s *scene) {
			s.r.State, s.r.Steps, s.r.Boxes = reprise.Complete, s.r.Steps[:1], []reprise.Box{{Text: "errors are shown"}}
		}), warning, `unticked tasks or criteria (1): "errors are shown"`},
		{"complete with open boxes, done here", reprise.CodeClosedOpen, quiet().with(func(s *scene) {
			s.r.State, s.r.Steps, s.r.Boxes = reprise.Complete, s.r.Steps[:1], []reprise.Box{{Text: "errors are shown"}}
			s.r.Steps[0].Ours = true
		}), warning, `unticked tasks or criteria (1): "errors are shown"`},
		{"open", reprise.CodeClosedOpen, quiet(), 0, ""},

		{"hidden behind an interruption", reprise.CodeQuestionHidden, ask(reprise.Interrupted), warning, `though the run is interrupted: "Which database?"`},
		{"waiting", reprise.CodeQuestionHidden, ask(reprise.Waiting), 0, ""},
		{"complete", reprise.CodeQuestionHidden, ask(reprise.Complete), 0, ""},
		{"answered", reprise.CodeQuestionHidden, quiet(), 0, ""},
	} {
		c.check(t)
	}
}
