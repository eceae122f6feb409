package orchestrate

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// home is the state folder of a project: the latest that is there, else that of
// the current generation of the tool.
func home(fsys fs.FS) string {
	out := ".aiox"
	for _, h := range homes {
		if exists(fsys, h) {
			out = h
		}
	}
	return out
}

func exists(fsys fs.FS, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// begun is the run of a ref as it is there, or with the event that makes it.
func begun(fsys fs.FS, ref reprise.Ref, g reprise.Goal, ev reprise.Event) (reprise.Ref, []reprise.Event, error) {
	if exists(fsys, ref.Path) {
		return ref, nil, nil
	}
	ev.Kind, ev.At, ev.Outcome = reprise.RunStarted, g.Now, g.Mode
	return ref, []reprise.Event{ev}, nil
}

func notFromNothing(what, why string) error {
	return &reprise.MissingError{Run: what, What: why}
}

// isName reports whether an id can be part of a file name or a key.
func isName(id string) bool {
	if id == "" || len(id) > 100 || id[0] == '.' || id[0] == '-' {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_", r)
	}) < 0
}

// slug makes a name of a text: its first words.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	out := ""
	for _, w := range words {
		if len(out)+len(w) > 40 && out != "" {
			break
		}
		out = strings.Trim(out+"-"+w, "-")
	}
	if len(out) > 60 {
		out = strings.ToValidUTF8(out[:60], "")
	}
	return out
}

// stateIn reads a state file, absent if it holds none.
func stateIn(fsys fs.FS, name string) ledger.Value {
	l := newLoader(fsys, reprise.Ref{Path: name})
	f, n := l.structured(name)
	return ledger.Root(f, n)
}

// storyRef is the run of a story.
func storyRef(name string) reprise.Ref {
	return reprise.Ref{Layout: layoutName, ID: cmp.Or(storyKey(name).id, stem(path.Base(name))), Path: name, Kind: reprise.KindStory}
}

// namedStory returns the file of the story that a person named by its place or its id. Where a
// story is found once it is made, it need not be there yet.
func namedStory(fsys fs.FS, what, named string) (string, error) {
	if _, place := storyName(named); place || exists(fsys, named) {
		return named, nil
	}
	name, err := findStory(fsys, path.Base(named))
	if err == nil && name == "" {
		err = notNamed(what, "story", named, reprise.KindStory)
	}
	return name, err
}

// notNamed says that nothing has the name that a person gave, and how it is begun under that name.
func notNamed(run, what, named string, kind reprise.Kind) error {
	id := path.Base(named)
	if !isName(id) {
		id = "1.1"
	}
	return &reprise.MissingError{
		Run: run, What: fmt.Sprintf("there is no %s %s", what, doc.Clip(named, 100)),
		Do: fmt.Sprintf("name its file, or begin it: `reprise run %s --id %s \"what it is about\"`", kind, id),
	}
}

// findStory looks for the file of a story by its id, "" if there is none. One in a
// folder for finished work is found too. A folder for stories that cannot be read is
// an error: a second story of that name would be made.
func findStory(fsys fs.FS, id string) (string, error) {
	t := survey(fsys)
	for _, s := range t.stories {
		if strings.EqualFold(s.key.id, id) {
			return s.path, nil
		}
	}
	for p, err := range t.unread {
		if first, _, _ := strings.Cut(p, "/"); first == "docs" || first == "stories" {
			return "", fmt.Errorf("look for story %s: %s: %s", id, p, doc.Cause(err))
		}
	}
	return "", nil
}
