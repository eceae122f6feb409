package examine

import (
	"fmt"
	"strings"

	"reprise"
)

// unrecorded reports commits that may contain part of what comes next: doing that without
// looking at them may do it twice. The decision deals with commits that contain all of
// it.
func unrecorded(r *reprise.Run, _ *World) []reprise.Finding {
	var out []reprise.Finding
	for i := range r.Steps {
		for k := range r.Steps[i].Parts {
			p := &r.Steps[i].Parts[k]
			if p.Ours {
				continue // the outcome of our own attempts is recorded
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
