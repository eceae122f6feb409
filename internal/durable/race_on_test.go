//go:build race

package durable_test

// raceEnabled makes the long tests shorter: the detector slows them tenfold.
const raceEnabled = true
