package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/report"
)

// site is where the user is. It completes the commands in hints, so that each works when
// pasted there.
type site struct {
	run  string // the name of the run in question, "" for none
	id   string // its id, which other runs may have as well
	dir  string // the project folder as given with -C, "" if it was not
	root string // the project folder as seen from here, "" for the current one
}

// longestName is the longest name offered for pasting.
const longestName = 120

// checkOf returns the command that checks a run, without a name too long to paste.
func checkOf(name string) string { return commandOf("check", name) }

// commandOf returns a command about the run with this name, without the name if it is too
// long.
func commandOf(verb, name string) string {
	if len(name) > longestName {
		return "`reprise " + verb + "`"
	}
	return "`reprise " + verb + " " + quoted(name) + "`"
}

// about sets the run that hints refer to, by the name that it has here; nil for none.
func (a *app) about(r *reprise.Run, name string) {
	if a.site.run, a.site.id = name, ""; len(name) > longestName {
		a.site.run = ""
	}
	if r != nil {
		a.site.id = r.ID
	}
}

// stand records the project that the command was called for.
func (a *app) stand(cmd *cobra.Command) {
	if f := cmd.Flags().Lookup("dir"); f != nil && f.Changed && f.Value.String() != "." {
		a.site.dir = f.Value.String()
	}
}

// stands records the folder in which the project was found.
func (a *app) stands(root string) {
	if a.site.root = root; root == "." {
		a.site.root = ""
	}
}

// again returns the command as it was called, with flags added: what a refusal suggests
// if only a flag was missing.
func (a *app) again(flags ...string) string {
	at := slices.Index(a.args, "--") // everything after it is taken as names
	if at < 0 {
		at = len(a.args)
	}
	called := slices.DeleteFunc(slices.Clone(a.args[:at]), func(word string) bool { return word == "--json" || slices.Contains(flags, word) })
	return commandWords(slices.Concat([]string{"reprise"}, called, flags, a.args[at:]))
}

// listsAll returns the command that lists every run where a status looked, "" for that
// of the current folder.
func (a *app) listsAll() string {
	if len(a.args) > 0 && a.args[0] == "status" {
		return a.again("--all")
	}
	if a.site.dir != "" {
		return commandWords([]string{"reprise", "status", "-C", a.site.dir, "--all"})
	}
	return ""
}

// command returns one of our commands for a run of this project.
func (a *app) command(verb, name string, flags ...string) string {
	words := []string{"reprise", verb, name}
	if a.site.dir != "" {
		words = append(words, "-C", a.site.dir)
	}
	return commandWords(append(words, flags...))
}

// answering returns the commands that answer a question: one for each offered answer, with
// what it means as a comment, or one with dots for the user to replace. None of them is the
// default: which one is pasted decides.
func (a *app) answering(name string, q reprise.Question) []string {
	if len(q.Options) == 0 {
		return []string{a.command("answer", name, "--question", q.ID, "--text", unsaid)}
	}
	var out []string
	for i, means := range q.Options {
		out = append(out, a.command("answer", name, "--question", q.ID, "--option", strconv.Itoa(i+1))+"  # "+plain(means))
	}
	return out
}

// replies returns the command that leads to the answers of a run's questions. It answers
// none of them itself: where no one can be asked, it has dots for the user to replace, or
// lists a command for each answer.
func (a *app) replies(name string, open []reprise.Question) string {
	switch {
	case len(open) == 0 || a.asks():
		return a.command("answer", name)
	case len(open[0].Options) == 0:
		return a.answering(name, open[0])[0]
	}
	return a.command("answer", name, "--list")
}

// unsaid stands for an answer still to be given; it is not itself accepted.
const unsaid = "…"

// decides returns the command that makes the decision a run waits for, or "".
func (a *app) decides(j judged) string {
	switch options := j.d.Options(j.run); {
	case len(j.open()) > 0:
		return a.replies(j.name, j.open())
	case len(j.run.Spent) > 0 && j.d.Action == reprise.Ask:
		return a.command("resume", j.name, "--from", j.run.Spent[0].Step)
	case len(options) > 0:
		return a.command("resume", j.name, "--option", options[0].Key)
	}
	return ""
}

