package reprise

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// SessionEnd is how a session came to rest, as far as it is known.
type SessionEnd struct {
	By EndedBy
	// At is when; Until, of a limit, is when it is over. Zero is unknown.
	At, Until time.Time
	// Source is what it rests on: a line of the transcript, a file of a registry, the boot
	// time of this machine.
	Source string
	// Says is what was printed about it, one line. Open says that a turn was under way.
	Says string
	Open bool
}

// EndedBy is what ended a session.
type EndedBy = Enum[endedWords]

// What ends a session. Unset counts as unknown, which says only that it did not end in
// an orderly way.
const (
	EndedKilled     EndedBy = iota + 1 // its process is gone, and it was at work
	EndedClosed                        // its terminal was closed while it worked
	EndedYou                           // a person interrupted or left it
	EndedLimit                         // a usage limit
	EndedContext                       // its context is full
	EndedError                         // the model's service failed
	EndedLogin                         // its login was refused
	EndedBilling                       // it is not paid for
	EndedPermission                    // it was killed while it asked for a permission
	EndedReboot                        // the machine went down
	EndedFinished                      // its last turn ended with nothing in progress
	EndedUnknown
)

type endedWords struct{}

func (endedWords) words() (string, []string) {
	return "end", []string{"", "killed", "closed", "you", "limit", "context", "error", "login", "billing", "permission", "reboot", "finished", "unknown"}
}

// Lately reports whether a session that was at work at a time can be wanted back.
func Lately(at, now time.Time) bool { return !at.Before(now.Add(-SessionWanted)) }

// State is the state of the session by itself.
func (s Session) State(now time.Time) State {
	switch by := cmp.Or(s.End.By, EndedUnknown); {
	case s.Owner.Life == Alive && s.Asks != "":
		return Waiting
	case s.Owner.Life == Alive && s.Busy():
		return Running
	case s.Owner.Life == Alive:
		return Waiting
	case by == EndedLimit && s.limited(now):
		return Waiting
	case by == EndedYou && !slices.ContainsFunc(s.Calls, Call.Open):
		return Stopped
	case (by == EndedFinished || by == EndedUnknown) && !s.Busy():
		return Complete
	case s.Started.IsZero() && s.FirstPrompt == "" && s.Lost > 0:
		return Unreadable
	}
	return Interrupted
}

// limited reports whether a limit may still hold: one without a recorded end does.
func (s Session) limited(now time.Time) bool {
	return s.End.Until.IsZero() || s.End.Until.After(now)
}

// Outcome summarizes the session for an exit code: OutcomeNothing if it has come to rest.
func (s Session) Outcome(now time.Time) Outcome {
	switch state := s.State(now); {
	case state == Unreadable:
		return OutcomeUnreadable
	case state == Running:
		return OutcomeHeld
	case state == Waiting && s.Asks != "":
		return OutcomeAsk
	case state == Complete, state == Stopped, state == Waiting && s.Owner.Life == Alive:
		return OutcomeNothing
	case state == Waiting:
		return OutcomeWait
	case slices.ContainsFunc(s.Calls, Call.Open), s.Lost > 0, s.Owner.Life != Dead && !sureEnd(s.End.By),
		s.End.By == EndedContext, s.End.By == EndedLogin, s.End.By == EndedBilling:
		return OutcomeCaution
	}
	return OutcomeOK
}

// sureEnd reports whether what ended a session leaves no doubt that nothing of it is at work,
// even where its process could not be told from others.
func sureEnd(by EndedBy) bool { return by == EndedLimit || by == EndedReboot || by == EndedPermission }

// Verdict says whether it is safe to continue the session.
func (s Session) Verdict(now time.Time) Verdict {
	switch s.Outcome(now) {
	case OutcomeOK:
		return Safe
	case OutcomeNothing:
		return VerdictNone
	case OutcomeWait:
		return WaitVerdict
	case OutcomeHeld, OutcomeUnreadable:
		return BlockedVerdict
	}
	return Caution
}

// Wanted reports whether a person could want the session back: it was at work in the last
// 14 days and did not come to rest by itself. The caller's is this one, and those of
// attempts are part of their run.
func (s Session) Wanted(now time.Time) bool {
	return s.Recent(now) && s.Outcome(now) != OutcomeNothing
}

