package engine

// Uncommitted is what no commit held after an attempt.
type Uncommitted struct {
	Step, Dir string
	Names     []string // from the root of the repository
	Why       string
}
