//go:build race

package script_test

// floodMB is less where every access to memory is watched.
const floodMB = 20

// A watched program waits for a second before it ends, and a shim is one.
var raceEnv = []string{"GORACE=atexit_sleep_ms=0"}
