// Package checklist reads and writes task lists kept by other tools: Markdown with check
// boxes, JSON, JSON lines and YAML with a status for each task, or a file for each task. A
// run is one list, and a step is a task without parts of its own.
//
// The differences between tools are entries in the table of families; reading, deciding,
// recording and working on a list are the same for all.
//
// A task that occurs twice is done only if both places say so. A word that the family
// does not know is unknown, never open or done.
package checklist

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"reprise"
	"reprise/internal/doc"
)

// Form is the format of a list.
type Form string

// The forms.
const (
	Boxes Form = "boxes" // Markdown, a task is an item with a check box
	JSON  Form = "json"
	Lines Form = "jsonl" // JSON lines, a task is a line
	YAML  Form = "yaml"
	Files Form = "files" // Markdown, a task is the front matter of a file
)

// Family describes the task lists of one tool.
type Family struct {
	Name string // of the convention, as used in refs
	Form Form
	// Lists are the places of lists in a project, as patterns for path.Match; the first
	// name contains no *. A list is named after its folder if the pattern has a * there,
	// otherwise after its file. Of several such files in one folder the first counts.
	Lists []string
	// Archived is where lists go once their work is over, a pattern like those of Lists.
	// The folder of such a list has the name of the run, possibly with a prefix.
	Archived string
	// Marks are folders that may hold lists. They are searched even if git ignores them.
	Marks []string
	// Elsewhere is a folder next to the list that shows that another convention keeps its
	// state.
	Elsewhere string
	// Home is a folder next to that of the lists which shows that the tool is used.
	Home string
	// Inputs are files next to the list that whoever does a task should read; {id} stands
	// for the id of the task.
	Inputs []string
	// Made, folded, names the files that a task makes: it is the label of lines in the section
	// of the task, or the title of a section in a task's own file.
	Made string
	// Words are the words for each status, or the marks in a box, beside the usual ones. The
	// first one is written. A status without a word cannot be recorded.
	Words map[reprise.Status][]string
	// Item matches the text after a box, or a task's id if other entries are mixed in. It
	// has a group named id, and may have groups named text, phase and, for optional
	// tasks, optional. Anything that does not match is not a task.
	Item *regexp.Regexp

	// Person matches tasks that only a person can do. When one is next, it is asked for,
	// and nothing after it is started.
	Person *regexp.Regexp
	// Overall are files next to the list that give the status of all of it. In JSON that
	// is the value of the key; in Markdown, without a key, the last box up to the line
	// with the name of the list's folder. If they disagree with the tasks, the tasks
	// count.
	Overall map[string]string
	// Approval is a JSON file next to the list, and its keys, separated by dots, for whether
	// a person approved the tasks.
	Approval [2]string
	// Gates is a pattern for Markdown files next to the list with what a person ticks before the
	// work: while a box there is open, the tool asks each time whether to go on.
	Gates string
	// Unnumbered allows tasks without an id; for boxes, only if no item in the list has
	// one, and, with Item and Within, only below such a heading or, in a folder that has the
	// name of the tool, where there is none. The first words of the item are then its id.
	Unnumbered bool
	// Shared says that other files may be in the same places: a file without tasks, and
	// without the heading or the key of a list, is not one, unless the tool's other files
	// or its Home are there.
	Shared bool

	// The following apply to boxes.

	// Title is how the heading of a list begins.
	Title string
	// Within matches headings below which tasks are numbered from the start. Its group id
	// is prefixed to the ids of these tasks.
	Within *regexp.Regexp
	// Stages are the words for the status of such a heading, on a line named Label below
	// it, and for that of the whole list. A heading without boxes is itself a task.
	Stages map[reprise.Status][]string
	// Position matches a line, after the heading it is under, that says which part of the
	// list is being worked on, with a group named id like that of Within.
	Position *regexp.Regexp
	// Parallel is the mark of items that may be done in parallel with their neighbours.
	Parallel string

	// The following apply to files.

	// Files are the places of the files next to the list, as patterns. Statuses is the key
	// in the list, which is YAML, for the words that its tasks use.
	Files    []string
	Statuses string

	// The following apply to the other forms.

	// Items is where the tasks are: keys separated by dots, where * is any entry, whose key
	// becomes part of the id. The first place that exists in the file counts.
	Items []string
	Keys  Keys
	// Current is a JSON file next to the list, and CurrentKey its key for the place in
	// the list that is being worked on: the first * of Items. Nothing elsewhere is started
	// before a person says so, which is written there. If it does not say, what can be worked
	// on in the place Usual comes before the others, or in the one that UsualIn names: a JSON
	// file next to the list, and its keys.
	Current, CurrentKey, Usual string
	UsualIn                    [2]string
	// Sort is a key, and the value under it of the entries that are read; one without the
	// key is read, too.
	Sort [2]string
	// NoTasks are the values, by key, that mark entries which are not tasks: messages,
	// headings, templates. Wholes are those of entries whose work is that of their parts:
	// one that is open keeps the list from being complete.
	NoTasks, Wholes map[string][]string
	// Ranks are the words for a task's urgency, most urgent first. It may also be a
	// number, of which the lowest is the most urgent.
	Ranks []string
	// Beside is where there may be a file for each task, with {id} for its id and the
	// status on a line named Label, which may have several spellings separated by |. If they
	// disagree, the list counts.
	Beside []string
	Label  string
	// Reviews are the beginnings of the headings below which the file of a task holds its
	// reviews.
	Reviews []string
	// Pruned says that the tool removes finished tasks from the list, so that a need that
	// is not listed is met. Foreign is the prefix of needs in other projects.
	Pruned  bool
	Foreign string
	// Aside matches ids that are listed among the tasks but are not tasks. What matches its
	// group named whole is an entry like those of Wholes.
	Aside *regexp.Regexp
	// Whole is the id of the entry for a whole phase, with {phase} for the phase. Such an
	// entry comes after its tasks, and a begun phase is finished before the next.
	Whole string
	// Owner are places next to the list that show that the tool keeps the original in a
	// database: a folder or, with a key, a JSON file with OwnedBy under that key. While one
	// exists, the list is not written to, and nothing is started that could not be
	// recorded: the commands are for a person.
	Owner    map[string]string
	OwnedBy  string
	Commands map[reprise.Status]string
}

