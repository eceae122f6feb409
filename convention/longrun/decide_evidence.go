package longrun

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// maxFiles bounds the files listed for one step: a plan that names more than
// this says nothing about where to look.
const maxFiles = 200

// projectFiles keeps the names that can be files of the project, as paths from
// its top. Plans are written by models: names come in back ticks, with remarks,
// as globs, and from other machines.
func projectFiles(root string, names []string) []string {
	var out []string
	for _, name := range names {
		name, _, _ = strings.Cut(name, " (")
		name = strings.Trim(strings.TrimSpace(name), "`\"' ")
		name = strings.TrimPrefix(name, "./")
		if name == "" || strings.ContainsAny(name, "*?\\:<>|{}") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			continue
		}
		file := path.Join(root, name)
		inside := root == "." || strings.HasPrefix(file, root+"/")
		if path.IsAbs(name) || !fs.ValidPath(file) || !inside || file == root || slices.Contains(out, file) {
			continue
		}
		if out = append(out, file); len(out) == maxFiles {
			break
		}
	}
	return out
}

// codeRoot is the folder that the files named in plans lie below: the one that
// holds the folder of specs, or the project.
func (l *longRun) codeRoot() string {
	parts := strings.Split(path.Dir(l.dir), "/")
	for i, p := range parts {
		if p == "agent-os" || p == "specs" {
			return path.Join(append([]string{"."}, parts[:i]...)...)
		}
	}
	return "."
}

// beginning is the earliest time the files record for the run. Times that models
// write have no zone or a wrong one, so the begin is put early enough that none
// of the run's own commits lies before it.
func (l *longRun) beginning() time.Time {
	first := l.state.started
	if first.IsZero() && len(l.agent.entries) < maxEntries {
		for _, e := range l.agent.entries {
			if !e.at.IsZero() && (first.IsZero() || e.at.Before(first)) {
				first = e.at
			}
		}
	}
	if first.IsZero() {
		return first
	}
	return first.Add(-reprise.ClockSlack)
}

// evidence fills in how the work of a plan can be recognized from outside. Each task
// is a commit `type(NN): task`; none of them shows the plan as a whole.
func (l *longRun) evidence(s *reprise.Step, p *plan) {
	s.Pieces = len(s.Commits) > 0
	s.Traces = []reprise.Trace{{Subject: "(" + p.id + "): ", Anywhere: true, Partial: true, Since: l.beginning()}}
	names := p.files
	if p.checkpoint != nil {
		names = append(slices.Clone(names), p.checkpoint.files...)
	}
	s.Files = projectFiles(l.codeRoot(), names)
	s.Parts = l.parts(p)
}

// parts are the open tasks of a plan that may have been begun. A task is committed
// before the checkpoint counts it: a commit whose subject is the name of a task that
// is open shows the whole of it, if it was made since the checkpoint was written or,
// where there is none, an agent was put to the plan. Any other commit since then may
// hold a piece of the next task, and so may one of its name from before: the times
// that models write have wrong zones.
func (l *longRun) parts(p *plan) []reprise.Step {
	if p.status.Closed() || p.status == reprise.Pending && p != l.firstOpen() {
		return nil
	}
	var since time.Time
	done, total := 0, len(p.tasks)
	if len(p.agents) > 0 {
		since = p.agents[0].at
	}
	if c := p.checkpoint; c != nil {
		if !c.known {
			return nil
		}
		done, total, since = c.completed, min(total, c.total), c.at
	}
	names := map[string]int{}
	for _, t := range p.tasks {
		names[doc.Fold(taskWords(t.name))]++
	}
	var out []reprise.Step
	for n := done + 1; n <= total; n++ {
		name := p.tasks[n-1].name
		part := reprise.Step{ID: fmt.Sprintf("%s/%d", p.id, n), Title: name, Phase: p.group, Path: p.path, Role: "executor", Status: reprise.Pending, Source: p.source}
		trace := reprise.Trace{Subject: "(" + p.id + "): ", Anywhere: true, Partial: true, Since: since}
		for _, subject := range slices.Compact([]string{taskWords(name), name}) {
			if subject == "" {
				continue
			}
			named := trace
			named.Subject, named.Ends = trace.Subject+subject, true
			// If two tasks have the same name, it is unknown which one it is.
			named.Partial = since.IsZero() || names[doc.Fold(taskWords(name))] > 1
			before := named
			before.Partial, before.Since = true, l.beginning()
			part.Traces = append(part.Traces, named, before)
		}
		if n == done+1 && !since.IsZero() {
			part.Traces = append(part.Traces, trace)
		}
		out = append(out, part)
	}
	return out
}

