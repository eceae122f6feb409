package transcript

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// FuzzRead: whatever a transcript holds, reading it ends without a panic, and
// what comes after a call that was begun last never makes it look ended.
func FuzzRead(f *testing.F) {
	for cli, list := range lines {
		f.Add(cli, []byte(strings.Join(list, "\n")))
		f.Add(cli, []byte(strings.Join(list, "")+results[cli]))
	}
	f.Fuzz(func(t *testing.T, cli string, content []byte) {
		name, ok := names[cli]
		if !ok {
			name = "tmp/x/chats/session-1.jsonl"
			if _, err := Stream(fstest.MapFS{"a.log": {Data: content}}, Log{Name: "a.log"}); err != nil {
				t.Fatal(err)
			}
		}
		fsys := fstest.MapFS{name: {Data: content}, "tmp/x/.project_root": {Data: []byte("/project")}}
		for _, cli := range []string{Claude, Codex, Qwen, Copilot, Gemini} {
			if cli == Gemini && ok {
				continue
			}
			s, err := Store{CLI: cli, FS: fsys}.read(candidate{name: name}, false)
			if errors.Is(err, errBlank) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range s.Calls {
				c.Effect()
				c.Marks()
				if s.Ended && !c.Passed {
					t.Fatalf("ended with a call under way: %+v", s)
				}
			}
		}
	})
}

// FuzzShell: no command line makes the reader panic, and one that holds a
// program no one knows is never called harmless.
func FuzzShell(f *testing.F) {
	for _, line := range []string{"ls", "git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"", "a | b && c; d & e || f > g 2>&1", "echo ${x:-y} `z` $(w)", "cat <<E\nE"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c := Call{Tool: "Bash", Input: Input{Command: line}}
		c.Effect()
		c.Marks()
		if c.Input.Command = "nobody-knows-this\n" + line; line != "" && c.Effect() < 7 {
			t.Fatalf("%q is called %s", c.Input.Command, c.Effect())
		}
	})
}

// FuzzDatabase: no file makes the reader of databases panic or run for ever.
func FuzzDatabase(f *testing.F) {
	for _, name := range []string{"opencode-checkpointed/opencode.db", "opencode/opencode.db"} {
		db, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		wal, err := os.ReadFile("testdata/opencode/opencode.db-wal")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(db, wal)
		f.Add(db, []byte{})
	}
	f.Fuzz(func(t *testing.T, db, wal []byte) {
		fsys := fstest.MapFS{"opencode.db": {Data: db}}
		if len(wal) > 0 {
			fsys["opencode.db-wal"] = &fstest.MapFile{Data: wal}
		}
		if _, err := readOpencode(fsys, "opencode.db", Query{Dirs: []string{"/"}, Most: 5}); err == errMoved {
			t.Fatal(err)
		}
	})
}
