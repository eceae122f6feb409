package durable

// IsNetwork reports whether a file system of this kind is refused.
func IsNetwork(magic uint32) bool { return networks[magic] != "" }
