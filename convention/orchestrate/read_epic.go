package orchestrate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// epic reads an epic state with its plan and its stories.
func (l *loader) epic(f *doc.File, root ledger.Value) {
	run, e := l.run, readEpic(root)
	if id := root.Get("epicId", "epic_id", "id").Str(); id != "" {
		run.ID = id
	}
	run.Mode = modes[doc.Fold(root.Get("mode").Str())]
	run.Epic = strings.ToUpper(cutWord(run.ID, "epic"))
	run.Order = doc.Numbers(run.ID)
	l.times(root.Node)
	plan := l.executionPlan(root)
	if before := root.In("prerequisites"); before.Is(doc.Map) {
		rows := prerequisites.Rows(root)
		l.readSteps(prerequisites, stateLedger, rows)
		for _, row := range rows {
			l.artifactOf(row.ID, row.At.Get("artifact").Str(), row.At.Source())
		}
	}
	run.Branch = e.branch()
	e.stories(func(w *wave, s *waveStory) { l.epicStory(w, s, plan) })
	if !l.unwritten() {
		// The work has passed the prerequisites by: what they should have
		// left is not made again for it.
		for i := range run.Artifacts {
			run.Artifacts[i].MadeBy = ""
		}
	}
	run.Questions = slices.Concat(run.Questions, epicAsks(root, "merge_preconditions", "merge-"), ownerAsks(root))
	l.epicState(e)
	if run.LastActivity.IsZero() {
		run.Active(f.MTime, f.At(0))
	}
}

// executionPlan reads the plan an epic state names, nil if there is none to read.
func (l *loader) executionPlan(root ledger.Value) *epicPlan {
	ref := root.Get("execution_plan", "executionPlan")
	p := l.artifact("execution plan", ref.Str(), ref.Source())
	if p == "" {
		return nil
	}
	return readPlan(l.r.Open(p))
}

// wordStatus reads a status of a state file and reports a word without a
// meaning.
func (l *loader) wordStatus(subject, word string, at reprise.Source) reprise.Status {
	if word == "" {
		return reprise.Pending
	}
	s := stateWord(word)
	if s == reprise.Unknown {
		at.File = cmp.Or(at.File, l.run.Path)
		l.report(reprise.Warning, reprise.CodeUnknownStatus, subject, at, fmt.Sprintf("the status %s is unknown here", short(word, 60)),
			"it counts as open until a person says otherwise")
	}
	return s
}

// role writes an agent without its sign.
func role(agent string) string {
	agent = strings.TrimPrefix(strings.TrimSpace(agent), "@")
	agent, _, _ = strings.Cut(agent, " ")
	return agent
}

// epicStory adds a story as a step, with the words of state and story.
func (l *loader) epicStory(w *wave, s *waveStory, plan *epicPlan) {
	at := s.source()
	step := reprise.Step{
		ID: s.id, Title: s.text("title", "name"), Phase: "wave " + w.name, Source: at, Role: "dev", Status: reprise.Pending, Traces: storyTraces(s.key),
	}
	if r := role(s.text("executor", "agent")); r != "" {
		step.Role = r
	}
	if c := s.text("commit"); c != "" {
		step.Commits = []string{c}
	}
	step.Files = l.filesOf(s.at.In("files_modified", "filesModified", "files").Node)
	if p := plan.story(s.key); p != nil {
		step.Needs = p.needs
		step.Title = cmp.Or(step.Title, p.title)
	}
	if !s.missing {
		step.Status = l.wordStatus(s.id, s.word, at)
		step.Claims = append(step.Claims, reprise.Claim{Ledger: stateLedger, Status: step.Status, Word: s.word, Source: at, Won: true})
	}
	told, open := false, []reprise.Box(nil)
	if step.Path, told = l.storyPath(s, plan); step.Path == "" {
		l.missingStory(w, s, plan, step.Status)
	} else {
		l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{Name: "story " + s.id, Path: step.Path, Presence: reprise.Present, Critical: true, NeededBy: step.Phase, Source: at})
		if told {
			open = l.storyClaim(&step)
		} else {
			l.oneOfSeveral(s)
		}
	}
	l.reviewClaims(&step, s.key)
	if step.Status == reprise.Done {
		l.run.Boxes = append(l.run.Boxes, open...)
	}
	l.run.Steps = append(l.run.Steps, step)
}

