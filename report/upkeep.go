package report

import (
	"time"

	"reprise"
)

// Versions of the documents of upkeep.
const (
	LogSchema      = "reprise/log/v1"
	TimelineSchema = "reprise/timeline/v1"
	FollowSchema   = "reprise/follow/v1"
	WatchSchema    = "reprise/watch/v1"
	CleanSchema    = "reprise/clean/v1"
	RepairSchema   = "reprise/repair/v1"
	UndoSchema     = "reprise/undo/v1"
)

// Log is the answer of `reprise log`: what was recorded of a run.
type Log struct {
	Schema  string     `json:"schema" jsonschema:"reprise/log/v1"`
	Root    string     `json:"root"`
	Layout  string     `json:"layout"`
	ID      string     `json:"id"`
	Path    string     `json:"path"`
	Step    string     `json:"step,omitempty" jsonschema:"the step that was named: only what is about it is listed"`
	Entries []LogEntry `json:"entries" jsonschema:"oldest first; empty if nothing was recorded by reprise"`
	Cost    *Cost      `json:"cost,omitempty" jsonschema:"what it used; absent if no agent was at work"`
	Damage  string     `json:"damage" jsonschema:"why the journal cannot be trusted from some place on; empty if it can"`
}

// LogEntry is one recorded event.
type LogEntry struct {
	Seq        uint64            `json:"seq"`
	Generation uint64            `json:"generation" jsonschema:"which taking of the lease wrote it"`
	At         time.Time         `json:"at"`
	Kind       reprise.EventKind `json:"kind"`
	Step       string            `json:"step"`
	Question   string            `json:"question"`
	Actor      string            `json:"actor"`
	Text       string            `json:"text"`
	Session    string            `json:"session,omitempty" jsonschema:"the session of an agent that it is about"`
	Files      []string          `json:"files" jsonschema:"the run's own files that followed"`
	Log        string            `json:"log,omitempty" jsonschema:"where a step was named, on the last event of each attempt: the file with what its agent printed, relative to root"`
	Output     []string          `json:"output,omitempty" jsonschema:"the last lines of it"`
	Usage      *reprise.Usage    `json:"usage,omitempty" jsonschema:"with the end of an attempt: what it used; absent if no agent was at work"`
	Changes    *Changes          `json:"changes,omitempty" jsonschema:"with --diff, on the last event of each attempt: what it changed"`
}

// Changes are what an attempt changed, as its commits and the journal tell.
type Changes struct {
	Attempt int      `json:"attempt"`
	Commits []string `json:"commits" jsonschema:"those that name the attempt in their trailer, and the one that it was accepted with; the oldest first"`
	Diff    string   `json:"diff" jsonschema:"what they changed, one after the other"`
	Cut     bool     `json:"cut" jsonschema:"they changed more than that"`
	Left    []string `json:"left" jsonschema:"files that it left uncommitted"`
	Now     string   `json:"now" jsonschema:"of the last attempt that left any: how these files differ from the last commit by now"`
}

// CleanUp is the answer of `reprise clean`.
type CleanUp struct {
	Schema   string   `json:"schema" jsonschema:"reprise/clean/v1"`
	Root     string   `json:"root"`
	ID       string   `json:"id"`
	Done     bool     `json:"done" jsonschema:"false for a dry run or a refusal"`
	Refused  string   `json:"refused" jsonschema:"why it must not be done; empty if it may"`
	Resets   []string `json:"resets" jsonschema:"steps whose transitional status was, or would be, taken back"`
	Archive  string   `json:"archive" jsonschema:"what is, or would be, moved to the archive"`
	Archived string   `json:"archived" jsonschema:"where it is now"`
	Snapshot string   `json:"snapshot" jsonschema:"what reprise undo takes to bring it back"`
	Diff     string   `json:"diff"`
}

// Repair is the answer of `reprise repair`.
type Repair struct {
	Schema    string    `json:"schema" jsonschema:"reprise/repair/v1"`
	Root      string    `json:"root"`
	Done      bool      `json:"done" jsonschema:"false for a dry run or if there is nothing to repair"`
	Mends     []MendDoc `json:"mends" jsonschema:"what can be rebuilt, from which record"`
	Journals  []string  `json:"journals" jsonschema:"journals of ours that are damaged, with the cause"`
	Archive   []string  `json:"archive" jsonschema:"residues of interrupted writes that are archived"`
	Hopeless  []Finding `json:"hopeless" jsonschema:"damage nothing can be rebuilt from"`
	Elsewhere []Finding `json:"elsewhere" jsonschema:"runs with damage that are to be repaired from another folder, and why"`
	Snapshot  string    `json:"snapshot"`
}

// MendDoc is one mend.
type MendDoc struct {
	Run   string   `json:"run"`
	What  string   `json:"what"`
	From  string   `json:"from"`
	Files []string `json:"files"`
	Diff  string   `json:"diff"`
}

// Undo is the answer of `reprise undo`.
type Undo struct {
	Schema    string         `json:"schema" jsonschema:"reprise/undo/v1"`
	Root      string         `json:"root"`
	Snapshots []SnapshotLine `json:"snapshots" jsonschema:"newest first"`
	Undone    string         `json:"undone" jsonschema:"the snapshot that was brought back; empty if none was"`
	Changed   []string       `json:"changed" jsonschema:"files that were, or would be, written back"`
	Archived  []string       `json:"archived" jsonschema:"files that appeared since and were, or would be, archived"`
	AtWork    []string       `json:"at_work" jsonschema:"those of changed and archived that count as the run's because they changed while its agents were at work; empty with --all"`
	Kept      []string       `json:"kept" jsonschema:"files that others changed since, or others too, or that --keep names, and that stay"`
	Notes     []string       `json:"notes" jsonschema:"what others did since, which stays or with --all goes with it, and what cannot be brought back"`
}

// SnapshotLine is one snapshot.
type SnapshotLine struct {
	ID  string    `json:"id"`
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

// Timeline is the answer of `reprise log --timeline`: when what of a run was worked on.
type Timeline struct {
	Schema string `json:"schema" jsonschema:"reprise/timeline/v1"`
	Root   string `json:"root"`
	Layout string `json:"layout"`
	ID     string `json:"id"`
	Path   string `json:"path"`
	reprise.Timeline
	Damage string `json:"damage" jsonschema:"why the journal cannot be trusted from some place on; empty if it can"`
}

// Follow is one line of `reprise log -f`: an event, or a line that the agent of an attempt
// printed.
type Follow struct {
	Schema  string    `json:"schema" jsonschema:"reprise/follow/v1"`
	Entry   *LogEntry `json:"entry,omitempty" jsonschema:"what was recorded; absent for output"`
	Step    string    `json:"step,omitempty" jsonschema:"with output: whose it is"`
	Attempt int       `json:"attempt,omitempty"`
	Output  string    `json:"output,omitempty" jsonschema:"a line that was printed"`
}

// Watched is one line of `reprise watch`: a run that changed.
type Watched struct {
	Schema string    `json:"schema" jsonschema:"reprise/watch/v1"`
	At     time.Time `json:"at"`
	Root   string    `json:"root" jsonschema:"absolute path of the folder that is watched"`
	Run    Run       `json:"run" jsonschema:"how it stands now, or stood last"`
	Gone   bool      `json:"gone,omitempty" jsonschema:"it is no longer there"`
}
