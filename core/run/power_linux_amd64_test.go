package run_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise/core"
	"reprise/core/run"
	"reprise/internal/sample"
)

// Power cuts. A run is traced: every system call that changes the project, those of git and of
// the agent too. From them states of the disk are made that a cut may leave, and from each the
// run must come to its end.
//
// What is modelled: at every call that was made, of what was not synced by then,
//   - a change of a folder (a name made, moved, exchanged, taken away) is there or not: each by
//     itself, or, as journaling file systems do it, the first ones and not the later ones;
//   - a file has what it had when it was synced last, or all, or the first writes and half of
//     another, or all writes but one, or zeros in its new length;
//   - fsync of a file keeps its content, and only with the journaling model its name; fsync of a
//     folder keeps its names; syncfs keeps all. sync_file_range keeps nothing.
//
// What is not: a disk that lies about a sync or loses what it had, a mode or time that is older
// than the content, a file whose content is lost while its size and times still fit git's index.
// Who writes in another way (mapped memory, copy_file_range) fails the test.

// disk is a folder, with what is durable of it and what is not yet.
type disk struct {
	top    string
	next   int
	nodes  map[int]*inode         // those in the cache; their names below
	names  map[int]map[string]int // of folders, in the cache
	trace  []change
	acked  []string // steps that a durable record calls done
	acks   []ack
	faults []string
	syncs  int
	gits   int // programs of git that were started
}

type ack struct {
	at   int
	step string
}

type inode struct {
	dir  bool
	mode fs.FileMode
	data []byte
}

// change is one thing that was done to the disk.
type change struct {
	names []entry // at once
	ino   int     // else of this file
	data  func([]byte) []byte
	part  func([]byte) []byte // half of it
	sync  bool                // of ino, or of all if it is 0
	note  string
	born  *inode
}

type entry struct {
	dir  int
	name string
	ino  int // 0: gone
}

const top = 1

func newDisk(t *testing.T, dir string) *disk {
	d := &disk{top: dir, next: top + 1, nodes: map[int]*inode{top: {dir: true, mode: 0o755}}, names: map[int]map[string]int{top: {}}}
	seen := map[uint64]int{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, p)
		if err != nil || name == "." {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		parent, base := d.parent(name)
		st := inodeOf(info)
		if old := seen[st]; old != 0 && !e.IsDir() {
			d.names[parent][base] = old
			return nil
		}
		n := &inode{dir: e.IsDir(), mode: info.Mode().Perm()}
		if !n.dir {
			n.data, err = os.ReadFile(p)
		} else {
			d.names[d.next] = map[string]int{}
		}
		d.nodes[d.next], d.names[parent][base], seen[st] = n, d.next, d.next
		d.next++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *disk) odd(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}

func (d *disk) rel(name string, ok bool) (string, bool) {
	if below, in := strings.CutPrefix(name, d.top+"/"); ok && in && !strings.HasSuffix(name, " (deleted)") {
		return below, true
	}
	if ok && name == d.top {
		return ".", true
	}
	return name, false
}

func (d *disk) parent(name string) (int, string) {
	at := top
	dir, base := path.Split(name)
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if part != "" {
			at = d.names[at][part]
		}
	}
	if d.names[at] == nil {
		d.odd("%s: no such folder", name)
		return top, "?" + base
	}
	return at, base
}

func (d *disk) at(name string) int {
	if name == "." {
		return top
	}
	dir, base := d.parent(name)
	return d.names[dir][base]
}

func (d *disk) add(c change) { d.trace = append(d.trace, c) }

// set changes names, at once.
func (d *disk) set(note string, list ...entry) {
	for _, e := range list {
		if d.names[e.dir][e.name] = e.ino; e.ino == 0 {
			delete(d.names[e.dir], e.name)
		}
	}
	d.add(change{names: list, note: note})
}

func (d *disk) make(name string, n *inode) {
	dir, base := d.parent(name)
	if d.nodes[d.next] = n; n.dir {
		d.names[d.next] = map[string]int{}
	}
	d.next++
	d.set("create "+name, entry{dir, base, d.next - 1})
	d.trace[len(d.trace)-1].born = n
}