// storyPath finds the file of a story of an epic: as the plan says, else by its id
// among the stories of the project. told is false if several have that id and
// nothing says which is meant.
func (l *loader) storyPath(s *waveStory, plan *epicPlan) (file string, told bool) {
	if full := l.fileOf(plan, s.key); full != "" {
		if fsPath(full) && l.r.Exists(full) {
			return full, true
		}
		if p := l.inTree(plan.story(s.key).file); p != "" && l.r.Exists(p) {
			return p, true
		}
	}
	meant := l.meant(s)
	return l.storyByKey(s.key, meant), meant != "" || len(l.namesakes(s.key)) == 0
}

// missingStory reports a story without a file. One that was not begun may simply not be
// written yet; one that was begun has lost its file.
func (l *loader) missingStory(w *wave, s *waveStory, plan *epicPlan, status reprise.Status) {
	name := s.id + ".story.md"
	if p := l.fileOf(plan, s.key); p != "" {
		name = p
	}
	lost := status != reprise.Pending && !status.Closed()
	l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{Name: "story " + s.id, Path: name, Presence: reprise.Missing, Critical: lost, NeededBy: "wave " + w.name, Source: s.source()})
	if lost {
		l.report(reprise.Warning, reprise.CodeMissingArtifact, s.id, s.source(), fmt.Sprintf("the state says %s, but story %s has no file", short(s.word, 40), s.id),
			"restore the story's file, or set it to pending to have it written again")
	}
}

// win makes a claim the one that decides.
func win(step *reprise.Step, claim reprise.Claim) {
	for i := range step.Claims {
		step.Claims[i].Won = false
	}
	claim.Won, step.Status = true, claim.Status
	step.Claims = append(step.Claims, claim)
}

// storyClaim adds what the story's file says. The furthest of the two wins. It gives the
// boxes of tasks and criteria that are open in the file.
func (l *loader) storyClaim(step *reprise.Step) (open []reprise.Box) {
	s := readStory(l.r, step.Path)
	if s == nil {
		return nil
	}
	open = s.openBoxes(step.ID)
	l.activeIn(s)
	if len(step.Files) == 0 {
		step.Files = s.files
	}
	claim, ok := s.claim()
	if !ok {
		return open
	}
	old, alone, class := step.Status, len(step.Claims) == 0, s.class()
	if alone || far(claim.Status) > far(old) && !old.Closed() {
		win(step, claim)
	} else {
		step.Claims = append(step.Claims, claim)
	}
	if alone || claim.Status == old || old == reprise.Pending && class == ready || class <= unknown {
		return open
	}
	severity := reprise.Warning
	if !old.Closed() && !claim.Status.Closed() {
		severity = reprise.Info
	}
	l.report(severity, reprise.CodeStatusDrift, step.ID, claim.Source,
		fmt.Sprintf("the epic state says %s, the story says %s (%s)", short(step.Claims[0].Word, 40), short(claim.Word, 40), meaning(old, class)),
		"the one that is further along counts; correct the other")
	return open
}

// far orders statuses by how much has been done.
func far(s reprise.Status) int {
	return map[reprise.Status]int{
		reprise.InProgress: 1, reprise.Failed: 1, reprise.Blocked: 1, reprise.InReview: 2, reprise.Done: 3, reprise.Skipped: 3,
	}[s]
}

