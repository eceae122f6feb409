package orchestrate

import (
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// artifactOf records a file that a step makes for those behind it.
func (l *loader) artifactOf(step, name string, at reprise.Source) {
	before := len(l.run.Artifacts)
	l.artifact("artifact of "+step, name, at)
	for i := before; i < len(l.run.Artifacts); i++ {
		l.run.Artifacts[i].MadeBy = step
	}
}

// artifact records a file that the run refers to and returns its path in the
// tree if it is there.
func (l *loader) artifact(what, name string, at reprise.Source) string {
	if strings.TrimSpace(name) == "" {
		return ""
	}
	a := reprise.Artifact{Name: what, Path: doc.Clip(name, 300), Source: at, Presence: reprise.Unchecked}
	p := l.inTree(name)
	foreign := strings.HasPrefix(name, "/") || strings.Contains(name, `:\`) || strings.Contains(name, ":/")
	switch {
	case p != "" && l.r.Exists(p):
		a.Path, a.Presence = p, reprise.Present
	case p != "" && !foreign:
		a.Path, a.Presence = p, reprise.Missing
	}
	l.run.Artifacts = append(l.run.Artifacts, a)
	message, hint := "the state names "+what+" "+quote(a.Path)+", which is not there", "restore the file, or continue without it"
	switch a.Presence {
	case reprise.Present:
		return p
	case reprise.Unchecked:
		message, hint = "the state names "+what+" by a path of another machine or outside the project: "+quote(a.Path), "it is not looked at"
	}
	l.report(reprise.Info, reprise.CodeMissingArtifact, what, at, message, hint)
	return ""
}

// inTree turns a path of a state file into one of this tree. A path of another
// machine is cut down to the part from docs/ or the folder of stories on; ""
// means that it cannot be followed.
func (l *loader) inTree(name string) string {
	name = strings.ReplaceAll(strings.TrimSpace(name), `\`, "/")
	if name == "" || strings.ContainsAny(name, "\x00\n") {
		return ""
	}
	if !strings.HasPrefix(name, "/") && !(len(name) > 2 && name[1] == ':') {
		if p := path.Join(l.project(), name); fsPath(p) {
			return p
		}
		return ""
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if part == "docs" || isStories(part) {
			return path.Join(l.project(), strings.Join(parts[i:], "/"))
		}
	}
	return ""
}

// storyByKey finds a story by id, and by the name of its file unless that is "", in
// the same project. The copy in a folder for finished work is the story; the other
// was left behind.
func (l *loader) storyByKey(k key, base string) string {
	found := ""
	project := l.project()
	for _, s := range l.storyFiles() {
		if !s.key.same(k) && !(len(k.nums) == 0 && strings.EqualFold(s.key.id, k.id)) || projectOf(s.path) != project {
			continue
		}
		if base != "" && !strings.EqualFold(base, path.Base(s.path)) {
			continue
		}
		if _, ended := folderSays(s.path); found == "" || ended {
			found = s.path
		}
	}
	return found
}

// namesakes lists the stories of the project that have one number and differ in
// their names. Copies of one file are one story.
func (l *loader) namesakes(k key) (out []storyFile) {
	project := l.project()
	for _, s := range l.storyFiles() {
		twin := func(o storyFile) bool { return strings.EqualFold(path.Base(o.path), path.Base(s.path)) }
		if s.key.same(k) && projectOf(s.path) == project && !slices.ContainsFunc(out, twin) {
			out = append(out, s)
		}
	}
	return out
}

// meant finds the story that an entry of an epic state is about, by its file name.
// Of several with its number it is the one whose name the entry has in its words
// (file, branch, title), else the one in a folder of the epic. "" means
// unknown.
func (l *loader) meant(st *waveStory) string {
	all := l.namesakes(st.key)
	for _, named := range []func(storyFile) bool{func(storyFile) bool { return true }, st.names, storyFile.inEpic} {
		found := slices.DeleteFunc(slices.Clone(all), func(s storyFile) bool { return !named(s) })
		if len(found) == 1 {
			return path.Base(found[0].path)
		}
	}
	return ""
}

// oneOfSeveral reports an entry of an epic state that may be about several stories.
func (l *loader) oneOfSeveral(st *waveStory) {
	l.report(reprise.Warning, reprise.CodeDuplicateID, st.id, st.source(), "several stories have the number "+quote(st.id)+", and which one the epic state means is unclear",
		"name its file in the epic state, or give one of them another number")
}

// inEpic reports whether a story lies in a folder of its epic.
func (s storyFile) inEpic() bool {
	return slices.ContainsFunc(strings.Split(path.Dir(s.path), "/"), func(dir string) bool {
		n, ok := epicFolder(dir)
		return ok && len(s.key.nums) > 1 && n == s.key.nums[0]
	})
}

func fsPath(p string) bool {
	return p != ".." && !strings.HasPrefix(p, "../") && !strings.HasPrefix(p, "/")
}
