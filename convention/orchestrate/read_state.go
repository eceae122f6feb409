package orchestrate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// state reads a run that has a state file. Where that cannot be read the run is
// rebuilt from its stories.
func (l *loader) state(sh shape) {
	fm := formOf(sh)
	l.run.Kind = fm.kind
	f, n := l.structured(l.run.Path)
	root := fm.root(ledger.Root(f, n))
	if sh == epicShape {
		root = epicRoot(root)
	}
	if len(fm.title) > 0 {
		l.run.Title = root.In(fm.title...).Plain()
	}
	switch {
	case sh == epicShape && !root.Is(doc.Map):
		l.run.Title = ""
		l.rebuildEpic(f, fm.lost)
	case n == nil:
		l.rebuildStory(f, fm.lost)
	case sh == epicShape:
		l.epic(f, root)
	case sh == loopShape:
		l.qaLoop(f, root)
	case sh == bobShape:
		l.bob(f, readBob(root))
	default:
		l.flow(f, fm, root)
	}
	l.locks()
}

// structured opens a state file that should hold one map, in JSON or in YAML
// whatever its name ends in: models write YAML into files called .json.
func (l *loader) structured(name string) (*doc.File, *doc.Node) {
	f := l.r.Open(name)
	if !f.OK() {
		if !f.Exists() {
			f.Report(reprise.Warning, reprise.CodeMissingArtifact, 0, "the state file is gone", "")
		}
		return f, nil
	}
	n := parseStructured(f)
	if n != nil && n.Kind != doc.Map {
		f.Lost(reprise.CodeUnreadable, n.Line, "has no map where the state belongs", "look at the file by hand")
		n = nil
	}
	return f, n
}

func parseStructured(f *doc.File) *doc.Node {
	called := strings.HasSuffix(f.Path, ".json")
	text := bytes.TrimLeft(f.Data, " \t\r\n\xef\xbb\xbf")
	if called && len(text) > 0 && bytes.IndexByte([]byte("{[\""), text[0]) >= 0 {
		return f.JSON()
	}
	n := f.YAML()
	if called && n != nil {
		f.Report(reprise.Info, reprise.CodeIntegrity, 0, "YAML in a file whose name ends in .json", "")
	}
	return n
}

// timesIn takes every time on record in a state, else that of its file.
func (l *loader) timesIn(f *doc.File, root ledger.Value) {
	if l.times(root.Node); l.run.LastActivity.IsZero() {
		l.run.Active(f.MTime, f.At(0))
	}
}

// times takes every time on record, at whatever depth: the fields that should
// hold the latest one are often left behind.
func (l *loader) times(n *doc.Node) {
	scalars(n, 0, func(name string, v *doc.Node) {
		low := strings.ToLower(name)
		if strings.HasSuffix(low, "_at") || strings.HasSuffix(name, "At") || strings.Contains(low, "updated") || strings.Contains(low, "timestamp") || low == "date" {
			if t, ok := doc.ParseTime(v.Text); ok {
				l.run.Active(t, v.Source())
			}
		}
	})
}

// scalars calls f for the scalar fields of a document, at whatever depth.
func scalars(n *doc.Node, depth int, f func(name string, v *doc.Node)) {
	if n == nil || depth > 8 {
		return
	}
	for _, k := range n.Keys {
		if k.Value == nil || k.Value.Kind == doc.Map || k.Value.Kind == doc.List {
			scalars(k.Value, depth+1, f)
		} else {
			f(k.Name, k.Value)
		}
	}
	for _, item := range n.Items {
		scalars(item, depth+1, f)
	}
}

