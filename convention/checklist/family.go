// Package checklist reads and writes task lists that other tools keep: Markdown with
// check boxes, or JSON, JSON lines and YAML with a status for each task. A run is one
// list, a step one task that has no parts of its own.
//
// What differs between the tools is one entry in the table of families; reading,
// deciding, recording and working on a list are the same for all of them.
//
// A task that stands twice is done only where each of its places says so. A word that
// the family does not know is unknown, never open or done.
package checklist

import (
	"regexp"
	"slices"
	"sync"

	"reprise"
	"reprise/internal/doc"
)

// Form is how a list is written.
type Form string

// The forms.
const (
	Boxes Form = "boxes" // Markdown, a task is an item with a check box
	JSON  Form = "json"
	Lines Form = "jsonl" // JSON lines, a task is a line
	YAML  Form = "yaml"
)

// Family is the task lists of one tool.
type Family struct {
	Name string // of the convention, as refs have it
	Form Form
	// Lists is where the lists lie in a project, patterns of path.Match; the first name has
	// no * in it. A list is named after its folder where the pattern leaves that open, else
	// after its file; of such files in one folder the first counts.
	Lists []string
	// Archived is where lists are put away once their work is over, a pattern as those of
	// Lists. The folder of such a list has the name of the run, which more may stand before.
	Archived string
	// Marks are folders that may hold lists. They are looked into even where git
	// ignores them.
	Marks []string
	// Elsewhere is a folder beside the list that shows that another convention
	// keeps its state.
	Elsewhere string
	// Inputs are files beside the list that whoever does a task should read; {id}
	// stands for the id of the task.
	Inputs []string
	// Words are what stands for a status: the mark in a box, or the word. The first one
	// is written. A status without a word cannot be recorded.
	Words map[reprise.Status][]string
	// Item is the form of what stands behind a box, or of a task's id where others stand
	// beside them. It has a group named id; it may have those named text, phase and, for
	// tasks that need not be done, optional. What has another form is no task.
	Item *regexp.Regexp

	// Person is the form of tasks that only a person can do. Where one comes next, it is asked
	// for, and nothing behind it is started.
	Person *regexp.Regexp
	// Overall are files beside the list that tell how all of it stands. In JSON that is the
	// value of the key; in Markdown, without a key, the last box up to the line with the name of
	// the list's folder. The tasks are right where they disagree.
	Overall map[string]string
	// Unnumbered lets entries without an id be tasks; of items with boxes, where none in the
	// list has one. The words that an item begins with are its id then.
	Unnumbered bool
	// Shared says that other files may lie where the lists are: one without a task, and
	// without the heading or the key of a list, is none.
	Shared bool

	// The rest is for boxes.

	// Title is what the heading of a list begins with.
	Title string
	// Within is the form of headings that number the tasks below them anew. It has a group
	// named id, which stands in front of the ids of these tasks.
	Within *regexp.Regexp
	// Stages are the words for the status of what such a heading stands for, on a line named
	// Label below it, and for that of the whole list. A heading without boxes is a task itself.
	Stages map[reprise.Status][]string
	// Position is the form of a line, behind the heading that it stands below, that says in
	// which part of the list the work is, with a group named id as Within has one.
	Position *regexp.Regexp
	// Parallel is the mark of items that may be done in parallel with their neighbours.
	Parallel string

	// The rest is for the other forms.

	// Items is where the tasks stand: keys with dots between, where * is any key, which
	// becomes a part of the id. The first place that the file has counts.
	Items []string
	Keys  Keys
	// Current is a JSON file beside the list, and CurrentKey its key that names the place
	// in the list where the work is: the first * of Items.
	Current, CurrentKey string
	// NoTasks are what entries say that are no tasks, by the key that says it: messages,
	// headings, templates.
	NoTasks map[string][]string
	// Ranks are the words for how urgent a task is, the most urgent first. A number may stand
	// there, too: the lowest is the most urgent.
	Ranks []string
	// Beside is where a file for each task may lie, {id} standing for its id, that has its
	// status on a line named Label, too. The list is right where they disagree.
	Beside []string
	Label  string
	// Pruned says that the tool takes finished tasks off the list, so that a need which is not
	// there is met. Foreign is what the id of one begins with that other projects have.
	Pruned  bool
	Foreign string
	// Aside is the form of ids that stand beside the tasks and are none.
	Aside *regexp.Regexp
	// Whole is the id of the entry that tells of a whole phase, {phase} in it standing for
	// that. Such an entry follows its tasks, and a phase that is begun is finished before the
	// next one.
	Whole string
	// Owner is where the tool keeps what the list is a copy of, a pattern of path.Match for
	// what lies beside the list.
	// While that is there, the list is not written to, and nothing is started that could not
	// be recorded: the commands are for a person.
	Owner    string
	Commands map[reprise.Status]string
}

