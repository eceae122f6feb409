package orchestrate

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// attachStory joins a state run with the story it speaks of: the file in Also,
// both statuses as claims, and what follows from the story's. hint is an id or
// a path, of this machine or another; implied is what the state says of the
// story while it is open.
func (l *loader) attachStory(hint string, at reprise.Source, ledger, word string, implied class) {
	run := l.run
	if strings.TrimSpace(hint) == "" {
		if run.State.Open() && run.State != reprise.NotStarted {
			l.r.Report(reprise.Finding{
				Code: reprise.CodeAmbiguous, Severity: reprise.Warning, Subject: run.ID, Source: reprise.Source{File: run.Path},
				Message: "the state names no story", Hint: "look at the file by hand",
			})
		}
		return
	}
	if at.File == "" {
		at.File = run.Path
	}
	p, id := l.resolveStory(hint)
	if p == "" {
		l.lostStory(hint, id, at)
		return
	}
	run.Also = append(run.Also, reprise.Ref{Layout: layoutName, ID: id, Path: p, Kind: reprise.KindStory})
	k := storyKey(p)
	run.Epic, run.Order = k.epicName(), k.order()
	run.Artifacts = append(run.Artifacts, reprise.Artifact{Name: "story", Path: p, Presence: reprise.Present, Critical: true, NeededBy: run.Phase, Source: at})
	sh := readSheet(l.r, p)
	step := reprise.Step{ID: id, Phase: "story", Path: p, Source: at, Status: implied.status(), Traces: storyTraces(k)}
	if word == "" {
		word = "open"
	}
	step.Claims = []reprise.Claim{{Ledger: ledger, Status: implied.status(), Word: word, Source: at, Won: true}}
	if sh != nil {
		run.Title = sh.title
		if d := newest(sh.dates, sh.file.MTime); !d.day.IsZero() {
			run.Active(d.day, sh.source(d.line))
		}
		step.Files = sh.files
		if run.Branch == "" {
			run.Branch = sh.branch
		}
		l.storyWins(&step, sh, implied)
	}
	run.Steps = append(slices.DeleteFunc(run.Steps, func(s reprise.Step) bool { return s.ID == id }), step)
	for i := range run.Next {
		run.Next[i].ID, run.Next[i].Path, run.Next[i].Title = id, p, run.Title
	}
	l.sameStory(p)
}

// storyWins lets the story's file decide about the story.
func (l *loader) storyWins(step *reprise.Step, sh *sheet, implied class) {
	run := l.run
	i := sh.winner()
	if i < 0 || sh.fields[i].class <= unknown {
		return
	}
	f := sh.fields[i]
	step.Claims[0].Won = false
	step.Claims = append(step.Claims, reprise.Claim{Ledger: "story", Status: f.class.status(), Word: f.word, Source: sh.source(f.line), Won: true})
	step.Status = f.class.status()
	if f.class == implied || !run.State.Open() || run.State == reprise.NotStarted {
		return
	}
	severity := reprise.Warning
	if (implied == inProgress && f.class == inReview) || (implied == inReview && f.class == inProgress) {
		severity = reprise.Info // a phase apart, as any crash leaves them
	}
	l.r.Report(reprise.Finding{
		Code: reprise.CodeStatusDrift, Severity: severity, Subject: step.ID, Source: sh.source(f.line),
		Message: fmt.Sprintf("the state is open, the story says %s: %s", quote(f.word), meaning(implied.status(), f.class)),
		Hint:    "the story is taken; archive the state if it is not needed any more",
	})
	if f.class == done {
		run.State, run.Reason, run.Next, run.Questions = reprise.Complete, "the story was completed outside this workflow", nil, nil
	}
	if f.class == dropped {
		run.State, run.Reason, run.Next, run.Questions = reprise.Stopped, "the story was given up outside this workflow", nil, nil
	}
}

// resolveStory finds the file a state means, and the id to call it by.
func (l *loader) resolveStory(hint string) (p, id string) {
	hint = strings.TrimSpace(hint)
	base := path.Base(strings.ReplaceAll(hint, `\`, "/"))
	k := nameKey(stem(base))
	id = k.id
	if strings.ContainsAny(hint, `/\`) || strings.HasSuffix(strings.ToLower(hint), ".md") {
		if q := l.inTree(hint); q != "" && l.r.Exists(q) {
			return q, storyKey(q).id
		}
		for _, s := range l.storyFiles() {
			if strings.EqualFold(path.Base(s.path), base) {
				return s.path, s.key.id
			}
		}
		return "", id
	}
	if q := l.storyByKey(k); q != "" {
		return q, storyKey(q).id
	}
	return "", hint
}

// lostStory: without its story a state cannot be resumed. A person has to
// bring the file back or put the state away.
func (l *loader) lostStory(hint, id string, at reprise.Source) {
	run := l.run
	name := l.inTree(hint)
	if name == "" {
		name = hint
	}
	run.Artifacts = append(run.Artifacts, reprise.Artifact{Name: "story", Path: doc.Clip(name, 300), Presence: reprise.Missing, Critical: true, NeededBy: run.Phase, Source: at})
	if !run.State.Open() || run.State == reprise.NotStarted {
		return
	}
	l.r.Report(reprise.Finding{
		Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: id, Source: at,
		Message: fmt.Sprintf("the state speaks of story %s, which has no file here", quote(hint)),
		Hint:    "bring the story's file back, or archive this state: without the story it cannot be resumed",
	})
	if run.State == reprise.Interrupted {
		run.Next = nil
		run.State, run.Reason = reprise.Waiting, "its story "+quote(id)+" has no file: a person has to bring it back or archive the state"
		run.Questions = append(run.Questions, reprise.Question{
			ID: "lost-story", Subject: id, Source: at, Options: []string{"archive the state", "bring the story back"}, Closed: true,
			Text: "The story of this workflow is gone. Archive its state, or bring the story back?",
		})
	}
}

// sameStory names further open states of the same story, which are not runs of
// their own.
func (l *loader) sameStory(story string) {
	if l.nested || !l.run.State.Open() {
		return
	}
	for _, p := range survey(l.r.FS()).states {
		if p == l.run.Path || shapeOf(p) == epicShape || shapeOf(p) == noShape {
			continue
		}
		other := &loader{r: doc.NewReader(l.r.FS()), run: &reprise.Run{Ref: stateRef(p)}, names: l.names, asked: l.asked, nested: true}
		other.dispatch()
		if foldedStory(other.run) == story {
			l.run.Also = append(l.run.Also, other.run.Ref)
		}
	}
}

// olderCopies names the same state file in folders of earlier generations of
// the tool, and says whether they differ.
func (l *loader) olderCopies() {
	if l.nested {
		return
	}
	parts := strings.Split(l.run.Path, "/")
	for i, part := range parts {
		for _, home := range homes[:max(slices.Index(homes, part), 0)] {
			parts[i] = home
			p := strings.Join(parts, "/")
			parts[i] = part
			if !l.r.Exists(p) {
				continue
			}
			l.run.Also = append(l.run.Also, reprise.Ref{Layout: layoutName, ID: l.run.ID, Path: p, Kind: l.run.Kind})
			if old, now := l.r.Open(p), l.r.Open(l.run.Path); old.OK() && !bytes.Equal(old.Data, now.Data) {
				old.Report(reprise.Info, reprise.CodePlanCopies, 0, "an older copy of "+l.run.Path+" with other content; the one in "+part+" is taken", "archive the older one")
			}
		}
	}
}
