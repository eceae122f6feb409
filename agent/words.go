package agent

import (
	"strings"
	"time"
)

// Words makes what an attempt printed readable, line by line: of the events that an agent
// CLI prints it leaves the words and the calls of the agent. Lines that are no events stay
// as they are. The zero value is ready.
type Words struct {
	known []reader
	held  string // words that more may be added to
	heard bool   // one of the CLIs was recognised
}

type reader struct {
	stream *stream
	preset Preset
}

// Line takes a line and returns what is to be shown now, "" if nothing is.
func (w *Words) Line(line string) string {
	if !strings.HasPrefix(strings.TrimSpace(line), "{") {
		return line
	}
	if w.known == nil {
		for _, p := range Presets() {
			if p.read != nil {
				w.known = append(w.known, reader{p.stream(func() time.Time { return time.Time{} }), p})
			}
		}
	}
	for _, r := range w.known {
		before := r.stream.events
		show, _ := r.stream.line([]byte(line), r.preset.read, nil) // of another session it is shown as well
		if show == "" {
			if r.stream.events == before {
				return line // no event of any CLI
			}
			continue
		}
		w.known, w.heard = []reader{r}, true
		return w.show(show, r.stream.more)
	}
	if w.heard || strings.Contains(line, `"type"`) {
		return ""
	}
	return line
}

// Heard reports whether an agent CLI was recognised: without one, what looked like its
// events were lines of another program.
func (w *Words) Heard() bool { return w.heard }

// show holds words back as long as more is added to them.
func (w *Words) show(text string, more bool) string {
	before := w.held
	if strings.HasPrefix(text, before) {
		before = ""
	}
	if w.held = ""; !more {
		return strings.TrimPrefix(before+"\n"+text, "\n")
	}
	w.held = text
	return before
}

// Rest gives what was held back.
func (w *Words) Rest() string {
	rest := w.held
	w.held = ""
	return rest
}
