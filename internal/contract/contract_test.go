// Package contract holds the program against an earlier build of itself: what it
// says of the same folders in JSON must be the same, or differ for a reason.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAn_earlier_build_says_the_same compares two programs on every project of the
// examples and of the folders in REPRISE_FOLDERS (a list of patterns). REPRISE_OLD
// and REPRISE_NEW name the programs. Every difference is printed; the test fails
// if there is one, so that each can be looked at and explained.
func TestAn_earlier_build_says_the_same(t *testing.T) {
	before, after := os.Getenv("REPRISE_OLD"), os.Getenv("REPRISE_NEW")
	if before == "" || after == "" {
		t.Skip("REPRISE_OLD and REPRISE_NEW do not name two programs; make contract OLD=FILE does")
	}
	patterns := append(filepath.SplitList(os.Getenv("REPRISE_FOLDERS")), "../../examples/*", "../../examples/orchestrate/*")
	var folders []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, found...)
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "project")
			if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
				t.Skipf("%s cannot be copied: %v", folder, err)
			}
			compare(t, before, after, dir, "status", "--json", "--all")
			for _, run := range runs(t, before, dir) {
				compare(t, before, after, dir, "check", "--json", run)
				compare(t, before, after, dir, "resume", "--dry-run", "--json", run)
			}
		})
	}
}

func runs(t *testing.T, program, dir string) []string {
	t.Helper()
	var doc struct {
		Runs []struct{ Layout, ID, Path string }
	}
	out, _ := say(t, program, dir, "status", "--json", "--all")
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range doc.Runs {
		names = append(names, r.Layout+":"+r.Path)
	}
	return names
}

// compare reports what two programs say differently, key by key.
func compare(t *testing.T, before, after, dir string, args ...string) {
	t.Helper()
	was, wasExit := say(t, before, dir, args...)
	now, nowExit := say(t, after, dir, args...)
	if wasExit != nowExit {
		t.Errorf("%s: exit %d, was %d", strings.Join(args, " "), nowExit, wasExit)
	}
	if diff := cmp.Diff(decode(was), decode(now)); diff != "" {
		t.Errorf("%s (-was +now):\n%s", strings.Join(args, " "), diff)
	}
}

// say runs a program in a folder, at a fixed time.
func say(t *testing.T, program, dir string, args ...string) (out []byte, exit int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REPRISE_NOW=2026-03-01T12:00:00Z", "HOME="+filepath.Dir(dir), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.Output()
	if exited, ok := err.(*exec.ExitError); ok {
		if len(bytes.TrimSpace(out)) == 0 {
			out = exited.Stderr
		}
		return out, exited.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, 0
}

// clocks are what any two calls say differently: the time since REPRISE_NOW, and
// ids that are made of it.
var clocks = regexp.MustCompile(`(2026-03-01T12:00:0)[0-9.]+|(reprise-)[0-9a-f]{16}`)

// decode reads JSON documents that follow each other, without what differs
// between any two builds.
func decode(data []byte) (docs []any) {
	d := json.NewDecoder(bytes.NewReader(clocks.ReplaceAll(data, []byte("$1$2"))))
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			return append(docs, fmt.Sprint(string(data)))
		}
		docs = append(docs, strip(v))
	}
	return docs
}

func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "digest")
		delete(v, "prompt")
		for k := range v {
			v[k] = strip(v[k])
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i])
		}
	}
	return v
}
