// Package hook knows how other programs call a command at the turns of a session:
// agent CLIs when one begins, ends, stops or is compacted, git when a branch is checked
// out. Tools is the one table of them.
//
// Installing adds entries to a program's own settings and changes no other byte;
// uninstalling takes exactly these out again, whatever else was changed meanwhile.
package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

// Moment is a turn of a session at which we are called. Its word stands in the command.
type Moment string

// The moments.
const (
	Start   Moment = "start"   // a session begins: its context gets what was interrupted
	End     Moment = "end"     // it is over
	Compact Moment = "compact" // its context is about to be compacted
	Stop    Moment = "stop"    // a turn ended; the session waits
)

// Event is a moment as one program calls it.
type Event struct {
	Moment Moment
	Name   string
}

// Tool is a program that can call us.
type Tool struct {
	Name   string
	Events []Event
	note   string // what a person has to do beside, "" if nothing

	// The user's settings are file below the folder that variable names, or else below
	// home in the home folder; those of a project are project below it.
	variable, home, file string
	project              string
	alone                bool // those of a project are the user's own, and not shared with others
	// off is the setting that keeps the tool from running hooks: where it stands, and its
	// value then.
	off      []string
	offValue bool
	// entry makes the item of an event's list below "hooks" in JSON settings, and base is
	// what settings begin with that we make; whole makes a file that is ours alone. One of
	// entry and whole is set, or neither for git.
	entry func(command string) splice.Object
	base  string
	whole func(program string) string
	// answer brings text into the form in which it reaches the context of a model; nil
	// where it is printed as it is.
	answer func(ev Event, text string) any
}

// Tools are all that are known, in the order of help texts.
func Tools() []Tool {
	return []Tool{
		{
			Name: "claude", variable: "CLAUDE_CONFIG_DIR", home: ".claude", file: "settings.json", project: ".claude/settings.local.json",
			Events: []Event{{Start, "SessionStart"}, {Stop, "Stop"}, {Compact, "PreCompact"}, {End, "SessionEnd"}},
			entry:  nestedEntry(5), answer: specificOutput, alone: true, off: []string{"disableAllHooks"}, offValue: true,
		},
		{
			Name: "codex", variable: "CODEX_HOME", home: ".codex", file: "hooks.json", project: ".codex/hooks.json",
			Events: []Event{{Start, "SessionStart"}, {Stop, "Stop"}, {Compact, "PreCompact"}, {End, "SessionEnd"}},
			entry:  nestedEntry(5), answer: specificOutput,
			note: "codex ignores hooks that you have not trusted: start codex, look at them with /hooks and trust them.",
		},
		{
			Name: "gemini", variable: "GEMINI_CLI_HOME", file: ".gemini/settings.json", project: ".gemini/settings.json",
			Events: []Event{{Start, "SessionStart"}, {Stop, "AfterAgent"}, {Compact, "PreCompress"}, {End, "SessionEnd"}},
			entry:  nestedEntry(5000), answer: specificOutput, off: []string{"hooksConfig", "enabled"}, offValue: false,
		},
		{
			Name: "qwen", variable: "QWEN_HOME", home: ".qwen", file: "settings.json", project: ".qwen/settings.json",
			Events: []Event{{Start, "SessionStart"}, {Stop, "Stop"}, {Compact, "PreCompact"}, {End, "SessionEnd"}},
			entry:  nestedEntry(5), answer: specificOutput, off: []string{"disableAllHooks"}, offValue: true,
		},
		{
			Name: "opencode", variable: "XDG_CONFIG_HOME", home: ".config", file: "opencode/plugin/reprise.js", project: ".opencode/plugin/reprise.js",
			Events: []Event{{Start, "experimental.chat.system.transform"}, {Stop, "session.idle"}, {Compact, "experimental.session.compacting"}},
			whole:  plugin,
		},
		{
			Name: "copilot", variable: "COPILOT_HOME", home: ".copilot", file: "hooks/reprise.json", project: ".github/hooks/reprise.json",
			Events: []Event{{Start, "sessionStart"}, {Stop, "agentStop"}, {Compact, "preCompact"}, {End, "sessionEnd"}},
			entry:  flatEntry, base: "{\n  \"version\": 1\n}\n", answer: func(_ Event, text string) any { return map[string]string{"additionalContext": text} },
		},
		{Name: Git, Events: []Event{{Start, gitHook}}},
	}
}

// Find gives the tool of a name.
func Find(name string) (Tool, bool) {
	all := Tools()
	i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return all[i], true
}

// Event gives a moment as the tool calls it; false if it does not call us then.
func (t Tool) Event(m Moment) (Event, bool) {
	i := slices.IndexFunc(t.Events, func(ev Event) bool { return ev.Moment == m })
	if i < 0 {
		return Event{}, false
	}
	return t.Events[i], true
}