// loopOf returns the QA loop about a story: an open one before one that has ended, nil if
// there is none. The loop of a story that lost its file, "", is found by name.
func (l *loader) loopOf(story string, k key) *loader {
	if l.loops == nil {
		l.loops = []*loader{}
		for _, p := range survey(l.r.FS()).states {
			if shapeOf(p) == loopShape {
				l.loops = append(l.loops, l.other(l.r.FS(), p))
			}
		}
	}
	var found *loader
	for _, o := range l.loops {
		own := storyOf(o.run) == story && (story != "" || nameKey(strings.TrimPrefix(o.run.ID, "qa-loop-")).same(k))
		if own && (found == nil || o.run.State.Open() && !found.run.State.Open()) {
			found = o
		}
	}
	return found
}

// askForLoop looks where the QA loop of a story is kept. What is there and cannot be
// read may hold a verdict on the story, unless what is left of it names another one:
// the file system is to learn of it.
func (l *loader) askForLoop(story string, k key) {
	home := path.Join(l.project(), "qa")
	look := func(p string) {
		if shapeOf(p) != loopShape {
			return
		}
		steps := l.other(doc.Unheard(l.r.FS()), p).run.Steps
		names := func(s reprise.Step) bool { return s.Path != "" }
		own := func(s reprise.Step) bool { return s.Path == story }
		if slices.ContainsFunc(steps, own) || !slices.ContainsFunc(steps, names) {
			l.other(l.r.FS(), p)
		}
	}
	for _, e := range l.r.Dir(home) {
		p := path.Join(home, e.Name())
		look(p)
		if e.Name() != k.id && !(e.IsDir() && nameKey(e.Name()).same(k)) {
			continue
		}
		for _, inner := range l.r.Dir(p) {
			look(path.Join(p, inner.Name()))
		}
	}
}

// reviewClaims adds what the reviews of a story say of it: its QA loop and its
// QA gate. A review that is open, or that sent the story back, makes it open
// whatever the epic state says; only the story's own file outruns it, as it
// does everywhere. A review that passed closes nothing by itself.
func (l *loader) reviewClaims(step *reprise.Step, k key) {
	if l.nested {
		return // read for its name alone
	}
	l.askForLoop(step.Path, k)
	closed := slices.ContainsFunc(step.Claims, func(c reprise.Claim) bool { return c.Source.File == step.Path && c.Status.Closed() })
	if o := l.loopOf(step.Path, k); o != nil && o.run.State != reprise.NotStarted {
		claim := loopClaim(o)
		// A loop that reviewed nothing yet tells nothing of a story that is not made.
		begun := step.Status == reprise.InReview || slices.ContainsFunc(o.loop.entries, func(e loopEntry) bool { return e.verdict != "" })
		l.review(step, claim, closed, begun, fmt.Sprintf("its QA loop is at %s, %s", quote(claim.Word), o.run.Phase))
	}
	if step.Path == "" {
		return
	}
	for _, g := range l.gateSays(step.Path, k) {
		if g.ledger == gateLedger {
			l.review(step, g.claim(), closed, false, "its QA gate says "+quote(g.word))
		}
	}
}

// loopClaim is what a loop says of its story.
func loopClaim(o *loader) reprise.Claim {
	lp := o.loop
	c := reprise.Claim{Ledger: loopLedger, Status: reprise.InReview, Word: lp.last, Source: lp.status.Source()}
	if n := len(lp.entries); n > 0 {
		c.Source = lp.entries[n-1].at.Source()
	}
	c.Word, c.Source.File = cmp.Or(c.Word, lp.word), cmp.Or(c.Source.File, o.run.Path)
	if o.run.State == reprise.Complete && ledger.Ruling(lp.last) == reprise.Done {
		c.Status = reprise.Done
	} else if _, _, role := lp.point(); role == "dev" {
		c.Status = reprise.InProgress // sent back and not fixed
	}
	return c
}

