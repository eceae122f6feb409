//go:build unix

package gitx

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A ref that a power cut left without content is found and pointed at the last commit that
// its log, the log of its checkout or the record tells. One that is sound is left alone.
func TestBroken_branches_are_mended_from_what_is_on_record(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	base := strings.TrimSpace(f.git("rev-parse", "HEAD"))
	f.git("worktree", "add", "-q", "-b", "side/one", "../linked")
	in := f.in("linked")
	in.write("more.txt", "more\n")
	in.commit("second")
	last := strings.TrimSpace(f.git("rev-parse", "side/one"))
	dir := filepath.Join(f.dir, ".git")
	ref, own, its := filepath.Join(dir, "refs/heads/side/one"), filepath.Join(dir, "logs/refs/heads/side/one"), filepath.Join(dir, "worktrees/linked/logs/HEAD")
	logs := map[string]string{}
	for _, name := range []string{own, its} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		logs[name] = string(data)
	}
	nul := strings.Repeat("\x00", 41)
	for name, c := range map[string]struct {
		ref  string
		logs map[string]string // what stands in them instead
		base string
		want string
	}{
		"NULs":                                {ref: nul, want: last},
		"an empty file":                       {ref: "", want: last},
		"zeros":                               {ref: strings.Repeat("0", 40) + "\n", want: last},
		"a log with a torn end":               {ref: nul, logs: map[string]string{own: logs[own] + nul}, want: last},
		"a log without its last line":         {ref: nul, logs: map[string]string{own: strings.SplitAfter(logs[own], "\n")[0]}, want: base},
		"a log of NULs, that of its checkout": {ref: nul, logs: map[string]string{own: nul}, want: last},
		"no log at all, the base on record":   {ref: nul, logs: map[string]string{own: nul, its: nul}, base: base, want: base},
		"nothing":                             {ref: nul, logs: map[string]string{own: nul, its: nul}},
		"a base that is not there":            {ref: nul, logs: map[string]string{own: nul, its: nul}, base: strings.Repeat("1", 40)},
	} {
		put := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range []string{own, its} {
			text, other := c.logs[file]
			if !other {
				text = logs[file]
			}
			put(file, text)
		}
		put(ref, c.ref)
		repo, err := f.open()
		if err != nil {
			t.Fatal(err)
		}
		if got := repo.BrokenBranches(); !slices.Equal(got, []string{"side/one"}) {
			t.Errorf("%s: %q are broken", name, got)
			continue
		}
		commit, from, ok := repo.LastOf(t.Context(), "side/one", c.base)
		if commit != c.want || ok != (c.want != "") || ok && from == "" {
			t.Errorf("%s: %s from %q, want %s", name, commit, from, c.want)
		}
		if !ok {
			continue
		}
		if err := repo.MendBranch(t.Context(), "side/one", commit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.TrimSpace(f.git("rev-parse", "side/one")); got != c.want || len(repo.BrokenBranches()) > 0 {
			t.Errorf("%s: it points at %s, want %s", name, got, c.want)
		}
		if err := repo.MendBranch(t.Context(), "side/one", base); err == nil {
			t.Errorf("%s: a branch that is sound is moved", name)
		}
	}
}
