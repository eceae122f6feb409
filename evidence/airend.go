package evidence

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"reprise"
	"reprise/internal/transcript"
)

// line is shown as one plain line: nothing in it steers a terminal or changes the
// direction of writing.
func (a *air) line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, a.shown(escapes(text)))
	return strings.Join(strings.Fields(text), " ")
}

// escapes takes the sequences that steer a terminal out of a text.
func escapes(text string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "\x1b")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		switch end := byte('~'); {
		case strings.HasPrefix(rest, "["):
			i := strings.IndexFunc(rest[1:], func(r rune) bool { return r >= '@' && r <= rune(end) })
			text = rest[min(len(rest), 1+max(i, 0)+1):]
		case strings.HasPrefix(rest, "]"):
			i := strings.IndexAny(rest, "\a\x1b")
			text = rest[min(len(rest), max(i, 0)+1):]
		default:
			text = rest
		}
	}
}

// lineOf names a line of a file; 0 stands for one that is not known.
func lineOf(file string, line int) string {
	if line <= 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// about fills in what a session is about.
func (a *air) about(one *reprise.Session, s *transcript.Session, held holderOf) {
	one.Title, one.FirstPrompt, one.LastPrompt, one.LastWords, one.Branch = a.line(s.Title), a.line(s.First), a.line(s.Latest), a.line(s.Words), a.line(s.Branch)
	one.Parent = a.named(s.Parent)
	one.Idle = s.Ended && s.First == "" && s.End.By == 0 && !s.Answered && !s.Part && s.Lost == 0 && len(s.Calls) == 0
	if one.Folder = s.Dir; len(s.Dirs) > 0 {
		one.Folder = s.Dirs[0]
	}
	one.Broken = s.Broken()
	if held.Life == reprise.Alive && held.entry != nil {
		one.Asks = held.entry.asks
	}
}

// asked notes that a call waited for a permission when its process ended: it was never
// begun. Of several, which one it was is not on record.
func (a *air) asked(call *reprise.Call, c transcript.Call, s *transcript.Session, held holderOf) {
	open := 0
	for _, o := range s.Calls {
		if !o.Passed {
			open++
		}
	}
	if e := waited(s, held); e != nil && open == 1 && !c.Passed && !c.Nameless() && !c.Started.After(e.told.Add(clockSlack)) {
		call.Landing = reprise.NotLanded
		call.Signs = []string{a.shown(fmt.Sprintf("it was never begun: %s asked for permission when its process ended (%s)", s.CLI, e.file))}
	}
}

// waited is what a registry has of a session whose process ended while it asked a person
// for a permission, nil for any other.
func waited(s *transcript.Session, held holderOf) *entry {
	e := held.entry
	if e == nil || held.Life == reprise.Alive || !strings.Contains(e.asks, "permission") || s.Last.After(e.told.Add(clockSlack)) {
		return nil
	}
	return e
}

// end tells how a session came to rest. What nothing tells stays unknown.
func (a *air) end(one *reprise.Session, s *transcript.Session, held holderOf) {
	end := &one.End
	end.At, end.By = s.Last, reprise.EndedUnknown
	boot := a.workers.Booted
	e := waited(s, held)
	exit, exited := a.exits()[s.ID]
	exited = exited && s.CLI == transcript.Claude && !exit.Before(s.Last.Add(-clockSlack))
	switch {
	case one.Owner.Life == reprise.Alive:
		*end = reprise.SessionEnd{}
	case s.End.By != 0:
		*end = reprise.SessionEnd{By: s.End.By, At: s.End.At, Until: s.End.Until, Source: lineOf(one.Path, s.End.Line), Says: a.line(s.End.Says), Open: s.End.Open}
	case exited:
		*end = reprise.SessionEnd{By: reprise.EndedYou, At: exit, Source: a.historyFile(), Open: !s.Ended}
	case s.Ended:
		end.By, end.Source = reprise.EndedFinished, one.Path
	case e != nil:
		end.By, end.At, end.Source, end.Says, end.Open = reprise.EndedPermission, e.told, e.file, e.asks, true
	case s.Left > 0 && held.entry == nil:
		end.By, end.Source, end.Open = reprise.EndedClosed, lineOf(one.Path, s.Left), true
	case !s.Last.IsZero() && s.Last.Before(boot) && !boot.After(a.now):
		end.By, end.At, end.Source, end.Open = reprise.EndedReboot, boot, "this machine was started at "+boot.UTC().Format(time.RFC3339), true
	case held.seen != "": // a process that ends in order takes it away, or holds it until the turn ends
		end.By, end.Source, end.Open = reprise.EndedKilled, held.seen, true
	case held.gone && tells[s.CLI] && s.Lost == 0:
		// It writes a record when it is left, and there is none.
		end.By, end.Source, end.Open = reprise.EndedKilled, one.Path, true
	default:
		end.Source, end.Open = one.Path, true
	}
}

// tells lists the CLIs that write a record when they are left, whatever they do then.
var tells = map[string]bool{transcript.Claude: true, transcript.Copilot: true}

func (a *air) historyFile() string {
	return filepath.Join(a.stores[transcript.Claude], "history.jsonl")
}

// exits gives, by session, when a person told claude to end, of those that did nothing in
// it afterwards. It reads the end of what was typed.
func (a *air) exits() map[string]time.Time {
	if a.left != nil {
		return a.left
	}
	a.left = map[string]time.Time{}
	name := a.historyFile()
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return a.left
	}
	f, err := os.Open(name)
	if err != nil {
		return a.left
	}
	defer f.Close()
	const most = 256 << 10
	in := bufio.NewScanner(io.NewSectionReader(f, max(0, info.Size()-most), most))
	in.Buffer(nil, most)
	for in.Scan() {
		var typed struct {
			Text    string  `json:"display"`
			At      float64 `json:"timestamp"`
			Session string  `json:"sessionId"`
		}
		if json.Unmarshal(in.Bytes(), &typed) != nil || typed.Session == "" {
			continue
		}
		switch strings.TrimSpace(cmp.Or(typed.Text, "?")) {
		case "/exit", "/quit", "exit", "quit":
			a.left[typed.Session] = time.UnixMilli(int64(typed.At)).UTC()
		default:
			delete(a.left, typed.Session)
		}
	}
	return a.left
}