// review holds one claim of a review against a story. It decides where the story
// would be closed without it, or if leads is set. what says in words how the
// review stands; closed is whether the story's own file closes it.
func (l *loader) review(step *reprise.Step, claim reprise.Claim, closed, leads bool, what string) {
	open := claim.Status == reprise.InProgress || claim.Status == reprise.InReview
	was := step.Status
	if open && !closed && was != reprise.Skipped && (leads || was.Closed()) {
		win(step, claim)
	} else {
		step.Claims = append(step.Claims, claim)
	}
	if !open || !was.Closed() || was == reprise.Skipped || closed && claim.Ledger == gateLedger {
		return // a gate that failed is left lying when the story passes the next review
	}
	message, hint := "the epic state says it is done, but "+what+": it is not done until that review is over", "continue with the review, or close it by hand if the work was accepted"
	if closed {
		message, hint = "the story says it is done, but "+what, "close the review if the work was accepted, or reopen the story"
	}
	l.report(reprise.Warning, reprise.CodeFalseCompletion, step.ID, claim.Source, message, hint)
}

// answeredWord is the status of a question that has an answer and was not
// acted upon.
const answeredWord = "answered"

// epicAsks gives what a state leaves to a person under a key.
func epicAsks(root ledger.Value, key, id string) (out []reprise.Question) {
	list := root.In(key)
	if !list.Is(doc.List) {
		return nil
	}
	for _, n := range list.Entries(1) {
		q := reprise.Question{ID: id + n.Name, Subject: "merge", Source: n.Source()}
		switch {
		case !n.Is(doc.Map):
			q.Text = n.Str()
		case n.Has("id") || n.Has("task"):
			word := n.Get("status").Str()
			if stateWord(word).Closed() {
				continue
			}
			if id := n.Get("id").Str(); id != "" {
				q.ID = id
			}
			q.Text = n.Get("task", "title", "description").Str()
			q.Answered, q.Answer = doc.Fold(word) == answeredWord, n.In("answer").Plain()
		case len(n.Keys) > 0:
			q.Text = n.Keys[0].Name + ": " + n.Keys[0].Value.Str()
		}
		if q.Text = doc.Clip(strings.TrimSpace(q.Text), 300); q.Text != "" {
			out = append(out, q)
		}
	}
	return out
}

// ownerAsks gives what is pending with the owner of an epic.
func ownerAsks(root ledger.Value) []reprise.Question {
	return epicAsks(root, "owner_pending", "owner-")
}

// meaning says what it means that a state and a story say different things.
// Every pair has an answer.
func meaning(state reprise.Status, story class) string {
	for _, m := range meanings {
		if (m.state == 0 || m.state == state) && (m.story == noClass || m.story == story) {
			return m.text
		}
	}
	if state == story.status() {
		return "consistent"
	}
	return "one of them is not understood"
}

// meanings are what pairs of a state and a story mean; the first that fits counts, and
// what is left out is any.
var meanings = []struct {
	state reprise.Status
	story class
	text  string
}{
	{reprise.InReview, done, "the review was completed outside this workflow"},
	{0, done, "the story was completed outside this workflow"},
	{0, dropped, "the story was given up outside this workflow"},
	{0, blocked, "the story is blocked"},
	{reprise.Done, inReview, "the story was not closed"},
	{reprise.Done, noClass, "the story was never updated, or reopened"},
	{reprise.Skipped, noClass, "skipped here, open in the story"},
	{reprise.Pending, ready, "validated while paused"},
	{reprise.Pending, draft, "both not begun"},
	{reprise.Pending, noClass, "begun outside this workflow"},
	{0, draft, "the story was reset: the state is stale"},
	{reprise.InReview, inProgress, "sent back by its review"},
	{reprise.InProgress, inReview, "handed over for review"},
	{0, ready, "the story was not marked as begun"},
	{reprise.Failed, noClass, "failed here, open in the story"},
	{reprise.Blocked, noClass, "blocked here, open in the story"},
}
