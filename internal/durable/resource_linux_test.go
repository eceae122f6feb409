package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/sample"
)

// tmpfs mounts a small file system; without root it skips, and says so.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: mounting a small file system needs root")
	}
	dir := tempDir(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("NOT RUN: mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func remount(t *testing.T, dir string, flags uintptr, options string) {
	t.Helper()
	err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|flags, options)
	// Between fork and exec a process that another test starts holds our files open.
	for end := time.Now().Add(time.Minute); errors.Is(err, unix.EBUSY) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		err = unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|flags, options)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const reserve = 16 << 10

// busy works until something fails, and tells what was acknowledged.
func busy(dir string) (records, groups int, err error) {
	s, err := durable.Open(dir, durable.Options{Reserve: reserve})
	if err != nil {
		return 0, 0, err
	}
	defer s.Release()
	if _, err = takeFreed(context.Background(), s); err != nil {
		return 0, 0, err
	}
	l, err := s.Log("run")
	if err != nil {
		return 0, 0, err
	}
	text := strings.Repeat("x", 1500)
	for i := 1; i <= 400; i++ {
		body, _ := json.Marshal(map[string]any{"n": i, "text": text})
		if _, err = l.Append("step", body); err != nil {
			break
		}
		records++
		state := fmt.Appendf(nil, "state %d %s\n", i, text)
		var base reprise.Hash
		if have, readErr := s.ReadFile("STATE.md"); readErr == nil {
			base = reprise.HashOf(have)
		}
		edits := []reprise.Edit{{Path: "STATE.md", Base: base, Content: state}, {Path: fmt.Sprintf("new/%d.md", i), Content: state}}
		if err = s.Apply(context.Background(), edits); err != nil {
			break
		}
		groups++
	}
	if err != nil {
		if errors.Is(err, syscall.EMFILE) && s.Poisoned() == nil {
			return records, groups, err // it was a file to read
		}
		if again := s.Poisoned(); again == nil {
			return records, groups, fmt.Errorf("not poisoned after %w", err)
		}
		if _, later := l.Append("step", json.RawMessage(`1`)); later == nil {
			return records, groups, errors.New("a poisoned store still writes")
		}
		if durable.IsFull(err) {
			_ = s.RecordFull("the disk is full")
		}
	}
	return records, groups, err
}

// relieved continues after the end of a resource and checks that nothing is lost.
func relieved(t *testing.T, dir string, records, groups int) string {
	t.Helper()
	s, err := durable.Open(dir, durable.Options{Reserve: reserve})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	rep, err := takeFreed(t.Context(), s)
	if err != nil {
		t.Fatalf("after relief: %v", err)
	}
	if len(rep.Conflicts) > 0 {
		t.Fatalf("after relief: %+v", rep.Conflicts)
	}
	l, err := s.Log("run")
	if err != nil {
		t.Fatalf("after relief: %v", err)
	}
	got, err := recordsOf(s, "run")
	if err != nil || len(got) < records || len(got) > records+1 {
		t.Fatalf("%d records were acknowledged, %d are there: %v", records, len(got), err)
	}
	made, _ := os.ReadDir(filepath.Join(dir, "new"))
	if len(made) < groups || len(made) > groups+1 {
		t.Fatalf("%d groups were acknowledged, %d files are there", groups, len(made))
	}
	if have, err := s.ReadFile("STATE.md"); groups > 0 && (err != nil || !strings.HasPrefix(string(have), fmt.Sprintf("state %d ", len(made)))) {
		t.Fatalf("%d groups are there, STATE.md says %.20q, %v", len(made), have, err)
	}
	if _, err := l.Append("step", json.RawMessage(`"on"`)); err != nil {
		t.Fatalf("after relief: %v", err)
	}
	return rep.Stopped
}

