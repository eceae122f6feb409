//go:build !race

package script_test

const floodMB = 200

var raceEnv []string
