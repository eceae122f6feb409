package settings

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// allowed are the environment variables that every agent may see: what programs
// need to run at all. A star stands for the rest of a name. Nothing that opens
// doors is among them: no tokens, no agent of keys.
var allowed = []string{"PATH", "HOME", "LANG", "LC_*", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ", "XDG_*"}

// secretWords make a variable secret by its name.
var secretWords = []string{"TOKEN", "KEY", "SECRET", "PASSWORD"}

// minSecret is the shortest value that is taken for a secret: blotting out one
// letter wherever it stands would leave no log to read.
const minSecret = 4

// Environ returns the part of an environment that an agent may see: the built-in few,
// what the settings allow, then the agent's own variables, which win. It is sorted by
// name, without duplicates.
//
// secrets are the values that must not reach a log, longest first: those of the variables
// that the settings call secret, whether or not the agent sees them, and those of every
// variable it sees whose name suggests a token, key, secret or password. Values shorter
// than four characters are excluded.
func (s *Settings) Environ(environ []string, a Agent) (env, secrets []string) {
	all := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			all[name] = value // the last one counts, as in a process
		}
	}
	seen := map[string]string{}
	for name, value := range all {
		if strings.HasPrefix(name, "REPRISE_") {
			continue // of an attempt that we run in ourselves
		}
		if matches(name, allowed) || matches(name, s.Env) {
			seen[name] = value
		}
	}
	maps.Copy(seen, a.Env)

	values := map[string]bool{}
	for _, name := range s.Secrets {
		values[all[name]] = true
		values[a.Env[name]] = true
	}
	for name, value := range seen {
		env = append(env, name+"="+value)
		if speaks(name) {
			values[value] = true
		}
	}
	slices.Sort(env)
	maps.DeleteFunc(values, func(value string, _ bool) bool { return len(value) < minSecret })
	return env, longestFirst(values)
}

// minKnown is the shortest value of the whole environment that is taken for a
// secret by its name alone.
const minKnown = 8

// Known lists the values that are not shown where sessions of agents are told of,
// the longest first: those of the variables the settings call secret, of the agents'
// own variables whose names speak of one, and of all variables of an environment
// whose names end in a word for one. A session that a person began may have seen all
// of it. There, what is short or the path of a file is left out: a path is no
// secret, and would be missed.
func (s *Settings) Known(environ []string) []string {
	values := map[string]bool{}
	_, own := s.Environ(environ, Agent{})
	for _, a := range s.Agents {
		_, more := s.Environ(environ, a)
		own = append(own, more...)
	}
	for _, value := range own {
		values[value] = true
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if ends(name) && len(value) >= minKnown && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "~/") {
			values[value] = true
		}
	}
	return longestFirst(values)
}

// ends reports whether a name ends in a word that makes its value secret.
func ends(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.HasSuffix(name, w) })
}

// longestFirst sorts values so that one that is part of another comes after it.
func longestFirst(values map[string]bool) []string {
	out := slices.Collect(maps.Keys(values))
	slices.SortStableFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return out
}

func matches(name string, list []string) bool {
	return slices.ContainsFunc(list, func(allow string) bool {
		prefix, star := strings.CutSuffix(allow, "*")
		return name == allow || star && strings.HasPrefix(name, prefix)
	})
}

// speaks reports whether a name tells that the value is secret.
func speaks(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// deeds are what variables do beside what the program that was asked for makes of them,
// by the form of their names, which are compared in capitals. The first that fits counts.
var deeds = []struct {
	says  string
	forms []string
}{
	{"sends the agent's requests to this address", []string{"*_URL", "*_URI", "*_BASE", "*_ENDPOINT", "*_ENDPOINT_*", "*_HOST", "*_PROXY"}},
	{"decides which servers the agent believes", []string{"SSL_*", "*_CERT*", "*_CA_*", "*_TLS_*"}},
	{"starts code in whatever shell or program the agent uses", []string{
		"LD_*", "DYLD_*", "*PATH", "*LIB", "*PRELOAD*", "SHELL", "SHELLOPTS", "BASH*", "ENV", "ZDOTDIR", "PS4", "PROMPT_COMMAND", "*_COMMAND", "*STARTUP*",
		"*OPTIONS", "*OPTS", "*OPT", "*FLAGS", "*_WRAPPER", "*PROFILER*", "NODE_*", "NPM_*", "PYTHON*", "PERL*", "RUBY*", "LUA_*", "PHP*", "JAVA_*", "*_JAVA*",
		"DOTNET_*", "CARGO_*", "CC", "CXX", "MAKEFILES", "GIT_*", "SSH_*", "*ASKPASS", "*EDITOR", "VISUAL", "*PAGER", "BROWSER", "LESS*",
	}},
	{"gives the agent other settings and another login", []string{"HOME", "*_HOME", "*_DIR", "*_CONFIG*", "*_CONF", "*_PROFILE", "XDG_*"}},
}

// Deed says what a variable of this name does to a program and to all it starts, whatever
// they were asked to do; "" where nothing of the kind is known.
func Deed(name string) string {
	name = strings.ToUpper(name)
	for _, d := range deeds {
		if slices.ContainsFunc(d.forms, func(form string) bool { ok, _ := path.Match(form, name); return ok }) {
			return d.says
		}
	}
	return ""
}

// Hidden reports a variable whose value is shown to nobody: it is a secret by its name,
// and does nothing else by it.
func Hidden(name string) bool { return speaks(name) && Deed(name) == "" }
