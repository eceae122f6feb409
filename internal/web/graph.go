package web

import (
	"cmp"
	"fmt"
	"slices"

	"reprise"
)

// The largest graph that is still useful, and the sizes of its parts.
const (
	mostNodes, mostEdges  = 120, 400
	nodeWide, nodeHigh    = 172, 44
	layerApart, nodeApart = 44, 12
	nodeLetters           = 19 // what is wider is cut off where its box ends
)

// graph is the picture of what steps wait for: layers from left to right, each behind all
// that it needs.
type graph struct {
	Width, Height int
	Nodes         []node
	Edges         []edge
}

// node is one step.
type node struct {
	ID, Label, Title string
	Link             string
	Status           reprise.Status
	Here             bool
	X, Y             int
	layer            int
}

// edge leads from a step to one that needs it.
type edge struct {
	Path     string // as SVG writes it
	from, to int
}

// graphOf makes the picture of steps. Where they do not branch or are too many for one,
// there is none, and why says so; it is "" where no step waits for another.
func graphOf(steps []stepLine) (g *graph, why string) {
	g = &graph{}
	places := map[string]int{}
	for i, s := range steps {
		places[s.ID] = i
		g.Nodes = append(g.Nodes, node{ID: s.ID, Label: cut(s.ID, nodeLetters), Title: cut(s.Title, nodeLetters+4), Link: fmt.Sprintf("#step-%d", i), Status: s.Status, Here: s.Here})
	}
	needs := make([][]int, len(steps))
	for i, s := range steps {
		for _, id := range s.Needs {
			if from, is := places[id]; is && from != i && !slices.Contains(needs[i], from) {
				needs[i] = append(needs[i], from)
			}
		}
	}
	layers := g.layered(needs)
	switch {
	case len(layers) < 2:
		return nil, ""
	case len(layers) == len(steps):
		return nil, "The steps are done one after the other."
	case len(steps) > mostNodes:
		return nil, fmt.Sprintf("There is no picture of what waits for what: %d steps are too many for one.", len(steps))
	}
	g.connect(needs)
	g.bend(layers)
	if len(g.Edges) > mostEdges {
		return nil, fmt.Sprintf("There is no picture of what waits for what: %d steps have too many ties for one.", len(steps))
	}
	g.place(layers)
	g.Nodes = g.Nodes[:len(steps)]
	return g, ""
}

// layered puts each node one layer behind the last of those it needs. What needs itself
// on a way around stays where it is first met.
func (g *graph) layered(needs [][]int) (layers [][]int) {
	depth, open := make([]int, len(needs)), make([]bool, len(needs))
	var visit func(i int) int
	visit = func(i int) int {
		if depth[i] == 0 && !open[i] {
			open[i] = true
			deepest := 0
			for _, from := range needs[i] {
				deepest = max(deepest, visit(from))
			}
			depth[i] = deepest + 1
		}
		return depth[i]
	}
	for i := range needs {
		g.Nodes[i].layer = visit(i) - 1
		for len(layers) <= g.Nodes[i].layer {
			layers = append(layers, nil)
		}
		layers[g.Nodes[i].layer] = append(layers[g.Nodes[i].layer], i)
	}
	return layers
}

// connect draws what is needed directly: what another need brings along is left out.
func (g *graph) connect(needs [][]int) {
	behind := make([]map[int]bool, len(needs)) // all that a node rests on, itself not
	var all func(i int) map[int]bool
	all = func(i int) map[int]bool {
		if behind[i] == nil {
			behind[i] = map[int]bool{}
			for _, from := range needs[i] {
				behind[i][from] = true
				for far := range all(from) {
					behind[i][far] = true
				}
			}
		}
		return behind[i]
	}
	for i := range needs {
		for _, from := range needs[i] {
			if !slices.ContainsFunc(needs[i], func(other int) bool { return other != from && all(other)[from] }) {
				g.Edges = append(g.Edges, edge{from: from, to: i})
			}
		}
	}
}

// bend leads each edge that passes layers through a place of its own in each of them, so
// that it runs behind no node.
func (g *graph) bend(layers [][]int) {
	for i := range g.Edges {
		e := &g.Edges[i]
		for to := e.to; g.Nodes[e.from].layer < g.Nodes[to].layer-1; {
			bend := len(g.Nodes)
			layer := g.Nodes[to].layer - 1
			g.Nodes = append(g.Nodes, node{layer: layer})
			layers[layer] = append(layers[layer], bend)
			g.Edges = append(g.Edges, edge{from: bend, to: to})
			e = &g.Edges[i]
			e.to, to = bend, bend
		}
	}
}

// place gives nodes their places: in each layer beside what they are connected with.
func (g *graph) place(layers [][]int) {
	tallest := 0
	for _, layer := range layers {
		tallest = max(tallest, len(layer))
	}
	g.Width = len(layers)*(nodeWide+layerApart) - layerApart + 8
	g.Height = tallest*(nodeHigh+nodeApart) - nodeApart + 8
	for x, layer := range layers {
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(g.middle(a), g.middle(b)) })
		top := 4 + (tallest-len(layer))*(nodeHigh+nodeApart)/2
		for y, i := range layer {
			g.Nodes[i].X, g.Nodes[i].Y = 4+x*(nodeWide+layerApart), top+y*(nodeHigh+nodeApart)
		}
	}
	for i := range g.Edges {
		from, to := &g.Nodes[g.Edges[i].from], &g.Nodes[g.Edges[i].to]
		x1, y1, x2, y2 := from.X+nodeWide, from.Y+nodeHigh/2, to.X, to.Y+nodeHigh/2
		g.Edges[i].Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+layerApart/2, y1, x2-layerApart/2, y2, x2, y2)
		if to.ID == "" {
			g.Edges[i].Path += fmt.Sprintf("h%d", nodeWide)
		}
	}
}

// middle is the mean height of what a node needs, whose places are known already.
func (g *graph) middle(i int) float64 {
	sum, n := 0, 0
	for _, e := range g.Edges {
		if e.to == i {
			sum, n = sum+g.Nodes[e.from].Y, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}

// cut shortens a text to so many letters.
func cut(text string, most int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:most-1]) + "…"
}
