package reprise

import "errors"

// HintOf returns what a person can do about an error: what the outermost error with a method
// Hint says, or "".
func HintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
