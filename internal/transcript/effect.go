package transcript

import (
	"slices"
	"strings"

	"reprise"
)

// tools are the tools of all CLIs whose effect their name tells. A shell is not
// among them: its command line tells. Anything else is unknown.
var tools = map[string]reprise.Effect{
	"read": reprise.EffectNone, "readfile": reprise.EffectNone, "readmanyfiles": reprise.EffectNone, "view": reprise.EffectNone, "viewimage": reprise.EffectNone,
	"glob": reprise.EffectNone, "grep": reprise.EffectNone, "grepsearch": reprise.EffectNone, "searchfilecontent": reprise.EffectNone,
	"ls": reprise.EffectNone, "list": reprise.EffectNone, "listdir": reprise.EffectNone, "listdirectory": reprise.EffectNone, "rg": reprise.EffectNone,
	"todowrite": reprise.EffectNone, "todoread": reprise.EffectNone, "updateplan": reprise.EffectNone, "toolsearch": reprise.EffectNone,
	"taskoutput": reprise.EffectNone, "taskget": reprise.EffectNone, "tasklist": reprise.EffectNone, "readbash": reprise.EffectNone, "reportintent": reprise.EffectNone,

	"write": reprise.EffectFile, "writefile": reprise.EffectFile, "edit": reprise.EffectFile, "multiedit": reprise.EffectFile, "replace": reprise.EffectFile,
	"applypatch": reprise.EffectFile, "patch": reprise.EffectFile, "create": reprise.EffectFile, "strreplaceeditor": reprise.EffectFile, "notebookedit": reprise.EffectFile,

	"webfetch": reprise.EffectNetwork, "websearch": reprise.EffectNetwork, "googlewebsearch": reprise.EffectNetwork,
}

var shells = map[string]bool{"bash": true, "shell": true, "execcommand": true, "commandexecution": true, "runshellcommand": true, "localshell": true, "containerexec": true, "powershell": false}

// plainName is the name of a tool as the tables have it.
func (c Call) plainName() string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(c.Tool))
}

// mayReach reports whether the tool of a call may change more than files of this machine,
// without a look at what it was given.
func (c Call) mayReach() bool {
	known := tools[c.plainName()]
	return known != reprise.EffectNone && known != reprise.EffectFile
}

// Shell reports whether it runs a command line.
func (c Call) Shell() bool { return shells[c.plainName()] && c.Input.Command != "" }

// Effect tells what a call can change, at worst.
func (c Call) Effect() reprise.Effect {
	name := c.plainName()
	switch {
	case c.Nameless(), c.Input.Cut:
		return reprise.EffectUnknown
	case shells[name] && c.Input.Command != "":
		return commandEffect(c.Input.Command, 0)
	case tools[name] != 0:
		return tools[name]
	}
	return reprise.EffectUnknown
}

// maxNesting bounds how deep command lines are looked into.
const maxNesting = 8

// commandEffect is the worst of all that a command line runs.
func commandEffect(line string, depth int) reprise.Effect {
	if depth > maxNesting {
		return reprise.EffectUnknown
	}
	s := shellLine(line)
	if !s.ok {
		return reprise.EffectUnknown
	}
	worst := reprise.EffectNone
	for _, c := range slices.Concat(s.commands, s.inner) {
		worst = max(worst, c.effect(depth))
	}
	return worst
}

func (c command) effect(depth int) reprise.Effect {
	worst := reprise.EffectNone
	for _, out := range c.outs {
		if out.text != "/dev/null" && out.text != "/dev/stderr" && out.text != "/dev/stdout" {
			worst = reprise.EffectFile
		}
	}
	if c.back {
		worst = max(worst, reprise.EffectProcess)
	}
	name, args := c.program()
	return max(worst, programEffect(name, args, depth))
}

// programWords are programs by effect, whatever they are given. A program that runs what others wrote (make, a
// test runner, an interpreter) is not among them: what it does cannot be told.
var programWords = map[reprise.Effect]string{
	reprise.EffectNone: "cat ls pwd echo printf head tail wc grep egrep fgrep diff cmp true false : test [ [[ stat file which type date sleep cd pushd popd cut tr jq " +
		"basename dirname realpath readlink id whoami uname df du ps seq nl od hexdump md5sum sha1sum sha256sum cksum column comm paste rev tac expr export unset set shopt wait jobs hash for",
	reprise.EffectFile:    "touch mkdir rm rmdir mv cp ln chmod chown tee truncate dd install patch tar zip unzip gzip gunzip mktemp gofmt apply_patch sort uniq tree",
	reprise.EffectProcess: "kill pkill killall systemctl service docker podman tmux screen setsid disown at crontab",
	reprise.EffectNetwork: "curl wget ssh scp sftp rsync nc ping dig host nslookup gh glab npm pnpm yarn pip pip3 apt apt-get brew kubectl aws gcloud az terraform helm",
}

