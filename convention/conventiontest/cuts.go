package conventiontest

import (
	"math/rand/v2"
	"slices"
	"strings"

	"reprise/internal/sample"
)

// cuts are the places at which a file is cut: behind the tokens of its format,
// and some others.
func cuts(data []byte, random *rand.Rand) []int {
	if sample.All() {
		step := max(1, len(data)/2000)
		var all []int
		for cut := 0; cut < len(data); cut += step {
			all = append(all, cut)
		}
		return all
	}
	var borders []int
	for i, b := range data {
		if strings.IndexByte("{}[],:\"|\n", b) >= 0 {
			borders = append(borders, i, i+1)
		}
	}
	out := append([]int{0}, some(borders, 25, random)...)
	for range 8 {
		out = append(out, random.IntN(len(data)+1))
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(cut int) bool { return cut >= len(data) })
}

// some picks at most so many of a list; all of them with REPRISE_ALL=1.
func some[T any](list []T, most int, random *rand.Rand) []T {
	if len(list) <= most || sample.All() {
		return list
	}
	out := make([]T, 0, most)
	for _, i := range random.Perm(len(list))[:most] {
		out = append(out, list[i])
	}
	return out
}
