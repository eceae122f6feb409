package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Options say where settings are.
type Options struct {
	User    string // the user's own file, absolute; "" for none
	Project string // the folder of the project, absolute; "" for none
	Trust   *Trust // nil trusts nothing
}

// Untrusted is a project's file that no one has trusted as it is now: nothing of
// it counts. It says what the file would start, to be shown and asked about.
type Untrusted struct {
	Path   string       // absolute
	Hash   reprise.Hash // of the file and of the prompt templates it names
	Starts []Start      // by the agents' names
	// Env are the names of environment variables it would let agents see.
	Env []string
	// Templates are the prompt templates it would replace, file names.
	Templates []string
	// Scripts are files of the project that its commands name, see Scripts. The hash
	// does not cover them.
	Scripts []string
}

// Start is one command that a file would have started.
type Start struct {
	Agent Agent
	Roles []string // that it would do, sorted
}

// UserFile is where a user's own settings are, given their environment; "" if
// that names no folder.
func UserFile(getenv func(string) string) string {
	return under(getenv, "XDG_CONFIG_HOME", ".config", FileName)
}

// TrustFile is where trust is kept, likewise.
func TrustFile(getenv func(string) string) string {
	return under(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"), "trust")
}

func under(getenv func(string) string, variable, usual, name string) string {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "reprise", name)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, usual, "reprise", name)
	}
	return ""
}

// Load reads the user's file and lays the project's over it: agents and roles by
// name, lists joined, everything else replaced. A file that does not exist sets
// nothing.
//
// The project's file counts only if it is trusted, or does nothing but describe lists of
// tasks; otherwise it is returned as
// Untrusted and the Settings are those without it. Both files are read wholly
// before anything is said: the error holds all Problems of both. Nothing is
// started and nothing written.
func Load(o Options) (*Settings, *Untrusted, error) {
	user, project, err := o.files()
	if err != nil {
		return nil, nil, err
	}
	s := Default()
	s.overlay(user)
	if project.data == nil {
		return s, nil, nil
	}
	name, hash := filepath.Join(o.Project, FileName), project.hash()
	if project.sets && !o.Trust.Trusted(name, hash) {
		return s, project.untrusted(name, hash, s), nil
	}
	s.overlay(project)
	return s, nil, nil
}

// Budget reads what may be done before a person is asked, and nothing else: how often a
// step is tried, and what may be used. The project's file counts also if it is not
// trusted, for nothing is started before it is.
func Budget(o Options) (*Settings, error) {
	user, project, err := o.files()
	if err != nil {
		return nil, err
	}
	s := Default()
	s.limit(user)
	s.limit(project)
	return s, nil
}

// limit lays what a file says may be done before a person is asked over s.
func (s *Settings) limit(f *file) {
	set(&s.Attempts, f.Attempts)
	set(&s.Cutoffs, f.Cutoffs)
	set(&s.Budget.Run.Cost, f.Budget.Run.Cost)
	set(&s.Budget.Run.Tokens, f.Budget.Run.Tokens)
	set(&s.Budget.Day.Cost, f.Budget.Day.Cost)
	set(&s.Budget.Day.Tokens, f.Budget.Day.Tokens)
}

// files reads both files; one that is not there sets nothing. The error tells of all
// that is wrong with them.
func (o Options) files() (user, project *file, err error) {
	name := ""
	if o.Project != "" {
		name = filepath.Join(o.Project, FileName)
	}
	if user, err = readFile(o.User); err != nil {
		return nil, nil, err
	}
	if project, err = readFile(name); err != nil {
		return nil, nil, err
	}
	user.bound(user.Agents)
	project.bound(user.Agents, project.Agents)
	return user, project, problems(user, project)
}

