package report

import (
	"cmp"
	"time"

	"reprise"
)

// Session is a conversation with an agent CLI that worked where a run does.
type Session struct {
	CLI     string       `json:"cli" jsonschema:"claude, codex, gemini, opencode, qwen or copilot"`
	ID      string       `json:"id" jsonschema:"as the CLI calls it; empty if it is not known"`
	Version string       `json:"version" jsonschema:"of the CLI that wrote it; empty if it does not say"`
	Path    string       `json:"path" jsonschema:"of the transcript"`
	Dir     string       `json:"dir" jsonschema:"where it worked, relative to the project"`
	Last    *time.Time   `json:"last" jsonschema:"of its latest record; null if unknown"`
	Ended   bool         `json:"ended" jsonschema:"it ended cleanly; false does not prove that it did not"`
	Lost    int          `json:"lost" jsonschema:"records that could not be read"`
	Part    bool         `json:"part" jsonschema:"of a large transcript the middle was not read"`
	Context int64        `json:"context_tokens,omitempty" jsonschema:"how many tokens resuming it sends again: those of its last request; absent if that is not on record"`
	Life    reprise.Life `json:"life" jsonschema:"whether an agent works on it; dead needs two signs that agree"`
	Reason  string       `json:"reason" jsonschema:"what that rests on"`
	Calls   []Call       `json:"calls" jsonschema:"what was begun and has no result, oldest first"`
}

// Call is something an agent began and left no result of.
type Call struct {
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	Text    string          `json:"text" jsonschema:"the command or the files, shortened; a secret is left out, and what it was is said in its place"`
	Started *time.Time      `json:"started" jsonschema:"null if unknown"`
	Effect  reprise.Effect  `json:"effect" jsonschema:"what it can change, at worst"`
	Landing reprise.Landing `json:"landing" jsonschema:"what became of it; only landed means that it is done"`
	Signs   []string        `json:"signs" jsonschema:"what that rests on"`
	Passed  bool            `json:"passed" jsonschema:"the session, or a later one, continued after it"`
}

func newSession(s reprise.Session) Session {
	return Session{s.CLI, s.ID, s.Version, s.Path, s.Dir, When(s.Last), s.Ended, s.Lost, s.Part, s.Context, cmp.Or(s.Owner.Life, reprise.LifeUnknown), s.Owner.Reason, Each(s.Calls, newCall)}
}

func newCall(c reprise.Call) Call {
	return Call{c.ID, c.Tool, c.Text, When(c.Started), cmp.Or(c.Effect, reprise.EffectUnknown), cmp.Or(c.Landing, reprise.LandingUnknown), List(c.Signs), c.Passed}
}
