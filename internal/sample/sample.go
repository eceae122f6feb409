// Package sample lets a test try some of its cases, others in every run, and all of
// them when REPRISE_ALL is set, as `make nightly` does. It is for tests only.
package sample

import (
	"cmp"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// All reports whether every case is to be tried, however long that takes.
func All() bool { return os.Getenv("REPRISE_ALL") != "" }

var seed = sync.OnceValue(func() uint64 {
	if s, err := strconv.ParseUint(os.Getenv("REPRISE_SEED"), 10, 64); err == nil {
		return s
	}
	return uint64(time.Now().UnixNano())
})

// Seed is the seed of all random choices of this process: REPRISE_SEED, or else a
// new one. The test says which, so that it can be run again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	t.Logf("REPRISE_SEED=%d", seed())
	return seed()
}

// Every gives a function that tells for case i whether it is one of the sample: one
// case in n, beginning with a random one. It is true for all cases under All.
func Every(t testing.TB, n int) func(i int) bool {
	t.Helper()
	if All() {
		return func(int) bool { return true }
	}
	first := int(Seed(t) % uint64(n))
	return func(i int) bool { return i%n == first }
}

// Drawn skips a test that takes long unless it is its turn.
func Drawn(t testing.TB) {
	t.Helper()
	if !Turn(t, t.Name()) {
		t.Skip("another test was drawn; REPRISE_DRAW=1 tries all of them, -run those that it names")
	}
}

// Turn reports whether it is the turn of one of many cases that take long, by its name: of one in
// REPRISE_DRAW, which is 8 unless it is set. All of them are tried under All, and where -run names
// what is to be tried.
func Turn(t testing.TB, name string) bool {
	t.Helper()
	n, err := strconv.ParseUint(cmp.Or(os.Getenv("REPRISE_DRAW"), "8"), 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("REPRISE_DRAW=%s is not how many cases one is drawn from", os.Getenv("REPRISE_DRAW"))
	}
	if run := flag.Lookup("test.run"); n == 1 || All() || run != nil && run.Value.String() != "" {
		return true
	}
	sum := fnv.New64a()
	fmt.Fprint(sum, name, Seed(t))
	return sum.Sum64()%n == 0
}
