// Package doctor looks whether reprise can work on this machine and in this
// project: which agents there are, git, the file system, processes, settings.
// It changes nothing, and starts nothing but `--version` of programs and git, to ask it
// whether it takes the project for a repository.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/internal/proc"
	"reprise/settings"
)

// Level is how well something is.
type Level string

// The levels, best first.
const (
	Fine    Level = "fine"
	Absent  Level = "absent"  // not here, and not needed
	Limited Level = "limited" // something does not work, or is not sure to
	Missing Level = "missing" // something essential is not here
)

// Outcome gives the level as an outcome.
func (l Level) Outcome() reprise.Outcome {
	switch l {
	case Limited:
		return reprise.OutcomeCaution
	case Missing:
		return reprise.OutcomeBlocked
	}
	return reprise.OutcomeOK
}

// Check is one thing that was looked at.
type Check struct {
	Group string // agents, git, files, processes, settings
	Name  string
	Level Level
	Says  string // what was found
	Means string // what would not work, and why; "" if nothing
	Do    string // what a person can do; "" if nothing is to be done
}

// Options say what to look at.
type Options struct {
	Dir     string // the project, absolute
	Environ []string
	Getenv  func(string) string
}

// Worst gives the worst level.
func Worst(checks []Check) Level {
	order := []Level{Fine, Absent, Limited, Missing}
	worst := Fine
	for _, c := range checks {
		if slices.Index(order, c.Level) > slices.Index(order, worst) {
			worst = c.Level
		}
	}
	return worst
}

// Look looks at everything. The order is always the same.
func Look(ctx context.Context, o Options) []Check {
	set, checks, unused := o.settings()
	env, _ := set.Environ(o.Environ, settings.Agent{})
	roles, bound := o.roles(set)
	out := agents(ctx, env, o.Dir, bound, unused)
	out = append(out, git(ctx, env, o.Dir))
	out = append(out, o.repository(ctx)...)
	out = append(out, o.files())
	out = append(out, processes()...)
	return append(append(out, checks...), roles...)
}

// agents looks for the known CLIs outside of the project. bound tells that the
// settings name who does the work; unused names the check that
// says why they are not used, "" if they are.
func agents(ctx context.Context, env []string, project string, bound bool, unused string) []Check {
	var out []Check
	found := false
	for _, i := range agent.Look(ctx, env, project) {
		c := Check{Group: "agents", Name: i.Preset.Name, Level: Fine, Says: i.Version + ", as tested"}
		switch {
		case i.Path == "":
			c.Level, c.Says = Absent, "not installed"
			out = append(out, c)
			continue
		case i.Version == "":
			c.Level, c.Says = Limited, i.Problem
			c.Means, c.Do = "it may hang or fail in the same way during a step", "run `"+i.Preset.Program+" --version` and see"
		case i.Problem != "":
			c.Level, c.Says = Limited, i.Version+"; tested with "+strings.Join(i.Preset.Tested, " and ")
			c.Means = "its output may have changed, so limits, ends and sessions may be misread"
			c.Do = "try it on something small first, or install " + i.Preset.Tested[0]
		}
		if i.Hidden() {
			c.Level, c.Says = Limited, c.Says+", behind a wrapper script"
			c.Means = cmp.Or(c.Means, "a killed wrapper leaves its program running, which must be cleaned up")
			c.Do = cmp.Or(c.Do, "name the program itself in "+settings.FileName+", or install it without a wrapper")
		}
		found = true
		out = append(out, c)
	}
	if !found && !bound {
		c := Check{
			Group: "agents", Name: "any agent", Level: Missing, Says: "none is installed, and the settings name no command",
			Means: "nothing can be started; status, check and brief work", Do: "install one of them, or name a command in " + settings.FileName,
		}
		if unused != "" {
			c.Says, c.Do = "none is installed, and the project's settings are not used", "see "+unused+" below"
		}
		out = append(out, c)
	}
	return out
}

// wanted is the oldest git that everything works with.
var wanted = [2]int{2, 36}

var gitVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+)\.(\d+)(\.\d+)*`) })

func git(ctx context.Context, env []string, project string) Check {
	c := Check{Group: "git", Name: "git", Level: Fine}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	env = proc.Environ(env, project)
	at, err := proc.Find("git", env, project)
	if err != nil {
		c.Level, c.Says = Missing, "not installed"
		c.Means, c.Do = "no evidence from commits, no checkout of a run's own, no commit of what a step left", "install git "+minimum()+" or later"
		return c
	}
	cmd := exec.CommandContext(ctx, at, "--version")
	cmd.Env, cmd.WaitDelay = append(slices.Clone(env), "LC_ALL=C"), time.Second
	proc.Group(cmd)
	text, err := cmd.Output()
	m := gitVersion().FindStringSubmatch(string(text))
	if m == nil {
		c.Level, c.Says, c.Do = Limited, fmt.Sprintf("does not report its version: %v", err), "run `git --version` and see"
		return c
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	c.Says = m[0]
	if major < wanted[0] || major == wanted[0] && minor < wanted[1] {
		c.Level = Limited
		c.Means = "before " + minimum() + " git lists one checkout per line: a path with a line break is not seen"
		c.Do = "install git " + minimum() + " or later"
	}
	return c
}

// repository looks whether git takes the project for a repository, as whoever works
// there asks it. Nothing is said where it does, or where there is none.
func (o Options) repository(ctx context.Context) []Check {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := gitx.Open(ctx, o.Dir, gitx.Options{Environ: o.Environ})
	if err == nil || gitx.Absent(err) {
		return nil
	}
	c := Check{
		Group: "git", Name: "repository", Level: Limited, Says: "git cannot be used here: " + err.Error(),
		Means: "no evidence from commits, no checkout of a run's own, no commit of what a step left",
		Do:    "run `git status` there and see what it says",
	}
	var silent *gitx.NoAnswerError
	if errors.As(err, &silent) {
		c.Level, c.Means, c.Do = Missing, "run and resume refuse to work here until git answers", silent.Hint()
	}
	if strings.Contains(o.Dir, "\n") {
		c.Do = "give the folder a name without a line break"
	}
	return []Check{c}
}

func minimum() string { return fmt.Sprintf("%d.%d", wanted[0], wanted[1]) }

// files looks at the file system that the state would be on.
func (o Options) files() Check {
	c := Check{Group: "files", Name: "state folder", Level: Fine}
	p, err := durable.LookAt(o.Dir)
	if errors.Is(err, errors.ErrUnsupported) {
		c.Level, c.Says = Missing, "this system ("+runtime.GOOS+") has no locks that reprise can use"
		c.Means, c.Do = "nothing is written here: run, resume, answer and repair refuse to work; status, check and brief do", "to resume, work on Linux or macOS; on Windows, inside WSL"
		return c
	}
	if err != nil {
		c.Level, c.Says, c.Do = Missing, err.Error(), "name a readable folder with -C"
		return c
	}
	return place(c, p)
}

// place says what the file system of the project means.
func place(c Check, p durable.Place) Check {
	c.Says = p.Kind
	switch {
	case p.Refuses != nil:
		c.Level, c.Says = Missing, p.Kind+", nothing can be created in the project: "+p.Refuses.Error()
		c.Means, c.Do = "run, resume and answer refuse to work; status, check and brief do", "make the folder writable, or work on a copy of it"
	case p.Full:
		c.Level, c.Says = Missing, p.Kind+", which is full"
		c.Means, c.Do = "nothing can be recorded, so nothing is started; status, check and brief work", "free some space on it"
	case !p.Locks:
		c.Level, c.Says = Missing, p.Kind+", locks do not work"
		c.Means, c.Do = "two engines could work on the same run at once", "move the project to a local disk"
	case p.Network:
		c.Level = Limited
		c.Means = "locks and writes depend on another machine: run and resume refuse to work here"
		c.Do = "move the project to a local disk, or use --allow-network-fs if you know that its locks work"
	case p.Volatile:
		c.Level, c.Means, c.Do = Limited, "it is in memory: after a restart nothing is left to resume", "move the project to a disk"
	case p.Layered:
		c.Level = Limited
		c.Means, c.Do = "it is an overlay, as in a container: the state may disappear with it", "put the project on a volume"
	}
	return c
}

// processes looks whether agents can be watched and stopped here.
func processes() []Check {
	c := Check{Group: "processes", Name: "processes", Level: Fine, Says: "agents and everything they start can be watched and stopped"}
	self, err := proc.Self()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		c.Level, c.Says = Limited, "this system ("+runtime.GOOS+") reports little about processes"
		c.Means = "whether a recorded owner is alive is unknown, and processes that leave an agent's process group are not seen"
	case err != nil || self.PID != os.Getpid():
		c.Level, c.Says = Limited, "/proc does not show this process"
		c.Means, c.Do = "whether a recorded owner is alive is unknown, and processes that an agent left are not found", "mount /proc of this process namespace"
	default:
		if err := proc.Adopt(); err != nil {
			c.Level, c.Says = Limited, "orphans cannot be adopted: "+err.Error()
			c.Means = "background processes of an agent may outlive it unseen"
		}
	}
	out := []Check{c}
	if _, err := os.ReadFile("/proc/1/stat"); runtime.GOOS == "linux" && c.Level == Fine && err != nil {
		out = append(out, Check{
			Group: "processes", Name: "other users", Level: Limited, Says: "their processes are hidden here",
			Means: "an owner that another user started counts as unknown, never as dead",
		})
	}
	return out
}

// settings reads the settings as a command would. unused names the check that says why
// they are not used, "" if they are.
func (o Options) settings() (_ *settings.Settings, out []Check, unused string) {
	c := Check{Group: "settings", Name: "settings", Level: Fine, Says: "the built-in ones"}
	trust, err := settings.OpenTrust(settings.TrustFile(o.Getenv))
	if err != nil {
		c.Level, c.Says, c.Means = Missing, err.Error(), "nothing in the project's "+settings.FileName+" can be used"
		return settings.Default(), []Check{c}, c.Name
	}
	set, untrusted, err := settings.Load(settings.Options{User: settings.UserFile(o.Getenv), Project: o.Dir, Trust: trust})
	if err != nil {
		c.Level, c.Says, c.Means = Missing, err.Error(), "run and resume refuse to work"
		var problems settings.Problems
		if errors.As(err, &problems) {
			for _, p := range problems {
				c.Says, c.Do = p.Brief(), p.Do()
				out = append(out, c)
			}
		}
		if len(out) == 0 {
			out = []Check{c}
		}
		return settings.Default(), out, c.Name
	}
	if settings.TrustFile(o.Getenv) == "" {
		out = append(out, Check{
			Group: "settings", Name: "home", Level: Limited, Says: "neither XDG_STATE_HOME nor HOME names a folder",
			Means: "what you trust cannot be stored: no command in a project's file is started, and you have no settings of your own",
			Do:    "set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME, to a folder of your own",
		})
	}
	var files []string
	for whose, name := range map[string]string{"your own": settings.UserFile(o.Getenv), "the project's": filepath.Join(o.Dir, settings.FileName)} {
		if _, err := os.Stat(name); name != "" && err == nil {
			files = append(files, whose)
		}
	}
	if slices.Sort(files); len(files) > 0 {
		c.Says = strings.Join(files, " and ") + " " + settings.FileName
	}
	out = append([]Check{c}, out...)
	if untrusted != nil {
		unused = "trust"
		out = append(out, Check{
			Group: "settings", Name: unused, Level: Limited, Says: "the project's " + settings.FileName + " is not trusted yet",
			Means: "none of it is used", Do: "`reprise trust` shows what it would start and, after a yes, trusts it",
		})
	}
	return set, out, unused
}

// roles looks whether what is bound to roles exists, and whether anything is.
func (o Options) roles(set *settings.Settings) (out []Check, bound bool) {
	names := make([]string, 0, len(set.Roles))
	for role := range set.Roles {
		names = append(names, role)
	}
	slices.Sort(names)
	for _, role := range names {
		c := Check{Group: "settings", Name: "role " + role, Level: Fine}
		a, err := set.For(role)
		if err != nil {
			c.Level, c.Says, c.Means = Missing, err.Error(), "steps of this role are not started"
			out = append(out, c)
			continue
		}
		program := programOf(a)
		env, _ := set.Environ(o.Environ, a)
		c.Says = a.Name + ": " + program
		bound = true
		if !o.startable(a, env) {
			c.Level, c.Says = Missing, c.Says+" is not there"
			c.Means, c.Do = "steps of this role are not started", "install it, or bind the role to another agent in "+settings.FileName
		}
		out = append(out, c)
	}
	return out, bound
}

// startable reports whether the program of an agent is where it would be started from:
// one that is named by a path from the project's folder, and a known CLI never out of
// the project.
func (o Options) startable(a settings.Agent, env []string) bool {
	program, without := programOf(a), ""
	if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		program = filepath.Join(o.Dir, program)
	}
	if a.Preset != agent.Command {
		without = o.Dir
	}
	_, err := proc.Find(program, env, without)
	return program != "" && err == nil
}

// programOf is the program that an agent of the settings starts.
func programOf(a settings.Agent) string {
	if len(a.Command) > 0 && !strings.HasPrefix(a.Command[0], "-") {
		return a.Command[0]
	}
	for _, p := range agent.Presets() {
		if p.Name == a.Preset {
			return p.Program
		}
	}
	return ""
}
