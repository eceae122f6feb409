package gitx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// standIn is what stands in for a repository in a call of git: its index, head, references,
// objects and work tree as they are, and settings of our own in place of all that the
// repository, its user and the machine have. No filter, diff or merge driver, hook, monitor or
// remote is set there, so none is known that could be run, whatever it is called. Only plain
// values are carried over: without them line ends, modes or names would be read in another way.
// A file that a filter changes, the user's own too, is unchanged as long as size and time are as
// the index has them; after that it is held against the repository as it lies, and counts as changed.
type standIn struct {
	gitDir, commonDir, top string // as in location
	settings               []setting
	branches               map[string]bool // that the repository's settings say something of
}

// carried are the settings that say how files and references are to be read and written. None
// of them names a program; a file that one of them names holds patterns.
var carried = map[string][]string{
	"core": {
		"repositoryformatversion", "filemode", "ignorecase", "precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "checkroundtripencoding",
		"trustctime", "checkstat", "ignorestat", "excludesfile", "attributesfile", "sparsecheckout", "sparsecheckoutcone", "bigfilethreshold",
		"protecthfs", "protectntfs", "longpaths", "fscache", "preloadindex", "untrackedcache", "splitindex", "commitgraph", "multipackindex",
		"usereplacerefs", "logallrefupdates", "sharedrepository", "compression", "loosecompression",
	},
	"extensions": {"objectformat", "compatobjectformat", "refstorage", "preciousobjects", "noop", "noop-v1"},
	"index":      {"sparse", "version", "threads", "skiphash"},
	"sparse":     {"expectfilesoutsideofpatterns"},
	"attr":       {"tree"},
	"diff":       {"renamelimit"},
	"merge":      {"renamelimit", "renames", "directoryrenames", "renormalize", "conflictstyle", "default"},
	"user":       {"name", "email", "useconfigonly"},
	"author":     {"name", "email"},
	"committer":  {"name", "email"},
}

// carry picks what is carried over. A merge driver is known there as one that fails, as a file
// that asks for it must not be merged in another way.
func carry(settings []setting) (out []setting) {
	for _, s := range settings {
		switch {
		case !s.within && slices.Contains(carried[s.section], s.name):
			out = append(out, s)
		case s.within && s.section == "merge" && s.name == "driver":
			s.value = "false"
			out = append(out, s)
		}
	}
	return out
}

// alone leaves the settings of a repository as the only ones.
var alone = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}

// shared is what git keeps for all checkouts of a repository and we do not replace.
var shared = []string{"info", "logs", "modules", "objects", "refs", "reftable", "shallow", "worktrees"}

// make makes what stands in for the common folder of the repository: a folder outside of the
// project, for one call, and the variables that lead git there. held is for git to inherit, drop
// removes it. What git writes goes to the repository, but for the log of a branch in one that has
// no logs yet.
func (o *standIn) make() (dir string, env []string, held *os.File, drop func(), err error) {
	base, err := o.outside()
	if err != nil {
		return "", nil, nil, func() {}, err
	}
	if dir, held, drop, err = scratch(base); err == nil {
		env, err = o.fill(dir)
	}
	return dir, env, held, drop, err
}

func below(file, dir string) bool {
	rel, err := filepath.Rel(dir, file)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}

// outside is a folder for temporary files that is no part of the work tree or of the main one:
// who looks adds nothing there.
func (o *standIn) outside() (string, error) {
	cache, _ := os.UserCacheDir()
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm", cache} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(real) {
			continue
		}
		if !below(real, o.top) && (filepath.Base(o.commonDir) != ".git" || !below(real, filepath.Dir(o.commonDir))) {
			return real, nil
		}
	}
	return "", errors.New("there is no folder for temporary files outside of the repository; set TMPDIR to one")
}

func (o *standIn) fill(dir string) ([]string, error) {
	settings := o.settings
	env := append([]string{"GIT_DIR=" + o.gitDir, "GIT_COMMON_DIR=" + dir}, alone...)
	if o.top != "" {
		env = append(env, "GIT_WORK_TREE="+o.top)
	} else {
		settings = append(slices.Clip(settings), setting{section: "core", name: "bare", value: "true"})
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), written(settings), 0o600); err != nil {
		return nil, err
	}
	for _, name := range shared {
		at := filepath.Join(o.commonDir, name)
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Symlink(at, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	// Git follows this one also where there is none yet.
	return env, os.Symlink(filepath.Join(o.commonDir, "packed-refs"), filepath.Join(dir, "packed-refs"))
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)

// written is settings as a file of them.
func written(settings []setting) []byte {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString("[" + s.section)
		if s.within {
			b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.middle) + `"`)
		}
		b.WriteString("]\n\t" + s.name + ` = "` + quoted.Replace(s.value) + "\"\n")
	}
	return []byte(b.String())
}

// theirs is a runner for the few calls that need the repository's own settings or its own
// place: they list references, checkouts or commits, look at no file, and have nothing that
// settings could make them start but hooks, which are off.
func (g *runner) theirs() *runner {
	out := *g
	out.direct = true
	return &out
}