// taskWords is the name of a task without its number.
func taskWords(name string) string {
	rest, ok := strings.CutPrefix(name, "Task ")
	if number, words, cut := strings.Cut(rest, ":"); ok && cut && doc.Digits(strings.TrimSpace(number)) {
		return strings.TrimSpace(words)
	}
	return name
}

// traces are the subjects of GSD's commits: `type(NN-MM): task` on the way and
// `docs(NN-MM): complete …` when the plan is accepted. Numbers begin again with
// some milestones: then only what came after the last one counts.
func (g *gsd) traces(p *plan) []reprise.Trace {
	ids := []string{p.id}
	if id := p.String(); id != ids[0] && !strings.Contains(p.suffix, "fix") {
		ids = append(ids, id)
	}
	since, again := g.reused[p.phase]
	var out []reprise.Trace
	for _, id := range ids {
		if !again || !since.IsZero() {
			out = append(out, reprise.Trace{Subject: "docs(" + id + "): complete", Since: since})
		}
		if p.num != solePlan {
			out = append(out, reprise.Trace{Subject: "(" + id + "): ", Anywhere: true, Partial: true, Since: since})
			continue
		}
		// The number of a phase also stands before its research and its
		// planning; only these types are work on the plan.
		for _, kind := range []string{"feat", "fix", "test", "refactor"} {
			out = append(out, reprise.Trace{Subject: kind + "(" + id + "): ", Partial: true, Since: since})
		}
	}
	return out
}

// readReused finds the phases whose numbers an earlier milestone used: its
// folders are in the archive, or next to the new ones. They map to the day the
// last milestone shipped.
func (g *gsd) readReused() {
	dir := path.Join(g.dir, "milestones")
	for _, e := range g.r.Dir(dir) {
		if !e.IsDir() {
			continue
		}
		for _, ph := range g.r.Dir(path.Join(dir, e.Name())) {
			if p, ok := phaseOfFolder(ph.Name(), true); ok && ph.IsDir() {
				g.reused[p] = time.Time{}
			}
		}
	}
	if len(g.reused) == 0 {
		return
	}
	var shipped time.Time
	for _, l := range g.r.Open(path.Join(g.dir, "MILESTONES.md")).Markdown().All().Lines() {
		if t, ok := doc.FindTime(l.Text); ok && t.After(shipped) && strings.Contains(strings.ToLower(l.Text), "shipped") {
			shipped = t
		}
	}
	for p := range g.reused {
		g.reused[p] = shipped
	}
}

// codeRoot is the folder that holds `.planning/`, also for a workstream.
func (g *gsd) codeRoot() string {
	dir := g.dir
	for path.Base(dir) != planningDir && dir != "." {
		dir = path.Dir(dir)
	}
	return path.Dir(dir)
}

// made lists what a finished plan left: its summary and, where the work continues
// in its phase, those files it promised that are there. A promised file that is
// gone proves nothing: later plans move and remove files.
func (g *gsd) made(p *plan) {
	have := func(name, file string, at reprise.Source) {
		g.run.Artifacts = append(g.run.Artifacts, reprise.Artifact{Name: name + " of " + p.id, Path: file, Presence: reprise.Present, MadeBy: p.id, Source: at})
	}
	if s := p.summary; s != nil && s.status == reprise.Done {
		have("summary", s.file, s.source)
	}
	if p.phase != g.current || !p.done {
		return
	}
	for _, file := range projectFiles(g.codeRoot(), p.promised) {
		if g.r.Exists(file) {
			have(path.Base(file), file, p.source)
		}
	}
}

// texts reads a list of names, each a text or a map with a path. The shapes
// models give such lists vary, and nothing but evidence hangs on them: what is
// none of these is passed over.
func texts(list *doc.Node) []string {
	if list == nil {
		return nil
	}
	items := list.Items
	if list.Kind == doc.String {
		items = []*doc.Node{list}
	}
	var out []string
	for _, item := range items {
		if at := child(item, "path"); at != nil {
			item = at
		}
		if item.Kind == doc.String && len(out) < 2*maxFiles {
			out = append(out, item.Text)
		}
	}
	return out
}

// hashes lists the commits that lines name in backquotes.
func hashes(lines []doc.Line) (out []string) {
	for _, l := range lines {
		for i, word := range strings.Split(l.Text, "`") {
			if i%2 == 1 && len(word) >= 7 && len(word) <= 64 && strings.Trim(word, "0123456789abcdef") == "" && len(out) < maxFiles {
				out = append(out, word)
			}
		}
	}
	return out
}

// child returns the value of a key without a word about other shapes.
func child(n *doc.Node, key string) *doc.Node {
	if n == nil || n.Kind != doc.Map {
		return nil
	}
	return n.Get(key)
}
