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
