//go:build unix

package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/sample"
)

// Odd repositories: three steps in each, then nothing is left and each step has its commit.
func TestOdd_repositories(t *testing.T) {
	for _, c := range []struct {
		name, setup, agent string
		inside             string // the folder that is the project
		status             string // what is left
		check              string // a script that prints nothing
	}{
		{name: "no commit yet", setup: `rm -rf .git; git init -q -b main`, status: "?? .gitignore\n?? PLAN.md\n?? mine.txt\n?? shared.txt\n"},
		{name: "detached", setup: `git checkout -q --detach`},
		{name: "sha256", setup: `rm -rf .git; git init -q -b main --object-format=sha256; git add .; git commit -q -m first`},
		{name: "a linked worktree", setup: `git worktree add -q -b side ../side; rm PLAN.md; git checkout -q PLAN.md`, inside: "../side"},
		{name: "a folder below the top", setup: `mkdir sub; git mv PLAN.md sub/PLAN.md; git commit -q -m move`, inside: "sub"},
		{name: "crlf", setup: `git config core.autocrlf true; printf 'a\r\nb\r\n' >crlf.txt; git add .; git commit -q -m crlf`, agent: `printf 'c\r\n' >>crlf.txt`},
		{name: "a plan with crlf", setup: `printf '%s\r\n' '- [ ] s01: a' '- [ ] s02: b' '- [ ] s03: c' >PLAN.md; git commit -q -am crlf`},
		{name: "a plan with crlf on disk only", setup: `git config core.autocrlf true; rm PLAN.md; git checkout -q PLAN.md; grep -q "$(printf '\r')" PLAN.md || echo no`},
		{name: "a filter of the project's own, which is not run", setup: `git config filter.rot.clean 'touch ../ran; cat'; git config filter..clean 'touch ../ran; cat'; git config filter.rot.required true; echo 'f filter=rot' >.gitattributes; echo 'g filter=' >>.gitattributes; echo >f; echo >g; git add .; git commit -q -m rot; rm -f ../ran`,
			agent: `echo step >>f; echo step >>g; echo x >>h`, status: " M f\n M g\n", check: `ls ../ran 2>/dev/null`},
		{name: "a filter", setup: `git config --global filter.rot.clean 'tr a-z n-za-m'; git config --global filter.rot.smudge 'tr a-z n-za-m'; echo 'f filter=rot' >.gitattributes; git add .; git commit -q -m rot`,
			agent: `echo step >>f`, check: `git cat-file -p HEAD:f | grep -c fgrc | grep -vx 3; grep -vx step f`},
		{name: "hooks that have no say in a commit", setup: `for h in reference-transaction pre-receive post-index-change; do printf '#!/bin/sh\ntouch '$PWD'/ran\nexit 1\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done`},
		{name: "names", agent: `echo x >"a b $REPRISE_STEP"; echo x >"ä\"$REPRISE_STEP"; echo x >"$(printf 'new\nline')$REPRISE_STEP"`},
		{name: "links and modes", agent: `ln -sf nowhere link$REPRISE_STEP; echo x >run$REPRISE_STEP; chmod +x run$REPRISE_STEP`,
			check: `git ls-tree HEAD | grep -c 120000 | grep -vx 3; git ls-tree HEAD | grep -c 100755 | grep -vx 3`},
		{name: "a file becomes a folder and goes", agent: `case $REPRISE_STEP in s01) rm mine.txt; mkdir mine.txt; echo x >mine.txt/a;; s02) rm -r mine.txt; echo y >mine.txt;; s03) rm mine.txt;; esac`,
			check: `git ls-files mine.txt; git show HEAD^:mine.txt | grep -vx y; git show HEAD^^:mine.txt/a | grep -vx x`},
		{name: "the agent commits all itself", agent: `echo x >>f; git add f; git commit -q -m mine`},
		{name: "the agent stages all", agent: `echo x >>f; git add -A`},
		{name: "the agent amends", agent: `echo x >>f; git add f; git commit -q --amend --no-edit`},
		{name: "the agent stashes", setup: `echo dirty >>mine.txt`, agent: `git stash -q; echo x >>f; git stash pop -q`, status: " M mine.txt\n"},
		{name: "the agent resets the index", setup: `echo staged >>mine.txt; git add mine.txt`, agent: `echo x >>f; git reset -q`, status: " M mine.txt\n"},
		{name: "a submodule", setup: `git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib; git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -q -m lib`,
			agent: `git -C lib commit -q --allow-empty -m $REPRISE_STEP`},
		{name: "a repository in it", agent: `git init -q inner$REPRISE_STEP; echo x >inner$REPRISE_STEP/f; echo x >>f`, status: "?? inners01/\n?? inners02/\n?? inners03/\n"},
		{name: "a file nobody may read", setup: `echo x >secret; git add secret; git commit -q -m secret; chmod 0 secret`, agent: `echo x >>f`},
		{name: "skipped in a sparse checkout", setup: `mkdir far near; echo x >far/f; echo x >near/f; git add .; git commit -q -m far; git sparse-checkout set near`, agent: `echo x >>near/f`,
			check: `git ls-tree -r HEAD --name-only | grep -c far/f | grep -vx 1`},
		{name: "staged removal of the user's", setup: `git rm -q --cached mine.txt`, agent: `echo x >>f`, status: "D  mine.txt\n?? mine.txt\n"},
		{name: "unstaged removal of the user's", setup: `rm mine.txt`, agent: `echo x >>f`, status: " D mine.txt\n"},
		{name: "intent to add", setup: `echo x >ita; git add -N ita`, agent: `echo x >>f`, status: " A ita\n"},
		{name: "assumed unchanged", setup: `git update-index --assume-unchanged mine.txt; echo more >>mine.txt`, agent: `echo x >>f`},
	} {
		t.Run(c.name, func(t *testing.T) {
			sample.Drawn(t)
			dir, _ := project(t, 3)
			if out := shell(t, dir, c.setup); out != "" && !strings.Contains(out, "mine.txt") {
				t.Fatalf("setup: %s", out)
			}
			if c.inside != "" {
				dir = filepath.Join(dir, c.inside)
			}
			if c.agent == "" {
				c.agent = `echo x >>f`
			}
			e := open(t, dir, c.agent)
			work(t, e, "the run is over")
			e.Close()
			if got := shell(t, dir, `git status --porcelain --ignore-submodules=none`); got != c.status {
				t.Errorf("status:\n%s", got)
			}
			if got := strings.Count(shell(t, dir, `git log --format=%B`), "Reprise-Step: "); got != 3 {
				t.Errorf("%d commits", got)
			}
			if got := shell(t, dir, `git fsck --no-dangling --no-progress 2>&1`); got != "" && !strings.Contains(got, "notice") {
				t.Errorf("fsck: %s", got)
			}
			if got := shell(t, dir, "{ :;"+c.check+"\n}; true"); got != "" {
				t.Errorf("check: %s", got)
			}
			if plan := read(t, dir, "PLAN.md"); strings.Count(plan, "[x]") != 3 {
				t.Errorf("plan:\n%s", plan)
			}
			os.Chmod(filepath.Join(dir, "secret"), 0o600)
		})
	}
}
