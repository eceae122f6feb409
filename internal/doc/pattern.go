package doc

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first used: most commands use
// few of them, and each is a process of its own. It panics then if text is none.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
