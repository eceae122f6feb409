package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/transcript"
)

// permits is how a program is told what it may do. What it allows is named in its own
// words, which are shown to a person as they are.
type permits struct {
	shell string // its tool that runs commands
	// command names the commands that begin with %s, exact the command %s and no other,
	// site what is at the address %s where a command that uses one needs that too. "" if
	// it has no words for it.
	command, exact, site string
	// commands allows every command, in the words of allow.
	commands string
	// whole tells that it takes a command line for one command, unless that is plain and
	// has a pipe, and that it allows no opaque one, whatever it is told.
	whole bool
	// known are the programs whose subcommands it tells apart, where it knows commands
	// by their name only; nil if it takes any beginning of a command.
	known []string
	// allow are the arguments that allow what stands for GRANT, folder those that open
	// the folder DIR, folders those that open all of them, FOLDERS.
	allow, folder, folders []string
	// tell replaces these where a program is told by its environment.
	tell func(edits bool, grants, folders []string) (env []string)
	// git tells that it keeps even git's own folder from being changed.
	git bool
	// outside lets commands out of its sandbox, where it knows nothing finer. rejects is
	// what it prints on standard error when it rejects a command that asks for that.
	outside, rejects string
}

// looks and commits are the commands that our own prompt asks for: always, and where the
// work is to be committed.
var (
	looks   = []string{"git status", "git log", "git diff"}
	commits = []string{"git add", "git commit"}
)

// permitted are the arguments and variables that tell a program what it may do: what our
// prompt asks for, unless a person decided that by flags or settings of their own, and
// what a person granted.
func (p Preset) permitted(approve Approval, job Job) (args, env []string) {
	if approve == ApproveAll {
		return nil, nil
	}
	grants, folders := slices.Clone(job.Grants), []string(nil)
	if approve != ApproveNone {
		grants, folders = append(p.demanded(job, approve), grants...), p.folders(job)
	}
	if p.permits.tell != nil {
		return nil, p.permits.tell(approve != ApproveNone, grants, folders)
	}
	for _, g := range grants {
		if dir, ok := strings.CutPrefix(g, p.permits.opens()); ok && p.permits.folder != nil {
			folders = append(folders, dir)
			continue
		}
		args = append(args, filled(p.permits.allow, "GRANT", g)...)
	}
	for _, dir := range folders {
		args = append(args, filled(p.permits.folder, "DIR", dir)...)
	}
	if len(folders) > 0 {
		list, _ := json.Marshal(folders) // texts always can be
		args = append(args, filled(p.permits.folders, "FOLDERS", string(list))...)
	}
	return args, nil
}

// demanded is what allows the commands that our own prompt asks for, or all of them.
func (p Preset) demanded(job Job, approve Approval) (out []string) {
	if approve == ApproveCommands {
		return []string{p.permits.commands}
	}
	if p.permits.command == "" {
		return nil
	}
	words := looks
	if job.GitDir != "" {
		words = slices.Concat(looks, commits)
	}
	for _, w := range words {
		out = append(out, fmt.Sprintf(p.permits.command, w))
	}
	return out
}

// folders are those that an attempt changes beside the one it works in: where its result
// belongs, and git's own where the program would keep it from that.
func (p Preset) folders(job Job) (out []string) {
	result := filepath.Dir(job.Result)
	if below, err := filepath.Rel(job.Dir, result); job.Result != "" && (err != nil || !filepath.IsLocal(below)) {
		out = append(out, result)
	}
	if p.permits.git && job.GitDir != "" {
		out = append(out, job.GitDir)
	}
	return out
}

func filled(args []string, name, value string) (out []string) {
	for _, a := range args {
		out = append(out, strings.ReplaceAll(a, name, value))
	}
	return out
}

// Bounds of what a person is asked after one attempt: questions, and the length of the
// words for a single call.
const (
	maxAsked = 8
	maxGrant = 200
)

// denial is what a program says of a call that it did not allow: the path for which its
// folder has to be opened too, and that nothing it can be told allows the call.
type denial struct {
	path  string
	never bool
}

// denied notes a call that was not allowed, with what would allow it.
func (s *stream) denied(tool, input string) { s.deniedFor(denial{}, tool, input) }

