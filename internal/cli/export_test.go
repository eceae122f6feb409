package cli

import "time"

// Width is exported for tests.
var Width = width

// WrapExact is for tests.
func WrapExact(s string, n int) []string { return wrapExact(s, n) }

// Patient gives hooks and the prompt all the time they need.
func Patient() { hookTime, promptTime, glanceTime = time.Minute, time.Minute, time.Minute }

// Glancing gives the prompt no time but for a glance, and to find out whether that saw
// everything only what it is given.
func Glancing(walk time.Duration) { promptTime, walkTime = 0, walk }
