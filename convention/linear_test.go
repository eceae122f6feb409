//go:build unix

package convention_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/convention/conventiontest"
	"reprise/internal/sample"
)

// shapes are texts that a reader may take too long for: each gives one of at least n bytes.
var shapes = func() map[string]func(n int) []byte {
	of := func(unit string) func(n int) []byte {
		return func(n int) []byte { return bytes.Repeat([]byte(unit), n/len(unit)+1) }
	}
	out := map[string]func(n int) []byte{
		"one line of JSON": func(n int) []byte {
			return []byte(`{"x":[` + strings.Repeat(`{"status":"done","title":"pending (partial): TODO"},`, n/50) + `{}]}`)
		},
		"numbered boxes": func(n int) []byte {
			var b bytes.Buffer
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, "- [%c] T%05d do this, which depends on T%05d\n", " x"[i%2], i, i/2)
			}
			return b.Bytes()
		},
		"sections of boxes": func(n int) []byte {
			var b bytes.Buffer
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, "### Task %d: make it\n\n**Status:** pending\n\n- [ ] **Step 1: do it**\n", i)
			}
			return b.Bytes()
		},
		"deeper boxes": func(n int) []byte {
			var b bytes.Buffer
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, "%s- [ ] %d.%d do it\n", strings.Repeat("  ", i%60), i/9, i%9)
			}
			return b.Bytes()
		},
		"parts of parts":     func(n int) []byte { return []byte("- [ ] " + strings.Repeat("1.", n/2) + "1 do it\n") },
		"a box that goes on": func(n int) []byte { return []byte("- [x] T001 do it\n" + strings.Repeat("  and (open) more\n", n/18)) },
	}
	for _, unit := range []string{
		"[", "{", "\x00", " ", "\t\n", "\r", "#", "# a\n", "## Status\n", "> ", "|", "| a | done |\n", "- ", "- [ ] a\n", "- [x]", "`", "```\n", "<!--", "-->", "---\n", "~~a ", "**",
		"done ", "(done) ", "(open, ", "not done: ", "status: done ", " — pending, ", "✅", "é", "\xff", "a: ", "a: [", "&a *a ", "- - ", "'\"", "\\", "a.", "1.", "T001, ", "depends on T001, ", "2026-01-01 ", "\"a\":1,", "{}\n", "status: done\n", "[a](b) ", "<", "$(",
	} {
		out[fmt.Sprintf("%q", unit)] = of(unit)
	}
	return out
}()

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// read reads a project with all that a look asks of its conventions.
func read(t *testing.T, fsys fs.FS) {
	t.Helper()
	for _, e := range convention.All() {
		refs, err := e.Find(fsys)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range refs {
			r, err := reprise.Load(e.Layout, fsys, ref)
			if err != nil {
				t.Fatal(err)
			}
			if e.Aim != nil {
				if old, err := fs.ReadFile(fsys, ref.Path); err == nil {
					e.Aim(fsys, r, []reprise.Version{{Commit: "c", Content: append(old, ' ')}})
				}
			}
		}
	}
}

// hosts are trees with state files, at most a few for each convention, and of each the files to
// try: one of each name.
func hosts(t testing.TB) map[string][]string {
	t.Helper()
	out, known := map[string][]string{}, map[string]bool{}
	var archives []string
	for _, pattern := range []string{"*/testdata/scenarios/*.txtar", "*/testdata/scenarios/*/*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, found...)
	}
	for _, archive := range archives {
		for _, name := range slices.Sorted(maps.Keys(conventiontest.LoadFS(t, archive))) {
			key := filepath.Dir(archive) + " " + filepath.Base(name)
			if ext := filepath.Ext(name); known[key] || ext != ".md" && ext != ".json" && ext != ".jsonl" && ext != ".yaml" && ext != ".yml" && ext != "" {
				continue
			}
			known[key] = true
			out[archive] = append(out[archive], name)
		}
	}
	return out
}

// T8: however a text in a state file is made, reading it takes a time that grows with its length
// and not with the square of that. Processor time is measured, so that other work on the machine
// does not count.
func TestReading_takes_a_time_that_grows_with_the_text(t *testing.T) {
	turn := sample.Every(t, 400)
	names, all := slices.Sorted(maps.Keys(shapes)), hosts(t)
	i := 0
	for _, archive := range slices.Sorted(maps.Keys(all)) {
		tree := conventiontest.LoadFS(t, archive)
		for _, name := range all[archive] {
			tries := map[string]func(n int) []byte{"itself": func(n int) []byte {
				return bytes.Repeat(tree[name].Data, n/(len(tree[name].Data)+1)+1)
			}}
			maps.Copy(tries, shapes)
			for _, shape := range append([]string{"itself"}, names...) {
				if i++; !turn(i) {
					continue
				}
				if slow := grows(t, tree, name, tries[shape]); slow != "" {
					t.Errorf("%s: %s of %s: %s", archive, name, shape, slow)
				}
			}
		}
	}
	t.Logf("%d cases", i)
}

// grows says, of a text that is made to a length, how reading it takes longer than in
// proportion; "" if it does not.
func grows(t *testing.T, tree fstest.MapFS, name string, text func(n int) []byte) string {
	const small, large = 16 << 10, 128 << 10
	took := func(n int) time.Duration {
		with := maps.Clone(tree)
		with[name] = &fstest.MapFile{Data: text(n), Mode: 0o644, ModTime: conventiontest.Epoch}
		before := cpu()
		read(t, with)
		return cpu() - before
	}
	first := took(small)
	if first > 2*time.Second {
		return fmt.Sprintf("%v for %d bytes", first, small)
	}
	if second := took(large); second > 300*time.Millisecond && second > 2*(large/small)*first {
		return fmt.Sprintf("%v for %d bytes, %v for %d", first, small, second, large)
	}
	return ""
}

// FuzzReading_takes_a_time_that_grows_with_the_text is the same for texts that nobody thought
// of: one that is repeated, behind another, in the file of a reader.
func FuzzReading_takes_a_time_that_grows_with_the_text(f *testing.F) {
	all := hosts(f)
	archives := slices.Sorted(maps.Keys(all))
	i := slices.IndexFunc(archives, func(a string) bool { return strings.Contains(a, "superpowers") })
	f.Add(uint(max(i, 0)), uint(0), "# Tasks\n", "- [ ] T001 do it\n") // was quadratic
	f.Fuzz(func(t *testing.T, archive, file uint, before, unit string) {
		if unit == "" || len(before)+len(unit) > 4<<10 {
			t.Skip("no text, or a large one")
		}
		of := archives[archive%uint(len(archives))]
		name := all[of][file%uint(len(all[of]))]
		slow := grows(t, conventiontest.LoadFS(t, of), name, func(n int) []byte { return []byte(before + strings.Repeat(unit, n/len(unit)+1)) })
		if slow != "" {
			t.Errorf("%s: %s: %s", of, name, slow)
		}
	})
}
