//go:build !unix

package project

import "time"

var started = time.Now()

// processed is how long this process runs: what processors did for it is not asked.
func processed() time.Duration { return time.Since(started) }
