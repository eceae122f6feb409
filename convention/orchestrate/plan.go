package orchestrate

import (
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// epicPlan is what the execution plan of an epic adds to its state: the files,
// titles and dependencies of the stories. Nothing depends on it.
type epicPlan struct {
	base    string
	stories []planStory
}

type planStory struct {
	key   key
	file  string
	title string
	needs []string
}

func (p epicPlan) story(k key) *planStory {
	for i := range p.stories {
		if p.stories[i].key.same(k) {
			return &p.stories[i]
		}
	}
	return nil
}

// executionPlan reads the plan an epic state names. Plans are written by
// models and often are no valid YAML; what can be read of them is used.
func (l *loader) executionPlan(root *doc.Node) epicPlan {
	ref := root.Get("execution_plan", "executionPlan")
	name := ref.Str()
	if name == "" {
		return epicPlan{}
	}
	p := l.artifact("execution plan", name, "", false, ref.Source())
	if p == "" {
		return epicPlan{}
	}
	f := l.r.Open(p)
	n := f.YAML()
	if n == nil || n.Kind != doc.Map {
		return epicPlan{}
	}
	if inner := n.Get("execution"); inner != nil && inner.Kind == doc.Map {
		n = inner
	}
	plan := epicPlan{base: l.inTree(n.Get("storyBasePath", "story_base_path").Str())}
	collect(n.Get("stories"), &plan.stories)
	if waves := n.Get("waves"); waves != nil {
		for _, w := range waves.Items {
			if w.Kind == doc.Map {
				collect(w.Get("stories"), &plan.stories)
			}
		}
		for _, w := range waves.Keys {
			if w.Value != nil && w.Value.Kind == doc.Map {
				collect(w.Value.Get("stories"), &plan.stories)
			}
		}
	}
	return plan
}

func collect(n *doc.Node, out *[]planStory) {
	if n == nil {
		return
	}
	add := func(id string, v *doc.Node) {
		if id == "" || v == nil || v.Kind != doc.Map {
			return
		}
		needs := v.Get("depends_on", "dependsOn", "dependencies")
		s := planStory{key: nameKey(id), file: v.Get("file", "path").Str(), title: v.Get("title", "name").Str()}
		if needs != nil && needs.Kind != doc.Map {
			s.needs = needs.Strs()
		}
		*out = append(*out, s)
	}
	for _, f := range n.Keys {
		add(f.Name, f.Value)
	}
	for _, item := range n.Items {
		if item.Kind == doc.Map {
			add(item.Get("id", "story", "story_id").Str(), item)
		}
	}
}

// inTree turns a path of a state file into one of this tree. A path of another
// machine is cut down to the part from docs/ or the folder of stories on; ""
// means that it cannot be followed.
func (l *loader) inTree(name string) string {
	name = strings.ReplaceAll(strings.TrimSpace(name), `\`, "/")
	if name == "" || strings.ContainsAny(name, "\x00\n") {
		return ""
	}
	absolute := strings.HasPrefix(name, "/") || (len(name) > 2 && name[1] == ':')
	if !absolute {
		p := path.Join(l.project(), name)
		if p == ".." || strings.HasPrefix(p, "../") {
			return ""
		}
		return p
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if part == "docs" || isStories(part) {
			return path.Join(l.project(), strings.Join(parts[i:], "/"))
		}
	}
	return ""
}

// project is the folder whose state is read: the one above .aiox, qa, plan or
// docs.
func (l *loader) project() string {
	p := l.run.Path
	if i := strings.Index("/"+p, "/docs/"); i >= 0 {
		return path.Clean(strings.TrimSuffix(p[:i], "/"))
	}
	for d := path.Dir(p); d != "." && d != "/"; d = path.Dir(d) {
		if b := path.Base(d); isHome(b) || b == "qa" || b == "plan" {
			return path.Dir(d)
		}
	}
	return "."
}

// artifactOf records a file that a step makes for those behind it.
func (l *loader) artifactOf(step, name string, at reprise.Source) {
	before := len(l.run.Artifacts)
	l.artifact("artifact of "+step, name, "", false, at)
	for i := before; i < len(l.run.Artifacts); i++ {
		l.run.Artifacts[i].MadeBy = step
	}
}

// artifact records a file that the run refers to and returns its path in the
// tree if it is there.
func (l *loader) artifact(what, name, neededBy string, critical bool, at reprise.Source) string {
	if strings.TrimSpace(name) == "" {
		return ""
	}
	a := reprise.Artifact{Name: what, Path: doc.Clip(name, 300), Critical: critical, NeededBy: neededBy, Source: at, Presence: reprise.Unchecked}
	p := l.inTree(name)
	foreign := strings.HasPrefix(name, "/") || strings.Contains(name, `:\`) || strings.Contains(name, ":/")
	switch {
	case p != "" && l.r.Exists(p):
		a.Path, a.Presence = p, reprise.Present
	case p != "" && !foreign:
		a.Path, a.Presence = p, reprise.Missing
	}
	l.run.Artifacts = append(l.run.Artifacts, a)
	if a.Presence == reprise.Present {
		return p
	}
	severity := reprise.Info
	if critical {
		severity = reprise.Warning
	}
	message, hint := "the state names "+what+" "+quote(a.Path)+", which is not there", "bring the file back, or go on without it"
	if a.Presence == reprise.Unchecked {
		message, hint = "the state names "+what+" by a path of another machine or outside of the project: "+quote(a.Path), "it is not looked at"
	}
	l.r.Report(reprise.Finding{Code: reprise.CodeMissingArtifact, Severity: severity, Subject: what, Message: message, Source: at, Hint: hint})
	return ""
}

// storyPath finds the file of a story of an epic: as the plan says, else by
// its id among the stories of the project.
func (l *loader) storyPath(k key, plan epicPlan) string {
	if p := plan.story(k); p != nil && p.file != "" {
		if full := path.Join(plan.base, p.file); fsPath(full) && l.r.Exists(full) {
			return full
		}
		if p := l.inTree(p.file); p != "" && l.r.Exists(p) {
			return p
		}
	}
	return l.storyByKey(k)
}

// storyByKey finds a story by id in the same project. The copy in a folder for
// finished work is the story; the other was left behind.
func (l *loader) storyByKey(k key) string {
	found := ""
	project := l.project()
	for _, s := range l.storyFiles() {
		if !s.key.same(k) && !(len(k.nums) == 0 && strings.EqualFold(s.key.id, k.id)) || projectOf(s.path) != project {
			continue
		}
		if _, ended := folderSay(s.path); found == "" || ended {
			found = s.path
		}
	}
	return found
}

func fsPath(p string) bool {
	return p != ".." && !strings.HasPrefix(p, "../") && !strings.HasPrefix(p, "/")
}

func nodeTitle(n *doc.Node) string {
	if n == nil || n.Kind != doc.Map {
		return ""
	}
	return n.Get("title", "name").Str()
}