func TestFull_disk_of_a_hundred_sizes(t *testing.T) {
	t.Parallel()
	take := sample.Every(t, 10)
	dir := tmpfs(t, "size=4k")
	noted, full := 0, 0
	for pages := 1; pages <= 100; pages++ {
		if !take(pages) {
			continue
		}
		project := filepath.Join(dir, fmt.Sprint(pages))
		remount(t, dir, 0, "size=1g")
		if err := os.Mkdir(project, 0o755); err != nil {
			t.Fatal(err)
		}
		remount(t, dir, 0, fmt.Sprintf("size=%dk", 4*pages))
		records, groups, err := busy(project)
		if !durable.IsFull(err) {
			t.Fatalf("%d pages: %v", pages, err)
		}
		full++
		remount(t, dir, 0, "size=1g")
		if relieved(t, project, records, groups) != "" {
			noted++
		}
		if err := os.RemoveAll(project); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d sizes: all full, nothing lost, all went on; %d left a note from the reserve", full, noted)
	if noted < full/2 {
		t.Errorf("only %d of %d left a note", noted, full)
	}
}

func TestFull_inodes_and_read_only(t *testing.T) {
	t.Parallel()
	dir := tmpfs(t, "size=8m,nr_inodes=40")
	records, groups, err := busy(dir)
	if !durable.IsFull(err) {
		t.Errorf("out of inodes: %v", err)
	}
	remount(t, dir, 0, "nr_inodes=10000")
	relieved(t, dir, records, groups)

	dir = tmpfs(t, "size=8m")
	s, err := durable.Open(dir, durable.Options{Reserve: reserve})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Log("run"); err != nil {
		t.Fatal(err)
	}
	// With a file open for writing the kernel refuses the remount: a new process.
	s.Release()
	remount(t, dir, unix.MS_RDONLY, "size=8m")
	if _, _, err := busy(dir); !errors.Is(err, syscall.EROFS) {
		t.Errorf("read-only: %v", err)
	}
	remount(t, dir, 0, "size=8m")
	relieved(t, dir, 0, 0)
}

// playLimit works under a limit that it sets for itself.
func playLimit(dir string) int {
	var kind int
	var value uint64
	if _, err := fmt.Sscan(os.Getenv("REPRISE_DURABLE_N"), &kind, &value); err != nil {
		return 1
	}
	// The runtime needs descriptors of its own, and dies without them.
	if entries, err := durable.OpenFS(dir); err != nil || entries.SyncDir(".") != nil {
		return 1
	}
	if err := unix.Setrlimit(kind, &unix.Rlimit{Cur: value, Max: value}); err != nil {
		return 1
	}
	records, groups, err := busy(dir)
	fmt.Println(records, groups, err)
	return 0
}

func TestLimits_of_files_and_sizes(t *testing.T) {
	t.Parallel()
	for _, limit := range []struct {
		name  string
		kind  int
		value uint64
	}{
		{"no descriptors 8", unix.RLIMIT_NOFILE, 8}, {"no descriptors 10", unix.RLIMIT_NOFILE, 10}, {"no descriptors 12", unix.RLIMIT_NOFILE, 12},
		{"file size 3000", unix.RLIMIT_FSIZE, 3000}, {"file size 20000", unix.RLIMIT_FSIZE, 20000}, {"file size 100000", unix.RLIMIT_FSIZE, 100000},
	} {
		t.Run(limit.name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			cmd := exec.Command(os.Args[0], dir)
			cmd.Env = append(os.Environ(), partVar+"=limit", fmt.Sprintf("REPRISE_DURABLE_N=%d %d", limit.kind, limit.value))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var records, groups int
			fmt.Sscan(string(out), &records, &groups)
			t.Logf("%.200s", out)
			relieved(t, dir, records, groups)
		})
	}
}

func TestNetwork_file_systems_are_refused(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if free, files, err := s.Free(); err != nil || free == 0 || files == 0 {
		t.Errorf("free: %d %d %v", free, files, err)
	}
	for magic, want := range map[uint32]bool{0x6969: true, 0xff534d42: true, 0x65735546: true, 0x01021997: true, 0xef53: false, 0x01021994: false} {
		if got := durable.IsNetwork(magic); got != want {
			t.Errorf("%#x: %v", magic, got)
		}
	}
}
