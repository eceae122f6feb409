package temporal

import (
	"os"
	"strings"
	"testing"
)

// Repositories that an agent leaves within the checkout are landed as files, with those within
// them and whether they have commits or not. (issue 19)
func TestRepositories_within_the_checkout_are_landed(t *testing.T) {
	t.Parallel()
	b := newBench(t, `name: r
steps:
  - id: a
    command: [sh, -c, 'git init -q sub; echo y > sub/y; git init -q sub/deep; echo z > sub/deep/z; git init -q n; echo q > n/q; git -C n add -A; git -C n -c user.name=x -c user.email=x@example.org commit -qm x']
    outputs: [sub/y]
  - {id: b, needs: [a], command: [sh, -c, 'cat sub/y sub/deep/z n/q > b.txt; git init -q sub; echo more > sub/more'], outputs: [b.txt, sub/more]}
`)
	a := b.worker("one")
	for range 2 {
		if l, err := a.land(t.Context(), b.next(), b.attempted(a)); err != nil || l.Accepted == nil {
			t.Fatalf("%+v, %v", l, err)
		}
	}
	files := b.git(b.remote, "ls-tree", "-r", Branch("r"))
	for _, name := range []string{"sub/y", "sub/deep/z", "sub/more", "n/q", "b.txt"} {
		if !strings.Contains(files+"\n", "\t"+name+"\n") {
			t.Errorf("%s is not on the branch:\n%s", name, files)
		}
	}
	if strings.Contains(files, "160000 ") {
		t.Errorf("a link to a commit that no one has:\n%s", files)
	}
}

// What an agent commits as a link to a commit that no one else has is landed as files, too, and
// a submodule of the project stays one, at the commit that the agent moved it to. (issue 19)
func TestRepositories_that_an_agent_commits_are_landed(t *testing.T) {
	t.Parallel()
	const moved = "1234567890123456789012345678901234567890"
	b := newBench(t, `name: r
steps:
  - {id: a, command: [sh, agent.sh], outputs: [lib/y]}
  - {id: b, needs: [a], command: [sh, -c, 'cat sub/y lib/y > b.txt'], outputs: [b.txt]}
`, ".gitmodules", "[submodule \"mod\"]\n\tpath = mod\n\turl = ../mod\n", "agent.sh", `set -e
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org
for d in sub lib; do git init -q $d; echo y > $d/y; git -C $d add -A; git -C $d commit -qm x; done
printf '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n' >> .gitmodules
git add -A
mkdir mod
git update-index --add --cacheinfo 160000,`+moved+`,mod
git commit -qm 'by the agent'
`)
	a := b.worker("one")
	for range 2 {
		if l, err := a.land(t.Context(), b.next(), b.attempted(a)); err != nil || l.Accepted == nil {
			t.Fatalf("%+v, %v", l, err)
		}
	}
	files := b.git(b.remote, "ls-tree", "-r", Branch("r"))
	for _, name := range []string{"\tsub/y", "\tlib/y", "\tb.txt", "160000 commit " + moved + "\tmod"} {
		if !strings.Contains(files+"\n", name) {
			t.Errorf("%s is not on the branch:\n%s", name, files)
		}
	}
	if strings.Count(files, "160000 ") != 1 {
		t.Errorf("a link to a commit that no one has:\n%s", files)
	}
}

// An attempt that leaves a file that git cannot read has failed, and says so; the rest of its
// work is there for the next. (issue 19)
func TestA_file_that_git_cannot_read(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads every file")
	}
	b := newBench(t, `name: r
steps:
  - {id: a, command: [sh, -c, 'test -e made.txt || { echo made > made.txt; echo s > secret; chmod 0 secret; }; echo a > a.txt'], outputs: [a.txt], attempts: 2}
`)
	a := b.worker("one")
	l, err := a.land(t.Context(), b.next(), b.attempted(a))
	if err != nil || len(l.Failed) != 1 || !strings.Contains(l.Failed[0].Text, "git cannot read: secret") {
		t.Fatalf("%+v, %v", l, err)
	}
	b.ahead = -1e10
	if l, err = a.land(t.Context(), b.next(), b.attempted(a)); err != nil || l.Accepted == nil {
		t.Errorf("%+v, %v", l, err)
	}
	if files := b.git(b.remote, "ls-tree", "-r", "--name-only", Branch("r")); !strings.Contains(files, "made.txt") || strings.Contains(files, "secret") {
		t.Errorf("on the branch is %s", files)
	}
}
