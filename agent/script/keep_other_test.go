//go:build !linux

package script_test

func parts() map[string]func(args []string) int { return nil }
