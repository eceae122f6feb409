//go:build unix && !linux

package durable_test

func parts() map[string]func(dir string) int { return map[string]func(string) int{"kill": playKill} }
