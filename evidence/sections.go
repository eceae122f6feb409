package evidence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/gitx"
)

// Sections tells which sections of the documents that open runs rest on changed
// since the run was last active: the document as it stood in the last commit by
// then is compared with the one on disk. Ticked boxes are progress, not a change.
// problem says what could not be compared, "" if nothing is missing:
// a document that was not looked at must not pass for one that did not change.
func Sections(ctx context.Context, root string, runs []*reprise.Run, o reprise.Observed) (changes map[string][]reprise.SectionChange, problem string) {
	if o.Git == nil || len(o.Git.Commits) == 0 {
		return nil, ""
	}
	want := map[string]string{} // path to commit
	var list []gitx.At
	// What a run around a story compares it with counts for both: stories come last.
	last := func(r *reprise.Run) int { return map[bool]int{true: 1}[r.Kind.Facts().Document] }
	runs = slices.SortedStableFunc(slices.Values(runs), func(a, b *reprise.Run) int { return last(a) - last(b) })
	for _, r := range runs {
		if !r.State.Open() || r.LastActivity.IsZero() {
			continue
		}
		base := lastBy(o.Git.Commits, r.LastActivity)
		if base == "" {
			continue
		}
		for _, p := range documents(r) {
			if _, ok := want[p]; !ok {
				want[p] = base
				list = append(list, gitx.At{Commit: base, Path: p})
			}
		}
	}
	if len(list) == 0 {
		return nil, ""
	}
	lost := func(err error) string { return "changes in the documents of runs were not looked at: " + err.Error() }
	repo, err := gitx.Open(ctx, root, gitx.Options{})
	if err != nil {
		return nil, lost(err)
	}
	old, err := repo.Contents(ctx, list)
	if err != nil {
		problem = lost(err) // what was read before that still counts
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, lost(err)
	}
	defer dir.Close()
	if len(list) > gitx.MaxContents {
		problem = fmt.Sprintf("changes in %d documents of runs were not looked at: there are too many", len(list)-gitx.MaxContents)
	}
	out := map[string][]reprise.SectionChange{}
	for at, before := range old {
		info, err := dir.Lstat(filepath.FromSlash(at.Path))
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		now, err := dir.ReadFile(filepath.FromSlash(at.Path))
		if err != nil {
			continue
		}
		if changes := compareSections(string(before), string(now), at.Commit); len(changes) > 0 {
			out[at.Path] = changes
		}
	}
	return out, problem
}

// documents are the Markdown files that units of a run are kept in. A story is one
// itself, unless we worked on it: then the journal tells better what it was.
func documents(r *reprise.Run) []string {
	if r.Kind.Facts().Document {
		ours := slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return s.Ours })
		if ours || !strings.HasSuffix(r.Path, ".md") || strings.HasPrefix(r.Path, "../") {
			return nil
		}
		return []string{r.Path}
	}
	var out []string
	add := func(p string) {
		if strings.HasSuffix(p, ".md") && p != r.Path && !strings.HasPrefix(p, "../") {
			out = append(out, p)
		}
	}
	for i := range r.Steps {
		add(r.Steps[i].Path)
	}
	for _, ref := range r.Also {
		add(ref.Path)
	}
	return out
}

// lastBy is the newest commit on the head that was made by then. A time without
// a time of day lasts until the end of that day.
func lastBy(commits []reprise.Commit, at time.Time) string {
	if at.Equal(at.Truncate(24 * time.Hour)) {
		at = at.Add(24*time.Hour - time.Second)
	}
	for _, c := range commits {
		if c.OnHead && !c.At.After(at) {
			return c.Hash
		}
	}
	return ""
}

// section is a heading with the text up to the next heading, of any level.
type section struct{ title, text string }

// compareSections lists the sections that differ, in the order of the new text.
func compareSections(before, now, commit string) []reprise.SectionChange {
	old, fresh := sections(before), sections(now)
	was := map[string]string{}
	for _, s := range old {
		was[s.title] += s.text
	}
	is := map[string]string{}
	for _, s := range fresh {
		is[s.title] += s.text
	}
	var out []reprise.SectionChange
	told := map[string]bool{}
	for _, s := range append(fresh, old...) {
		if told[s.title] {
			continue
		}
		told[s.title] = true
		text, here := is[s.title]
		prior, there := was[s.title]
		switch {
		case !there:
			out = append(out, reprise.SectionChange{Title: s.title, Added: true, Commit: commit})
		case !here:
			out = append(out, reprise.SectionChange{Title: s.title, Removed: true, Commit: commit})
		case text != prior:
			out = append(out, reprise.SectionChange{Title: s.title, Commit: commit})
		}
	}
	return out
}

// sections cuts a document at its headings. Ticks of boxes, blanks at the ends
// of lines and blank lines do not count.
func sections(text string) []section {
	out := []section{{}}
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimLeft(line, " ")
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			if fence == "" {
				fence = trimmed[:3]
			} else if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		}
		if title := strings.TrimLeft(line, "#"); fence == "" && title != line && strings.HasPrefix(title, " ") {
			out = append(out, section{title: strings.TrimSpace(title)})
			continue
		}
		if trimmed == "" {
			continue
		}
		line = strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]").Replace(line)
		out[len(out)-1].text += line + "\n"
	}
	return out
}
