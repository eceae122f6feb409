package longrun

// inCycles returns the nodes that reach themselves: Tarjan's strongly connected
// components, so that the cost grows with the edges and not with their paths.
func inCycles[K comparable](nodes []K, edges func(K) []K) map[K]bool {
	c := cycles[K]{edges: edges, index: map[K]int{}, low: map[K]int{}, onStack: map[K]bool{}, found: map[K]bool{}}
	for _, n := range nodes {
		if _, seen := c.index[n]; !seen {
			c.visit(n)
		}
	}
	return c.found
}

type cycles[K comparable] struct {
	edges      func(K) []K
	index, low map[K]int
	onStack    map[K]bool
	stack      []K
	found      map[K]bool
}

func (c *cycles[K]) visit(n K) {
	c.index[n] = len(c.index)
	c.low[n] = c.index[n]
	c.stack = append(c.stack, n)
	c.onStack[n] = true
	for _, m := range c.edges(n) {
		if m == n {
			c.found[n] = true
		}
		if _, seen := c.index[m]; !seen {
			c.visit(m)
			c.low[n] = min(c.low[n], c.low[m])
		} else if c.onStack[m] {
			c.low[n] = min(c.low[n], c.index[m])
		}
	}
	if c.low[n] != c.index[n] {
		return
	}
	alone := c.stack[len(c.stack)-1] == n
	for {
		m := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		c.onStack[m] = false
		if !alone {
			c.found[m] = true
		}
		if m == n {
			return
		}
	}
}
