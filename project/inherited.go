package project

import (
	"math"
	"strings"

	"reprise"
	"reprise/journal"
)

// inherited gives the doubts on record in the journals of runs that are no longer there, for those
// of the same kind without a journal in which the same steps are closed: a run that is renamed
// takes its doubts along.
func inherited(orphans map[string]logged, runs []*reprise.Run, recorded func(*reprise.Run) bool) (out []meanwhile) {
	for name, log := range orphans {
		doubts := reprise.Doubts(log.events())
		for _, r := range runs {
			if len(doubts) == 0 || r.Gone() != nil || recorded(r) || !strings.HasPrefix(name, r.Layout+"-") || r.Kind.Facts().Phased && !journal.Names(name, r.Ref) {
				continue
			}
			m := meanwhile{Changed: Changed{Ref: r.Ref, gen: math.MaxUint64}}
			for _, d := range doubts {
				if s := r.Step(d.Step); s != nil && s.Status.Closed() && d.Listed == nil && s.Title == log.title(&d) {
					m.Marked = append(m.Marked, d)
				}
			}
			if len(m.Marked) > 0 {
				out = append(out, m)
			}
		}
	}
	return out
}

// title is what a step in doubt was called.
func (l *logged) title(d *reprise.Event) string {
	for _, at := range l.hist.Listed {
		if at.ID == d.Step {
			return at.Title
		}
	}
	return d.Text
}
