//go:build unix

package world_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reprise/core"
	"reprise/core/world"
)

// sh runs a script in a folder.
func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// project makes a repository with a commit: a, b, and sub/c.
func project(t *testing.T, script string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project") // what lies beside it goes with it
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"HOME": t.TempDir(), "GIT_AUTHOR_NAME": "user", "GIT_AUTHOR_EMAIL": "u@example.org", "GIT_COMMITTER_NAME": "user", "GIT_COMMITTER_EMAIL": "u@example.org", "GIT_CONFIG_NOSYSTEM": "1",
	} {
		t.Setenv(k, v)
	}
	sh(t, dir, `git init -q -b main; seq 9 >a; echo b >b; mkdir sub; echo c >sub/c; git add .; git commit -q -m first; `+script)
	return dir
}

func open(t *testing.T, dir string) *world.Repo {
	t.Helper()
	r, err := world.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func take(t *testing.T, r *world.Repo) core.World {
	t.Helper()
	w, err := r.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// diff gives the paths that differ, with what happened to them.
func diff(t *testing.T, r *world.Repo, a, b core.World) string {
	t.Helper()
	changes, err := r.Diff(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range changes {
		how := "~"
		if c.Old.ID == "" {
			how = "+"
		}
		if c.New.ID == "" {
			how = "-"
		}
		out = append(out, how+c.Path)
	}
	return strings.Join(out, " ")
}

func is(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, not %q", what, got, want)
	}
}

func TestTake(t *testing.T) {
	for name, c := range map[string]struct{ setup, change, want string }{
		"nothing":                             {``, ``, ""},
		"a change":                            {``, `echo x >>a`, "~a"},
		"made, gone, a mode and a link":       {``, `echo n >n; rm b; chmod +x a; ln -s a l`, "~a -b +l +n"},
		"a file becomes a folder":             {``, `rm b; mkdir b; echo x >b/x`, "-b +b/x"},
		"a folder becomes a file":             {``, `rm -r sub; echo x >sub`, "+sub -sub/c"},
		"what git ignores":                    {`echo i >.gitignore`, `echo x >i; echo x >j`, "+j"},
		"our own folder":                      {``, `echo x >.reprise/x`, ""},
		"folders of dependencies":             {``, `mkdir -p node_modules/x w/.venv; echo x >node_modules/x/f; echo x >w/.venv/f; echo x >venv.go`, "+venv.go"},
		"a repository in it":                  {``, `git init -q r; echo x >r/f; echo x >g`, "+g"},
		"an odd name":                         {``, `echo x >"$(printf 'a\nb')"`, "+a\nb"},
		"a large file counts by its size":     {``, `truncate -s 60M large`, "+large"},
		"the plan is there if git ignores it": {`echo PLAN >.gitignore`, `echo x >PLAN`, "+PLAN"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, c.setup)
			r := open(t, dir)
			r.Always = []string{"PLAN"}
			before := take(t, r)
			sh(t, dir, c.change)
			after := take(t, r)
			is(t, "difference", diff(t, r, before, after), c.want)
			is(t, "again", string(take(t, r)), string(after))
			is(t, "the index and the status of the user", sh(t, dir, `git diff --cached --name-only; git -c status.showUntrackedFiles=no status --porcelain --ignored=no | grep -c .reprise || true`), "0\n")
			if err := os.Remove(filepath.Join(dir, ".reprise/worlds/index")); err != nil {
				t.Fatal(err)
			}
			r.Close()
			again := open(t, dir)
			again.Always = r.Always
			is(t, "by another engine, without the index", string(take(t, again)), string(after))
		})
	}
}

func TestTake_with_a_damaged_index(t *testing.T) {
	dir := project(t, `echo x >>a`)
	r := open(t, dir)
	want := take(t, r)
	sh(t, dir, `echo damage >.reprise/worlds/index; echo y >y`)
	is(t, "difference", diff(t, r, want, take(t, r)), "+y")
}

// move records a difference of two worlds as a step would, and makes it.
func move(t *testing.T, r *world.Repo, seq int, m core.Move) []string {
	t.Helper()
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	if m.Head = head.Head; m.Message == "" {
		m.Message = "step\n\nReprise-Step: run/s"
	}
	rec := core.Record{Seq: seq, At: time.Unix(1_800_000_000, 0), End: &core.End{Step: "s", Move: &m}}
	var left []string
	for range 2 { // made again, it is made
		if left, err = r.Make(context.Background(), "run", rec); err != nil {
			t.Fatal(err)
		}
	}
	return left
}