// nextCommand returns the command that continues a run, or "" if none would.
func (a *app) nextCommand(j judged) string {
	if i := slices.IndexFunc(j.run.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeUndoCutOff }); i >= 0 {
		if hit := namedCommand.FindStringSubmatch(j.run.Findings[i].Message); hit != nil {
			words := strings.Fields(hit[2])
			return a.command(hit[1], words[0], words[1:]...)
		}
	}
	switch {
	case j.d.Outcome() == reprise.OutcomeAsk:
		return a.decides(j)
	case j.d.Action == reprise.Start:
		return a.command("resume", j.name)
	}
	return ""
}

// readFirst says what to do about an unreadable file that blocks the run, or "". Nothing
// else is suggested first, because the file may change every other choice.
func readFirst(r *reprise.Run) string {
	for _, f := range r.Findings {
		if f.Severity == reprise.Blocking && slices.Contains(r.Unread, f.Source.File) && f.Hint != "" {
			return f.Hint
		}
	}
	return ""
}

// ofRun are the commands that take the name of a run, inFolder those that also take -C.
var (
	ofRun    = []string{"answer", "brief", "check", "clean", "detect", "log", "repair", "resume"}
	inFolder = []string{"doctor", "run", "trust", "undo"}
)

var namedCommand = regexp.MustCompile("`reprise ([a-z]+)([^`]*)`")

// fill completes the commands in a text whose author knew neither the run's name as used
// here nor the user's folder.
func (s site) fill(text string) string {
	if !strings.Contains(text, "`reprise ") {
		return text
	}
	return namedCommand.ReplaceAllStringFunc(text, func(command string) string {
		hit := namedCommand.FindStringSubmatch(command)
		return "`reprise " + hit[1] + s.arguments(hit[1], hit[2]) + "`"
	})
}

// complete does so in findings.
func (s site) complete(list []report.Finding) {
	for i := range list {
		list[i].Message, list[i].Hint = s.fill(list[i].Message), s.fill(list[i].Hint)
	}
}

// typedWords finds the words of a command, as reprise.Pasted and quoted type them.
var typedWords = regexp.MustCompile(`(?:'[^']*'|\\.|[^\s'\\])+`)

// unquoted is what a shell makes of a word that reprise.Pasted typed.
func unquoted(word string) string {
	if whole, ok := strings.CutPrefix(word, "'"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(whole, "'"), `'\''`, "'")
	}
	return word
}

// arguments completes the arguments of a verb.
func (s site) arguments(verb, rest string) string {
	words := typedWords.FindAllString(rest, -1)
	other := slices.IndexFunc(words, func(w string) bool { return w == "-C" || w == "--dir" || strings.HasPrefix(w, "--dir=") })
	takesRun := slices.Contains(ofRun, verb)
	if i := slices.Index(words, "RUN"); other >= 0 || !takesRun || s.run == "" {
		// Another folder has names of its own, and whoever named it named the run as it does.
	} else if i >= 0 {
		rest = strings.Replace(rest, "RUN", quoted(s.run), 1)
	} else if s.id != "" && len(words) > 0 && unquoted(words[0]) == s.id {
		rest = strings.Replace(rest, words[0], quoted(s.run), 1)
	} else if (len(words) == 0 || words[0][0] == '-') && !slices.Contains(words, "--") {
		rest = " " + quoted(s.run) + rest
	}
	switch {
	case other >= 0 && words[other] == "-C" && other+1 < len(words):
		// A folder next to the project is written relative to the project.
		if at := unquoted(words[other+1]); s.root != "" && at != s.dir && !filepath.IsAbs(at) {
			rest = strings.Replace(rest, " -C "+words[other+1], " -C "+quoted(filepath.Join(s.root, at)), 1)
		}
	case verb == "init" && s.dir != "" && len(words) == 0:
		rest = " " + quoted(s.dir)
	case other < 0 && s.dir != "" && (takesRun || slices.Contains(inFolder, verb)):
		rest += " -C " + quoted(s.dir)
	}
	return rest
}
