//go:build !unix

package gitx

import "os"

const openFlags = os.O_RDONLY
