package orchestrate

import (
	"cmp"
	"slices"
	"strings"

	"reprise"
)

// Choice is what Rank chooses from, for tests that weigh it anew.
type Choice struct {
	Ahead  []string       // what current states offer, the first first
	Paths  []string       // the open stories, in the order that breaks ties
	Values [][]float64    // their terms
	Ranked []*reprise.Run // what Rank makes of it
}

// Choices gives what Rank chooses from.
func Choices(runs []*reprise.Run, o reprise.Observed) (c Choice) {
	c.Ranked = slices.Clone(runs)
	New().Rank(c.Ranked, o)
	k := newRanking(runs, o)
	stories := make([]*entry, 0, len(k.stories))
	for _, r := range c.Ranked {
		switch key := k.key(r); key.tier {
		case tierCurrent:
			for _, u := range r.Next {
				c.Ahead = append(c.Ahead, u.Path)
			}
			c.Ahead = append(c.Ahead, r.Path)
		case tierStory, tierOffered:
			stories = append(stories, k.stories[r])
		}
	}
	c.Ahead = distinct(c.Ahead)
	slices.SortStableFunc(stories, func(a, b *entry) int {
		return cmp.Or(compareOrder(a.key, b.key), strings.Compare(a.run.Path, b.run.Path))
	})
	for _, e := range stories {
		v := k.values(e)
		c.Paths, c.Values = append(c.Paths, e.run.Path), append(c.Values, v[:])
	}
	return c
}

// Terms gives the names and weights of the terms.
func Terms() (names []string, weights []float64) {
	for _, t := range terms {
		names, weights = append(names, t.name), append(weights, t.weight)
	}
	return names, weights
}

func distinct(paths []string) (out []string) {
	for _, p := range paths {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