// Keys are the names under which a task keeps what is known of it. Where a name has other
// spellings, | stands between them, and the first that a task has counts. A task is done where
// all spellings of its status that it has say so.
type Keys struct {
	ID, Text, Status, Rank string
	Parts                  string // its own tasks
	// Needs are the ids of tasks that come before it. Where each of them is a map, Needed
	// is the key of the id, and Because that of the reason: one of Blocks, or Within for the
	// entry that the task is a part of. Others do not count.
	Needs, Needed, Because string
	Blocks                 []string
	Within                 string
	Later                  string // the time until which it is put off
	Changed, Ended         string // times that are written
}

// Families are the tools whose lists are read.
func Families() []Family { return families() }

// families is the table. A new tool is an entry here.
var families = sync.OnceValue(func() []Family {
	boxes := map[reprise.Status][]string{reprise.Pending: {" "}, reprise.Done: {"x", "X"}}
	begun := map[reprise.Status][]string{reprise.Pending: {" ", "~"}, reprise.InProgress: {"-"}, reprise.Done: {"x", "X"}}
	numbered := regexp.MustCompile("^(?P<optional>\\*?)\\s*(?:Task )?[*`\\[]*(?P<id>\\d+(?:\\.\\d+)*)\\b[*`\\]]*[.):]?\\**(?:\\s+(?P<text>.+)|$)")
	phases := regexp.MustCompile(`^Phase (?P<id>\d+)`)
	return []Family{
		{
			Name: "speckit", Form: Boxes, Words: boxes, Title: "Tasks:", Shared: true, Parallel: "[P]",
			Lists: []string{"specs/*/tasks.md"}, Marks: []string{"specs"}, Elsewhere: ".workflow",
			Item:   regexp.MustCompile("^(?:Task )?[*`\\[]*(?P<id>T\\d+[A-Za-z]?)\\b[*`\\]]*[:.]?\\**(?:\\s+(?P<text>.+)|$)"),
			Inputs: []string{"spec.md", "plan.md", "research.md", "data-model.md", "quickstart.md"},
		},
		{
			Name: "kiro", Form: Boxes, Words: begun, Title: "Implementation Plan", Parallel: "(P)", Unnumbered: true,
			Lists: []string{".kiro/specs/*/tasks.md"}, Marks: []string{".kiro"}, Item: numbered,
			Inputs: []string{"requirements.md", "design.md", "bugfix.md"},
		},
		{
			Name: "openspec", Form: Boxes, Words: boxes, Title: "Tasks", Unnumbered: true,
			Lists: []string{"openspec/changes/*/tasks.md"}, Archived: "openspec/changes/archive/*/tasks.md", Marks: []string{"openspec"}, Item: numbered,
			Inputs: []string{"proposal.md", "design.md"},
		},
		{
			Name: "bmad", Form: YAML, Items: []string{"development_status"}, Whole: "epic-{phase}",
			Lists: []string{
				"_bmad-output/implementation-artifacts/sprint-status.yaml", "_bmad-output/sprint-status.yaml",
				"docs/sprint-artifacts/sprint-status.yaml", "docs/implementation-artifacts/sprint-status.yaml", "docs/sprint-status.yaml",
			},
			Marks: []string{"_bmad-output", "docs"},
			// Whatever is no epic is a story, also one that has no number.
			Item: regexp.MustCompile(`^(?P<id>(?P<phase>\d+)-\d+[a-z]?(?:-(?P<text>.+))?|.+)$`), Aside: regexp.MustCompile(`^epic-|-retrospective$`),
			Words: map[reprise.Status][]string{
				reprise.Pending: {"ready-for-dev", "backlog", "drafted"}, reprise.InProgress: {"in-progress"},
				reprise.InReview: {"review"}, reprise.Done: {"done"}, reprise.Blocked: {"blocked", "deferred"},
				reprise.Skipped: {"cancelled", "optional", "wont-do"},
			},
			Beside: []string{"{id}.md", "stories/{id}.md"}, Label: "Status", Inputs: []string{"{id}.md", "stories/{id}.md"},
		},
		{
			Name: "taskmaster", Form: JSON, Items: []string{"*.tasks", "tasks"},
			Lists: []string{".taskmaster/tasks/tasks.json", "tasks/tasks.json"}, Marks: []string{".taskmaster"}, Shared: true,
			Keys:  Keys{ID: "id", Text: "title", Status: "status", Rank: "priority", Parts: "subtasks", Needs: "dependencies", Changed: "updatedAt"},
			Ranks: []string{"critical", "high", "medium", "low"}, Current: "../state.json", CurrentKey: "currentTag",
			Words: map[reprise.Status][]string{
				reprise.Pending: {"pending"}, reprise.InProgress: {"in-progress"}, reprise.InReview: {"review"},
				reprise.Done: {"done", "completed"}, reprise.Blocked: {"blocked", "deferred"}, reprise.Skipped: {"cancelled"},
			},
		},
		{
			Name: "ralph", Form: JSON, Items: []string{"userStories"}, Shared: true,
			Lists: []string{"prd.json", "scripts/ralph/prd.json", ".ralph/prd.json"}, Marks: []string{".ralph"},
			Keys:   Keys{ID: "id", Text: "title", Status: "passes", Rank: "priority", Needs: "dependencies"},
			Words:  map[reprise.Status][]string{reprise.Pending: {"false"}, reprise.Done: {"true"}},
			Inputs: []string{"progress.txt"},
		},
		{
			Name: "conductor", Form: Boxes, Title: "Implementation Plan", Unnumbered: true, Within: phases,
			Lists: []string{"conductor/tracks/*/plan.md"}, Archived: "conductor/archive/*/plan.md", Marks: []string{"conductor"},
			Words:  map[reprise.Status][]string{reprise.Pending: {" "}, reprise.InProgress: {"~", "-"}, reprise.Done: {"x", "X"}},
			Inputs: []string{"spec.md", "../../workflow.md", "../../tech-stack.md"},
			Person: regexp.MustCompile(`User Manual Verification`), Overall: map[string]string{"metadata.json": "status", "../../tracks.md": ""},
			Stages: map[reprise.Status][]string{
				reprise.Pending: {"new", " "}, reprise.InProgress: {"in_progress", "~", "-"}, reprise.Done: {"completed", "x", "X"}, reprise.Skipped: {"cancelled"},
			},
		},
		{
			Name: "agentos", Form: Boxes, Words: boxes, Title: "Spec Tasks",
			Lists: []string{".agent-os/specs/*/tasks.md", "agent-os/specs/*/tasks.md"}, Marks: []string{".agent-os", "agent-os"},
			// 1.0 is the whole of 1.1 and 1.2.
			Item:   regexp.MustCompile(`^\**(?P<id>\d+(?:\.[1-9]\d*)*)(?:\.0)?\b\**[.):]?\**\s+(?P<text>.+)`),
			Inputs: []string{"spec.md", "spec-lite.md"},
		},
		{
			Name: "superpowers", Form: Boxes, Words: boxes, Shared: true, Within: regexp.MustCompile(`^Task (?P<id>\d+[a-z]?)\b`),
			Lists: []string{"docs/superpowers/plans/*.md", "docs/plans/*.md"}, Marks: []string{"docs"},
			Item: regexp.MustCompile(`^\**Step (?P<id>\d+):?\**:?\s+(?P<text>.+?)\**$`),
		},
		{
			Name: "planfiles", Form: Boxes, Words: boxes, Title: "Task Plan", Shared: true, Unnumbered: true, Within: phases,
			Lists: []string{"task_plan.md"}, Inputs: []string{"findings.md", "progress.md"}, Label: "Status",
			Position: regexp.MustCompile(`(?:^Current Phase\W+|\bCurrently in )Phase (?P<id>\d+)\b`),
			Stages: map[reprise.Status][]string{
				reprise.Pending: {"pending", "not started"}, reprise.InProgress: {"in_progress"},
				reprise.Done: {"complete", "completed", "done"}, reprise.Blocked: {"blocked"}, reprise.Skipped: {"skipped"},
			},
		},
		{
			Name: "features", Form: JSON, Items: []string{"features.*", "features", "*", ""}, Unnumbered: true, Shared: true, Lists: []string{"feature_list.json"},
			Keys:  Keys{ID: "id", Text: "title|name|description", Status: "status|passes", Rank: "priority", Needs: "dependencies"},
			Ranks: []string{"critical", "high", "medium", "low"},
			Words: map[reprise.Status][]string{
				reprise.Pending: {"pending", "false", "not_started", "not-started", "todo", "failing"}, reprise.InProgress: {"in_progress", "in-progress"},
				reprise.Failed: {"failed"},
				reprise.Done:   {"done", "true", "passing", "completed", "complete"}, reprise.Blocked: {"blocked"},
			},
			Inputs: []string{"claude-progress.txt", "claude-progress.md", "progress.md"},
		},
		{
			Name: "beads", Form: Lines, Items: []string{""}, Pruned: true, Foreign: "external:",
			Lists: []string{".beads/issues.jsonl", ".beads/beads.jsonl"}, Marks: []string{".beads"},
			Keys: Keys{
				ID: "id", Text: "title", Status: "status", Rank: "priority",
				Needs: "dependencies", Needed: "depends_on_id", Because: "type",
				Blocks: []string{"blocks", "waits-for", "conditional-blocks"}, Within: "parent-child",
				Later: "defer_until", Changed: "updated_at", Ended: "closed_at",
			},
			NoTasks: map[string][]string{
				"issue_type": {"epic", "message", "event", "agent", "role", "convoy", "gate", "molecule"},
				"status":     {"pinned"}, "pinned": {"true"}, "is_template": {"true"}, "ephemeral": {"true"},
			},
			Ranks: []string{"0", "1", "2", "3", "4"},
			Words: map[reprise.Status][]string{
				reprise.Pending: {"open"}, reprise.InProgress: {"in_progress", "hooked"}, reprise.Done: {"closed"},
				reprise.Blocked: {"blocked", "deferred"}, reprise.Skipped: {"tombstone", "pinned"},
			},
			Owner: "*dolt", Commands: map[reprise.Status]string{
				reprise.Done: "bd close {id}", reprise.InProgress: "bd update {id} --status in_progress", reprise.Pending: "bd update {id} --status open",
			},
		},
	}
})

// means tells what a word stands for.
func (f *Family) means(word string) reprise.Status { return f.meaning(f.Words, word) }

// meaning looks a word up among those of a status.
func (f *Family) meaning(of map[reprise.Status][]string, word string) reprise.Status {
	for status, words := range of {
		if slices.ContainsFunc(words, func(w string) bool { return f.same(w, word) }) {
			return status
		}
	}
	return reprise.Unknown
}

// same reports whether two words mean the same. Marks in boxes are taken as they stand.
func (f *Family) same(a, b string) bool {
	return a == b || (f.Form != Boxes || len(a) > 1) && doc.Fold(a) != "" && doc.Fold(a) == doc.Fold(b)
}

// Layout reads and writes the lists of one family.
type Layout struct{ family Family }

// New returns the convention of a family.
func New(f Family) Layout { return Layout{f} }

// Name returns the name of the family.
func (l Layout) Name() string { return l.family.Name }
