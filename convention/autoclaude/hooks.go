package autoclaude

import (
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// fileKeys are the names under which an item says what it touches.
var fileKeys = []string{"files_to_modify", madeKey, "files", "file", "affected_files"}

// madeKey is the one under which it says what it makes.
const madeKey = "files_to_create"

// maxFiles bounds the files kept for one item. Real items name a dozen.
const maxFiles = 200

// itemFiles lists the files an item says it touches, as paths inside the
// project. Globs, prose and paths that lead elsewhere are left out: they would
// be compared with names of real files and never fit.
func itemFiles(n *doc.Node, keys ...string) []string {
	var out []string
	for _, key := range keys {
		v := n.Get(key)
		if v.IsNull() || v.Kind == doc.Map {
			continue
		}
		for _, word := range fileWords(v) {
			name, ok := insidePath(word)
			if !ok || slices.Contains(out, name) {
				continue
			}
			if out = append(out, name); len(out) == maxFiles {
				return out
			}
		}
	}
	return out
}

// fileWords gives the entries of a list of files: bare names, or objects that
// hold one.
func fileWords(v *doc.Node) []string {
	if v.Kind != doc.List {
		return v.Strs()
	}
	var out []string
	for _, it := range v.Items[:min(len(v.Items), 2*maxFiles)] {
		switch it.Kind {
		case doc.String:
			out = append(out, it.Text)
		case doc.Map:
			out = append(out, it.Get("path", "file").Str())
		}
	}
	return out
}

// insidePath brings a word to a clean relative path.
func insidePath(word string) (string, bool) {
	word = strings.TrimSpace(word)
	if word == "" || len(word) > 400 || strings.ContainsAny(word, "*?\x00\n\r\\") || path.IsAbs(word) || strings.Contains(word, ":") {
		return "", false
	}
	name := path.Clean(word)
	if name == "." || name == ".." || strings.HasPrefix(name, "../") {
		return "", false
	}
	return name, true
}

// itemTraces tells how commits name an item: `auto-claude: ID - text`, or
// `auto-claude: Complete ID - text` as the program's own prompt has it. Where an
// id is a plain word or number, the dash must follow: "cleanup" begins many an
// ordinary sentence.
func itemTraces(id string, since time.Time) []reprise.Trace {
	end := ""
	if digits := strings.ContainsAny(id, "0123456789"); !digits || strings.Trim(id, "0123456789") == "" {
		end = " - "
	}
	return []reprise.Trace{
		{Subject: "auto-claude: " + id + end, Since: since},
		{Subject: "auto-claude: Complete " + id + end, Since: since},
	}
}

// begin is the earliest time at which any copy of the plan says it was made; of
// a plan that does not say it, as planners leave it, that of the record of its
// attempts. Older commits with the same ids belong to other specs. A time
// without a zone may be hours off, and one without seconds was made up by an
// agent; both are taken back by as much as that can cost.
func (l *loader) begin() time.Time {
	var first time.Time
	take := func(n *doc.Node) {
		t := n.Time()
		if t.IsZero() {
			return
		}
		if t.Second() == 0 && t.Nanosecond() == 0 || !zoned(n.Text) {
			t = t.Add(-reprise.ClockSlack)
		}
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	for _, p := range l.copies {
		take(p.created)
	}
	if first.IsZero() {
		for _, n := range l.memory.created {
			take(n)
		}
	}
	return first
}

// zoned reports whether a written time says in which zone it is.
func zoned(text string) bool {
	_, clock, ok := strings.Cut(strings.TrimSpace(text), "T")
	return ok && (strings.HasSuffix(clock, "Z") || strings.ContainsAny(clock, "+-"))
}

// addHooks fills what evidence and checks rest on: the branch, the checkout,
// and for each item its files and how its commits are recognized.
func (l *loader) addHooks() {
	r := l.run
	r.Worktree = l.where.worktree
	// The branch is made with the first session of coding; a spec that is to
	// be built in place has none, nor has a copy kept outside of any project.
	if l.where.worktree != "" || len(r.Steps) > 0 && l.where.base != "" && !l.marks.inPlace {
		r.Branch = "auto-claude/" + r.ID
	}
	if r.Branch != "" {
		r.Base = l.marks.base
	}
	root := l.root()
	since := l.begin()
	for i := range r.Steps {
		s := &r.Steps[i]
		for k, name := range s.Files {
			s.Files[k] = path.Join(root, name)
		}
		// A record is made for partial work too; the commit's own subject
		// says more.
		s.Pieces = len(s.Commits) > 0
		if id := l.plan.items[i].raw; id != "" && id == s.ID {
			s.Traces = itemTraces(id, since)
		}
	}
}

// root is the folder that paths in the plan start from, seen from the project:
// that of the checkout, wherever the copy of the spec was found.
func (l *loader) root() string {
	if base, ok := worktreeBase(l.where.base); ok {
		return base
	}
	return l.where.base
}

// specArtifacts lists the file of each spec phase with the phase that makes it
// and the one that needs it. Files of phases that were left out are not missed.
func (l *loader) specArtifacts() {
	r := l.run
	for i := range r.Steps {
		s := &r.Steps[i]
		file := path.Base(s.Path)
		needed := "coding"
		if i+1 < len(r.Steps) {
			needed = r.Steps[i+1].ID
		}
		if at := slices.IndexFunc(r.Artifacts, func(a reprise.Artifact) bool { return a.Path == s.Path }); at >= 0 {
			a := &r.Artifacts[at]
			a.NeededBy = needed
			// A stub of the plan is there before planning has begun.
			if s.ID != "planning" || a.Presence == reprise.Missing {
				a.MadeBy = s.ID
			}
			if s.Status == reprise.Unknown {
				a.Presence = reprise.Damaged
			}
			continue
		}
		a := reprise.Artifact{Name: file, Path: s.Path, Presence: reprise.Missing, NeededBy: needed, MadeBy: s.ID, Source: s.Source}
		switch s.Status {
		case reprise.Skipped:
			continue
		case reprise.Done:
			a.Presence = reprise.Present
		case reprise.Unknown:
			a.Presence = reprise.Damaged
		}
		r.Artifacts = append(r.Artifacts, a)
	}
}