func (d *disk) open(name string, cut bool) {
	switch ino := d.at(name); {
	case ino == 0:
		d.make(name, &inode{mode: 0o644})
	case cut && len(d.nodes[ino].data) > 0:
		d.truncate(name, 0)
	}
}

func (d *disk) edit(note string, ino int, all, part func([]byte) []byte) {
	if n := d.nodes[ino]; n != nil {
		n.data = all(n.data)
		d.add(change{ino: ino, data: all, part: part, note: note})
	}
}

func (d *disk) truncate(name string, size int) {
	cut := func(b []byte) []byte { return append(bytes.Clone(b), make([]byte, max(0, size-len(b)))...)[:size] }
	d.edit("truncate "+name, d.at(name), cut, cut)
}

func (d *disk) write(name string, off int64, data []byte) {
	ino := d.at(name)
	if ino == 0 {
		d.odd("written to %s, which is not there", name)
		return
	}
	if off < 0 {
		off = int64(len(d.nodes[ino].data))
	}
	put := func(data []byte) func([]byte) []byte {
		return func(b []byte) []byte {
			out := make([]byte, max(len(b), int(off)+len(data)))
			copy(out, b)
			copy(out[off:], data)
			return out
		}
	}
	d.edit("write "+name, ino, put(data), put(data[:len(data)/2]))
}

func (d *disk) rename(from, to string) {
	dir, base := d.parent(from)
	dir2, base2 := d.parent(to)
	ino := d.names[dir][base]
	if ino == d.names[dir2][base2] { // two names of one file: nothing
		return
	}
	d.set("rename "+from+" "+to, entry{dir, base, 0}, entry{dir2, base2, ino})
}

func (d *disk) exchange(a, b string) {
	dir, base := d.parent(a)
	dir2, base2 := d.parent(b)
	d.set("exchange "+a+" "+b, entry{dir, base, d.names[dir2][base2]}, entry{dir2, base2, d.names[dir][base]})
}

func (d *disk) link(from, to string) {
	dir, base := d.parent(to)
	d.set("link "+to, entry{dir, base, d.at(from)})
}

func (d *disk) remove(name string) {
	dir, base := d.parent(name)
	d.set("remove "+name, entry{dir, base, 0})
}

func (d *disk) mkdir(name string) { d.make(name, &inode{dir: true, mode: 0o755}) }

func (d *disk) chmod(name string, mode uint32) {
	if n := d.nodes[d.at(name)]; n != nil {
		n.mode = fs.FileMode(mode).Perm()
	}
}

func (d *disk) sync(name string) {
	d.add(change{ino: d.at(name), sync: true, note: "fsync " + name})
	d.syncs++
}

func (d *disk) syncAll() { d.add(change{sync: true, note: "syncfs"}); d.syncs++ }

// synced notes what the journal says for sure.
func (d *disk) synced(name string) {
	if path.Base(name) != "journal" {
		return
	}
	for line := range bytes.Lines(d.nodes[d.at(name)].data) {
		var r core.Record
		_, body, _ := bytes.Cut(line, []byte(" "))
		if json.Unmarshal(body, &r) == nil && r.End != nil && r.End.Outcome == core.Done && !slices.Contains(d.acked, r.End.Step) {
			d.acked = append(d.acked, r.End.Step)
			d.acks = append(d.acks, ack{len(d.trace), r.End.Step})
		}
	}
}

// left is a disk after a cut.
type left struct {
	nodes map[int]*inode
	names map[int]map[string]int
	after string
	acked []string
}