func (s *stream) deniedFor(why denial, tool, input string) {
	ask := reprise.Asked{Denied: true}
	call := firstLine(tool)
	if why.path != "" {
		call += " in " + firstLine(folderOf(why.path))
	}
	call = strings.TrimSpace(call + ": " + firstLine(input))
	if g := s.grant(tool, input, why); g != nil {
		ask.Text, ask.Grant, ask.Options, ask.Closed = "may it use "+call, g, g.Options(), true
	} else {
		ask.Text = "it may not use " + call + " (no answer can allow that: say how to do without it, or " + reprise.AllowMore + ")"
	}
	s.refused(ask)
}

// folderOf is the folder that has to be opened for a path: itself, or the nearest above it
// that is there.
func folderOf(path string) string {
	for info, err := os.Stat(path); err != nil || !info.IsDir(); info, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	return path
}

// opens begins the words that open a folder.
func (p permits) opens() string { return strings.TrimSuffix(strings.Join(p.folder, " "), "DIR") }

// grant is what allows a call; nil if nothing is known that does.
func (s *stream) grant(tool, input string, why denial) *reprise.Grant {
	p, g := s.permits, &reprise.Grant{Agent: s.preset}
	switch {
	case why.never || p.allow == nil && p.tell == nil:
		return nil
	case tool != p.shell:
		g.Once, g.Wide = []string{firstLine(tool)}, true
		g.Run = g.Once
	case p.outside != "":
		g.Once, g.Wide = []string{p.outside}, true
		g.Run = g.Once
	default:
		p.line(g, input)
	}
	if why.path != "" && len(g.Once) > 0 {
		dir := folderOf(why.path)
		if dir == filepath.Dir(dir) {
			return nil // that would open everything
		}
		g.Once, g.Wide = append(g.Once, p.opens()+dir), true
		if len(g.Run) > 0 {
			g.Run = append(g.Run, p.opens()+dir)
		}
	}
	if len(g.Once) == 0 {
		return nil
	}
	return g
}

// line adds what allows a command line, nothing where nothing is known that does.
func (p permits) line(g *reprise.Grant, input string) {
	calls, form := transcript.Commands(input)
	shown := len(input) <= maxGrant && input == firstLine(input)
	if p.whole && (form.Opaque || !form.Plain && !shown) {
		return
	}
	named := len(calls) > 0
	for _, c := range calls {
		name := p.name(c.Words)
		named = named && name != "" && !(p.whole && (c.Sets != "" || !form.Plain))
		once, words := c.Text, p.exact
		if p.whole {
			once = c.Sets + c.Text
		}
		if p.known != nil || len(once) > maxGrant || once != firstLine(once) {
			once, words = name, ""
		}
		if once == "" {
			g.Once = nil
			return
		}
		g.Wide = g.Wide || words == "" || strings.ContainsAny(once, "*?")
		g.Once = added(g.Once, fmt.Sprintf(cmp.Or(words, p.command), once))
		g.Run = added(g.Run, fmt.Sprintf(p.command, name))
	}
	if p.whole && shown && !(form.Pipe && form.Plain) {
		g.Once, g.Wide = []string{fmt.Sprintf(p.exact, input)}, strings.ContainsAny(input, "*?")
	}
	if !named {
		g.Run = nil
	}
	if p.site != "" && len(g.Once) > 0 {
		for _, at := range sites(input) {
			site := fmt.Sprintf(p.site, at)
			g.Once, g.Run, g.Wide = added(g.Once, site), added(g.Run, site), true
		}
	}
}

// subcommand is a word that says what a program does rather than what it does it to.
var subcommand = lazily(`^[a-z][a-z0-9-]{0,30}$`)

// name is the beginning of a command that such commands share: its program, and its
// subcommand if it has one. "" if the program is not told by its words.
func (p permits) name(words []string) string {
	if len(words) == 0 {
		return ""
	}
	if len(words) > 1 && subcommand().MatchString(words[1]) && (p.known == nil || slices.Contains(p.known, words[0])) {
		return words[0] + " " + words[1]
	}
	return words[0]
}

var address = lazily(`https?://[^\s'"<>|;&)]+`)

// sites are the sites whose addresses stand in a command.
func sites(command string) (out []string) {
	for _, text := range address().FindAllString(command, -1) {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			out = added(out, u.Scheme+"://"+u.Host)
		}
	}
	return out
}

func added(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}
