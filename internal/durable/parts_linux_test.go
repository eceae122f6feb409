package durable_test

// parts are what only some systems can play.
func parts() map[string]func(dir string) int {
	return map[string]func(string) int{"kill": playKill, "limit": playLimit}
}