// cut gives a state that a cut after the first n changes may leave.
func (d *disk) cut(start *disk, n int, r *rand.Rand) left {
	out := left{nodes: map[int]*inode{}, names: map[int]map[string]int{}, after: "the beginning"}
	for ino, node := range start.nodes {
		c := *node
		out.nodes[ino] = &c
	}
	for ino, list := range start.names {
		out.names[ino] = maps.Clone(list)
	}
	for _, a := range d.acks {
		if a.at <= n {
			out.acked = append(out.acked, a.step)
		}
	}
	journaling := r.IntN(2) == 0
	var folders []change
	files := map[int][]change{}
	settle := func(ino int) {
		for _, c := range files[ino] {
			out.nodes[ino].data = c.data(out.nodes[ino].data)
		}
		delete(files, ino)
	}
	for _, c := range d.trace[:n] {
		if out.after = c.note; c.born != nil {
			out.nodes[c.names[0].ino] = &inode{dir: c.born.dir, mode: c.born.mode}
			if c.born.dir {
				out.names[c.names[0].ino] = map[string]int{}
			}
		}
		switch {
		case c.names != nil:
			folders = append(folders, c)
		case !c.sync:
			files[c.ino] = append(files[c.ino], c)
		default:
			if c.ino == 0 {
				for ino := range files {
					settle(ino)
				}
			}
			settle(c.ino)
			folders = slices.DeleteFunc(folders, func(p change) bool {
				gone := c.ino == 0 || journaling || slices.ContainsFunc(p.names, func(e entry) bool { return e.dir == c.ino })
				if gone {
					out.apply(p)
				}
				return gone
			})
		}
	}
	first, odds := r.IntN(len(folders)+1), []float64{0, 0.1, 0.5, 0.9, 1}[r.IntN(5)]
	for i, c := range folders {
		if journaling && i < first || !journaling && r.Float64() < odds {
			out.apply(c)
		}
	}
	whole := r.IntN(4)
	for _, ino := range slices.Sorted(maps.Keys(files)) {
		node, list := out.nodes[ino], files[ino]
		how := whole
		if whole > 1 {
			how = r.IntN(5)
		}
		switch how {
		case 0: // as it was
		case 1:
			settle(ino)
		case 2:
			k := r.IntN(len(list))
			for _, c := range list[:k] {
				node.data = c.data(node.data)
			}
			node.data = list[k].part(node.data)
		case 3: // one did not come, and others did
			k := r.IntN(len(list))
			for i, c := range list {
				if i != k {
					node.data = c.data(node.data)
				}
			}
			delete(files, ino)
		default:
			was := len(node.data)
			settle(ino)
			node.data = bytes.Clone(node.data)
			clear(node.data[min(was, len(node.data)):])
		}
	}
	return out
}

func (l *left) apply(c change) {
	for _, e := range c.names {
		if l.names[e.dir] == nil {
			continue
		}
		if l.names[e.dir][e.name] = e.ino; e.ino == 0 {
			delete(l.names[e.dir], e.name)
		}
	}
}

var powerSeed = maphash.MakeSeed()

