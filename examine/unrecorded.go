package examine

import (
	"fmt"
	"strings"

	"reprise"
)

// unrecorded tells of commits that may hold a piece of what comes next: who does
// that without looking at them may do it twice. What they show as a whole is for
// the decision.
func unrecorded(r *reprise.Run, _ *World) []reprise.Finding {
	var out []reprise.Finding
	for i := range r.Steps {
		for k := range r.Steps[i].Parts {
			p := &r.Steps[i].Parts[k]
			if p.Ours {
				continue // what came of our attempts is on record
			}
			var commits []string
			for _, e := range p.Unrecorded() {
				commits = append(commits, e.Source[:min(8, len(e.Source))])
			}
			if len(commits) == 0 {
				continue
			}
			out = append(out, reprise.Finding{
				Subject: p.ID, Source: p.Source,
				Message: fmt.Sprintf("%s is not recorded as done, but %s may contain it or a part of it", name(p.ID), strings.Join(commits, ", ")),
				Hint:    "its agent will be told about them; look at them first",
			})
		}
	}
	return out
}