// attachStory joins a state run with the story it is about: the file in Also, both
// statuses as claims, and what follows from the story's. hint is an id or a path, of this
// machine or another; implied is what the state says about the story while it is open.
func (l *loader) attachStory(hint string, at reprise.Source, name, word string, implied class) {
	run := l.run
	if strings.TrimSpace(hint) == "" {
		if run.State.Open() && run.State != reprise.NotStarted {
			l.report(reprise.Warning, reprise.CodeAmbiguous, run.ID, reprise.Source{File: run.Path}, "the state names no story", "look at the file by hand")
		}
		return
	}
	at.File = cmp.Or(at.File, run.Path)
	p, id := l.resolveStory(hint)
	if p == "" {
		l.lostStory(hint, id, at)
		return
	}
	run.Also = append(run.Also, reprise.Ref{Layout: layoutName, ID: id, Path: p, Kind: reprise.KindStory})
	k := storyKey(p)
	run.Epic, run.Order = k.epicName(), k.order()
	run.Artifacts = append(run.Artifacts, reprise.Artifact{Name: "story", Path: p, Presence: reprise.Present, Critical: true, NeededBy: run.Phase, Source: at})
	step := claimed(name, id, "story", "", implied.status(), cmp.Or(word, "open"), at)
	step.Path, step.Traces = p, storyTraces(k)
	if s := readStory(l.r, p); s != nil {
		run.Title = s.title
		l.activeIn(s)
		step.Files = s.files
		run.Branch = cmp.Or(run.Branch, s.branch)
		l.storyWins(&step, s, implied)
	}
	run.Steps = append(slices.DeleteFunc(run.Steps, func(s reprise.Step) bool { return s.ID == id }), step)
	for i := range run.Next {
		run.Next[i].ID, run.Next[i].Path, run.Next[i].Title = id, p, run.Title
	}
	l.sameStory(p)
}

// activeIn takes the latest day a story records.
func (l *loader) activeIn(s *storyDoc) {
	if d := s.newest(); !d.day.IsZero() {
		l.run.Active(d.day, s.source(d.line))
	}
}

// storyWins lets the story's file decide about the story.
func (l *loader) storyWins(step *reprise.Step, s *storyDoc, implied class) {
	run, class := l.run, s.class()
	if class <= unknown {
		return
	}
	claim, _ := s.claim()
	win(step, claim)
	if class == implied || !run.State.Open() || run.State == reprise.NotStarted {
		return
	}
	severity := reprise.Warning
	if implied == inProgress && class == inReview || implied == inReview && class == inProgress {
		severity = reprise.Info // a phase apart, as any crash leaves them
	}
	l.report(severity, reprise.CodeStatusDrift, step.ID, claim.Source,
		fmt.Sprintf("the state is open, the story says %s: %s", quote(claim.Word), meaning(implied.status(), class)),
		"the story is taken; archive the state if it is no longer needed")
	switch class {
	case done:
		run.State, run.Reason, run.Next, run.Questions = reprise.Complete, "the story was completed outside this workflow", nil, nil
	case dropped:
		run.State, run.Reason, run.Next, run.Questions = reprise.Stopped, "the story was given up outside this workflow", nil, nil
	}
}

