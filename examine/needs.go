package examine

import (
	"fmt"
	"strings"

	"reprise"
)

// cycle finds steps that wait for each other. It reports one cycle, unless the reader
// already has. It keeps its own stack, since a graph can be deep.
func cycle(r *reprise.Run, _ *World) []reprise.Finding {
	if told(r, reprise.CodeCycle, "") {
		return nil
	}
	index := map[string]int{}
	for i := range r.Steps {
		if _, ok := index[r.Steps[i].ID]; !ok {
			index[r.Steps[i].ID] = i
		}
	}
	const white, grey, black = 0, 1, 2
	colour := make([]int, len(r.Steps))
	type frame struct{ step, need int }
	for start := range r.Steps {
		if colour[start] != white || r.Steps[start].Status.Closed() {
			continue
		}
		colour[start] = grey
		stack := []frame{{start, 0}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			needs := r.Steps[top.step].Needs
			if top.need == len(needs) {
				colour[top.step] = black
				stack = stack[:len(stack)-1]
				continue
			}
			next, ok := index[needs[top.need]]
			top.need++
			switch {
			case !ok || colour[next] == black || r.Steps[next].Status.Closed():
			case colour[next] == white:
				colour[next] = grey
				stack = append(stack, frame{next, 0})
			default:
				var ring []string
				for _, f := range stack {
					if len(ring) > 0 || f.step == next {
						ring = append(ring, r.Steps[f.step].ID)
					}
				}
				return []reprise.Finding{cycleFinding(r, &r.Steps[next], ring)}
			}
		}
	}
	return nil
}

func cycleFinding(r *reprise.Run, s *reprise.Step, ring []string) reprise.Finding {
	const most = 8
	var shown []string
	for i, id := range ring {
		if i == most {
			shown = append(shown, fmt.Sprintf("%d more", len(ring)-most))
			break
		}
		shown = append(shown, name(id))
	}
	message := "steps wait for each other: " + strings.Join(append(shown, name(ring[0])), " → ")
	if len(ring) == 1 {
		message = name(ring[0]) + " waits for itself"
	}
	return reprise.Finding{
		Subject: s.ID, Source: s.Source,
		Message: message, Hint: "remove one of these dependencies",
	}
}

// unknownDependency finds open steps that wait for something that is neither a step nor a
// run of this project.
func unknownDependency(r *reprise.Run, o *World) []reprise.Finding {
	var out []reprise.Finding
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status.Closed() || len(s.Needs) == 0 || told(r, reprise.CodeUnknownDependency, s.ID) {
			continue
		}
		var lost []string
		for _, need := range s.Needs {
			if r.Step(need) == nil && peerCalled(r, o, need) == nil {
				lost = append(lost, need)
			}
		}
		if len(lost) == 0 {
			continue
		}
		out = append(out, reprise.Finding{
			Subject: s.ID, Source: s.Source,
			Message: fmt.Sprintf("%s waits for %s, which the run does not know", name(s.ID), list(lost)),
			Hint:    "correct the dependency, or the step can never start",
		})
	}
	return out
}
