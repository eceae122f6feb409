//go:build !wip

package engine

type flows struct{}