func TestMake(t *testing.T) {
	for name, c := range map[string]struct {
		user, agent, meanwhile string // before the step, the step, and what the user does before the move is made
		tick                   string // what the move writes into b
		left, commit, status   string
	}{
		"a step":                                  {``, `echo x >>a; echo n >n`, ``, "", "", "a n", ""},
		"a step and its mark":                     {``, `echo x >>a`, ``, "ticked\n", "", "a b", ""},
		"nothing":                                 {``, ``, ``, "", "", "-", ""},
		"the user's own changes stay":             {`echo mine >>b; echo s >s; git add s`, `echo x >>a`, ``, "", "", "a", " M b\nA  s\n"},
		"in other lines of the same file":         {`sed -i 's/^1$/mine/' a`, `echo x >>a`, ``, "", "", "a", " M a\n"},
		"staged ones too":                         {`sed -i 's/^1$/mine/' a; git add a`, `echo x >>a`, ``, "", "", "a", "M  a\n"},
		"he marks the file of the mark":           {``, `echo x >>a`, `echo his >b`, "ticked\n", "b", "a b", " M b\n"},
		"he commits something":                    {``, `echo x >>a`, `echo h >h; git add h; git commit -q -m his`, "", "", "a", ""},
		"he commits what the step did":            {``, `echo x >>a`, `git commit -q -am his`, "", "", "a", ""},
		"a file that goes":                        {``, `rm b`, ``, "", "", "b", ""},
		"a file that he keeps out of git":         {`git rm -q --cached b; git commit -q -m out`, `echo x >>b; echo x >>a`, ``, "", "", "a", "?? b\n"},
		"a mode":                                  {``, `chmod +x a`, ``, "", "", "a", ""},
		"a folder for a file":                     {``, `rm b; mkdir b; echo x >b/x`, ``, "", "", "b b/x", ""},
		"a deep new file":                         {``, `mkdir -p d/e/f; echo x >d/e/f/g`, ``, "", "", "d/e/f/g", ""},
		"the last file of a folder":               {``, `rm -r sub`, ``, "", "", "sub/c", ""},
		"a branch without commits":                {`rm -rf .git; git init -q -b main`, `echo n >n`, ``, "", "", "n", "?? a\n?? b\n?? sub/\n"},
		"detached":                                {`git checkout -q --detach`, `echo n >n`, ``, "", "", "n", ""},
		"his index is unlike all":                 {`echo i >b; git add b; echo w >b`, `echo x >>a`, ``, "", "", "a", "MM b\n"},
		"what he staged of the step itself stays": {``, `echo x >>a; git add a`, ``, "", "", "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, c.user)
			r := open(t, dir)
			before := take(t, r)
			sh(t, dir, c.agent)
			now := take(t, r)
			to := now
			if c.tick != "" {
				var err error
				if to, err = r.With(now, []core.Edit{{Path: "b", Data: []byte(c.tick)}}); err != nil {
					t.Fatal(err)
				}
			}
			head := "-"
			if c.commit == "-" {
				head = sh(t, dir, `git rev-parse HEAD`)
			}
			sh(t, dir, c.meanwhile)
			left := move(t, r, 7, core.Move{Base: before, From: now, To: to})
			is(t, "left", strings.Join(left, " "), c.left)
			if c.commit == "-" {
				is(t, "head", sh(t, dir, `git rev-parse HEAD`), head)
			} else {
				is(t, "commit", strings.Join(strings.Fields(sh(t, dir, `git show --format= --name-only --no-renames HEAD`)), " "), c.commit)
			}
			is(t, "status", sh(t, dir, `git status --porcelain`), c.status)
			is(t, "fsck", sh(t, dir, `git fsck --no-dangling --no-progress 2>&1 | grep -v notice || true`), "")
			if !strings.Contains(name, "he commits what") && c.commit != "-" {
				is(t, "trailer", sh(t, dir, `git log -1 --format=%B%an%ae%at | grep -v '^$'`), "step\nReprise-Step: run/s\nReprise-Record: run/7\nuseru@example.org1800000000\n")
			}
			is(t, "ours in git", sh(t, dir, `ls .git | grep -e reprise -e lock || true`), "")
		})
	}
}

// Files that are named: aside ones are not committed, whole ones as they stand, and the
// convention's as it says.
func TestMake_with_words_on_single_files(t *testing.T) {
	dir := project(t, `echo his >b; sed -i s/1/his/ a`)
	r := open(t, dir)
	before := take(t, r)
	sh(t, dir, `echo x >secret; echo step >b; sed -i s/his/step/ a; echo p >>sub/c`)
	now := take(t, r)
	blobs, err := r.Blobs([]core.Edit{{Path: "a", Data: []byte("as the convention says\n")}})
	if err != nil {
		t.Fatal(err)
	}
	move(t, r, 1, core.Move{Base: before, From: now, To: now, Aside: []string{"secret"}, Whole: []string{"b"}, Own: blobs})
	is(t, "commit", sh(t, dir, `git show --format= --name-only; git show HEAD:a HEAD:b; git status --porcelain`), "a\nb\nsub/c\nas the convention says\nstep\n M a\n?? secret\n")
}

// Both changed the same lines: the file is named, and not committed.
func TestApart(t *testing.T) {
	dir := project(t, `sed -i 's/^5$/his/' a`)
	r := open(t, dir)
	before := take(t, r)
	sh(t, dir, `sed -i 's/^his$/step/' a; echo x >>b`)
	now := take(t, r)
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	files, torn, err := r.Apart(context.Background(), &core.Move{Base: before, To: now}, head)
	if err != nil || len(files) != 1 || files["b"].ID == "" || !slices.Equal(torn, []string{"a"}) {
		t.Errorf("%v %v %v", files, torn, err)
	}
	// What he committed meanwhile was his word on it, and the step's came after.
	since := head.Commit
	before = take(t, r)
	sh(t, dir, `git commit -q -m his a; sed -i 's/^step$/step again/' a`)
	if head, err = r.Head(); err != nil {
		t.Fatal(err)
	}
	_, torn, err = r.Apart(context.Background(), &core.Move{Base: before, To: take(t, r), Since: since}, head)
	if err != nil || len(torn) != 0 {
		t.Errorf("%v %v", torn, err)
	}
}

func TestMake_while_a_merge_is_under_way(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	before := take(t, r)
	sh(t, dir, `echo x >>a`)
	now := take(t, r)
	sh(t, dir, `touch .git/MERGE_HEAD`)
	rec := core.Record{Seq: 1, End: &core.End{Move: &core.Move{Base: before, From: now, To: now, Message: "m"}}}
	if _, err := r.Make(context.Background(), "run", rec); err == nil || !strings.Contains(err.Error(), "MERGE_HEAD") {
		t.Errorf("%v", err)
	}
	is(t, "log", sh(t, dir, `rm .git/MERGE_HEAD; git log --format=%s`), "first\n")
}