func programEffect(name string, args []word, depth int) reprise.Effect {
	has := func(words ...string) bool {
		for _, a := range args {
			for _, w := range words {
				if !a.plain || a.text == w || strings.HasPrefix(a.text, w) && len(w) == 2 && !strings.HasPrefix(a.text, "--") {
					return true
				}
			}
		}
		return false
	}
	switch name {
	case "":
		return reprise.EffectNone // an assignment, or a bracket
	case "git":
		return gitEffect(args)
	case "bash", "sh", "zsh", "dash":
		for i, a := range args {
			if (a.text == "-c" || a.text == "-lc" || a.text == "-ec") && i+1 < len(args) && args[i+1].plain && i+2 == len(args) {
				return commandEffect(args[i+1].text, depth+1)
			}
		}
		return reprise.EffectUnknown
	case "sed":
		if len(args) >= 2 && args[0].text == "-n" && args[1].plain && printsLines(args[1].text) {
			return reprise.EffectNone
		}
		if has("-i", "--in-place") || len(args) > 0 {
			return reprise.EffectFile // its scripts can write files
		}
	case "sort", "tree": // -o writes a file
		if !slices.ContainsFunc(args, func(a word) bool { return !a.plain || strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "o") }) {
			return reprise.EffectNone
		}
	case "find":
		if !has("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fls", "-fprintf") {
			return reprise.EffectNone
		}
	case "rg":
		if !has("--pre", "--hostname-bin") {
			return reprise.EffectNone
		}
	}
	for effect, list := range programWords {
		if slices.Contains(strings.Fields(list), name) {
			return effect
		}
	}
	return reprise.EffectUnknown
}

// printsLines reports whether a script of sed does no more than print some lines.
func printsLines(script string) bool {
	lines, ok := strings.CutSuffix(script, "p")
	return ok && lines != "" && strings.Trim(lines, "0123456789$,+~ ") == ""
}

// gitWords are the commands of git that only read, and those that change the
// local repository. What speaks to another repository stands in gitRemote.
const (
	gitReads  = " status log diff show rev-parse rev-list ls-files ls-tree blame describe cat-file shortlog show-ref for-each-ref merge-base name-rev var grep count-objects whatchanged version help "
	gitWrites = " add commit checkout switch merge rebase reset restore stash tag branch cherry-pick revert rm mv apply am init config worktree clean notes update-ref update-index write-tree commit-tree gc prune reflog bisect sparse-checkout "
	gitRemote = " push pull fetch clone ls-remote remote submodule send-email request-pull archive svn "
)

func gitEffect(args []word) reprise.Effect {
	name, rest, ok := gitCommand(args)
	switch {
	case !ok:
		return reprise.EffectUnknown
	case name == "branch" && len(rest) == 0, name == "branch" && len(rest) == 1 && (rest[0].text == "-a" || rest[0].text == "-v" || rest[0].text == "--show-current" || rest[0].text == "--list"),
		name == "stash" && len(rest) == 1 && rest[0].text == "list", name == "worktree" && len(rest) == 1 && rest[0].text == "list",
		name == "remote" && (len(rest) == 0 || len(rest) == 1 && rest[0].text == "-v"):
		return reprise.EffectNone
	case strings.Contains(gitRemote, " "+name+" "):
		return reprise.EffectRemoteGit
	case strings.Contains(gitWrites, " "+name+" "):
		return reprise.EffectGit
	case !strings.Contains(gitReads, " "+name+" "):
		return reprise.EffectUnknown // perhaps an alias
	}
	for _, a := range rest {
		if strings.HasPrefix(a.text, "--output") || strings.HasPrefix(a.text, "--ext-diff") || strings.HasPrefix(a.text, "-O") || !a.plain {
			return reprise.EffectFile
		}
	}
	return reprise.EffectNone
}

// gitCommand finds the command of git behind the options that come first. ok is
// false where one of them can make git do anything.
func gitCommand(args []word) (name string, rest []word, ok bool) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case !a.plain:
			return "", nil, false
		case a.text == "-C":
			i++
		case a.text == "--no-pager", a.text == "-P":
		case strings.HasPrefix(a.text, "-"):
			return "", nil, false
		default:
			return a.text, args[i+1:], true
		}
	}
	return "status", nil, true
}
