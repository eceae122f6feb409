package orchestrate

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"reprise"
)

// homes are the state folders, the latest generation of the tool last.
var playHomes = []string{".aios", ".aiox", ".nexos"}

// home is the state folder of a project: the latest that is there.
func home(fsys fs.FS) string {
	out := ".aiox"
	for _, h := range playHomes {
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

func notFromNothing(what, why string) error {
	return fmt.Errorf("begin %s: %s: %w", what, why, reprise.ErrNotFromNothing)
}

// isName reports whether an id can be part of a file name.
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

// storyNumber is the id at the beginning of a story's name: 1.2, 4-1, US-21,
// CP-8.1, m1; epicFolder a folder that gives a bare number its epic.
var (
	storyNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[A-Za-z]\d{1,3}|(?:[A-Za-z]+-)*\d+(?:[.-]\d{1,4})*)(?:[-._]|$)`)
	})
	playEpicFolder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:epic)-(\d+)$`) })
)

// storyID is what a story is called, as the layout calls it: the number its file
// name begins with, else the name.
func storyID(name string) string {
	base := path.Base(name)
	for _, ext := range []string{path.Ext(base), ".story"} {
		base = strings.TrimSuffix(base, ext)
	}
	if strings.Contains(strings.ToLower(base), "-story-") {
		return base
	}
	rest := base
	for _, word := range []string{"STORY-", "story-", "Story-"} {
		rest = strings.TrimPrefix(rest, word)
	}
	id := strings.TrimRight(storyNumber().FindString(rest), "-._")
	if id == "" {
		return base
	}
	if m := playEpicFolder().FindStringSubmatch(path.Base(path.Dir(name))); m != nil && !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsDigit(r) }) {
		return m[1] + "." + id
	}
	return id
}

// maxWalk bounds how many entries are looked at for a story.
const maxWalk = 20000

// findStory looks for the file of a story by its id in the folders for stories,
// "" if there is none. One in a folder for finished work is found too. A folder
// that cannot be read is an error: a second story of that name would be made.
func findStory(fsys fs.FS, id string) (string, error) {
	found, seen := "", 0
	for _, root := range []string{"docs", "stories"} {
		if !exists(fsys, root) {
			continue
		}
		err := fs.WalkDir(fsys, root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if seen++; seen > maxWalk || found != "" {
				return fs.SkipAll
			}
			low := strings.ToLower(p)
			story := strings.HasSuffix(low, ".story.md") || strings.Contains("/"+low, "/stories/") && strings.HasSuffix(low, ".md")
			if !d.IsDir() && story && !strings.Contains(low, "/spec/") && strings.EqualFold(storyID(p), id) {
				found = p
			}
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("look for story %s: %w", id, err)
		}
	}
	return found, nil
}