func TestMake_waits_for_the_lock_of_the_index(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	before := take(t, r)
	sh(t, dir, `echo x >>a; touch .git/index.lock`)
	go func() {
		time.Sleep(200 * time.Millisecond)
		os.Remove(filepath.Join(dir, ".git/index.lock"))
	}()
	now := take(t, r)
	move(t, r, 1, core.Move{Base: before, From: now, To: now})
	is(t, "log", sh(t, dir, `git log --format=%s; ls .git/*lock 2>/dev/null || true`), "step\nfirst\n")
	sh(t, dir, `echo y >>a; touch .git/index.lock`)
	ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	rec := core.Record{Seq: 2, End: &core.End{Move: &core.Move{Base: now, From: now, To: take(t, r), Message: "m"}}}
	if _, err := r.Make(ctx, "run", rec); err == nil {
		t.Error("it did not wait")
	}
	is(t, "the lock of another", sh(t, dir, `ls .git/index.lock`), ".git/index.lock\n")
}

// An engine that was killed left its locks, and its index: they are known for ours.
func TestOpen_clears_what_a_dead_engine_left(t *testing.T) {
	dir := project(t, ``)
	open(t, dir).Close()
	sh(t, dir, `touch .git/reprise.lock .git/reprise.index.1 .reprise/worlds/tmp/x .reprise/worlds/index.lock; ln .git/reprise.lock .git/index.lock`)
	open(t, dir).Close()
	is(t, "left", sh(t, dir, `ls .git | grep -e lock -e reprise || true; ls .reprise/worlds/tmp; ls .reprise/worlds | grep lock`), "lock\n")
	sh(t, dir, `touch .git/reprise.lock .git/index.lock`) // another's
	open(t, dir).Close()
	is(t, "left", sh(t, dir, `ls .git | grep lock`), "index.lock\n")
}

// After a boot: torn objects are no objects, our index is made anew, and what held locks is dead.
func TestOpen_after_a_power_cut(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	sh(t, dir, `echo x >n; git checkout -q --detach`)
	w := take(t, r)
	r.Close()
	sh(t, dir, `git checkout -q main
		f=$(find .reprise/worlds/objects -type f | head -1); chmod +w $f; : >$f; touch .reprise/worlds/objects/tmp_obj_x
		touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock`)
	open(t, dir).Close() // on the same boot nothing is touched
	is(t, "locks", sh(t, dir, `ls .git/*.lock .git/refs/heads/*.lock .reprise/worlds/objects/tmp_obj_x | wc -l`), "4\n")
	sh(t, dir, `echo another >.reprise/worlds/boot`)
	r = open(t, dir)
	is(t, "locks", sh(t, dir, `ls .git/*.lock .git/refs/heads/*.lock .reprise/worlds/objects/tmp_obj_x 2>/dev/null | wc -l`), "0\n")
	is(t, "world", string(take(t, r)), string(w))
	if err := r.Whole("", w); err != nil {
		t.Error(err)
	}
}

func TestOpen_is_for_one(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	if _, err := world.Open(context.Background(), dir); !errors.Is(err, world.ErrAtWork) {
		t.Errorf("%v", err)
	}
	if err := r.Sync(); err != nil {
		t.Error(err)
	}
	r.Close()
	open(t, dir)
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, wide := range []string{home, "/"} {
		if _, err := world.Open(context.Background(), wide); !errors.Is(err, world.ErrTooWide) {
			t.Errorf("%s: %v", wide, err)
		}
	}
	is(t, "left at home", sh(t, home, `ls -A | grep -v .reprise || true`), "")
}

func TestMerge(t *testing.T) {
	const base = "1\n2\n3\n4\n5\n6\n7\n"
	for name, c := range map[string]struct{ mine, theirs, want, torn string }{
		"one side":            {base, "x\n2\n3\n4\n5\n6\n7\n", "x\n2\n3\n4\n5\n6\n7\n", ""},
		"the other":           {"x\n2\n3\n4\n5\n6\n7\n", base, "x\n2\n3\n4\n5\n6\n7\n", ""},
		"both alike":          {"x\n", "x\n", "x\n", ""},
		"both, other lines":   {"x\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n4\n5\n6\ny\n", "x\n2\n3\n4\n5\n6\ny\n", ""},
		"both, the same line": {"x\n2\n3\n4\n5\n6\n7\n", "y\n2\n3\n4\n5\n6\n7\n", "x\n2\n3\n4\n5\n6\n7\n", "f"},
		"no text":             {"x\x00\n", "y\x00\n", "x\x00\n", "f"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, project(t, ``))
			with := func(text string) core.World {
				w, err := r.With("", []core.Edit{{Path: "f", Data: []byte(text)}, {Path: "g/h", Data: []byte(text)}})
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			got, torn, err := r.Merge(context.Background(), with(base), with(c.mine), with(c.theirs), "g/h")
			if err != nil || strings.Join(torn, " ") != c.torn {
				t.Fatalf("%v %v", torn, err)
			}
			text, err := fs.ReadFile(r.FS(got), "f")
			if err != nil || string(text) != c.want {
				t.Errorf("%q %v", text, err)
			}
			if text, _ := fs.ReadFile(r.FS(got), "g/h"); string(text) != c.mine {
				t.Errorf("the file that was excepted: %q", text)
			}
		})
	}
}

