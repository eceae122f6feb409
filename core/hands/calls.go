//go:build unix

package hands

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/gitx"
	"reprise/internal/redact"
	"reprise/internal/transcript"
)

// Calls is what the session of an attempt's agent tells of its calls, as its CLI wrote it down
// and as it printed it.
type Calls struct {
	// Outside are the calls that reached out of the project, or may have, a line each: what is
	// known of them stands behind it. Open are those of them whose result nobody saw.
	Outside, Open []string
	Words         string // the last of the agent
	// Continues says that the CLI has the session and can continue it.
	Continues bool
}

// Of the look at one session.
const (
	sessionFiles = 100
	sessionTime  = 3 * time.Second
	shownCall    = 140
)

// Calls reads the session, and adds the pushes that git saw. hide takes a project's own secrets
// out of texts; it may be nil. What cannot be read adds nothing, and Continues is false then.
func (a Attempt) Calls(git Git, hide func(string) string) (c Calls) {
	known := a.Session()
	all, main := a.sessions(known)
	if main != nil {
		c.Continues, c.Words = main.Broken() == "", redact.Shown(main.Words, 600, hide)
	}
	var lines []string // of commands, to tell what git saw of them
	add := func(call transcript.Call, open bool) {
		if call.Nameless() || !call.Started.IsZero() && call.Started.Before(known.Began.Truncate(time.Second)) || !reaches(call, open) {
			return
		}
		lines = append(lines, call.Input.Command)
		line := redact.Shown(cmp.Or(call.Input.Command, call.Tool), shownCall, hide)
		if sign := landed(call, cmp.Or(call.Dir, known.Dir), known.Began); sign != "" {
			line += " (" + sign + ")"
		} else if open {
			line += " (no result on record)"
		}
		if !slices.Contains(c.Outside, line) {
			c.Outside = append(c.Outside, line)
			if open {
				c.Open = append(c.Open, line)
			}
		}
	}
	for _, s := range all {
		for _, call := range s.Calls {
			if !call.Passed {
				add(call, true)
			}
		}
		for _, call := range s.Finished {
			add(call, false)
		}
	}
	for _, argv := range git.Outside { // git does not tell whether a push arrived
		text := strings.Join(argv, " ")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, text) }) {
			add(transcript.Call{Tool: "shell", Input: transcript.Input{Command: quoted(argv)}}, true)
		}
	}
	return c
}

// reaches reports whether a call may have changed something on another machine. Of one with a
// result that is what its command is known for: what a test or a build does was seen to end.
func reaches(c transcript.Call, open bool) bool {
	switch effect := cmp.Or(c.Effect(), reprise.EffectUnknown); effect {
	case reprise.EffectUnknown:
		return open || !c.Shell()
	default:
		return effect >= reprise.EffectNetwork
	}
}

// landed is what git's own notes show of a call that pushes, "" if they show nothing, or it
// does more.
func landed(c transcript.Call, dir string, began time.Time) string {
	marks, whole := c.Marks()
	if !whole || len(marks) == 0 {
		return ""
	}
	var signs []string
	for _, m := range marks {
		if m.Push == nil || m.Dir != "" {
			return ""
		}
		sign := gitx.Pushed(dir, gitx.Push{Remote: m.Push.Remote, From: m.Push.From, To: m.Push.To}, began)
		if sign == "" {
			return ""
		}
		signs = append(signs, sign)
	}
	return strings.Join(signs, "; ")
}

// quoted is a command line for a shell that runs a program with these arguments.
func quoted(argv []string) string {
	var out []string
	for _, a := range argv {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("+-./:=@_%,", r) && (r < '0' || r > '9') && (r|' ' < 'a' || r|' ' > 'z')
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

// sessions gives the sessions of the attempt, with its helpers: as the CLI keeps them, and where
// it does not have a call, or none at all, as it printed them. main is the one that it keeps
// of the conversation itself, nil if that is not found.
func (a Attempt) sessions(known Session) (all []*transcript.Session, main *transcript.Session) {
	if known.Store != "" && known.ID != "" {
		dirs := []string{known.Dir}
		if real, err := filepath.EvalSymlinks(known.Dir); err == nil && real != known.Dir {
			dirs = append(dirs, real)
		}
		deadline := time.Now().Add(sessionTime)
		all, _ = transcript.Store{CLI: known.CLI, FS: os.DirFS(known.Store)}.Find(transcript.Query{
			Dirs: dirs, Most: sessionFiles, Session: known.ID, Stop: func() bool { return time.Now().After(deadline) },
		})
		main = transcript.Main(all)
	}
	if info, err := fs.Stat(os.DirFS(string(a)), "log"); err == nil && known.CLI != "" {
		printed, err := transcript.Stream(os.DirFS(string(a)), transcript.Log{Name: "log", At: info.ModTime()})
		if err != nil {
			return all, main // it is only what the CLI said beside what it keeps
		}
		for _, p := range printed {
			p.Calls = missing(p.Calls, all)
			p.Finished = missing(p.Finished, all)
		}
		all = append(all, printed...)
	}
	return all, main
}

// missing gives the calls that no session has, by what they do.
func missing(calls []transcript.Call, in []*transcript.Session) (out []transcript.Call) {
	for _, c := range calls {
		same := func(o transcript.Call) bool {
			return o.Tool == c.Tool && o.Input.Command == c.Input.Command || o.ID == c.ID
		}
		if !slices.ContainsFunc(in, func(s *transcript.Session) bool {
			return slices.ContainsFunc(s.Calls, same) || slices.ContainsFunc(s.Finished, same)
		}) {
			out = append(out, c)
		}
	}
	return out
}
