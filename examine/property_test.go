package examine_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reprise"
	"reprise/examine"
)

// A small world, so that names meet: ids, paths and branches are drawn from few.
var (
	word   = rapid.SampledFrom([]string{"", "one", "two", "three", "Draft", "Ready", "%d %s", "a\x00b\x1b[31m", "é\u202e", strings.Repeat("long ", 60)})
	file   = rapid.SampledFrom([]string{"", ".", "a.go", "b.go", "go.mod", "docs/s.md", "runs/x", "runs/x/state", "../out", "/"})
	branch = rapid.SampledFrom([]string{"", "main", "auto/x"})
	titles = rapid.SampledFrom([]string{"", "Scope", "Acceptance Criteria", "Dev Notes", "Tarefas", "Dependências", "Status", "日本語"})
	moment = rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return now.Add(time.Duration(rapid.IntRange(-400, 400).Draw(t, "hours")) * time.Hour)
	})
	source = rapid.Custom(func(t *rapid.T) reprise.Source {
		return reprise.Source{File: file.Draw(t, "file"), Line: rapid.IntRange(-1, 3).Draw(t, "line")}
	})
	kinds  = rapid.SampledFrom([]reprise.Kind{"", reprise.KindBuild, reprise.KindEpic, reprise.KindQALoop, reprise.KindWorkflow, reprise.KindPlans, reprise.KindStory, reprise.KindGraph})
	refs   = rapid.Custom(drawRef)
	claims = rapid.Custom(func(t *rapid.T) reprise.Claim {
		return reprise.Claim{Ledger: word.Draw(t, "ledger"), Status: status(t), Word: word.Draw(t, "word"), Source: source.Draw(t, "source")}
	})
	evidence = rapid.Custom(func(t *rapid.T) reprise.Evidence {
		return reprise.Evidence{Text: word.Draw(t, "text"), For: rapid.Bool().Draw(t, "for")}
	})
	traces = rapid.Custom(func(t *rapid.T) reprise.Trace {
		return reprise.Trace{Subject: word.Draw(t, "subject"), Anywhere: rapid.Bool().Draw(t, "anywhere"), Since: moment.Draw(t, "since")}
	})
	steps = rapid.Custom(func(t *rapid.T) reprise.Step {
		return reprise.Step{
			ID: word.Draw(t, "id"), Phase: word.Draw(t, "phase"), Path: file.Draw(t, "path"), Status: status(t),
			Claims: few(claims).Draw(t, "claims"), Needs: few(word).Draw(t, "needs"), Attempts: rapid.IntRange(-1, 5).Draw(t, "attempts"),
			Commits: few(word).Draw(t, "commits"), Files: few(file).Draw(t, "files"), Traces: few(traces).Draw(t, "traces"),
			Evidence: few(evidence).Draw(t, "evidence"), Source: source.Draw(t, "source"),
		}
	})
	artifacts = rapid.Custom(func(t *rapid.T) reprise.Artifact {
		return reprise.Artifact{
			Name: word.Draw(t, "name"), Path: file.Draw(t, "path"), Presence: reprise.Presence(rapid.IntRange(0, 5).Draw(t, "presence")),
			Critical: rapid.Bool().Draw(t, "critical"), NeededBy: word.Draw(t, "needed"), MadeBy: word.Draw(t, "made"), Source: source.Draw(t, "source"),
		}
	})
	questions = rapid.Custom(func(t *rapid.T) reprise.Question {
		return reprise.Question{ID: word.Draw(t, "id"), Text: word.Draw(t, "text"), Answered: rapid.Bool().Draw(t, "answered"), Source: source.Draw(t, "source")}
	})
	findings = rapid.Custom(func(t *rapid.T) reprise.Finding {
		table := examine.Checks()
		return reprise.Finding{
			Code: table[rapid.IntRange(0, len(table)-1).Draw(t, "code")].Code, Severity: reprise.Severity(rapid.IntRange(1, 3).Draw(t, "severity")),
			Subject: word.Draw(t, "subject"), Message: "read", Source: source.Draw(t, "source"), Hint: word.Draw(t, "hint"),
		}
	})
)

func few[T any](g *rapid.Generator[T]) *rapid.Generator[[]T] { return rapid.SliceOfN(g, 0, 3) }

