package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/report"
)

// site is where a person stands: what completes the commands that are named to them, so
// that each works when it is pasted there.
type site struct {
	run  string // the name of the run that is spoken of, "" for none
	dir  string // the project folder as it was given with -C, "" if it was not
	root string // the project folder as seen from here, "" for the current one
}

// longestName is how long a name may be that a person is given to paste.
const longestName = 120

// checkOf is the command that checks a run, without a name that no one would paste.
func checkOf(name string) string { return commandOf("check", name) }

// commandOf is a command about a run of this name, without the name if that is too long.
func commandOf(verb, name string) string {
	if len(name) > longestName {
		return "`reprise " + verb + "`"
	}
	return "`reprise " + verb + " " + quoted(name) + "`"
}

// about makes a run the one that hints speak of.
func (a *app) about(name string) {
	if a.site.run = name; len(name) > longestName {
		a.site.run = ""
	}
}

// stand notes which project the command is called for.
func (a *app) stand(cmd *cobra.Command) {
	if f := cmd.Flags().Lookup("dir"); f != nil && f.Changed && f.Value.String() != "." {
		a.site.dir = f.Value.String()
	}
}

// stands notes the folder in which the project was found.
func (a *app) stands(root string) {
	if a.site.root = root; root == "." {
		a.site.root = ""
	}
}

// again is the command as it was called, for a person and with flags added: what a
// refusal names where only a flag was missing.
func (a *app) again(flags ...string) string {
	at := slices.Index(a.args, "--") // what stands behind it is taken for names
	if at < 0 {
		at = len(a.args)
	}
	called := slices.DeleteFunc(slices.Clone(a.args[:at]), func(word string) bool { return word == "--json" })
	return commandWords(slices.Concat([]string{"reprise"}, called, flags, a.args[at:]))
}

// command is a call of ours for a run of this project.
func (a *app) command(verb, name string, flags ...string) string {
	words := []string{"reprise", verb, name}
	if a.site.dir != "" {
		words = append(words, "-C", a.site.dir)
	}
	return commandWords(append(words, flags...))
}

// answering is the command that answers one question: with the first answer that is
// offered, or with words that a person puts in the place of the dots.
func (a *app) answering(name string, q reprise.Question) string {
	if len(q.Options) > 0 {
		return a.command("answer", name, "--question", q.ID, "--option", "1")
	}
	return a.command("answer", name, "--question", q.ID, "--text", unsaid)
}

// unsaid stands for an answer that a person has yet to give; it is none.
const unsaid = "…"

// decides is the command that takes the decision a run waits for, "" if it waits for none.
func (a *app) decides(j judged) string {
	switch options := j.d.Options(j.run); {
	case len(j.open()) > 0:
		return a.command("answer", j.name)
	case len(j.run.Spent) > 0 && j.d.Action == reprise.Ask:
		return a.command("resume", j.name, "--from", j.run.Spent[0].Step)
	case len(options) > 0:
		return a.command("resume", j.name, "--option", options[0].Key)
	}
	return ""
}

// nextCommand is the command that continues a run, "" where none would.
func (a *app) nextCommand(j judged) string {
	switch {
	case j.d.Outcome() == reprise.OutcomeAsk:
		return a.decides(j)
	case j.d.Action == reprise.Start:
		return a.command("resume", j.name)
	}
	return ""
}

// readFirst says what to do about a file that blocks the run because it could not be
// read, "" if there is none. Nothing else is suggested before that: what the file says
// may change every other choice.
func readFirst(r *reprise.Run) string {
	for _, f := range r.Findings {
		if f.Severity == reprise.Blocking && slices.Contains(r.Unread, f.Source.File) && f.Hint != "" {
			return f.Hint
		}
	}
	return ""
}

// ofRun are the commands that take the name of a run, inFolder those that take -C besides.
var (
	ofRun    = []string{"answer", "brief", "check", "clean", "detect", "log", "repair", "resume"}
	inFolder = []string{"doctor", "run", "trust", "undo"}
)

var namedCommand = regexp.MustCompile("`reprise ([a-z]+)([^`]*)`")

// fill completes the commands in a text that was written by who knows neither the name
// of the run as a person here would say it nor where that person stands.
func (s site) fill(text string) string {
	if !strings.Contains(text, "`reprise ") {
		return text
	}
	return namedCommand.ReplaceAllStringFunc(text, func(command string) string {
		hit := namedCommand.FindStringSubmatch(command)
		return "`reprise " + hit[1] + s.arguments(hit[1], hit[2]) + "`"
	})
}

// complete does so with what findings say.
func (s site) complete(list []report.Finding) {
	for i := range list {
		list[i].Message, list[i].Hint = s.fill(list[i].Message), s.fill(list[i].Hint)
	}
}

// arguments completes what a verb is called with.
func (s site) arguments(verb, rest string) string {
	words := strings.Fields(rest)
	takesRun := slices.Contains(ofRun, verb)
	if i := slices.Index(words, "RUN"); i >= 0 && takesRun && s.run != "" {
		rest = strings.Replace(rest, "RUN", quoted(s.run), 1)
	} else if takesRun && s.run != "" && (len(words) == 0 || words[0][0] == '-') && !slices.Contains(words, "--") {
		rest = " " + quoted(s.run) + rest
	}
	switch i := slices.IndexFunc(words, func(w string) bool { return w == "-C" || w == "--dir" || strings.HasPrefix(w, "--dir=") }); {
	case i >= 0 && words[i] == "-C" && i+1 < len(words):
		// A folder beside the project is written as seen from the project.
		if at := words[i+1]; s.root != "" && at != quoted(s.dir) && !filepath.IsAbs(at) {
			rest = strings.Replace(rest, " -C "+at, " -C "+quoted(filepath.Join(s.root, at)), 1)
		}
	case verb == "init" && s.dir != "" && len(words) == 0:
		rest = " " + quoted(s.dir)
	case i < 0 && s.dir != "" && (takesRun || slices.Contains(inFolder, verb)):
		rest += " -C " + quoted(s.dir)
	}
	return rest
}
