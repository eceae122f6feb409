package report

import (
	"cmp"
	"slices"
	"time"

	"reprise"
)

// Session is a conversation with an agent CLI that worked in the project.
type Session struct {
	CLI          string          `json:"cli" jsonschema:"claude, codex, gemini, opencode, qwen or copilot"`
	ID           string          `json:"id" jsonschema:"as the CLI calls it; empty if it is not known"`
	Name         string          `json:"name" jsonschema:"short, and unique among those listed"`
	Version      string          `json:"version" jsonschema:"of the CLI that wrote it; empty if it does not say"`
	Path         string          `json:"path" jsonschema:"of the transcript"`
	Folder       string          `json:"folder" jsonschema:"where it was started, absolute; empty if unknown"`
	Dir          string          `json:"dir" jsonschema:"where it worked, relative to the project; empty if unknown"`
	Branch       string          `json:"branch,omitempty" jsonschema:"the git branch it worked on; absent if not recorded"`
	Title        string          `json:"title" jsonschema:"as it was named, or its first request"`
	State        reprise.State   `json:"state"`
	Says         string          `json:"says" jsonschema:"how it ended or what it does, in words that follow its name"`
	Verdict      reprise.Verdict `json:"verdict" jsonschema:"whether it is safe to continue it; none where nothing is to be continued"`
	LastActivity *time.Time      `json:"last_activity" jsonschema:"of its latest record; null if unknown"`
	Ended        SessionEnd      `json:"ended"`
	Asks         string          `json:"asks,omitempty" jsonschema:"what it waits for a person to permit; absent if nothing"`
	FirstPrompt  string          `json:"first_prompt" jsonschema:"the first request; secrets are left out"`
	LastPrompt   string          `json:"last_prompt" jsonschema:"the latest request"`
	LastWords    string          `json:"last_words" jsonschema:"what its agent said last"`
	Calls        []Call          `json:"calls" jsonschema:"what was begun and has no result, oldest first"`
	Next         string          `json:"next" jsonschema:"the command that continues it; empty if none would"`
	Broken       string          `json:"broken,omitempty" jsonschema:"why its own CLI cannot continue it; absent if nothing speaks against it"`
	Lost         int             `json:"lost" jsonschema:"records that could not be read"`
	Part         bool            `json:"part" jsonschema:"of a large transcript the middle was not read"`
	Context      int64           `json:"context_tokens,omitempty" jsonschema:"how many tokens resuming it sends again: those of its last request; absent if that is not on record"`
	Life         reprise.Life    `json:"life" jsonschema:"whether an agent works on it; dead needs two signs that agree"`
	Reason       string          `json:"reason" jsonschema:"what that rests on"`
}

// SessionEnd is how a session came to rest.
type SessionEnd struct {
	By     reprise.EndedBy `json:"by" jsonschema:"what ended it; unknown also while it is worked on"`
	At     *time.Time      `json:"at" jsonschema:"null if unknown"`
	Until  *time.Time      `json:"until" jsonschema:"when the limit is over; null for no limit, or if its end is unknown"`
	Source string          `json:"source" jsonschema:"what that rests on: a line of the transcript, a file of a registry, the boot time; empty if nothing tells"`
	Says   string          `json:"says,omitempty" jsonschema:"what was printed about it; absent if nothing was"`
}

// Call is something an agent began and left no result of.
type Call struct {
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	What    string          `json:"what" jsonschema:"the command or the files, shortened, or the tool; a secret is left out, and what it was is said in its place"`
	Started *time.Time      `json:"started" jsonschema:"null if unknown"`
	Effect  reprise.Effect  `json:"effect" jsonschema:"what it can change, at worst"`
	State   reprise.Landing `json:"state" jsonschema:"what became of it; only landed means that it is done"`
	Source  string          `json:"source" jsonschema:"where its beginning is on record: file:line"`
	Look    string          `json:"look,omitempty" jsonschema:"how to find out whether it took effect; absent where nothing is to be found out"`
	Signs   []string        `json:"signs" jsonschema:"what state rests on"`
	Passed  bool            `json:"passed" jsonschema:"the session, or a later one, continued after it"`
}

// NewSessions makes the document of sessions.
func NewSessions(list []reprise.Session, now time.Time) []Session {
	return Each(list, func(s reprise.Session) Session {
		return Session{
			CLI: s.CLI, ID: s.ID, Name: s.Name(list), Version: s.Version, Path: s.Path, Folder: s.Folder, Dir: s.Dir, Branch: s.Branch, Title: cmp.Or(s.Title, s.FirstPrompt),
			State: s.State(now), Says: s.Says(now), Verdict: s.Verdict(now), LastActivity: When(s.Last), Asks: s.Asks,
			Ended:       SessionEnd{cmp.Or(s.End.By, reprise.EndedUnknown), When(s.End.At), When(s.End.Until), s.End.Source, s.End.Says},
			FirstPrompt: s.FirstPrompt, LastPrompt: s.LastPrompt, LastWords: s.LastWords, Calls: Each(s.Calls, newCall), Next: s.Next(), Broken: s.Broken,
			Lost: s.Lost, Part: s.Part, Context: s.Context, Life: cmp.Or(s.Owner.Life, reprise.LifeUnknown), Reason: s.Owner.Reason,
		}
	})
}

func newCall(c reprise.Call) Call {
	out := Call{c.ID, c.Tool, cmp.Or(c.Text, c.Tool), When(c.Started), cmp.Or(c.Effect, reprise.EffectUnknown), cmp.Or(c.Landing, reprise.LandingUnknown), c.Source, "", List(c.Signs), c.Passed}
	if c.Open() {
		out.Look = c.Look()
	}
	return out
}

// concerned lists the sessions of the folder that a person could want back, and those
// that were listed for a run.
func concerned(o reprise.Observed, run []Session) []Session {
	var list []reprise.Session
	for _, s := range o.Whole() {
		if s.Recent(o.Now) || slices.ContainsFunc(run, func(r Session) bool { return r.CLI == s.CLI && r.ID == s.ID && r.Path == s.Path }) {
			list = append(list, s)
		}
	}
	return NewSessions(list, o.Now)
}