func status(t *rapid.T) reprise.Status { return reprise.Status(rapid.IntRange(0, 9).Draw(t, "status")) }
func life(t *rapid.T) reprise.Life     { return reprise.Life(rapid.IntRange(0, 4).Draw(t, "life")) }

func drawRef(t *rapid.T) reprise.Ref {
	return reprise.Ref{
		Layout: rapid.SampledFrom([]string{"", "autoclaude", "orchestrate"}).Draw(t, "layout"),
		ID:     rapid.SampledFrom([]string{"", "004-same-slug", "005-same-slug", "x"}).Draw(t, "id"), Path: file.Draw(t, "path"), Kind: kinds.Draw(t, "kind"),
	}
}

func drawRun(t *rapid.T) *reprise.Run {
	r := &reprise.Run{
		Ref: drawRef(t), Title: word.Draw(t, "title"), State: reprise.State(rapid.IntRange(0, 8).Draw(t, "state")), Phase: word.Draw(t, "phase"),
		Steps: few(steps).Draw(t, "steps"), LastActivity: moment.Draw(t, "active"), LastActivitySource: source.Draw(t, "at"),
		Questions: few(questions).Draw(t, "questions"), Artifacts: few(artifacts).Draw(t, "artifacts"), Findings: few(findings).Draw(t, "findings"),
		Also: few(refs).Draw(t, "also"), Branch: branch.Draw(t, "branch"), Worktree: file.Draw(t, "worktree"),
	}
	if rapid.Bool().Draw(t, "owned") {
		r.Owner = &reprise.Owner{Agent: word.Draw(t, "agent"), PID: rapid.IntRange(-1, 9).Draw(t, "pid"), Source: source.Draw(t, "owner")}
	}
	return r
}

func drawGit(t *rapid.T) *reprise.Git {
	g := &reprise.Git{
		Branch: branch.Draw(t, "branch"), Detached: rapid.Bool().Draw(t, "detached"), Bare: rapid.Bool().Draw(t, "bare"),
		Operation: rapid.SampledFrom([]string{"", "merge", "bisect", "new\x1b"}).Draw(t, "operation"), HasRemote: rapid.Bool().Draw(t, "remote"),
		Unpushed: rapid.IntRange(0, 2).Draw(t, "unpushed"), ChangedMore: rapid.IntRange(0, 2).Draw(t, "more"),
	}
	if rapid.Bool().Draw(t, "locked") {
		g.IndexLock = &reprise.LockFile{Path: file.Draw(t, "lock"), Holder: word.Draw(t, "holder"), Life: life(t), Reason: word.Draw(t, "reason")}
	}
	g.Changed = few(rapid.Custom(func(t *rapid.T) reprise.Change {
		return reprise.Change{Path: file.Draw(t, "path"), Untracked: rapid.Bool().Draw(t, "new"), Conflict: rapid.Bool().Draw(t, "conflict"), Worktree: file.Draw(t, "in")}
	})).Draw(t, "changed")
	g.Branches = few(rapid.Custom(func(t *rapid.T) reprise.Branch {
		return reprise.Branch{Name: branch.Draw(t, "name"), Upstream: branch.Draw(t, "upstream"), Gone: rapid.Bool().Draw(t, "gone"), Ahead: rapid.IntRange(0, 2).Draw(t, "ahead")}
	})).Draw(t, "branches")
	g.Worktrees = few(rapid.Custom(func(t *rapid.T) reprise.Worktree {
		return reprise.Worktree{Path: file.Draw(t, "path"), Branch: branch.Draw(t, "branch"), Detached: rapid.Bool().Draw(t, "detached"), Gone: rapid.Bool().Draw(t, "gone"), Locked: rapid.Bool().Draw(t, "locked")}
	})).Draw(t, "worktrees")
	g.Commits = few(rapid.Custom(func(t *rapid.T) reprise.Commit {
		return reprise.Commit{
			Hash: word.Draw(t, "hash"), At: moment.Draw(t, "at"), Subject: word.Draw(t, "subject"), Branch: branch.Draw(t, "branch"), OnHead: rapid.Bool().Draw(t, "head"),
			Steps: few(word).Draw(t, "steps"), Files: []reprise.FileChange{{Path: file.Draw(t, "path"), From: file.Draw(t, "from")}},
		}
	})).Draw(t, "commits")
	return g
}

