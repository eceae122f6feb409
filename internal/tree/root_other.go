//go:build !linux

package tree

func openRoot(dir string) (root, error) { return openPortable(dir) }
