package transcript

import (
	"path"
	"slices"
	"strings"

	"reprise"
)

// Mark is a trace that one part of a command line leaves once it was carried
// out. Exactly one of the fields after Path and Dir is set.
type Mark struct {
	Path string // of a file, as written
	Dir  string // where the part runs, relative to where the call does; "" for there

	Made    bool    // the file is there, and was touched by the call
	Gone    bool    // it is not there
	Content *string // it has exactly this content
	Begun   bool    // it is there: output goes to it, whole or not
	Commit  string  // a commit with this subject
	Branch  string  // a branch of this name
	Push    *Push   // a branch arrived at a remote

	// After says that the part runs only if everything before it succeeded, so that its
	// trace is also theirs.
	After bool
}

// Push is what a push names, "" what it leaves to git.
type Push struct{ Remote, From, To string }

// Marks lists the traces a call leaves beside its Files. whole tells that each
// part that changes anything has one: only then do all of them together say that
// the call was carried out.
func (c Call) Marks() (marks []Mark, whole bool) {
	name := strings.ToLower(strings.ReplaceAll(c.Tool, "_", ""))
	if !shells[name] {
		return nil, true
	}
	if len(c.Input.Files) > 0 { // a patch given to a shell: its files tell
		return nil, strings.HasPrefix(strings.TrimSpace(c.Input.Command), "apply_patch")
	}
	line := shellLine(c.Input.Command)
	if !line.ok {
		return nil, false
	}
	whole = !slices.ContainsFunc(line.inner, func(c command) bool { return c.effect(1) != reprise.EffectNone })
	dir, after, staged := "", true, false
	for _, cmd := range line.commands {
		after = after && (cmd.join == "" || cmd.join == "&&") && !cmd.maybe
		if name, args := cmd.program(); name == "cd" {
			if len(args) != 1 || !args[0].plain {
				return marks, false
			}
			dir = join(dir, args[0].text)
			continue
		}
		if cmd.effect(0) == reprise.EffectNone {
			continue
		}
		if name, args := cmd.program(); name == "git" && len(args) > 0 && args[0].text == "add" && len(cmd.outs) == 0 {
			staged = true // the commit after it is its trace
			continue
		}
		found := cmd.marks()
		// What hangs on a condition, or runs beside the rest, need not have
		// happened at all.
		if len(found) == 0 || cmd.join == "||" || cmd.join == "&" || cmd.back || cmd.maybe {
			whole = false
		}
		for _, m := range found {
			m.Dir, m.After = dir, after
			marks = append(marks, m)
			staged = staged && m.Commit == ""
		}
	}
	return marks, whole && !staged
}

func join(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// marks are the traces of one command; none if its effect is not told by them
// alone.
func (c command) marks() (out []Mark) {
	name, args := c.program()
	if name == "git" {
		if len(c.outs) > 0 {
			return nil
		}
		return gitMarks(args)
	}
	for _, w := range c.outs {
		if !w.plain {
			return nil
		}
		if w.text != "/dev/null" {
			out = append(out, outputMark(name, args, w.text, c))
		}
	}
	switch programEffect(name, args, 0) {
	case reprise.EffectNone:
		return out
	case reprise.EffectFile:
	default:
		return nil
	}
	for _, a := range args {
		switch {
		case !a.plain:
			return nil
		case strings.HasPrefix(a.text, "-"):
			continue
		}
		switch name {
		case "touch", "mkdir":
			out = append(out, Mark{Path: a.text, Made: true})
		case "rm", "rmdir":
			out = append(out, Mark{Path: a.text, Gone: true})
		case "tee":
			out = append(out, Mark{Path: a.text, Begun: true})
		default:
			return nil
		}
	}
	return out
}

// outputMark is what a command leaves in the file its output goes to. Of a mere
// echo the content is known.
func outputMark(name string, args []word, file string, c command) Mark {
	var texts []string
	for _, a := range args {
		if name != "echo" || !a.plain || strings.HasPrefix(a.text, "-") || strings.Contains(a.text, `\`) {
			return Mark{Path: file, Begun: true}
		}
		texts = append(texts, a.text)
	}
	if name != "echo" || c.appends || len(c.outs) != 1 {
		return Mark{Path: file, Begun: true}
	}
	content := strings.Join(texts, " ") + "\n"
	return Mark{Path: file, Content: &content}
}

func gitMarks(args []word) []Mark {
	if len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		return nil // perhaps in another folder
	}
	name, rest, ok := gitCommand(args)
	if !ok {
		return nil
	}
	switch name {
	case "commit":
		if subject := commitSubject(rest); subject != "" {
			return []Mark{{Commit: subject}}
		}
	case "checkout", "switch":
		if len(rest) >= 2 && (rest[0].text == "-b" || rest[0].text == "-c") && rest[1].plain {
			return []Mark{{Branch: rest[1].text}}
		}
	case "branch":
		if len(rest) == 1 && rest[0].plain && !strings.HasPrefix(rest[0].text, "-") {
			return []Mark{{Branch: rest[0].text}}
		}
	case "push":
		return pushMarks(rest)
	}
	return nil
}

// pushMarks are those of the branches that are pushed; none if it does more than that.
func pushMarks(args []word) (out []Mark) {
	var names []string
	for _, a := range args {
		flag := strings.HasPrefix(a.text, "-")
		switch {
		case !a.plain, flag && !strings.Contains(" -u --set-upstream -f --force -q --quiet -v --verbose --progress --no-verify --force-with-lease --porcelain ", " "+a.text+" "):
			return nil
		case !flag:
			names = append(names, a.text)
		}
	}
	if len(names) < 2 {
		return []Mark{{Push: &Push{Remote: strings.Join(names, "")}}}
	}
	for _, spec := range names[1:] {
		from, to, named := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		from, to = strings.TrimPrefix(from, "refs/heads/"), strings.TrimPrefix(to, "refs/heads/")
		if from == "" || named && to == "" || strings.Contains(spec, "*") || strings.HasPrefix(from, "refs/") {
			return nil
		}
		out = append(out, Mark{Push: &Push{names[0], from, to}})
	}
	return out
}

// commitSubject is the first line of the message given to git commit, "" if it
// is not known, or if the commit is not a new one.
func commitSubject(args []word) string {
	message := ""
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.text, "--amend"), strings.HasPrefix(a.text, "--dry-run"), strings.HasPrefix(a.text, "--fixup"):
			return ""
		case message != "":
		case strings.HasPrefix(a.text, "--message="):
			if a.plain {
				message = strings.TrimPrefix(a.text, "--message=")
			}
		case (a.text == "--message" || strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.HasSuffix(a.text, "m")) && i+1 < len(args):
			message = args[i+1].known()
		}
	}
	subject, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimSpace(subject)
}

// known is the text that a word gives to a command, "" if that is not known.
func (w word) known() string {
	if w.plain {
		return w.text
	}
	return w.document
}
