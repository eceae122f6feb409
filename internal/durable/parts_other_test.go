//go:build !unix

package durable_test

func parts() map[string]func(dir string) int { return nil }