func TestMerge_of_modes_and_of_what_is_no_file(t *testing.T) {
	dir := project(t, `ln -s a l`)
	r := open(t, dir)
	base := take(t, r)
	sh(t, dir, `sed -i s/1/x/ a; ln -sf b l; rm b`)
	mine := take(t, r)
	sh(t, dir, `git checkout -q .; sed -i s/9/y/ a; chmod +x a; ln -sf c l; echo more >>b`)
	theirs := take(t, r)
	got, torn, err := r.Merge(context.Background(), base, mine, theirs)
	if err != nil || !slices.Equal(torn, []string{"b", "l"}) {
		t.Fatalf("%v %v", torn, err)
	}
	e, err := r.Entry(got, "a")
	if err != nil || e.Mode != "100755" {
		t.Errorf("%v %v", e, err)
	}
}

func TestFS(t *testing.T) {
	dir := project(t, `chmod +x a; echo d >sub.d; mkdir sub/deep; echo e >sub/deep/e`)
	r := open(t, dir)
	w := take(t, r)
	if err := fstest.TestFS(r.FS(w), "a", "b", "sub/c", "sub/deep/e", "sub.d"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"a": "-rwxr-xr-x 18", "b": "-rw-r--r-- 2", "sub": "drwxr-xr-x 0"} {
		info, err := fs.Stat(r.FS(w), name)
		if err != nil {
			t.Fatal(err)
		}
		is(t, name, fmt.Sprint(info.Mode(), " ", info.Size()), want)
	}
	for _, name := range []string{"none", "a/x", "sub/none"} {
		if _, err := fs.ReadFile(r.FS(w), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if e, err := r.Entry(w, name); err != nil || e.ID != "" {
			t.Errorf("%s: %v %v", name, e, err)
		}
	}
	if e, err := r.Entry(w, "sub"); err != nil || e.ID != "" {
		t.Errorf("a folder is no file: %v %v", e, err)
	}
}

func TestOnly_and_With(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	a := take(t, r)
	sh(t, dir, `echo x >>a; rm b; echo n >n; chmod +x sub/c`)
	b := take(t, r)
	only, err := r.Only(a, b, []string{"b", "n", "nothing"})
	if err != nil {
		t.Fatal(err)
	}
	is(t, "only", diff(t, r, a, only), "-b +n")
	with, err := r.With(b, []core.Edit{{Path: "sub/c", Data: []byte("new\n")}, {Path: "x/y/z", Data: []byte("new\n")}})
	if err != nil {
		t.Fatal(err)
	}
	is(t, "with", diff(t, r, b, with), "~sub/c +x/y/z")
	if e, _ := r.Entry(with, "sub/c"); e.Mode != "100755" {
		t.Errorf("the mode is %s", e.Mode)
	}
	none, err := r.Only(b, "", []string{"a", "n", "sub/c"})
	if err != nil || none != "" {
		t.Errorf("a world without files: %q %v", none, err)
	}
}

// A move of the working tree makes way for what comes, and takes nothing of the user's.
func TestMoveFiles(t *testing.T) {
	dir := project(t, `ln -s a l`)
	r := open(t, dir)
	from := take(t, r)
	sh(t, dir, `rm -r sub b; echo s >sub; mkdir b; echo x >b/x; ln -sf b l; chmod +x a; echo n >n; mkdir k; echo k >k/k`)
	to := take(t, r)
	back := func(a, b core.World, want string) {
		t.Helper()
		left, err := r.MoveFiles(context.Background(), a, b)
		if err != nil {
			t.Fatal(err)
		}
		is(t, "left", strings.Join(left, " "), want)
	}
	back(to, from, "")
	is(t, "there", string(take(t, r)), string(from))
	is(t, "no empty folder", sh(t, dir, `find . -empty -not -path './.*' `), "")
	back(to, from, "")
	sh(t, dir, `echo his >n; sed -i s/1/his/ a`)
	back(from, to, "n")
	is(t, "kept", sh(t, dir, `cat n; head -1 a; test -x a; readlink l; cat b/x`), "his\nhis\nb\nx\n")
	back(to, from, "n")
	is(t, "kept", sh(t, dir, `cat n; head -1 a`), "his\nhis\n")
}

func TestWhole(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	a := take(t, r)
	sh(t, dir, `echo x >n`)
	b := take(t, r)
	if err := r.Whole(a, b); err != nil {
		t.Error(err)
	}
	id := strings.TrimSpace(sh(t, dir, `git hash-object n`))
	r.Close()
	sh(t, dir, `rm -f .reprise/worlds/objects/`+id[:2]+`/`+id[2:])
	if err := open(t, dir).Whole(a, b); !errors.Is(err, world.ErrMissing) {
		t.Errorf("%v", err)
	}
}

func TestStaged(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	staged := func() core.World {
		t.Helper()
		w, err := r.Staged(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	a := staged()
	sh(t, dir, `echo x >>a; echo n >n; git add n`)
	is(t, "staged", diff(t, r, a, staged()), "+n")
	sh(t, dir, `git add a`)
	is(t, "staged", diff(t, r, a, staged()), "~a +n")
	sh(t, dir, `git commit -q -m m; git checkout -q -b o HEAD^; echo o >a; git commit -q -am o; git merge -q main || true`)
	if _, err := r.Staged(context.Background()); !errors.Is(err, world.ErrUnmerged) {
		t.Errorf("%v", err)
	}
	if why := r.Busy(); !strings.Contains(why, "MERGE_HEAD") {
		t.Errorf("%s", why)
	}
}

func TestHead_and_commits(t *testing.T) {
	dir := project(t, `git commit -q --allow-empty -m second; git checkout -q -b side HEAD^; git commit -q --allow-empty -m side; git checkout -q main; git merge -q -m merge side`)
	r := open(t, dir)
	head, err := r.Head()
	if err != nil || head.Branch != "refs/heads/main" || head.Commit+"\n" != sh(t, dir, "git rev-parse HEAD") || head.Tree+"\n" != sh(t, dir, "git rev-parse HEAD^{tree}") {
		t.Fatalf("%+v %v", head, err)
	}
	first := strings.TrimSpace(sh(t, dir, `git rev-list --max-parents=0 HEAD`))
	commits, err := r.Commits(head.Commit, first)
	if err != nil || len(commits) != 3 || commits[0].Message != "merge\n" {
		t.Errorf("%v %v", commits, err)
	}
	if commits, err = r.Commits(head.Commit, head.Commit); err != nil || len(commits) != 0 {
		t.Errorf("%v %v", commits, err)
	}
	ctx := context.Background()
	for _, c := range []struct {
		head, commit string
		want         bool
	}{{head.Commit, first, true}, {first, head.Commit, false}, {head.Commit, "", true}, {"", first, false}, {first, first, true}, {first, strings.Repeat("1", 40), false}} {
		if has, err := r.Has(ctx, c.head, c.commit); err != nil || has != c.want {
			t.Errorf("%+v: %v %v", c, has, err)
		}
	}
	if !world.HasLine("a\nb: c\n", "b: c") || world.HasLine("a\nb: cd\n", "b: c") {
		t.Error("HasLine")
	}
	sh(t, dir, `git checkout -q --detach`)
	if head, err = r.Head(); err != nil || head.Branch != "" || head.Commit == "" {
		t.Errorf("%+v %v", head, err)
	}
	sh(t, dir, `git checkout -q --orphan new`)
	if head, err = r.Head(); err != nil || head.Branch != "refs/heads/new" || head.Commit != "" {
		t.Errorf("%+v %v", head, err)
	}
}

// What others did to the branch is taken out of an attempt's work, what its own agent did is not.
func TestWithCommits(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	w := take(t, r)
	since := strings.TrimSpace(sh(t, dir, `git rev-parse HEAD`))
	sh(t, dir, `echo his >his; git add his; git commit -q -m his
		export GIT_REFLOG_ACTION='reprise s.1'; echo own >own; git add own; git commit -q -m own; unset GIT_REFLOG_ACTION
		echo x >>b; git commit -q -am b`)
	got, err := r.WithCommits(context.Background(), w, since, "reprise s.1")
	if err != nil {
		t.Fatal(err)
	}
	is(t, "others", diff(t, r, w, got), "~b +his")
	sh(t, dir, `printf '\0\0\0\0 \0\0\0 x\n' >>.git/logs/HEAD; echo >>.git/logs/HEAD`) // a power cut
	if got, err = r.WithCommits(context.Background(), w, since, "reprise s.1"); err != nil {
		t.Fatal(err)
	}
	is(t, "others", diff(t, r, w, got), "~b +his")
	sh(t, dir, `rm .git/logs/HEAD`)
	if got, err = r.WithCommits(context.Background(), w, since, "reprise s.1"); err != nil || got != w {
		t.Errorf("without a reflog: %s %v", diff(t, r, w, got), err)
	}
}

func TestHistory_and_Stands(t *testing.T) {
	dir := project(t, `c() { echo $1 >$1; git add $1; git commit -q -m "$1" -m "Reprise-Step: run/$1"; }; c s1; c s2; c s3; git revert --no-edit HEAD >/dev/null; c s4; git revert --no-edit HEAD >/dev/null; git revert --no-edit HEAD >/dev/null`)
	r := open(t, dir)
	ctx := context.Background()
	h, err := r.History(ctx, "100")
	if err != nil || !h.Whole || len(h.All) != 8 {
		t.Fatalf("%+v %v", h, err)
	}
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]bool{"s1": true, "s2": true, "s3": false, "s4": true, "s5": false} {
		if stands, why, err := r.Stands(h, head, "run/"+step, &core.Past{}); err != nil || stands != want {
			t.Errorf("%s: %v %s %v", step, stands, why, err)
		}
	}
	if stands, why, _ := r.Stands(h, head, "run/other", &core.Past{Commit: head.Commit}); !stands || !strings.Contains(why, head.Commit[:10]) {
		t.Errorf("by its commit: %v %s", stands, why)
	}
	before := core.World(strings.TrimSpace(sh(t, dir, `git rev-parse HEAD~7^{tree}`)))
	past := &core.Past{Before: before, After: core.World(head.Tree)}
	if stands, _, _ := r.Stands(h, head, "run/other", past); !stands {
		t.Error("by its files")
	}
	sh(t, dir, `echo more >>s1; git commit -q -am more`)
	if head, err = r.Head(); err != nil {
		t.Fatal(err)
	}
	if stands, why, _ := r.Stands(h, head, "run/other", past); stands || !strings.HasPrefix(why, "s1 is not") {
		t.Errorf("by its files, changed: %s", why)
	}
	if h, err = r.History(ctx, "2"); err != nil || h.Whole || len(h.All) != 2 {
		t.Errorf("%+v %v", h, err)
	}
}

func TestPack(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	ctx := context.Background()
	count := func() string {
		return sh(t, dir, `cd .reprise/worlds/objects; find . -type f | sed 's/[0-9a-f]\{38,\}/X/; s/^\.\/..\/X/loose/' | sort | uniq -c | sed 's/^ *//'`)
	}
	a := take(t, r)
	var kept []core.World
	for i := range 3 {
		sh(t, dir, fmt.Sprintf(`echo %d >>a; echo %d >n`, i, i))
		kept = append(kept, take(t, r))
	}
	if r.Crowded() {
		t.Error("crowded")
	}
	gone, err := r.With(a, []core.Edit{{Path: "gone", Data: []byte("gone")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Sync(); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `mkdir -p .reprise/worlds/objects/pack; touch .reprise/worlds/objects/pack/tmp_pack_x .reprise/worlds/objects/pack/pack-none.idx.tmp`)
	time.Sleep(20 * time.Millisecond)
	for range 2 {
		if err := r.Pack(ctx, kept[:2]); err != nil {
			t.Fatal(err)
		}
		is(t, "store", count(), "1 ./pack/pack-X.idx\n1 ./pack/pack-X.pack\n")
		for _, w := range kept { // the last one is that of now
			if err := r.Whole(a, w); err != nil {
				t.Error(err)
			}
		}
	}
	is(t, "now", string(take(t, r)), string(kept[2]))
	r.Close()
	r = open(t, dir)
	if err := r.Whole(a, gone); !errors.Is(err, world.ErrMissing) {
		t.Errorf("what no record names: %v", err)
	}
	sh(t, dir, `echo y >y`)
	w := take(t, r)
	time.Sleep(20 * time.Millisecond)
	if err := r.Pack(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Whole(a, w); err != nil {
		t.Errorf("the world of now: %v", err)
	}
	r.Close()
	sh(t, dir, `mkdir -p .reprise/worlds/objects/17; cd .reprise/worlds/objects/17; seq 30 | xargs touch`)
	if !open(t, dir).Crowded() {
		t.Error("not crowded")
	}
}

func TestSlot(t *testing.T) {
	dir := project(t, `echo PLAN >.gitignore; git add .; git commit -q -m i; echo p >PLAN; echo dirty >>b`)
	r := open(t, dir)
	r.Always = []string{"PLAN"}
	ctx := context.Background()
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := r.Slot(ctx, "1")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Reset(ctx, head, r); err != nil {
			t.Fatal(err)
		}
		top := s.Top
		is(t, "there", sh(t, top, `cat b PLAN; git status --porcelain; git rev-parse HEAD`), "b\np\n"+head.Commit+"\n")
		sh(t, top, `echo x >x; echo y >>b; rm a; echo o >PLAN`)
		w := take(t, s)
		is(t, "its world", diff(t, r, core.World(head.Tree), w), "+PLAN -a ~b +x")
		is(t, "that of the project", sh(t, dir, `git status --porcelain`), " M b\n")
		if again, err := r.Slot(ctx, "1"); err != nil || again != s {
			t.Error("it was made twice", err)
		}
	}
	r.Close()
	sh(t, dir, `rm .reprise/worlds/own/1/.git`) // killed or cut off while it was made
	r = open(t, dir)
	if _, err := r.Slot(ctx, "1"); err != nil {
		t.Error(err)
	}
	sh(t, dir, `rm -rf .git`)
	r.Close()
	if _, err := open(t, dir).Slot(ctx, "1"); err == nil {
		t.Error("a worktree without git")
	}
}

func TestLook(t *testing.T) {
	dir := project(t, `echo x >>a`)
	before := sh(t, dir, `find . | sort`)
	r, err := world.Look(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	w := take(t, r)
	is(t, "difference", diff(t, r, core.World(strings.TrimSpace(sh(t, dir, `git rev-parse HEAD^{tree}`))), w), "~a")
	if !r.Looking() || r.Sync() != nil {
		t.Error("it is not looking")
	}
	r.Close()
	is(t, "files", sh(t, dir, `find . | sort`), before)
	engine := open(t, dir)
	is(t, "the engine's world", string(take(t, engine)), string(w))
	own, err := engine.With(w, []core.Edit{{Path: "ours", Data: []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = world.Look(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	is(t, "the engine's objects", diff(t, r, w, own), "+ours")
	if below, err := r.Below(filepath.Join(dir, "sub")); err != nil || below != "sub" {
		t.Errorf("%s %v", below, err)
	}
	if below, err := r.Below(dir); err != nil || below != "" {
		t.Errorf("%s %v", below, err)
	}
}

func TestWithout_git(t *testing.T) {
	dir := project(t, `rm -rf .git`)
	r := open(t, dir)
	a := take(t, r)
	sh(t, dir, `echo x >>a`)
	b := take(t, r)
	is(t, "difference", diff(t, r, a, b), "~a")
	left := move(t, r, 1, core.Move{Base: b, From: b, To: a})
	is(t, "left and made", strings.Join(left, " ")+string(take(t, r)), string(a))
	head, err := r.Head()
	if err != nil || head.Commit != "" {
		t.Errorf("%+v %v", head, err)
	}
	if w, err := r.WithCommits(context.Background(), b, "", ""); err != nil || w != b {
		t.Error(err)
	}
	if files, torn, err := r.Apart(context.Background(), &core.Move{Base: a, To: b}, head); err != nil || files != nil || torn != nil {
		t.Error(files, torn, err)
	}
	if h, err := r.History(context.Background(), "9"); err != nil || !h.Whole || len(h.All) > 0 {
		t.Error(h, err)
	}
	bare := t.TempDir()
	look, err := world.Look(context.Background(), bare)
	if err != nil {
		t.Fatal(err)
	}
	take(t, look)
	look.Close()
	is(t, "made by who looks", sh(t, bare, `ls -A`), "")
	is(t, "no repository of the user's", sh(t, dir, `ls -A | grep -x .git || true`), "")
}

func TestAside(t *testing.T) {
	for name, c := range map[string]struct{ setup, change, files, why string }{
		"nothing":                   {``, `echo x >>a; echo n >n`, "", ""},
		"names of secrets":          {``, `for f in .env .env.local .env.example id_rsa id_ed25519.pub k.pem k.key sub/.npmrc .netrc .pypirc credentials.json s.p12 s.pfx s.jks; do echo x >$f; done`, ".env .env.local .netrc .pypirc credentials.json id_ed25519.pub id_rsa k.key k.pem s.jks s.p12 s.pfx sub/.npmrc", "secrets"},
		"one that git knows":        {`echo x >.env; git add .env; git commit -q -m env`, `echo y >.env`, "", ""},
		"a large one":               {``, `truncate -s 60M large`, "large", "too large"},
		"a heap":                    {``, `mkdir heap; seq 501 | sed s,^,heap/, | xargs touch; echo x >n`, "heap/1", "501 new files"},
		"no heap yet":               {``, `mkdir heap; seq 500 | sed s,^,heap/, | xargs touch`, "", ""},
		"a heap of bytes":           {``, `mkdir big; truncate -s 26M big/1; truncate -s 26M big/2; truncate -s 26M alone`, "big/1 big/2", "2 new files, 52 MB"},
		"a plan that git ignores":   {`echo PLAN >.gitignore`, `echo x >PLAN`, "PLAN", ""},
		"a plan":                    {``, `echo x >PLAN`, "", ""},
		"a filter of the project's": {`git config filter.x.clean 'touch ran; cat'; echo 'f filter=x' >.gitattributes; echo 'g filter=x' >>.gitattributes; echo 'g !filter' >>.gitattributes`, `echo x >f; echo x >g`, "f", "a filter of this repository"},
		"the user's own filter":     {`git config --global filter.x.clean cat; echo 'f filter=x' >.gitattributes`, `echo x >f`, "", ""},
		"work in a submodule":       {`git init -q ../lib; cd ../lib; echo l >l; git add l; git commit -q -m lib; cd -; git -c protocol.file.allow=always submodule --quiet add ../lib lib; git -c protocol.file.allow=always submodule --quiet add ../lib clean; git commit -q -m lib`, `echo x >>lib/l`, "", `["lib"]`},
		"staged in a submodule":     {`git init -q ../lib; cd ../lib; echo l >l; git add l; git commit -q -m lib; cd -; git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -q -m lib`, `echo x >>lib/l; git -C lib add l`, "", `["lib"]`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, c.setup)
			r := open(t, dir)
			r.Always = []string{"PLAN"}
			before := take(t, r)
			sh(t, dir, c.change)
			changes, err := r.Diff(before, take(t, r))
			if err != nil {
				t.Fatal(err)
			}
			files, why, err := r.Aside(context.Background(), changes)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(files, " "); got != c.files && !(strings.HasPrefix(got, c.files+" ") && strings.Contains(name, "heap")) {
				t.Errorf("files: %s", got)
			}
			if got := strings.Join(why, "; "); !strings.Contains(got, c.why) || (got == "") != (c.why == "") {
				t.Errorf("why: %s", got)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("it was run")
			}
		})
	}
}

// What a project demands of a commit: hooks that have a say, and a signature.
func TestDemands(t *testing.T) {
	for name, c := range map[string]struct{ setup, want, err string }{
		"a hook that agrees":           {`h pre-commit 'git diff --cached --name-only >../saw'`, "a\nstep\n", ""},
		"one that refuses":             {`h pre-commit 'echo not so; exit 1'`, "first\n", "refused by pre-commit: exit status 1: not so"},
		"one that mends files":         {`h pre-commit 'echo mended >>a; git add a'`, "mended\nstep\n", ""},
		"a message that is refused":    {`h commit-msg 'grep -q ticket $1'`, "first\n", "refused by commit-msg"},
		"a message that is completed":  {`h prepare-commit-msg 'test $2 = message; echo ticket 7 >$1.x; cat $1 >>$1.x; mv $1.x $1'; h commit-msg 'grep -q ticket $1'`, "ticket 7 step\n", ""},
		"a message without its marks":  {`h commit-msg 'echo all mine >$1'`, "all mine\n", ""},
		"one that is told":             {`h post-commit 'git log -1 --format=told:%s >../saw; exit 1'`, "told:step\nstep\n", ""},
		"in a folder of the project's": {`git config core.hooksPath .husky; mkdir .husky; mv .git/hooks .git/h; ln -s ../.husky .git/hooks; h pre-commit 'echo husky >../saw'; rm .git/hooks; git add .husky; git commit -q -m husky --no-verify`, "husky\nstep\n", ""},
		"not executable":               {`h pre-commit 'exit 1'; chmod -x .git/hooks/pre-commit`, "step\n", ""},
		"a signature":                  {`git config --global commit.gpgsign true; git config --global gpg.program "$PWD/../gpg"; printf '#!/bin/sh\ncat >/dev/null; echo "[GNUPG:] SIG_CREATED " >&2; echo "-----BEGIN PGP SIGNATURE-----"; echo by $*; echo "-----END PGP SIGNATURE-----"\n' >../gpg; chmod +x ../gpg; git config user.signingkey KEY`, " by --status-fd=2 -bsau KEY\nstep\n", ""},
		"a program of the project's":   {`git config commit.gpgsign true; git config gpg.program "$PWD/../gpg"; printf '#!/bin/sh\ntouch '$PWD'/../saw\nexit 1\n' >../gpg; chmod +x ../gpg; git config user.signingkey none`, "first\n", "it is to be signed, and was not"},
		"no signature":                 {`git config --global commit.gpgsign true; git config commit.gpgsign false`, "step\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, `
				h() { mkdir -p .git/hooks; printf '#!/bin/sh\nset -e\n%s\n' "$2" >.git/hooks/$1; chmod +x .git/hooks/$1; }; `+c.setup)
			r := open(t, dir)
			before := take(t, r)
			sh(t, dir, `echo x >>a; echo his >his; git add his`)
			changed, err := r.Only(before, take(t, r), []string{"a"})
			if err != nil {
				t.Fatal(err)
			}
			head, err := r.Head()
			if err != nil {
				t.Fatal(err)
			}
			rec := core.Record{Seq: 3, At: time.Now(), End: &core.End{Move: &core.Move{Base: before, From: changed, To: changed, Head: head.Head, Message: "step\n\nbody"}}}
			for range 2 {
				_, err = r.Make(context.Background(), "run", rec)
				if c.err == "" && err != nil || c.err != "" && (!errors.Is(err, world.ErrRefused) || !strings.Contains(err.Error(), c.err)) {
					t.Fatalf("%v", err)
				}
			}
			is(t, "after it", sh(t, dir, `cat ../saw 2>/dev/null || true; git cat-file commit HEAD | grep ' by' || true; tail -1 a | grep mended || true; git log -1 --format=%s`), c.want)
			if c.err == "" {
				is(t, "record", sh(t, dir, `git log --format=%B | grep -c 'Reprise-Record: run/3'; git log --oneline | grep -vc husky`), "1\n2\n")
				is(t, "status", sh(t, dir, `git status --porcelain`), "A  his\n")
			} else {
				sh(t, dir, `git commit -q --no-verify --no-gpg-sign -m "by hand" a`) // which settles it
				if _, err := r.Make(context.Background(), "run", rec); err != nil {
					t.Error(err)
				}
				is(t, "status", sh(t, dir, `git log --format=%s; git status --porcelain`), "by hand\nfirst\nA  his\n")
			}
			is(t, "left", sh(t, dir, `ls .git | grep reprise || true`), "")
		})
	}
}

// A lock that a killed git command left goes only where no git could hold it.
func TestUnlock(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	sh(t, dir, `touch .git/index.lock .git/refs/heads/main.lock`)
	r.Unlock(time.Now().Add(time.Minute))
	is(t, "older than the command", sh(t, dir, `ls .git/index.lock`), ".git/index.lock\n")
	r.Unlock(time.Now())
	is(t, "of the command", sh(t, dir, `ls .git/index.lock .git/refs/heads/main.lock 2>/dev/null || true`), "")
}

func TestChangedAfter(t *testing.T) {
	dir := project(t, ``)
	r := open(t, dir)
	before := take(t, r)
	sh(t, dir, `echo x >n; rm b`)
	changes, err := r.Diff(before, take(t, r))
	if err != nil {
		t.Fatal(err)
	}
	is(t, "after", strings.Join(r.ChangedAfter(changes, time.Now().Add(-time.Minute)), " "), "n")
	is(t, "before", strings.Join(r.ChangedAfter(changes, time.Now().Add(time.Minute)), " "), "")
}

// What git keeps otherwise than it is on disk: world and commit have what git keeps, the disk
// has what it had.
func TestFilters(t *testing.T) {
	for name, setup := range map[string]string{
		"line ends": `git config core.autocrlf true; printf 'one\r\n' >f`,
		"a filter":  `git config --global filter.r.clean 'tr a-z b-za'; git config --global filter.r.smudge 'tr b-za a-z'; echo 'f filter=r' >.gitattributes; echo one >f`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, setup+`; git add .; git commit -q -m f`)
			r := open(t, dir)
			before := take(t, r)
			is(t, "as committed", string(before), strings.TrimSpace(sh(t, dir, `git rev-parse HEAD^{tree}`)))
			was := sh(t, dir, `cat f`)
			sh(t, dir, `cat f >>f.new; cat f >>f.new; mv f.new f`)
			now := take(t, r)
			move(t, r, 1, core.Move{Base: before, From: now, To: now})
			is(t, "status", sh(t, dir, `git status --porcelain`), "")
			move(t, r, 2, core.Move{Base: now, From: now, To: before})
			is(t, "taken back", sh(t, dir, `cat f; git status --porcelain`), was)
		})
	}
}

// Nothing that the project's own settings name is run where it is taken, read or compared.
func TestStrange_settings_start_nothing(t *testing.T) {
	dir := project(t, `for k in filter.x.clean filter.x.process filter..clean diff.x.textconv diff.x.command merge.x.driver core.fsmonitor; do git config $k "touch $PWD/../ran; cat"; done
		echo '* filter=x diff=x merge=x' >.gitattributes`)
	r := open(t, dir)
	before := take(t, r)
	sh(t, dir, `seq 3 >>a`)
	mine := take(t, r)
	sh(t, dir, `seq 3 | tac >>b; sed -i s/1/x/ a`)
	if _, _, err := r.Merge(context.Background(), before, mine, take(t, r)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "../ran")); err == nil {
		t.Error("it was run")
	}
}

// What stands in the project's folders, its checkouts or what they share is not run as git, by
// whatever way PATH leads there.
func TestPlanted_git_is_not_run(t *testing.T) {
	dir := project(t, `mkdir bin; printf '#!/bin/sh\ntouch %s\n' "$PWD/../ran" >bin/git; chmod 755 bin/git
		git worktree add -q ../other; mkdir ../other/bin; cp bin/git ../other/bin; cp bin/git .git; ln -s "$PWD/bin" ../linked`)
	t.Setenv("PATH", strings.Join([]string{"bin", filepath.Join(dir, "bin"), filepath.Join(dir, ".git"), filepath.Join(dir, "../other/bin"), filepath.Join(dir, "../linked"), os.Getenv("PATH")}, ":"))
	ctx, r := context.Background(), open(t, dir)
	was := take(t, r)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	now := take(t, r)
	if _, err := r.Make(ctx, "run", core.Record{Seq: 1, End: &core.End{Move: &core.Move{Base: was, From: now, To: now, Head: head.Head, Message: "work"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Slot(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "../ran")); err == nil {
		t.Error("it was run")
	}
}