func drawObserved(t *rapid.T, r *reprise.Run) reprise.Observed {
	o := reprise.Observed{Now: moment.Draw(t, "now"), GitError: word.Draw(t, "error"), Peers: []*reprise.Run{r, nil, drawRun(t), drawRun(t)}}
	if rapid.Bool().Draw(t, "git") {
		o.Git = drawGit(t)
	}
	if r.Owner != nil && rapid.Bool().Draw(t, "looked") {
		o.Owners = map[reprise.Source]reprise.OwnerLife{r.Owner.Source: {Life: life(t), Reason: word.Draw(t, "reason")}}
	}
	o.Sessions = few(rapid.Custom(func(t *rapid.T) reprise.Session {
		return reprise.Session{
			CLI: word.Draw(t, "cli"), ID: word.Draw(t, "id"), Dir: file.Draw(t, "dir"), Last: moment.Draw(t, "last"), Caller: rapid.Bool().Draw(t, "caller"),
			Owner: reprise.OwnerLife{Life: life(t), Reason: word.Draw(t, "reason")},
			Calls: few(rapid.Custom(func(t *rapid.T) reprise.Call {
				return reprise.Call{Tool: word.Draw(t, "tool"), Text: word.Draw(t, "text"), Signs: few(word).Draw(t, "signs"), Effect: reprise.Effect(rapid.IntRange(0, 9).Draw(t, "effect")), Landing: reprise.Landing(rapid.IntRange(0, 6).Draw(t, "landing"))}
			})).Draw(t, "calls"),
		}
	})).Draw(t, "sessions")
	o.Sections = rapid.MapOfN(file, few(rapid.Custom(func(t *rapid.T) reprise.SectionChange {
		return reprise.SectionChange{Title: titles.Draw(t, "title"), Added: rapid.Bool().Draw(t, "added"), Removed: rapid.Bool().Draw(t, "removed"), Commit: word.Draw(t, "commit")}
	})), 0, 3).Draw(t, "sections")
	return o
}

// TestX9_checks_are_pure_and_complete: whatever stands in a run, no check
// panics, all findings are whole, and the same input gives the same output.
func TestX9_checks_are_pure_and_complete(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range examine.Checks() {
		known[c.Code] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		r := drawRun(t)
		o := drawObserved(t, r)
		before := *r
		before.Findings, before.Steps = slices.Clone(r.Findings), slices.Clone(r.Steps)
		first, second := examine.All(r, o), examine.All(r, o)
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("two answers:\n%v\n%v", first, second)
		}
		if !reflect.DeepEqual(*r, before) {
			t.Fatal("a check changed the run")
		}
		for _, f := range first {
			if !known[f.Code] || f.Severity < reprise.Info || f.Severity > reprise.Blocking || f.Message == "" || strings.ContainsAny(f.Message, "\n\t") || strings.Contains(f.Message, "%!") {
				t.Fatalf("incomplete: %+v", f)
			}
			if !r.State.Open() && f.Severity == reprise.Blocking && f.Code != reprise.CodeLiveOwner {
				t.Fatalf("blocks a run that is over: %+v", f)
			}
		}
	})
}

// TestX9_apply_is_stable: applying orders by severity, drops nothing that no
// check replaced, and changes nothing when repeated.
func TestX9_apply_is_stable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRun(t)
		o := drawObserved(t, r)
		for _, set := range []examine.Set{examine.Cheap, examine.Every} {
			once := *r
			examine.Apply(&once, o, set)
			twice := once
			twice.Findings = slices.Clone(once.Findings)
			examine.Apply(&twice, o, set)
			if !reflect.DeepEqual(once.Findings, twice.Findings) {
				t.Fatalf("not stable:\n%q\n%q", codesOf(&once), codesOf(&twice))
			}
			if !slices.IsSortedFunc(once.Findings, func(a, b reprise.Finding) int { return int(b.Severity) - int(a.Severity) }) {
				t.Fatalf("not by severity: %q", codesOf(&once))
			}
			if r.Worst() == reprise.Blocking && !slices.ContainsFunc(once.Findings, func(f reprise.Finding) bool { return f.Message == "read" }) &&
				!slices.ContainsFunc(examine.All(r, o), func(reprise.Finding) bool { return true }) {
				t.Fatal("a reader's finding is gone without a successor")
			}
		}
	})
}