// resolveStory finds the file a state means, and the id to call it by.
func (l *loader) resolveStory(hint string) (p, id string) {
	hint = strings.TrimSpace(hint)
	base := path.Base(strings.ReplaceAll(hint, `\`, "/"))
	k := nameKey(stem(base))
	if strings.ContainsAny(hint, `/\`) || strings.HasSuffix(strings.ToLower(hint), ".md") {
		if q := l.inTree(hint); q != "" && l.r.Exists(q) {
			return q, storyKey(q).id
		}
		for _, s := range l.storyFiles() {
			if strings.EqualFold(path.Base(s.path), base) {
				return s.path, s.key.id
			}
		}
		return "", k.id
	}
	if q := l.storyByKey(k, ""); q != "" {
		return q, storyKey(q).id
	}
	return "", hint
}

// lostStory: without its story a state cannot be resumed. A person has to
// bring the file back or put the state away. One that cannot be read is not
// gone: loading the run reports that.
func (l *loader) lostStory(hint, id string, at reprise.Source) {
	run := l.run
	name := cmp.Or(l.inTree(hint), hint)
	run.Artifacts = append(run.Artifacts, reprise.Artifact{Name: "story", Path: doc.Clip(name, 300), Presence: reprise.Missing, Critical: true, NeededBy: run.Phase, Source: at})
	_, err := fs.Stat(l.r.FS(), name)
	if !run.State.Open() || run.State == reprise.NotStarted || errors.Is(err, fs.ErrPermission) {
		return
	}
	l.report(reprise.Warning, reprise.CodeMissingArtifact, id, at, fmt.Sprintf("the state is about story %s, which has no file here", quote(hint)),
		"restore the story's file, or archive this state: without the story it cannot be resumed")
	if run.State == reprise.Interrupted {
		run.Next = nil
		run.State, run.Reason = reprise.Waiting, "its story "+quote(id)+" has no file: a person must restore it or archive the state"
		run.Questions = append(run.Questions, reprise.Question{
			ID: "lost-story", Subject: id, Source: at, Options: []string{"archive the state", "bring the story back"}, Closed: true,
			Text: "The story of this workflow is gone. Archive its state, or restore the story?",
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
		if p == l.run.Path || shapeOf(p) == epicShape {
			continue
		}
		if o := l.other(l.r.FS(), p); foldedStory(o.run) == story {
			l.run.Also = append(l.run.Also, o.run.Ref)
		}
	}
}

// olderCopies names the same state file in folders of earlier generations of
// the tool, and says whether they differ.
func (l *loader) olderCopies() {
	parts := strings.Split(l.run.Path, "/")
	for i, part := range parts {
		for _, home := range homes[:max(slices.Index(homes, part), 0)] {
			p := strings.Join(slices.Concat(parts[:i], []string{home}, parts[i+1:]), "/")
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

// locks reads the locks of the project's state folders into the run. A lock
// names a process and proves nothing: tools leave them behind when they die.
// The lock of the status cache belongs to no run and is left out.
func (l *loader) locks() {
	if l.nested {
		return
	}
	for _, home := range homes {
		dir := path.Join(l.project(), home, "locks")
		for _, e := range l.r.Dir(dir) {
			if !e.IsDir() && strings.HasSuffix(e.Name(), ".lock") {
				l.lock(path.Join(dir, e.Name()))
			}
		}
	}
}

func (l *loader) lock(name string) {
	f := l.r.Open(name)
	n := f.YAML() // JSON is YAML too
	if !n.Is(doc.Map) || !l.run.State.Open() || !l.lockConcerns(path.Base(name), n.Get("resource").Str()) {
		return
	}
	o := &reprise.Owner{Agent: n.Get("owner").Str(), Host: n.Get("host", "hostname").Str(), Source: f.At(0)}
	o.PID, _ = n.Get("pid").Int()
	o.StartedAt = n.Get("created_at", "timestamp").Time()
	ttl, _ := n.Get("ttl_seconds", "ttl").Int()
	end := o.StartedAt.Add(time.Duration(ttl) * time.Second)
	term := ""
	if ttl > 0 && !o.StartedAt.IsZero() {
		o.Expires = end
		term = "; its term of " + strconv.Itoa(ttl) + " s ended at " + end.UTC().Format(time.RFC3339)
	}
	// There is no clock here. A lock is stale where the files contradict it:
	// they were written after its term, or leave nothing to be at work on.
	code := reprise.CodeOwnerMarker
	if l.run.State == reprise.Waiting || ttl > 0 && l.run.LastActivity.After(end) {
		code = reprise.CodeStaleMarker
	}
	l.run.Owner = cmp.Or(l.run.Owner, o)
	l.report(reprise.Info, code, path.Base(name), f.At(0), fmt.Sprintf("a lock of %s (pid %d) was not released%s", quote(o.Agent), o.PID, term),
		"make sure that the process is gone before you continue, then remove the lock")
}

// lockConcerns reports whether a lock belongs to this kind of run. A resource
// that names none of them may be any.
func (l *loader) lockConcerns(name, resource string) bool {
	text := strings.ToLower(name + " " + resource)
	sh := shapeOf(l.run.Path)
	for _, about := range []struct {
		word   string
		shapes []shape
	}{{"bob", []shape{bobShape}}, {"epic", []shape{epicShape}}, {"qa", []shape{loopShape}}, {"build", []shape{buildShape}}} {
		if strings.Contains(text, about.word) {
			return slices.Contains(about.shapes, sh)
		}
	}
	return true
}
