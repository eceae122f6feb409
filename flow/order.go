package flow

import (
	"slices"
	"strings"

	"reprise/internal/doc"
)

// maxShown bounds the cycle that is printed.
const maxShown = 12

// resolve reports needs that no step meets.
func (p *parser) resolve() {
	ids := make([]string, len(p.w.steps))
	for i, s := range p.w.steps {
		ids[i] = s.ID
	}
	for _, s := range p.w.steps {
		for i, need := range s.Needs {
			if _, ok := p.at[need]; ok {
				continue
			}
			hint := ""
			if near := doc.Near(need, ids); near != "" {
				hint = "did you mean " + near + "?"
			}
			p.needs[s.ID][i].Report(hint, "there is no step %q", doc.Clip(need, 40))
		}
	}
}

// cycle reports the first circle of needs, with the way around it. The search
// keeps its own stack: a chain of thousands of steps is no reason to recurse.
func (p *parser) cycle() {
	index := make(map[string]int, len(p.w.steps))
	for i, s := range p.w.steps {
		index[s.ID] = i
	}
	const onPath, closed = 1, 2
	state := make([]int, len(p.w.steps))
	type visit struct{ step, next int }
	for start := range p.w.steps {
		if state[start] != 0 {
			continue
		}
		state[start] = onPath
		stack := []visit{{start, 0}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			s := &p.w.steps[top.step]
			if top.next == len(s.Needs) {
				state[top.step] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			need, ok := index[s.Needs[top.next]]
			top.next++
			switch {
			case !ok || state[need] == closed:
			case state[need] == onPath:
				from := slices.IndexFunc(stack, func(v visit) bool { return v.step == need })
				var way []string
				for _, v := range stack[from:] {
					way = append(way, p.w.steps[v.step].ID)
				}
				p.needs[s.ID][top.next-1].Report("one of them must not need the other", "the steps need each other in a circle: %s", circle(way))
				return
			default:
				state[need] = onPath
				stack = append(stack, visit{need, 0})
			}
		}
	}
}

// circle shows the way around, its middle left out where it is long.
func circle(way []string) string {
	way = append(way, way[0])
	if len(way) > maxShown {
		way = slices.Concat(way[:maxShown/2], []string{"…"}, way[len(way)-maxShown/2:])
	}
	return strings.Join(way, " → ")
}