// Recent reports whether a session is to be listed: Wanted, or ended by a person in the
// middle of its work.
func (s Session) Recent(now time.Time) bool {
	if s.Caller || s.Attempt || s.Idle || s.Path == "" || !s.Last.IsZero() && !Lately(s.Last, now) {
		return false
	}
	return s.Outcome(now) != OutcomeNothing || s.State(now) == Stopped && s.End.Open
}

// resuming is how a person continues a session of each CLI, interactively.
var resuming = []struct {
	cli  string
	args []string
}{
	{"claude", []string{"--resume", "ID"}},
	{"codex", []string{"resume", "ID"}},
	{"gemini", []string{"-r", "ID"}},
	{"opencode", []string{"-s", "ID"}},
	{"qwen", []string{"--resume", "ID"}},
	{"copilot", []string{"--resume=ID"}},
}

// ResumeArgs are the arguments with which a CLI continues a session, ID standing for its
// id; nil for a program that is not known.
func ResumeArgs(cli string) []string {
	for _, r := range resuming {
		if r.cli == cli {
			return slices.Clone(r.args)
		}
	}
	return nil
}

// Resume is the command line with which a person continues a session of a CLI, "" if its
// id cannot stand in one.
func Resume(cli, id string) string {
	args := ResumeArgs(cli)
	if args == nil || !plainID(id) {
		return ""
	}
	return cli + " " + strings.ReplaceAll(strings.Join(args, " "), "ID", id)
}

// plainID reports whether an id can stand in a command.
func plainID(id string) bool {
	plain := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return len(id) >= 6 && len(id) <= 80 && plain(rune(id[0])) && !strings.ContainsFunc(id, func(c rune) bool { return !plain(c) && c != '-' && c != '_' })
}

// Next is the command line that continues the session in the folder it was started in,
// "" if there is none: one that lives is gone on with where it is open. A session that its own CLI
// cannot continue is continued by a briefing for a new one.
func (s Session) Next() string {
	if s.Owner.Life == Alive {
		return ""
	}
	command := Resume(s.CLI, s.ID)
	if s.Broken != "" {
		command = "reprise brief --for " + s.CLI
	}
	if command == "" || s.Folder == "" {
		return command
	}
	if strings.ContainsFunc(s.Folder, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return "cd " + quoteShell(s.Folder) + " && " + command
}

// quoteShell makes one word of a text for a shell.
func quoteShell(text string) string {
	safe := !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("/._-+,@", r))
	})
	if safe && text != "" && !strings.HasPrefix(text, "-") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Name is a short name of the session, of its own among others: the CLI and the shortest
// tail of the id, of at least six characters. Ids that begin with the time begin alike.
func (s Session) Name(among []Session) string {
	n := min(6, len(s.ID))
	for ; n < len(s.ID); n++ {
		tail := s.ID[len(s.ID)-n:]
		if !slices.ContainsFunc(among, func(o Session) bool { return o.CLI == s.CLI && o.ID != s.ID && strings.HasSuffix(o.ID, tail) }) {
			break
		}
	}
	return strings.TrimSuffix(s.CLI+" "+s.ID[len(s.ID)-n:], " ")
}

// Whole lists the sessions of the folder, the latest first. What a helper left open is
// part of the session that started it, where that was found.
func (o Observed) Whole() (out []Session) {
	at := func(s Session) int {
		return slices.IndexFunc(o.Folder, func(p Session) bool {
			return s.Parent != "" && p.CLI == s.CLI && p.ID == s.Parent && p.Parent == ""
		})
	}
	left := make([][]Call, len(o.Folder))
	for _, s := range o.Folder {
		if i := at(s); i >= 0 {
			left[i] = append(left[i], s.Calls...)
		}
	}
	for i, s := range o.Folder {
		if at(s) >= 0 {
			continue
		}
		s.Calls = append(slices.Clip(s.Calls), left[i]...)
		out = append(out, s)
	}
	return out
}

// WantedSessions lists the sessions a person could want back, the latest first; recent
// ones are among them if all is set.
func (o Observed) WantedSessions(all bool) (out []Session) {
	for _, s := range o.Whole() {
		if s.Wanted(o.Now) || all && s.Recent(o.Now) {
			out = append(out, s)
		}
	}
	return out
}
