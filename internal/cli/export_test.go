package cli

import "time"

// Width is exported for tests.
var Width = width

// Quoted and WrapExact are for tests.
func Quoted(s string) string { return quoted(s) }

func WrapExact(s string, n int) []string { return wrapExact(s, n) }

// Patient gives hooks and the prompt all the time they need.
func Patient() { hookTime, promptTime = time.Minute, time.Minute }
