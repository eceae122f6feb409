//go:build !unix

package gitx

import "os"

const openFlags = os.O_RDONLY

// Folders cannot be locked here: what a killed process left stays.
func hold(string) (*os.File, bool) { return nil, true }

func abandoned(string) (*os.File, bool) { return nil, false }
