package engine

import (
	"fmt"
)

// cutOffPrefix begins the names of questions about interrupted attempts.
const cutOffPrefix = "cut-off-"

// cutOffQuestion names the question about an interrupted attempt.
func cutOffQuestion(step string, attempt int) string {
	return fmt.Sprintf("%s%s-%d", cutOffPrefix, word(step), attempt)
}
