//go:build !unix

package conventiontest

import "os"

// mkfifo makes a folder: there are no FIFOs here, and it is no file to read either.
func mkfifo(path string) error { return os.Mkdir(path, 0o755) }
