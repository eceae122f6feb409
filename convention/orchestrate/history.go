package orchestrate

import (
	"time"

	"reprise"
)

// bulkStories is how many stories a commit may change and still say something
// about each: reformatting or moving the whole folder says nothing. A story that
// such a commit adds was made by it all the same.
const bulkStories = 10

// history is the order in which git saw the stories change. Its times are the
// positions of commits, larger for later: the clocks of the machines that made
// them play no part.
type history struct {
	last map[string]time.Time // by the last commit that is not bulk
	any  map[string]time.Time // by the last commit of any size
	when map[string]time.Time // the time that commit says it was made
}

// newHistory reads it off the observed commits, newest first. Renamed files keep
// their past.
func newHistory(runs []*reprise.Run, o reprise.Observed) history {
	h := history{last: map[string]time.Time{}, any: map[string]time.Time{}, when: map[string]time.Time{}}
	if o.Git == nil {
		return h
	}
	story := map[string]bool{}
	for _, r := range runs {
		if r.Kind == reprise.KindStory {
			story[r.Path] = true
		}
	}
	count := len(o.Git.Commits)
	for _, c := range o.Git.Changed {
		// What is not committed yet was touched after every commit.
		if story[c.Path] && c.Worktree == "" {
			h.note(h.last, c.Path, count+1)
			h.note(h.any, c.Path, count+1)
			h.when[c.Path] = o.Now
		}
	}
	now := map[string]string{} // an old name to the one of today
	for i, c := range o.Git.Commits {
		if c.Merge || len(c.Files) == 0 {
			continue
		}
		touched := map[string]bool{} // a story of today to whether it was added
		for _, f := range c.Files {
			name := f.Path
			if today, ok := now[name]; ok {
				name = today
			}
			if f.From != "" {
				now[f.From] = name
			}
			if story[name] {
				touched[name] = touched[name] || f.Added
			}
		}
		for name, added := range touched {
			h.note(h.any, name, count-i)
			if _, ok := h.when[name]; !ok {
				h.when[name] = c.At
			}
			if len(touched) <= bulkStories || added {
				h.note(h.last, name, count-i)
			}
		}
	}
	return h
}

func (h history) note(in map[string]time.Time, name string, position int) {
	if _, ok := in[name]; !ok {
		in[name] = time.Unix(int64(position), 0).UTC()
	}
}

// known reports whether git has seen any story.
func (h history) known() bool { return len(h.any) > 0 }

func (h history) of(name string) (last, any time.Time) { return h.last[name], h.any[name] }

// at is the time of the last change, by the commit's own clock.
func (h history) at(name string) time.Time { return h.when[name] }
