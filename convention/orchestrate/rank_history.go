package orchestrate

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"reprise"
)

// bulkStories is how many stories a commit may change and still say something
// about each: reformatting or moving the whole folder says nothing. A story that
// such a commit adds was made by it all the same.
const bulkStories = 5

// history is the order in which the stories were changed: by git where it has
// seen one, else by the days written in them. The clocks of the machines that made
// the commits play no part in the order.
type history struct {
	ages    map[string]int // by path: how many changes of any story came later
	changes int            // of any story; the age of one that never was changed
	latest  time.Time      // of the last change; an import is none
	last    []key          // the stories that the last commit names
}

func newHistory(runs []*reprise.Run, o reprise.Observed) history {
	h := history{ages: map[string]int{}}
	stories := map[string]bool{}
	for _, r := range runs {
		if r.Kind == reprise.KindStory {
			stories[r.Path] = true
		}
	}
	if o.Git != nil {
		h.fromGit(stories, o)
	}
	if len(h.ages) == 0 {
		h.fromDates(runs, o.Now)
	}
	return h
}

// fromGit reads the commits of the current branch, newest first. Renamed files
// keep their past. What is not committed was changed after every commit.
func (h *history) fromGit(stories map[string]bool, o reprise.Observed) {
	for _, c := range o.Git.Changed {
		if stories[c.Path] && c.Worktree == "" {
			h.ages[c.Path], h.changes, h.latest = 0, 1, o.Now
		}
	}
	names := map[string]string{} // an old name to the one of today
	commits, worked, edited := 0, false, h.latest
	for _, c := range o.Git.Commits {
		if c.Merge || !c.OnHead {
			continue
		}
		touched := map[string]bool{} // a story of today to whether it was added
		for _, f := range c.Files {
			name := f.Path
			if today, ok := names[name]; ok {
				name = today
			}
			if f.From != "" {
				names[f.From] = name
			}
			if stories[name] {
				touched[name] = touched[name] || f.Added
			}
		}
		if len(touched) == 0 {
			continue
		}
		if commits == 0 {
			h.last = keysIn(c.Subject)
		}
		if commits++; !worked && len(touched) <= bulkStories {
			worked, h.latest = true, later(h.latest, c.At)
		}
		for name, added := range touched {
			if _, known := h.ages[name]; !known && (len(touched) <= bulkStories || added) {
				h.ages[name] = h.changes
			}
		}
		h.changes++
	}
	if commits == 1 {
		h.latest = edited // all came with one commit, an import
	}
}

// fromDates goes by the latest day that each story names and that is not to come.
// The time of the file itself says nothing: a checkout sets it for all alike.
func (h *history) fromDates(runs []*reprise.Run, now time.Time) {
	limit := endOfDay(now)
	written := map[string]time.Time{}
	var days []time.Time
	for _, r := range runs {
		for _, d := range r.Dates {
			if r.Kind == reprise.KindStory && !d.At.After(limit) && d.At.After(written[r.Path]) {
				written[r.Path] = d.At
			}
		}
		if day := written[r.Path]; !day.IsZero() {
			days, h.latest = append(days, day), later(h.latest, day)
		}
	}
	slices.SortStableFunc(days, func(a, b time.Time) int { return b.Compare(a) })
	days = slices.CompactFunc(days, time.Time.Equal)
	for p, day := range written {
		h.ages[p] = slices.IndexFunc(days, day.Equal)
	}
	h.changes = len(days)
}

// age is how many changes of stories came after the last one of this story.
func (h *history) age(name string) int {
	if age, known := h.ages[name]; known {
		return age
	}
	return min(h.changes, math.MaxInt32)
}

// names reports whether the subject of the last commit names a story.
func (h *history) names(k key) bool { return slices.ContainsFunc(h.last, k.same) }

// keysIn reads the ids that a commit's subject names. A number alone may count
// anything; behind the word story it is an id.
func keysIn(subject string) []key {
	words := strings.FieldsFunc(subject, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	})
	var out []key
	for i, w := range words {
		w = strings.Trim(w, "-_.")
		k := nameKey(w)
		bare := len(k.nums) == 1 && k.prefix == "" && k.id == w
		if len(k.nums) > 0 && (!bare || i > 0 && isStoryWord(words[i-1])) {
			out = append(out, k)
		}
	}
	return out
}

// endOfDay is the end of today, by the local or the universal calendar,
// whichever is later: files are written in both.
func endOfDay(now time.Time) time.Time {
	y, m, d := now.Date()
	local := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	y, m, d = now.UTC().Date()
	universal := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	return later(local, universal).Add(24*time.Hour - time.Second)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