// write makes the state a folder, and gives what tells it from others.
func (l *left) write(to string) (key uint64, err error) {
	var sum maphash.Hash
	sum.SetSeed(powerSeed)
	made := map[int]string{}
	var walk func(ino int, at string) error
	walk = func(ino int, at string) error {
		for _, name := range slices.Sorted(maps.Keys(l.names[ino])) {
			child := l.names[ino][name]
			node, p := l.nodes[child], filepath.Join(at, name)
			fmt.Fprintf(&sum, "%q %d ", name, len(node.data))
			sum.Write(node.data)
			switch {
			case made[child] != "" && !node.dir:
				err = os.Link(made[child], p)
			case made[child] != "": // a folder has two names for a moment
			case node.dir:
				made[child] = p
				if err = os.Mkdir(p, 0o755); err == nil {
					err = walk(child, p)
				}
			default:
				made[child] = p
				err = os.WriteFile(p, node.data, node.mode)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	err = walk(top, to)
	os.WriteFile(filepath.Join(to, ".reprise", "worlds", "boot"), []byte("before"), 0o600) //nolint:errcheck // where there is one
	fmt.Fprint(&sum, l.acked)
	return sum.Sum64(), err
}

// powered is what a person has, and what his agent does in each step.
const (
	powered     = `printf 'one\ntwo\n' >mine.txt; git add mine.txt; printf 'one\ntwo\nthree\n' >mine.txt; echo his >his.txt; mkdir -p src/a; echo 0 >src/a/f; echo 0 >g; git add src g; git commit -q -m more -- src g`
	poweredWork = `echo $REPRISE_STEP >>$ORACLE_OUT/started; echo $REPRISE_STEP >src/a/$REPRISE_STEP; (echo 0; for i in s01 s02; do echo $i; test $i = $REPRISE_STEP && break; done) >src/a/f; true`
	poweredLeft = "MM mine.txt\n?? his.txt\n"
)

func TestPower_cuts(t *testing.T) {
	const steps = 2
	states, deep := number("POWER_STATES", 40), number("POWER_DEEP", 1)
	if sample.All() {
		states, deep = 20_000, 40
	}
	dir, _ := project(t, steps)
	shell(t, dir, powered)
	r := rand.New(rand.NewPCG(sample.Seed(t), 0))
	x := &explorer{t: t, temp: t.TempDir(), seen: map[uint64]bool{}}
	start, d := x.trace(dir, poweredWork)
	t.Logf("%d changes, %d syncs in %d steps", len(d.trace), d.syncs, steps)
	x.explore(start, d, states/2, r)
	for range deep { // and once more while it recovers
		again := filepath.Join(x.temp, "again")
		if err := os.Mkdir(again, 0o755); err != nil {
			t.Fatal(err)
		}
		at := d.cut(start, r.IntN(len(d.trace)+1), r)
		if _, err := at.write(again); err != nil {
			t.Fatal(err)
		}
		t.Setenv("ORACLE_BOOT", "a second")
		start, d := x.trace(again, poweredWork)
		for _, step := range at.acked {
			d.acks = append(d.acks, ack{0, step})
		}
		x.explore(start, d, states/2/deep, r)
		os.RemoveAll(again)
	}
	t.Logf("%d states, %d bad", len(x.seen), x.bad)
}

// What a step that changes two files in a clean tree costs: at most 5 processes of git, and 12 calls
// that wait for the disk.
func TestStep_costs(t *testing.T) {
	cost := map[int]*disk{}
	for _, n := range []int{2, 6} {
		dir, _ := project(t, n)
		x := &explorer{t: t, temp: t.TempDir()}
		_, cost[n] = x.trace(dir, `echo x >>mine.txt; echo x >>shared.txt`)
	}
	gits, syncs := float64(cost[6].gits-cost[2].gits)/4, float64(cost[6].syncs-cost[2].syncs)/4
	t.Logf("a step: %.1f processes of git, %.1f syncs", gits, syncs)
	if gits > 5 || syncs > 12 {
		t.Errorf("a step costs %.1f processes of git and %.1f syncs", gits, syncs)
	}
}

type explorer struct {
	t    *testing.T
	temp string
	mu   sync.Mutex
	seen map[uint64]bool
	bad  int
}

// trace runs the engine on a project to the end.
func (x *explorer) trace(dir, work string) (start, d *disk) {
	x.t.Helper()
	out, err := os.CreateTemp(x.temp, "out")
	if err != nil {
		x.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(self())
	cmd.Env = append(os.Environ(), "ORACLE=engine", "ORACLE_DIR="+dir, "ORACLE_COMMAND="+work, "ORACLE_OUT="+x.temp)
	cmd.Stdout, cmd.Stderr = out, out
	start, d = newDisk(x.t, dir), newDisk(x.t, dir)
	status := traced(x.t, cmd, d)
	said, _ := os.ReadFile(out.Name())
	if status != 0 || !strings.Contains(string(said), "the run is over") {
		x.t.Fatalf("traced: %d: %s", status, said)
	}
	// What was seen must be what is there.
	for name, data := range filesOf(dir) {
		if n := d.nodes[d.at(name)]; n == nil || string(n.data) != data {
			d.odd("%s is not as the trace says", name)
		}
	}
	if len(d.faults) > 0 {
		x.t.Fatalf("the trace is not whole: %q", d.faults[:min(5, len(d.faults))])
	}
	return start, d
}

func filesOf(dir string) map[string]string {
	out := map[string]string{}
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			data, _ := os.ReadFile(p)
			name, _ := filepath.Rel(dir, p)
			out[name] = string(data)
		}
		return nil
	})
	return out
}

// explore recovers from so many different states.
func (x *explorer) explore(start, d *disk, want int, r *rand.Rand) {
	var work sync.WaitGroup
	limit := make(chan struct{}, number("POWER_WORKERS", 2))
	for tries := 0; want > 0 && tries < 50*want+1000 && x.bad < 10; tries++ {
		l := d.cut(start, r.IntN(len(d.trace)+1), r)
		dir, err := os.MkdirTemp(x.temp, "state")
		if err != nil {
			x.t.Fatal(err)
		}
		project := filepath.Join(dir, "project")
		os.Mkdir(project, 0o755)
		key, err := l.write(project)
		if err != nil {
			x.t.Fatal(err)
		}
		if x.seen[key] {
			os.RemoveAll(dir)
			continue
		}
		if x.seen[key] = true; len(x.seen)%1000 == 0 {
			x.t.Logf("%d states, %d bad", len(x.seen), x.bad)
		}
		want--
		limit <- struct{}{}
		work.Go(func() {
			if err := recovered(project, dir, l.acked); err != nil {
				x.mu.Lock()
				x.bad++
				x.t.Errorf("cut after %s, %v done: %v", l.after, l.acked, err)
				x.mu.Unlock()
				if os.Getenv("POWER_KEEP") != "" {
					kept := filepath.Join(os.Getenv("POWER_KEEP"), filepath.Base(dir))
					os.MkdirAll(kept, 0o755)
					os.Mkdir(filepath.Join(kept, "cut"), 0o755)
					l.write(filepath.Join(kept, "cut"))
					os.CopyFS(filepath.Join(kept, "end"), os.DirFS(project))
				}
			}
			os.RemoveAll(dir)
			<-limit
		})
	}
	work.Wait()
}

var records = regexp.MustCompile(`Reprise-Record: run/\d+`)

func inodeOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// recovered brings a run to its end after a cut, and looks at what came of it.
func recovered(dir, out string, acked []string) error {
	c := config(dir)
	c.Work, c.Tell = does(poweredWork, append(os.Environ(), "ORACLE_OUT="+out)), nil
	c.Boot, c.Booted = "the last", time.Now()
	e, err := run.Open(context.Background(), c)
	if err != nil {
		return err
	}
	rest, err := e.Work(context.Background())
	asked := e.Journal.State.Asked
	e.Close()
	if err != nil || !strings.Contains(rest.Why, "over") {
		return fmt.Errorf("%s %v %+v", rest.Why, err, asked)
	}
	started, _ := os.ReadFile(filepath.Join(out, "started"))
	for _, step := range acked {
		if strings.Contains(string(started), step) {
			return fmt.Errorf("%s was done, and was begun again", step)
		}
	}
	cmd := exec.Command("/bin/sh", "-c", `git fsck --no-dangling --no-progress 2>&1; git status --porcelain; git show :mine.txt; cat mine.txt his.txt; git log --format=%s%n%b; cat src/a/s* src/a/f; grep -c '\[x\]' PLAN.md; ls -A .git | grep -v -x -e COMMIT_EDITMSG -e HEAD -e config -e description -e hooks -e index -e info -e logs -e objects -e refs -e branches`)
	cmd.Dir = dir
	said, _ := cmd.CombinedOutput()
	want := poweredLeft + "one\ntwo\none\ntwo\nthree\nhis\ns02: step 2\nReprise-Step: run/s02\nReprise-Record: N\n\ns01: step 1\nReprise-Step: run/s01\nReprise-Record: N\n\nmore\n\nfirst\n\ns01\ns02\n0\ns01\ns02\n2\n"
	if got := records.ReplaceAllString(string(said), "Reprise-Record: N"); got != want {
		return fmt.Errorf("%s", cmp.Or(got, "nothing"))
	}
	return nil
}