// problems are all that is wrong with some files, nil if nothing is.
func problems(files ...*file) error {
	var all Problems
	for _, f := range files {
		var ps Problems
		if f.data != nil && errors.As(f.strict.Err(), &ps) {
			all = append(all, ps...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// readFile reads one file. One that does not exist, or has no name, sets nothing and
// has no data.
func readFile(name string) (*file, error) {
	if name == "" {
		return &file{}, nil
	}
	data, err := doc.ReadRegular(os.DirFS(filepath.Dir(name)), filepath.Base(name), doc.MaxStrict+1)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(name); err == nil {
			return nil, fmt.Errorf("read %s: it is a link that leads to nothing", name)
		}
		return &file{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	f := read(name, data)
	if f.Prompts != "" {
		if !filepath.IsAbs(f.Prompts) {
			f.Prompts = filepath.Join(filepath.Dir(name), f.Prompts)
		}
		templates, err := readTemplates(f.Prompts)
		if err != nil {
			f.prompts.Report("", "%v", err)
		}
		f.Templates = templates
	}
	return f, nil
}

// hash is that of all a person is asked to trust.
func (f *file) hash() reprise.Hash {
	all := bytes.Clone(f.data)
	for _, name := range slices.Sorted(maps.Keys(f.Templates)) {
		all = fmt.Appendf(all, "\x00%s.md\x00%s", name, reprise.HashOf([]byte(f.Templates[name])))
	}
	return reprise.HashOf(all)
}

// untrusted says what a file would start if it were laid over the settings: the
// agents it declares, also for roles that are bound elsewhere, and agents
// declared elsewhere for the roles it binds.
func (f *file) untrusted(name string, hash reprise.Hash, over *Settings) *Untrusted {
	u := &Untrusted{Path: name, Hash: hash, Env: f.Env}
	agents, roles := maps.Clone(over.Agents), maps.Clone(over.Roles)
	maps.Copy(agents, f.Agents)
	maps.Copy(roles, f.Roles)
	starts := map[string]*Start{}
	for agent := range f.Agents {
		starts[agent] = &Start{}
	}
	for _, agent := range f.Roles {
		starts[agent] = &Start{}
	}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if start := starts[roles[role]]; start != nil {
			start.Roles = append(start.Roles, role)
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(starts)) {
		starts[agent].Agent = agents[agent]
		u.Starts = append(u.Starts, *starts[agent])
	}
	if f.Notify != nil && len(f.Notify.Command) > 0 {
		u.Starts = append(u.Starts, Start{Agent: Agent{Name: "notify", Command: f.Notify.Command}})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Templates)) {
		u.Templates = append(u.Templates, name+".md")
	}
	u.Scripts = Scripts(filepath.Dir(name), u.Starts)
	return u
}

// Scripts lists the files below a folder that commands name, sorted, each by its path
// from there. They are part of the work, so that they change while it continues: who
// trusts a command does not trust what becomes of them, and is to be told so.
func Scripts(dir string, starts []Start) []string {
	var out []string
	for _, start := range starts {
		for _, word := range start.Agent.Command {
			for _, name := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;&|<>()=", r) }) {
				if !filepath.IsAbs(name) {
					name = filepath.Join(dir, name)
				}
				rel, err := filepath.Rel(dir, name)
				if err != nil || !filepath.IsLocal(rel) {
					continue
				}
				if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
					out = append(out, filepath.ToSlash(rel))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// overlay lays what a file sets over s.
func (s *Settings) overlay(f *file) {
	maps.Copy(s.Agents, f.Agents)
	maps.Copy(s.Roles, f.Roles)
	s.Env = join(s.Env, f.Env)
	s.Secrets = join(s.Secrets, f.Secrets)
	if f.Prompts != "" {
		s.Prompts, s.Templates = f.Prompts, f.Templates
	}
	s.limit(f)
	set(&s.Parallel, f.Parallel)
	set(&s.Backoff, f.Backoff)
	set(&s.Timeout, f.Timeout)
	set(&s.Silence, f.Silence)
	set(&s.Call, f.Call)
	set(&s.Grace, f.Grace)
	set(&s.MaxLog, f.MaxLog)
	if s.Prices == nil {
		s.Prices = f.Prices
	}
	maps.Copy(s.Prices, f.Prices)
	set(&s.Notify, f.Notify)
}

// set replaces a value by one that is set.
func set[T comparable](to *T, value T) {
	var unset T
	if value != unset {
		*to = value
	}
}

// join adds what is not there yet.
func join(list, more []string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
