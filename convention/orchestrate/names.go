package orchestrate

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// isStories reports whether a folder holds stories: stories, user-stories,
// sprint_stories.
func isStories(name string) bool { return strings.EqualFold(name, "stories") || likeStories(name) }

// likeStories reports whether a folder is called after stories. What is in it is one only if its own
// name says so: success-stories are no work.
func likeStories(name string) bool {
	low := strings.ToLower(name)
	return strings.HasSuffix(low, "-stories") || strings.HasSuffix(low, "_stories")
}

// storiesRoot returns the outermost folder of stories above a path, or the
// folder of the file.
func storiesRoot(p string) string {
	root := path.Dir(p)
	for d := path.Dir(p); d != "." && d != "/"; d = path.Dir(d) {
		if isStories(path.Base(d)) {
			root = d
		}
	}
	return root
}

// projectOf returns the folder of the project a story belongs to: the one
// above docs/.
func projectOf(p string) string {
	root := storiesRoot(p)
	parent := path.Dir(root)
	if path.Base(parent) == "docs" {
		return path.Dir(parent)
	}
	return parent
}

// storyName reports whether a path is that of a story.
//
// Stories lie in a folder of stories, or are called *.story.md. What is about
// stories and not one itself (readme, index, template, epics, plans, debug
// notes, the folder of a specification) is left out, and so is what someone
// left who tried out a tool (test.md, teste-1771527778729.md, demo).
func storyName(p string) (storyFile, bool) {
	base := path.Base(p)
	low := strings.ToLower(base)
	ext := path.Ext(low)
	suffix := strings.HasSuffix(low, ".story.md")
	switch ext {
	case ".md":
	case ".yaml", ".yml":
		// Old stories were YAML; plans and gates are too.
		if !strings.HasSuffix(strings.TrimSuffix(low, ext), ".story") && !strings.HasPrefix(low, "story-") {
			return storyFile{}, false
		}
	default:
		return storyFile{}, false
	}
	in, like := suffix, false
	for d := path.Dir(p); d != "." && d != "/"; d = path.Dir(d) {
		name := strings.ToLower(path.Base(d))
		if name == "spec" || name == "qa" {
			return storyFile{}, false
		}
		in, like = in || name == "stories", like || likeStories(name)
	}
	name := stem(low)
	if in = in || like && (strings.HasPrefix(name, "story") || len(storyKey(p).nums) > 1); !in || strings.HasPrefix(base, ".") {
		return storyFile{}, false
	}
	if isAbout(name) || isTrial(name) {
		return storyFile{}, false
	}
	f := storyFile{path: p, key: storyKey(p)}
	if words := nameWords(name, ""); slices.Contains(severalStories, words[len(words)-1]) && len(f.key.nums) < 2 {
		return storyFile{}, false
	}
	f.key.id = cmp.Or(f.key.id, stem(base))
	f.plain = len(f.key.nums) == 0 && !suffix && !strings.HasPrefix(name, "story")
	return f, true
}

// isYAML reports whether a file is YAML by its name. Old stories are.
func isYAML(name string) bool { return oneOf(strings.ToLower(path.Ext(name)), ".yaml|.yml") }

// The words of names that say what a file is.
var (
	// aboutStories are those of documents about stories.
	aboutStories = []string{"readme", "index", "template", "tmpl", "debug", "changelog"}
	// planning are those of plans: at the beginning, or in a name without a number.
	planning = []string{"sprint", "backlog", "roadmap"}
	// severalStories are those of files that hold several stories, at the end:
	// phase-1-stories.
	severalStories = []string{"stories", "historias"}
	// trials are those by which people try out a tool.
	trials = []string{"test", "teste", "testing", "demo", "example", "exemplo", "sample", "dummy", "story"}
)

// nameWords cuts a name at what parts its words, and at the characters of also.
func nameWords(name, also string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_. "+also, r) })
}

const tenDigits = "0123456789"

// isAbout reports whether a name is that of a document about stories.
func isAbout(name string) bool {
	words := nameWords(name, "")
	for i, w := range words {
		switch {
		case slices.Contains(aboutStories, w):
			return true
		case i == 0 && (w == "epic" || w == "epics"):
			// epic-1-story-2 is a story, epic-1-payments is an epic.
			if !strings.Contains(name, "story") {
				return true
			}
		case slices.Contains(planning, w) && (i == 0 || !strings.ContainsAny(name, tenDigits)):
			return true
		}
	}
	return len(words) == 0
}

// isTrial reports whether a name says nothing but that something was tried.
func isTrial(name string) bool {
	words := nameWords(name, tenDigits)
	isOther := func(w string) bool { return !slices.Contains(trials, w) }
	return len(words) > 0 && !slices.ContainsFunc(words, isOther) && (words[0] != "story" || len(words) > 1)
}
