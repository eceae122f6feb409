package web

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"reprise"
	"reprise/report"
)

// steps are given as "a b<a c<a,b": what each needs.
func stepsOf(text string) (out []stepLine) {
	for word := range strings.FieldsSeq(text) {
		id, needs, _ := strings.Cut(word, "<")
		step := report.Step{ID: id, Status: reprise.Pending}
		if needs != "" {
			step.Needs = strings.Split(needs, ",")
		}
		out = append(out, stepLine{Step: step})
	}
	return out
}

func TestA_graph_puts_steps_behind_what_they_need(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps  string
		layers string // the layer of each step, or why there is no picture
		edges  int
	}{
		"a fork":                     {"a b<a c<a d<b,c", "0112", 4},
		"what others bring along":    {"a b<a c<a,b d<a", "0121", 3},
		"a chain is a list":          {"a b<a c<b", "The steps are done one after the other.", 0},
		"nothing needs anything":     {"a b c", "", 0},
		"two chains":                 {"a b<a c d<c", "0101", 2},
		"a need that is not there":   {"a b<x c<a", "001", 1},
		"steps that need each other": {"a<b b<a c<a d<a", "1022", 4},
		"an edge over a layer":       {"a b<a c<b d<a e<c,d", "01213", 6},
		"many that need nothing":     {strings.Repeat("a ", 300), "", 0},
		"too many ties":              {manyTies(20), "There is no picture of what waits for what: 60 steps have too many ties for one.", 0},
		"too many":                   {manySteps(200), "There is no picture of what waits for what: 201 steps are too many for one.", 0},
	} {
		g, why := graphOf(stepsOf(c.steps))
		if g == nil {
			if why != c.layers {
				t.Errorf("%s: there is no picture: %q, want %q", name, why, c.layers)
			}
			continue
		}
		layers := ""
		for _, n := range g.Nodes {
			layers += fmt.Sprint((n.X - 4) / (nodeWide + layerApart))
			if n.X+nodeWide > g.Width || n.Y+nodeHigh > g.Height || n.X < 0 || n.Y < 0 {
				t.Errorf("%s: %s lies outside: %+v", name, n.ID, n)
			}
		}
		if layers != c.layers || len(g.Edges) != c.edges {
			t.Errorf("%s: layers %s and %d edges, want %s and %d", name, layers, len(g.Edges), c.layers, c.edges)
		}
	}
}

func manySteps(n int) string {
	text := "a"
	for i := range n {
		text += fmt.Sprintf(" s%d<a", i)
	}
	return text
}

// manyTies are three layers, each step of which needs all of the layer before it.
func manyTies(n int) (text string) {
	for layer := range 3 {
		for i := range n {
			text += fmt.Sprintf(" %d-%d<", layer, i)
			for far := range n {
				text += fmt.Sprintf("%d-%d,", layer-1, far)
			}
		}
	}
	return text
}

// What a step is called is cut off where its box ends, however wide its letters are.
func TestA_graph_keeps_names_in_their_boxes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("W", 60)
	picture, _ := graphOf(stepsOf(long + " b<" + long + " c<" + long))
	text, err := render("graph", picture)
	if err != nil {
		t.Fatal(err)
	}
	boxes := regexp.MustCompile(`<svg x="\d+" y="\d+" width="(\d+)" height="44"><text[^>]*>.*?</text><text[^>]*>.*?</text></svg>`).FindAllSubmatch(text, -1)
	if len(boxes) != 3 {
		t.Fatalf("%d names are in a box:\n%s", len(boxes), text)
	}
	if wide, _ := strconv.Atoi(string(boxes[0][1])); wide > nodeWide {
		t.Errorf("a box of %d holds a name of %d", nodeWide, wide)
	}
}
