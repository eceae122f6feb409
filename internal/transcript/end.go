package transcript

import (
	"cmp"
	"strings"
	"time"

	"reprise"
	"reprise/internal/loose"
)

// End is how a last turn ended that was not finished.
type End struct {
	By        reprise.EndedBy
	At, Until time.Time // Until: when a limit is over, zero if that is not on record
	Line      int       // of the record, 0 if not known
	Says      string    // what was printed
	Open      bool      // a person ended it in the middle of a turn
}

// Rested reports whether nothing was left to do: no call is open, and the last turn was
// not ended by an error or a person.
func (s *Session) Rested() bool {
	return s.Ended && (s.End.By == 0 || s.End.By == reprise.EndedYou && !s.End.Open)
}

// Broken says why its own CLI cannot continue it, "" if nothing speaks against it.
func (s *Session) Broken() string {
	if s.Twice { // gemini from 0.60 on
		return "this version of " + s.CLI + " sends the results of tools twice when it continues a session, and is refused"
	}
	return ""
}

// Words are what errors of model services say, by what they mean: the kinds that CLIs give
// them, and words of their messages, in lower case.
var Words = map[reprise.EndedBy][]string{
	reprise.EndedContext: {
		"context_window_exceeded", "contextoverflow", "context window", "context_length_exceeded", "prompt is too long", "maximum context length",
		"exceeds the maximum number of tokens", "ran out of room", "context limit reached", "input is too long", "prompt as too long",
	},
	reprise.EndedBilling: {"billing_error", "credit balance is too low", "insufficient_quota", "payment required"},
	reprise.EndedLogin: {
		"authentication_failed", "authentication_error", "authenticationerror", "providerautherror", "invalid api key", "invalid x-api-key", "incorrect api key",
		"api key is not valid", "api key not valid", "401 unauthorized", "unauthenticated", "not logged in", "please run /login", "codex login", "please sign in",
	},
	reprise.EndedLimit: {
		"usage_limit_exceeded", "usage limit", "rate limit", "rate_limit", "ratelimit", "quota", "too many requests", "hit your limit", "hit your session limit",
		"hit your weekly limit", "resource_exhausted", "resource has been exhausted", "(429)",
	},
}

// statuses are what a status means where no word tells.
var statuses = map[float64]reprise.EndedBy{
	401: reprise.EndedLogin, 402: reprise.EndedBilling, 403: reprise.EndedLogin, 407: reprise.EndedLogin, 413: reprise.EndedContext, 429: reprise.EndedLimit,
}

// meaning tells what an error means: by its kind, else by its status where that says so,
// else by its words. Anything else is an error of the service.
func meaning(kind string, status float64, text string) reprise.EndedBy {
	by := func(text string) reprise.EndedBy {
		for _, by := range []reprise.EndedBy{reprise.EndedContext, reprise.EndedBilling, reprise.EndedLogin, reprise.EndedLimit} {
			for _, w := range Words[by] {
				if strings.Contains(strings.ToLower(text), w) {
					return by
				}
			}
		}
		return 0
	}
	return cmp.Or(by(kind), statuses[status], by(text), reprise.EndedError)
}

// failed notes that an error ended the turn.
func (b *builder) failed(at time.Time, kind string, status float64, text, more string) {
	e := End{By: meaning(kind, status, text+" "+more), At: at, Line: b.line, Says: plainly(cmp.Or(text, kind))}
	if e.By == reprise.EndedLimit {
		if e.Until = b.full; !e.Until.After(at) {
			e.Until = ResetTime(text, at)
		}
	}
	b.s.End, b.over = e, true
}

// stopped notes that a person ended the turn, or left.
func (b *builder) stopped(at time.Time, open bool) {
	if open {
		b.over = true
	}
	b.s.End = End{By: reprise.EndedYou, At: at, Line: b.line, Open: open}
}

// kept is how much is kept of a text.
const kept = 2000

func plainly(text string) string { return strings.TrimSpace(clip(text, kept)) }

// asked notes a request of a person, the first text of it that no program put there.
func (b *builder) asked(v loose.Value) {
	for _, text := range texts(v) {
		if text = plainly(text); text == "" || made(text) {
			continue
		}
		if name, rest, ok := strings.Cut(text, "</command-name>"); ok { // a command, with what it was given
			_, name, _ = strings.Cut(name, "<command-name>")
			_, rest, _ = strings.Cut(rest, "<command-args>")
			rest, _, _ = strings.Cut(rest, "</command-args>")
			text = strings.TrimSpace(name + " " + rest)
		}
		b.s.First, b.s.Latest = cmp.Or(b.s.First, text), text
		return
	}
}

// made reports whether a program put a text before that of a person: it begins with a tag
// of two words, or with the rules of the project.
func made(text string) bool {
	tag, _, ok := strings.Cut(strings.TrimPrefix(text, "<"), ">")
	tagged := ok && strings.HasPrefix(text, "<") && strings.ContainsAny(tag, "_-") && !strings.ContainsAny(tag, " /\"=") && !strings.HasPrefix(tag, "command-")
	return tagged || strings.HasPrefix(text, "# AGENTS.md instructions")
}

// says notes what the agent said.
func (b *builder) says(v loose.Value) {
	for _, text := range texts(v) {
		if text = plainly(text); text != "" {
			b.s.Words = text
		}
	}
}

// texts are those of a message: one, or those of its blocks that are no thoughts.
func texts(v loose.Value) (out []string) {
	v = v.Apart()
	if text := v.Text(); text != "" {
		return []string{text}
	}
	for _, block := range v.List() {
		if thought, _ := block.At("thought").Bool(); !thought {
			out = append(out, block.Text("text"))
		}
	}
	return out
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