// Keys are the names of a task's fields. Alternative spellings are separated by |, and
// the first that a task has counts. If those of its status disagree on whether it is done,
// that is unknown; all of them are written.
type Keys struct {
	ID, Text, Status, Rank string
	Parts                  string // its own tasks
	// Needs are the ids of tasks that come before it. If each is a map, Needed is the key
	// of the id and Because that of the reason: one of Blocks, or Within for the entry
	// that the task is part of. Other reasons do not count.
	Needs, Needed, Because string
	Blocks                 []string
	Within                 string
	Later                  string // the time until which it is deferred
	Held                   string // anything but false while it cannot be done
	Changed, Ended         string // times that are written
	// Reason is why a task was closed. Where it is a word for left out, the task is, and that
	// is how it is written: the family's own words for that mean more.
	Reason string
	Branch string // of the whole list: the git branch that it is worked on
}

// Families lists the supported tools.
func Families() []Family { return families() }

// families is the table. A new tool is an entry here.
var families = sync.OnceValue(func() []Family {
	boxes := map[reprise.Status][]string{reprise.Pending: {" "}, reprise.Done: {"x", "X"}}
	begun := map[reprise.Status][]string{reprise.Pending: {" ", "~"}, reprise.InProgress: {"-"}, reprise.Done: {"x", "X"}}
	const numbered = "(?:Task )?[*`\\[]*(?P<id>\\d+[a-z]?(?:\\.\\d+(?:[a-z](?:-\\d+)?)?)+|\\d+)\\b[*`\\]]*[.):]?\\**(?:\\s+(?P<text>.+)|$)"
	const number = `(?P<id>\d+|[A-Z]+\b|[一二三四五六七八九十]+)`
	phases := regexp.MustCompile(`^(?:Phase|阶段) ?` + number)
	// A list that anyone may write says what it likes of a task, often twice.
	const states, parts = "status|state|passes|passed|complete|completed|done", "subtasks|subTasks|sub_tasks"
	stated := map[reprise.Status][]string{
		reprise.Pending: {"pending", "false", "failing", "not_started", "todo"}, reprise.InProgress: {"in_progress", "partial"}, reprise.InReview: {"needs_review"},
		reprise.Failed: {"failed"}, reprise.Done: {"done", "true", "passing", "completed", "complete"}, reprise.Blocked: {"blocked"}, reprise.Skipped: {"cancelled"},
	}
	ranks := []string{"critical", "high", "medium", "low"}
	return []Family{
		{
			Name: "speckit", Form: Boxes, Words: boxes, Title: "Tasks:", Shared: true, Parallel: "[P]",
			Lists: []string{"specs/*/tasks.md"}, Marks: []string{"specs"}, Elsewhere: ".workflow", Home: ".specify",
			Item:   regexp.MustCompile("^(?:Task )?[*`\\[]*(?P<id>T-?\\d+(?:\\.\\d+)*[A-Za-z]?)\\b[*`\\]]*[:.]?\\**(?:\\s+(?P<text>.+)|$)"),
			Inputs: []string{"spec.md", "plan.md", "research.md", "data-model.md", "quickstart.md"}, Gates: "checklists/*.md",
		},
		{
			Name: "kiro", Form: Boxes, Words: begun, Title: "Implementation Plan", Parallel: "(P)", Unnumbered: true,
			Lists: []string{".kiro/specs/*/tasks.md"}, Marks: []string{".kiro"},
			// A star that is set off, which formatters escape, marks an optional task; a number
			// in stars does not.
			Item:   regexp.MustCompile(`^(?:(?P<optional>\\?\*)\s+)?` + numbered),
			Inputs: []string{"requirements.md", "design.md", "bugfix.md"}, Approval: [2]string{"spec.json", "approvals.tasks.approved"},
		},
		{
			Name: "openspec", Form: Boxes, Words: boxes, Title: "Tasks", Unnumbered: true,
			Lists: []string{"openspec/changes/*/tasks.md"}, Archived: "openspec/changes/archive/*/tasks.md", Marks: []string{"openspec"}, Item: regexp.MustCompile(`^(?:\\?\*\s+)?` + numbered),
			Inputs: []string{"proposal.md", "design.md"},
		},
		{
			Name: "bmad", Form: YAML, Items: []string{"development_status"}, Whole: "epic-{phase}",
			Lists: []string{
				"_bmad-output/implementation-artifacts/sprint-status.yaml", "_bmad-output/sprint-status.yaml",
				"docs/sprint-artifacts/sprint-status.yaml", "docs/implementation-artifacts/sprint-status.yaml", "docs/sprint-status.yaml",
				".bmad-ephemeral/sprint-status.yaml", "docs/stories/sprint-status.yaml", "sprint-status.yaml",
			},
			Marks: []string{"_bmad-output", "docs", ".bmad-ephemeral"}, Shared: true,
			// Anything that is not an epic is a story, even without a number.
			Item:  regexp.MustCompile(`^(?P<id>(?P<phase>\d+)-\d+[a-z]?(?:-(?P<text>.+))?|.+)$`),
			Aside: regexp.MustCompile(`^(?:.+-retrospective|(?P<whole>epic-.*|[a-z][a-z0-9]*-epic-\d+))$`),
			Words: map[reprise.Status][]string{
				reprise.Pending: {"ready-for-dev", "drafted", "contexted"}, reprise.InProgress: {"in-progress"}, reprise.InReview: {"review"},
				reprise.Done: {"done"}, reprise.Blocked: {"blocked"}, reprise.Skipped: {"cancelled", "optional"},
			},
			// A story without a file of its own is described among the epics.
			Beside: []string{"{id}.md", "stories/{id}.md"}, Label: "Status", Made: "file list", Reviews: []string{"senior developer review", "code review", "follow up review", "re review"}, Inputs: []string{
				"{id}.md", "stories/{id}.md", "epics.md", "../epics.md", "../planning-artifacts/epics.md", "../planning-artifacts/epics/index.md",
				"../architecture.md", "../planning-artifacts/architecture.md",
			},
		},
		{
			Name: "taskmaster", Form: JSON, Items: []string{"*.tasks", "tasks"},
			Lists: []string{".taskmaster/tasks/tasks.json", "tasks/tasks.json"}, Marks: []string{".taskmaster"}, Shared: true,
			Keys:  Keys{ID: "id", Text: "title", Status: "status", Rank: "priority", Parts: "subtasks", Needs: "dependencies", Changed: "updatedAt"},
			Ranks: ranks, Current: "../state.json", CurrentKey: "currentTag",
			Usual: "master", UsualIn: [2]string{"../config.json", "global.defaultTag"},
			Words: map[reprise.Status][]string{
				reprise.Pending: {"pending"}, reprise.InProgress: {"in-progress"}, reprise.InReview: {"review"},
				reprise.Done: {"done", "completed"}, reprise.Blocked: {"blocked"}, reprise.Skipped: {"cancelled"},
			},
		},
		{
			Name: "ralph", Form: JSON, Items: []string{"userStories", "user_stories", "stories", "tasks", "items", "issues", "features", ""}, Unnumbered: true, Shared: true,
			Lists: []string{"prd.json", "scripts/ralph/prd.json", ".ralph/prd.json", "plans/prd.json"}, Marks: []string{".ralph"},
			Keys: Keys{
				ID: "id", Text: "title|name|description", Status: states, Rank: "priority", Parts: parts,
				Needs: "dependencies|dependsOn|depends_on", Held: "blocked", Branch: "branchName",
			},
			Ranks: ranks, Words: stated, Inputs: []string{"progress.txt"},
		},
		{
			Name: "conductor", Form: Boxes, Title: "Implementation Plan", Unnumbered: true, Within: phases,
			Lists: []string{"conductor/tracks/*/plan.md"}, Archived: "conductor/archive/*/plan.md", Marks: []string{"conductor"},
			Words:  map[reprise.Status][]string{reprise.Pending: {" "}, reprise.InProgress: {"~", "-"}, reprise.Done: {"x", "X"}},
			Inputs: []string{"spec.md", "../../workflow.md", "../../tech-stack.md"},
			Person: regexp.MustCompile(`User Manual Verification|Phase Verification & Checkpoint`), Overall: map[string]string{"metadata.json": "status", "../../tracks.md": ""},
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
			Name: "superpowers", Form: Boxes, Words: boxes, Shared: true, Unnumbered: true, Within: regexp.MustCompile(`^Task (?P<id>\d+[a-z]?)\b`),
			Lists: []string{"docs/superpowers/plans/*.md", "docs/plans/*.md"}, Marks: []string{"docs"}, Made: "create",
			Item: regexp.MustCompile(`^\**Step (?P<id>\d+):?\**:?\s+(?P<text>.+)`),
		},
		{
			Name: "planfiles", Form: Boxes, Words: boxes, Title: "Task Plan", Shared: true, Unnumbered: true, Within: phases,
			Lists: []string{".planning/*/task_plan.md", "task_plan.md"}, Marks: []string{".planning"}, Inputs: []string{"findings.md", "progress.md"}, Label: "Status|状态",
			Position: regexp.MustCompile(`(?:^Current Phase\W+Phase|\bCurrently in Phase|^当前阶段\s+阶段) ?` + number),
			Stages: map[reprise.Status][]string{
				reprise.Pending: {"pending", "待处理", "待开始", "未开始"}, reprise.InProgress: {"in_progress", "进行中"},
				reprise.Done: {"complete", "completed", "done", "已完成", "完成"}, reprise.Blocked: {"blocked", "阻塞", "已阻塞"}, reprise.Skipped: {"skipped", "已跳过"},
			},
		},
		{
			Name: "features", Form: JSON, Items: []string{"features.*", "features", "categories.*.features", "*", ""}, Unnumbered: true, Shared: true, Lists: []string{"feature_list.json"},
			Keys: Keys{
				ID: "id", Text: "title|name|description", Status: states, Rank: "priority", Parts: parts,
				Needs: "dependencies|dependsOn|depends_on", Held: "blocked",
			},
			Ranks: ranks, Words: stated,
			Inputs: []string{"claude-progress.txt", "claude-progress.md", "progress.md"},
		},
		{
			Name: "backlog", Form: Files, Shared: true, Statuses: "statuses", Files: []string{"tasks/*.md", "completed/*.md"},
			Lists: []string{"backlog/config.yml", ".backlog/config.yml"}, Marks: []string{"backlog", ".backlog"},
			// A task with parts is one, which comes after them.
			Keys:  Keys{ID: "id", Text: "title", Status: "status", Rank: "priority", Needs: "dependencies", Within: "parent_task_id"},
			Ranks: []string{"high", "medium", "low"},
			Words: map[reprise.Status][]string{
				reprise.Pending: {"To Do"}, reprise.InProgress: {"In Progress"}, reprise.InReview: {"In Review"},
				reprise.Done: {"Done"}, reprise.Blocked: {"Blocked", "Draft"}, reprise.Skipped: {"Cancelled"},
			},
		},
		{
			Name: "beads", Form: Lines, Items: []string{""}, Pruned: true, Foreign: "external:",
			Lists: []string{".beads/issues.jsonl", ".beads/beads.jsonl"}, Marks: []string{".beads"},
			Keys: Keys{
				ID: "id", Text: "title", Status: "status", Rank: "priority",
				Needs: "dependencies", Needed: "depends_on_id", Because: "type",
				Blocks: []string{"blocks", "waits-for", "conditional-blocks"}, Within: "parent-child",
				Later: "defer_until", Changed: "updated_at", Ended: "closed_at", Reason: "close_reason",
			},
			Sort:   [2]string{"_type", "issue"},
			Wholes: map[string][]string{"issue_type": {"epic", "convoy", "molecule"}},
			NoTasks: map[string][]string{
				"issue_type": {"message", "event", "agent", "role", "gate", "merge-request", "rig"},
				"status":     {"pinned"}, "pinned": {"true"}, "is_template": {"true"}, "ephemeral": {"true"},
			},
			Ranks: []string{"0", "1", "2", "3", "4"},
			Words: map[reprise.Status][]string{
				reprise.Pending: {"open"}, reprise.InProgress: {"in_progress", "hooked"}, reprise.Done: {"closed"},
				reprise.Blocked: {"blocked"}, reprise.Skipped: {"tombstone", "pinned"},
			},
			Owner: map[string]string{"dolt": "", "embeddeddolt": "", "metadata.json": "backend"}, OwnedBy: "dolt", Commands: map[reprise.Status]string{
				reprise.Done: "bd close {id}", reprise.InProgress: "bd update {id} --status in_progress", reprise.Pending: "bd update {id} --status open",
				reprise.Skipped: "bd close {id} --reason skipped",
			},
		},
	}
})

// means returns the status that a word stands for.
func (f *Family) means(word string) reprise.Status { return f.meaning(f.Words, word) }

// meaning looks a word up among those of the family, then among the usual ones.
func (f *Family) meaning(of map[reprise.Status][]string, word string) reprise.Status {
	for status, words := range of {
		if slices.ContainsFunc(words, func(w string) bool { return f.same(w, word) }) {
			return status
		}
	}
	return doc.Means(word)
}

// stage is how far an unstarted task has come, by its word: ready to be started, planned,
// or only collected.
func stage(word string) int {
	switch words := strings.Fields(doc.Fold(word)); {
	case slices.Contains(words, "ready"):
		return 0
	case slices.Contains(words, "backlog"):
		return 2
	}
	return 1
}

// same reports whether two words mean the same. Marks in boxes are compared exactly.
func (f *Family) same(a, b string) bool {
	return a == b || (f.Form != Boxes || len(a) > 1) && doc.Fold(a) != "" && doc.Fold(a) == doc.Fold(b)
}

// Layout reads and writes the lists of one family.
type Layout struct{ family Family }

// New returns the convention of a family.
func New(f Family) Layout { return Layout{f} }

// Name returns the name of the family.
func (l Layout) Name() string { return l.family.Name }
