package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"reprise"
	"reprise/internal/loose"
	"reprise/internal/transcript"
)

// OpenCall is a tool call that was begun and whose end was not seen.
type OpenCall struct {
	Tool  string
	Input string // its command or its file; words of an agent, not ours

	id string
}

// shown is the call as a line for people.
func (c OpenCall) shown() string { return firstLine(c.Tool + " " + c.Input) }

// stream is what is known of a session from what its program printed.
type stream struct {
	want    string // the session asked for, "" for a new one without a name
	session string // the session it says it is
	wrong   bool   // it is another one

	text   string // the last thing said in words
	more   bool   // text is being added to
	open   []OpenCall
	asks   []reprise.Asked // what was refused or left without an answer
	why    map[string]denial
	limit  window
	waits  cause // what it tries again after, as long as nothing came since
	error  cause // the last error that was not the end
	ending cause // the last end it told of, as long as nothing came after it

	// soft tells that there is no end event: its last step only ends a session
	// whose process ended well. mended tells of an error that was overcome, which
	// still shows in the exit code.
	soft, mended, folding bool
	mute                  bool // it waits for a limit to end without a word
	// step tells that a step is under way whose calls are shown when they are over.
	step bool
	// spent is what it says it used; resumes tells that the session was there before.
	spent   []reprise.Request
	resumes bool

	events  int
	cut     objects
	now     func() time.Time
	preset  string
	permits permits
}

// window is a usage limit that was reported as such.
type window struct {
	closed bool
	until  time.Time
	kind   string
}

// line takes a line of output. It returns what a person would want to see.
func (s *stream) line(line []byte, read func(*stream, loose.Value) string, learned func(string) error) (string, error) {
	show := ""
	for _, raw := range s.cut.feed(line) {
		before := s.session
		event, _ := loose.Object(raw) // it was cut out as one
		shown := read(s, event)
		s.events++
		if s.wrong {
			return "", &otherSession{s.want, s.session}
		}
		told := !s.resumes && s.session == s.want
		if before == "" && s.session != "" && !told && learned != nil {
			if err := learned(s.session); err != nil {
				return "", err
			}
		}
		show = cmp.Or(shown, show)
	}
	return show, nil
}

// otherSession tells that a program continued with, or began, another session than
// the one it was asked for.
type otherSession struct{ want, got string }

func (e *otherSession) Error() string {
	return fmt.Sprintf("resume session %s: the agent is in session %s", e.want, e.got)
}

// in notes which session an event belongs to.
func (s *stream) in(session string) {
	if session == "" || s.wrong {
		return
	}
	// A new session may have another name than the one that was asked for.
	if s.resumes && s.want != "" && session != s.want {
		s.session, s.wrong = session, true
		return
	}
	if s.session == "" {
		s.session = session
	}
}

// begin notes that work continues: what was said to be the end was not.
func (s *stream) begin() { s.ending, s.waits = cause{}, cause{} }

// say notes words of the agent; delta adds to the words before.
func (s *stream) say(text string, delta bool) string {
	s.begin()
	if delta && s.more {
		s.text += text
	} else {
		s.text = text
	}
	if over := len(s.text) - maxText; over > 0 {
		s.text = strings.ToValidUTF8(s.text[over:], "")
	}
	s.more = delta
	return firstLine(s.text)
}

// started notes the begin of a tool call.
func (s *stream) started(id, tool, input string) string {
	s.begin()
	s.more = false
	s.finished(id)
	c := OpenCall{Tool: firstLine(tool), Input: transcript.Brief(strings.ToValidUTF8(input, ""), maxInput), id: id}
	if len(s.open) < maxKept {
		s.open = append(s.open, c)
	}
	return c.shown()
}

// finished notes the end of one.
func (s *stream) finished(id string) {
	s.more, s.waits = false, cause{}
	s.open = slices.DeleteFunc(s.open, func(c OpenCall) bool { return c.id == id })
}

// busy reports whether a tool call is under way, or may be.
func (s *stream) busy() bool { return len(s.open) > 0 || s.step }

// refused notes what was not allowed, or not answered.
func (s *stream) refused(ask reprise.Asked) {
	if len(s.asks) < maxAsked && !slices.ContainsFunc(s.asks, func(a reprise.Asked) bool { return a.Text == ask.Text }) {
		s.asks = append(s.asks, ask)
	}
}

// opened gives the tool and the input of a call that has not ended.
func (s *stream) opened(id string) (tool, input string) {
	i := slices.IndexFunc(s.open, func(c OpenCall) bool { return c.id == id })
	if i < 0 {
		return "a tool", ""
	}
	return s.open[i].Tool, s.open[i].Input
}

// failed notes an error as the end.
func (s *stream) failed(status int, message string) {
	s.ending = explain(status, message, s.now())
}

// inputSummary makes a line of a tool's input.
func inputSummary(input loose.Value) string { return firstLine(inputText(input)) }

// inputText is what of a tool's input says what it does: its command or its file
// if it has one, otherwise the whole.
func inputText(input loose.Value) string {
	text := input.First("command", "cmd", "file_path", "path", "filePath", "url", "pattern", "prompt", "query")
	if text == "" {
		text = input.JSON()
	}
	if text == "{}" {
		return ""
	}
	return text
}

// Bounds of what is kept of a session: a line, the last words, open calls and
// what each was given.
const (
	maxLine  = 240
	maxText  = 64 << 10
	maxKept  = 100
	maxInput = 8 << 10
)

// firstLine makes one printable, bounded line of a text.
func firstLine(text string) string {
	text = strings.TrimSpace(text)
	text = text[:min(len(text), 16*maxLine)]
	clean := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	clean = strings.Join(strings.Fields(clean), " ")
	if runes := []rune(clean); len(runes) > maxLine {
		return string(runes[:maxLine-1]) + "…"
	}
	return clean
}
