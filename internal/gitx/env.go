package gitx

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// passed are the variables of the caller that git gets to see: where programs
// and the user's own settings are, and nothing else. SUDO_UID counts for the
// question whom git trusts.
var passed = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "SUDO_UID", "SystemRoot", "USERPROFILE"}

// fixed are the variables every call has.
var fixed = []string{
	"LANG=C", "LC_ALL=C",
	"GIT_OPTIONAL_LOCKS=0",    // status would otherwise rewrite the index
	"GIT_TERMINAL_PROMPT=0",   // never ask
	"GIT_ASKPASS=",            // empty: none, whatever the settings say
	"GIT_NO_LAZY_FETCH=1",     // a partial clone would start a fetch
	"GIT_ALLOW_PROTOCOL=none", // and where git is too old to know that, no transport is allowed
	"GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:",
	"GIT_LITERAL_PATHSPECS=1",                                 // a path is a path, not a pattern
	"GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0", // the user's settings may name files to write to
}

// setting is one key of git's configuration. Section and name are in lower
// case, the middle part is free text.
type setting struct {
	section, middle, name string
	value                 string
}

func (s setting) key() string {
	if s.middle == "" {
		return s.section + "." + s.name
	}
	return s.section + "." + s.middle + "." + s.name
}

// profile is overridden in every call, before the repository's own settings
// are known.
var profile = []setting{
	{"core", "", "fsmonitor", "false"},
	{"core", "", "hookspath", os.DevNull},
	{"core", "", "pager", "cat"},
	{"core", "", "editor", ":"},
	{"core", "", "askpass", ""},
	{"core", "", "sshcommand", "false"},
	{"core", "", "gitproxy", ""},
	{"core", "", "alternaterefscommand", "false"},
	{"core", "", "quotepath", "false"},
	{"credential", "", "helper", ""},
	{"commit", "", "gpgsign", "false"},
	{"gpg", "", "program", "false"},
	{"gpg", "ssh", "program", "false"},
	{"gpg", "ssh", "defaultkeycommand", ""},
	{"gpg", "x509", "program", "false"},
	{"diff", "", "external", ""},
	{"diff", "", "orderfile", os.DevNull},
	{"diff", "", "relative", "false"},
	{"diff", "", "ignoresubmodules", "dirty"},
	{"diff", "", "submodule", "short"},
	{"log", "", "showsignature", "false"},
	{"log", "", "showroot", "true"},
	{"log", "", "follow", "false"},
	{"log", "", "diffmerges", "off"},
	{"status", "", "submodulesummary", "false"},
	{"submodule", "", "recurse", "false"},
	{"protocol", "", "allow", "never"},
	{"safe", "", "barerepository", "explicit"},
	{"trailer", "", "separators", ":"},
	{"uploadpack", "", "packobjectshook", ""},
	{"maintenance", "", "auto", "false"},
	{"gc", "", "auto", "0"},
}

// programs are the last parts of keys that name a program in some section with
// free names in the middle: filters, diff and merge drivers, hooks, helpers.
// All of them are overridden wherever they occur, also in sections we have not
// heard of.
var programs = map[string]string{
	"clean": "", "smudge": "", "process": "", "required": "false",
	"driver": "false", "command": "", "cmd": "", "textconv": "", "cachetextconv": "false",
	"program": "false", "helper": "", "event": "", "packobjectshook": "", "defaultkeycommand": "",
	"uploadpack": "false", "receivepack": "false", "vcs": "", "proxycommand": "", "gitproxy": "",
	"sshcommand": "false", "askpass": "", "promisor": "false", "fsmonitor": "false",
}

// siblings must be overridden together: an empty clean with a set process would
// not do, and a required filter without a program is an error.
var siblings = map[string][]string{"filter": {"clean", "smudge", "process", "required"}}

// maxOverrides bounds the environment; a repository with more drivers than
// this is not an honest one.
const maxOverrides = 1000

// overrides lists what must be set so that nothing of settings starts a program.
func overrides(settings []setting) ([]setting, error) {
	out := append([]setting(nil), profile...)
	seen := map[string]bool{}
	for _, s := range out {
		seen[s.key()] = true
	}
	add := func(s setting) {
		if !seen[s.key()] {
			seen[s.key()] = true
			out = append(out, s)
		}
	}
	for _, s := range settings {
		if s.section == "safe" {
			continue // the user's word on whom git trusts
		}
		for _, name := range siblings[s.section] {
			if s.middle != "" {
				add(setting{s.section, s.middle, name, programs[name]})
			}
		}
		if s.section == "submodule" && s.name == "update" && s.middle != "" {
			add(setting{s.section, s.middle, s.name, "none"})
		}
		if neutral, ok := programs[s.name]; ok {
			add(setting{s.section, s.middle, s.name, neutral})
		}
		if len(out) > maxOverrides {
			return nil, fmt.Errorf("its settings name more than %d programs", maxOverrides)
		}
	}
	return out, nil
}

// environment builds the whole environment of a call.
func environment(environ []string, settings []setting) []string {
	env := append([]string(nil), fixed...)
	for _, name := range passed {
		if value, ok := lookup(environ, name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key(), "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}

// lookup finds a variable; the last one counts, as in the shell.
func lookup(environ []string, name string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}
