package gitx

import (
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
	within                bool // there is a middle part, which may be empty
	own                   bool // it is the repository's
}

func (s setting) key() string {
	if !s.within {
		return s.section + "." + s.name
	}
	return s.section + "." + s.middle + "." + s.name
}

// profile is overridden in every call, also where the repository's own settings count.
var profile = []setting{
	{section: "core", name: "fsmonitor", value: "false"},
	{section: "core", name: "hookspath", value: os.DevNull},
	{section: "hook", middle: "reference-transaction", name: "enabled", value: "false", within: true},
	{section: "core", name: "pager", value: "cat"},
	{section: "core", name: "editor", value: ":"},
	{section: "core", name: "askpass", value: ""},
	{section: "core", name: "sshcommand", value: "false"},
	{section: "core", name: "gitproxy", value: ""},
	{section: "core", name: "alternaterefscommand", value: "false"},
	{section: "core", name: "quotepath", value: "false"},
	{section: "credential", name: "helper", value: ""},
	{section: "commit", name: "gpgsign", value: "false"},
	{section: "gpg", name: "program", value: "false"},
	{section: "gpg", middle: "ssh", name: "program", value: "false", within: true},
	{section: "gpg", middle: "ssh", name: "defaultkeycommand", value: "", within: true},
	{section: "gpg", middle: "x509", name: "program", value: "false", within: true},
	{section: "diff", name: "external", value: ""},
	{section: "diff", name: "orderfile", value: os.DevNull},
	{section: "diff", name: "relative", value: "false"},
	{section: "diff", name: "ignoresubmodules", value: "dirty"},
	{section: "diff", name: "submodule", value: "short"},
	{section: "log", name: "showsignature", value: "false"},
	{section: "log", name: "showroot", value: "true"},
	{section: "log", name: "follow", value: "false"},
	{section: "log", name: "diffmerges", value: "off"},
	{section: "status", name: "submodulesummary", value: "false"},
	{section: "submodule", name: "recurse", value: "false"},
	{section: "protocol", name: "allow", value: "never"},
	{section: "safe", name: "barerepository", value: "explicit"},
	{section: "trailer", name: "separators", value: ":"},
	{section: "uploadpack", name: "packobjectshook", value: ""},
	{section: "maintenance", name: "auto", value: "false"},
	{section: "gc", name: "auto", value: "0"},
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