// Answer gives what is to be printed so that text reaches the context of the model.
func (t Tool) Answer(m Moment, text string) string {
	ev, _ := t.Event(m)
	if t.answer == nil {
		return text
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(t.answer(ev, text)); err != nil {
		panic(fmt.Sprintf("encode answer: %v", err)) // text in maps of our own
	}
	return out.String()
}

// call is what stands in every command of ours, and in no other.
func (t Tool) call() string { return " hook run " + t.Name + " " }

// command is a line for a shell that calls program. A program that is gone, or fails,
// is no failure of the tool.
func (t Tool) command(program string, m Moment) string {
	return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'" + t.call() + string(m) + " 2>/dev/null || true"
}

// wrote reports whether a command is one that we wrote, whatever program it calls. One that
// only holds such a call is someone else's.
func (t Tool) wrote(command string) bool {
	form := `^'(?:[^']|'\\'')*'` + regexp.QuoteMeta(t.call()) + `[a-z]+ 2>/dev/null \|\| true$`
	return regexp.MustCompile(form).MatchString(command)
}

// nestedEntry is the form that claude began and others took over.
func nestedEntry(timeout int) func(string) splice.Object {
	return func(command string) splice.Object {
		return splice.Object{{Key: "hooks", Value: []any{
			splice.Object{{Key: "type", Value: "command"}, {Key: "command", Value: command}, {Key: "timeout", Value: timeout}},
		}}}
	}
}

// flatEntry is the form of copilot.
func flatEntry(command string) splice.Object {
	return splice.Object{{Key: "type", Value: "command"}, {Key: "bash", Value: command}, {Key: "timeoutSec", Value: 5}}
}

// specificOutput is likewise how text reaches the context.
func specificOutput(ev Event, text string) any {
	return map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": ev.Name, "additionalContext": text}}
}

// Notes are what a person has to know who has our hooks in these settings.
func (t Tool) Notes(settings []byte) (out []string) {
	if t.note != "" {
		out = append(out, t.note)
	}
	if t.off == nil {
		return out
	}
	var at any
	_ = json.Unmarshal(doc.StandardJSON(settings), &at) // what cannot be read says nothing
	for _, key := range t.off {
		in, _ := at.(map[string]any)
		at = in[key]
	}
	if at == t.offValue {
		out = append(out, fmt.Sprintf("%s is %t there, so %s runs no hooks.", strings.Join(t.off, "."), t.offValue, t.Name))
	}
	return out
}

// Install gives the settings with our hooks for every event, calling program, an
// absolute path or the name of a program that is looked for. nil stands for a file that does not exist. Hooks of ours that call
// another program are replaced, and what is installed already is no change.
func (t Tool) Install(settings []byte, program string) ([]byte, error) {
	if strings.ContainsFunc(program, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		return nil, fmt.Errorf("the path of this program, %q, cannot stand in a command", program)
	}
	switch {
	case t.Name == Git:
		return t.installLine(settings, program)
	case t.whole != nil:
		return t.installFile(settings, program)
	}
	made := settings == nil && t.base != "" || t.made(settings)
	if settings == nil && made {
		settings = []byte(t.base)
	}
	for _, ev := range t.Events {
		keys, command := []string{"hooks", ev.Name}, t.command(program, ev.Moment)
		same := false
		old, err := t.prune(settings, ev, func(c string) { same = same || c == command })
		if same {
			continue
		}
		if err != nil {
			return nil, err
		}
		entry := t.entry(command)
		if made {
			entry = append(entry, splice.Member{Key: "comment", Value: t.comment()})
		}
		if settings, err = splice.Graft(old, keys, entry); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// comment stands with hooks in settings that begin with base and were made by us.
func (t Tool) comment() string { return "written by `" + ownFile + " " + t.Name + "`" }

// made reports whether settings that begin with base were made by us.
func (t Tool) made(settings []byte) bool {
	return t.base != "" && strings.Contains(string(settings), t.comment())
}

// Uninstall gives the settings without our hooks; nil where we made them and nothing else
// is in them. With a *StayedError they are still to be written.
func (t Tool) Uninstall(settings []byte) ([]byte, error) {
	switch {
	case t.Name == Git:
		return t.uninstallLine(settings), nil
	case t.whole != nil:
		return t.uninstallFile(settings)
	}
	made := t.made(settings)
	var stayed []error
	for _, ev := range t.Events {
		next, err := t.prune(settings, ev, func(string) {})
		if next == nil && err != nil {
			return nil, err
		}
		if settings = next; err != nil {
			stayed = append(stayed, err)
		}
	}
	if stayed != nil {
		return settings, &StayedError{errors.Join(stayed...)}
	}
	if made && string(settings) == t.base {
		return nil, nil
	}
	return settings, nil
}

// StayedError tells what of ours stays in settings, and why. What could be taken out is.
type StayedError struct{ error }

// Installed reports whether settings hold hooks of ours, or may: they cannot be read.
func (t Tool) Installed(settings []byte) bool {
	without, err := t.Uninstall(settings)
	return err != nil || string(without) != string(settings)
}

// prune takes our groups out of the list of an event, and tells each command of theirs. A
// group that holds someone else's hooks, too, is left, with an error.
func (t Tool) prune(settings []byte, ev Event, tell func(command string)) ([]byte, error) {
	shared := false
	out, err := splice.Prune(settings, []string{"hooks", ev.Name}, func(item *doc.Node) bool {
		ours, others := 0, 0
		for _, command := range hooksOf(item) {
			if t.wrote(command) {
				ours++
				tell(command)
			} else {
				others++
			}
		}
		shared = shared || ours > 0 && others > 0
		return ours > 0 && others == 0
	})
	if err == nil && shared {
		err = fmt.Errorf("other hooks stand in one group with ours below %s; take ours out of it by hand: the command with `%s`", ev.Name, strings.TrimSpace(t.call()))
	}
	return out, err
}

// hooksOf gives the commands of a group, or that of a hook without one; "" for what is none.
func hooksOf(item *doc.Node) (out []string) {
	hooks := []*doc.Node{item}
	if item.Kind == doc.Map && item.Has("hooks") {
		hooks = item.Get("hooks").Items
	}
	for _, one := range hooks {
		command := ""
		for _, key := range []string{"command", "bash"} {
			if one.Kind == doc.Map && one.Has(key) {
				command = one.Get(key).Text
			}
		}
		out = append(out, command)
	}
	return out
}
