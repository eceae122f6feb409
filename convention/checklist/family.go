// Package checklist reads and writes task lists that other tools keep as Markdown
// with check boxes: one run for each list, one step for each item with an id.
// What differs between the tools is one entry in the table of families; reading,
// recording and working on a list are the same for all of them.
//
// The box is the only ledger: ticked is done, open is pending. An item that
// stands twice is done only where each of its boxes is ticked.
package checklist

import (
	"regexp"
	"sync"

	"reprise"
)

// Family is the task lists of one tool.
type Family struct {
	Name string // of the convention, as refs have it
	// Lists is where the lists lie, a pattern of path.Match. The folder of a list
	// names its run.
	Lists string
	// Title is what the heading of a list begins with. A file that has it is a list
	// even where no item can be read: it lost them.
	Title string
	// Item is what stands behind a box: the id of the item, then its text. Boxes
	// of another form are no tasks.
	Item *regexp.Regexp
	// Parallel is the mark of items that may be worked on beside their neighbours.
	Parallel string
	// Inputs are files beside the list that whoever does an item should read.
	Inputs []string
	// Marks are folders that may hold lists. They are looked into even where git
	// ignores them.
	Marks []string
	// Elsewhere is a folder beside the list that shows that another convention
	// keeps its state.
	Elsewhere string
}

// Families are the tools whose lists are read.
func Families() []Family { return families() }

// families is the table. A new tool is an entry here.
var families = sync.OnceValue(func() []Family {
	return []Family{
		{
			Name: "speckit", Lists: "specs/*/tasks.md", Marks: []string{"specs"}, Elsewhere: ".workflow", Title: "Tasks:",
			Item:     regexp.MustCompile(`^\**(T\d+[A-Za-z]?)\b\**[:.]?\s+(.+)`),
			Parallel: "[P]",
			Inputs:   []string{"spec.md", "plan.md", "research.md", "data-model.md", "quickstart.md"},
		},
	}
})

// Layout reads and writes the lists of one family.
type Layout struct{ family Family }

// New returns the convention of a family.
func New(f Family) reprise.Layout { return Layout{f} }

// Name returns the name of the family.
func (l Layout) Name() string { return l.family.Name }
