package settings

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"reprise"
	"reprise/convention/checklist"
	"reprise/internal/doc"
)

// Presets are the kinds of agents that can be named.
func Presets() []string {
	return []string{"claude", "codex", "gemini", "opencode", "qwen", "copilot", "command"}
}

// Problem is one thing that is wrong in a file, with its place.
type Problem = doc.Problem

// Problems are all that is wrong in the files; it is the cause of an error of
// Load that a person can correct.
type Problems = doc.Problems

// The keys of the file and of one agent; schema/settings.v1.json has the same.
var (
	fileKeys  = []string{"agents", "roles", "env", "secrets", "parallel", "attempts", "cutoffs", "backoff", "timeout", "silence", "call", "grace", "max_log", "budget", "prices", "notify", "prompts", checklist.OwnName}
	agentKeys = []string{"preset", "command", "model", "approve", "account", "env", "timeout", "silence", "call"}
)

// nameForm is what agents and roles may be called.
var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// allowForm is a name of environment variables, or the beginning of several.
var allowForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\*?$`) })

// file is one file as it was read: what it does not set is zero.
type file struct {
	Settings
	data    []byte
	strict  *doc.Strict
	binds   []doc.Entry // of roles
	prompts doc.Value
	// sets says that it has a key beside the description of lists, which counts untrusted.
	sets bool
}

// read reads the content of one file. What is wrong with it is in strict.
func read(name string, data []byte) *file {
	strict, root := doc.ParseStrict(name, data)
	f := &file{data: data, strict: strict}
	f.sets = slices.ContainsFunc(root.Entries(), func(e doc.Entry) bool { return e.Name != checklist.OwnName })
	top := root.Fields(fileKeys...)
	f.Agents = map[string]Agent{}
	for _, e := range top.At("agents").Entries() {
		if a, ok := readAgent(e); ok {
			f.Agents[e.Name] = a
		}
	}
	f.Roles = map[string]string{}
	for _, e := range top.At("roles").Entries() {
		if !nameForm().MatchString(e.Name) {
			e.Key.Report("letters, digits, dot, dash and underscore", "%q cannot be the name of a role", doc.Clip(e.Name, 40))
			continue
		}
		if agent := e.Value.Text(); agent != "" {
			f.Roles[e.Name] = agent
			f.binds = append(f.binds, e)
		}
	}
	f.Env = names(top.At("env"), allowForm())
	f.Secrets = names(top.At("secrets"), doc.EnvName)
	f.Parallel = top.At("parallel").Count(1, 64)
	f.Attempts = top.At("attempts").Count(1, 100)
	f.Cutoffs = top.At("cutoffs").Count(1, 1000)
	f.Backoff = top.At("backoff").Duration()
	f.Timeout = top.At("timeout").Duration()
	f.Silence = top.At("silence").Duration()
	f.Call = top.At("call").Duration()
	f.Grace = top.At("grace").Duration()
	f.MaxLog = top.At("max_log").Size()
	budget := top.At("budget").Fields("run", "day")
	f.Budget = Budgets{Run: readLimit(budget.At("run")), Day: readLimit(budget.At("day"))}
	f.Prices = readPrices(top.At("prices"))
	f.Notify = readNotify(top.At("notify"))
	checklist.ReadFamilies(top.At(checklist.OwnName)) // for what is wrong there; the convention reads them itself
	f.prompts = top.At("prompts")
	f.Prompts = f.prompts.Text()
	return f
}

// names reads a list of names of environment variables.
func names(v doc.Value, form *regexp.Regexp) []string {
	var out []string
	for _, item := range v.List() {
		text := item.Text()
		switch {
		case text == "":
		case strings.Contains(text, "="):
			item.Report("write only the name; the value comes from the environment", "%q is not the name of an environment variable", doc.Clip(text, 20))
		case !form.MatchString(text):
			item.Report("", "%q cannot be the name of an environment variable", doc.Clip(text, 40))
		default:
			out = append(out, text)
		}
	}
	return out
}

func readLimit(v doc.Value) Limit {
	f := v.Fields("max_cost", "max_tokens")
	l := Limit{Cost: f.At("max_cost").Amount(), Tokens: int64(f.At("max_tokens").Count(1, 1e15))}
	if f.At("max_cost").Has() && l.Cost == 0 {
		f.At("max_cost").Report("leave it out for no budget", "a budget of nothing")
	}
	return l
}

func isTrue(v doc.Value) bool { return v.Word("true", "false") == "true" }

func readNotify(v doc.Value) *Notify {
	if !v.Has() {
		return nil
	}
	f := v.Fields("desktop", "bell", "command")
	return &Notify{Desktop: isTrue(f.At("desktop")), Bell: isTrue(f.At("bell")), Command: f.At("command").Argv()}
}

func readPrices(v doc.Value) reprise.Prices {
	entries := v.Entries()
	if len(entries) == 0 {
		return nil
	}
	out := reprise.Prices{}
	for _, e := range entries {
		f := e.Value.Fields("input", "output", "cache_read", "cache_write")
		p := reprise.Price{Input: f.At("input").Amount(), Output: f.At("output").Amount()}
		cached := func(v doc.Value) *float64 {
			if !v.Has() {
				return nil
			}
			amount := v.Amount()
			return &amount
		}
		p.CacheRead, p.CacheWrite = cached(f.At("cache_read")), cached(f.At("cache_write"))
		if !f.At("input").Has() || !f.At("output").Has() {
			e.Key.Report("US dollars for a million tokens, such as {input: 3, output: 15}", "the price of %s needs input and output", doc.Clip(e.Name, 40))
		}
		out[e.Name] = p
	}
	return out
}

func readAgent(e doc.Entry) (Agent, bool) {
	if !nameForm().MatchString(e.Name) {
		e.Key.Report("letters, digits, dot, dash and underscore", "%q cannot be the name of an agent", doc.Clip(e.Name, 40))
		return Agent{}, false
	}
	f := e.Value.Fields(agentKeys...)
	a := Agent{
		Name: e.Name, Source: e.Key.Source(),
		Preset: f.At("preset").Word(Presets()...), Command: f.At("command").Argv(), Model: f.At("model").Text(), Env: f.At("env").Env(),
		Approve: f.At("approve").Word("none", "edits", "commands", "all"), Account: f.At("account").Text(),
		Timeout: f.At("timeout").Duration(), Silence: f.At("silence").Duration(), Call: f.At("call").Duration(),
	}
	switch {
	case !f.At("preset").Has() && !f.At("command").Has():
		e.Key.Report("preset: claude, or command: [program, argument]", "agent %s has neither a preset nor a command", e.Name)
	case !f.At("preset").Has():
		a.Preset = "command"
	case a.Preset == "command" && !f.At("command").Has():
		f.At("preset").Report("add command: [program, argument]", "an agent of the preset command needs a command")
	}
	for _, key := range []string{"model", "approve"} {
		if a.Preset == "command" && f.At(key).Has() {
			f.At(key).Report("give it to the program as an argument of the command", "a plain command takes no %s", key)
		}
	}
	return a, true
}

// bound reports roles of a file whose agent is in none of the given tables.
func (f *file) bound(tables ...map[string]Agent) {
	var known []string
	for _, t := range tables {
		known = slices.AppendSeq(known, maps.Keys(t))
	}
	for _, e := range f.binds {
		agent := f.Roles[e.Name]
		if slices.Contains(known, agent) {
			continue
		}
		hint := "declare it below agents"
		if near := doc.Near(agent, known); near != "" {
			hint = "did you mean " + near + "?"
		} else if agent != "command" && doc.Near(agent, Presets()) == agent {
			hint = "declare it: agents: {" + agent + ": {preset: " + agent + "}}"
		}
		e.Value.Report(hint, "there is no agent %q", doc.Clip(agent, 40))
	}
}
