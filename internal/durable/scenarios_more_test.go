package durable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

// filled makes a store with a log of n records, cleanly closed.
func filled(d *crashfs.FS, n int) error {
	s, _, err := taken(d, testOptions())
	if err != nil {
		return err
	}
	l, err := s.Log("run")
	if err != nil {
		return err
	}
	for i := 1; i <= n; i++ {
		if _, err := l.Append("step", payload(i)); err != nil {
			return err
		}
	}
	return s.Release()
}

const firstSegment = ".reprise/journal/run-000001.log"

// kept reports whether some .broken copy holds these bytes.
func kept(d *crashfs.FS, content string) bool {
	for name, b := range d.Files() {
		if strings.Contains(name, ".broken-") && strings.Contains(b, content) {
			return true
		}
	}
	return false
}

func repairScenario() crashfs.Scenario {
	const garbage = "{\"n\":?}"
	return crashfs.Scenario{
		Name: "repair",
		Start: func(d *crashfs.FS) error {
			if err := filled(d, 4); err != nil {
				return err
			}
			d.Put(firstSegment, []byte(strings.Replace(d.Files()[firstSegment], `{"n":2}`, garbage, 1)), 0)
			return nil
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return err
			}
			if _, err := s.Repair("run", false); err != nil {
				return err
			}
			ack("repaired")
			l, err := s.Log("run")
			if err != nil {
				return err
			}
			if _, err := l.Append("step", payload(5)); err != nil {
				return err
			}
			ack("5")
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return "", err
			}
			if len(acked) == 0 {
				if _, err := s.Repair("run", false); err != nil {
					return "", err
				}
			}
			if _, err := s.Log("run"); err != nil {
				return "", err
			}
			if !kept(d, garbage) {
				return "", fmt.Errorf("the original is gone")
			}
			got, err := recordsOf(s, "run")
			text := strings.Join(got, " ")
			want := `step{"n":1} step{"n":3} step{"n":4} step{"n":5}`
			if err != nil || !strings.HasPrefix(want, text) || len(got) < 3 || len(acked) > 1 && len(got) < 4 {
				return "", fmt.Errorf("the log holds %s: %v", text, err)
			}
			return text, nil
		},
	}
}

func tornScenario() crashfs.Scenario {
	const torn = "r1 00000000 9 9 torn"
	return crashfs.Scenario{
		Name: "recover a torn log",
		Start: func(d *crashfs.FS) error {
			if err := filled(d, 2); err != nil {
				return err
			}
			d.Put(firstSegment, []byte(d.Files()[firstSegment]+torn), 0)
			return nil
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			for i := 3; i <= 4; i++ {
				s, _, err := taken(d, testOptions())
				if err != nil {
					return err
				}
				l, err := s.Log("run")
				if err != nil {
					return err
				}
				ack("open")
				if _, err := l.Append("step", payload(i)); err != nil {
					return err
				}
				ack(fmt.Sprint(i))
				if err := s.Release(); err != nil {
					return err
				}
			}
			return nil
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return "", err
			}
			if _, err := s.Log("run"); err != nil {
				return "", err
			}
			if !kept(d, torn) {
				return "", fmt.Errorf("the torn bytes are gone")
			}
			got, err := recordsOf(s, "run")
			if err != nil {
				return "", err
			}
			return checkLog(got, func(i int) string { return "step" + string(payload(i)) }, 2+len(acked)/2)
		},
	}
}

func undoScenario() crashfs.Scenario {
	return crashfs.Scenario{
		Name: "undo of state files",
		Start: func(d *crashfs.FS) error {
			d.Put("STATE.md", []byte("before\n"), 0o644)
			d.Put("ROADMAP.md", []byte("before too\n"), 0o644)
			return nil
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return err
			}
			snap, err := s.Snapshot(context.Background(), durable.SnapshotOptions{Files: []string{"STATE.md", "ROADMAP.md", "new.md"}})
			if err != nil {
				return err
			}
			err = s.Apply(context.Background(), []reprise.Edit{
				{Path: "STATE.md", Base: reprise.HashOf([]byte("before\n")), Content: []byte("after\n")},
				{Path: "ROADMAP.md", Base: reprise.HashOf([]byte("before too\n")), Content: []byte("after too\n")},
				{Path: "new.md", Content: []byte("appeared\n")},
			})
			if err != nil {
				return err
			}
			ack("changed")
			if _, err := s.Undo(context.Background(), snap.ID); err != nil {
				return err
			}
			ack("undone")
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			s, rep, err := taken(d, testOptions())
			if err != nil {
				return "", err
			}
			if rep.PendingUndo != "" {
				if _, err := s.Undo(context.Background(), rep.PendingUndo); err != nil {
					return "", err
				}
			}
			files := d.Files()
			got := files["STATE.md"] + files["ROADMAP.md"] + files["new.md"]
			before, after := "before\nbefore too\n", "after\nafter too\nappeared\n"
			archived := false
			for name, content := range files {
				archived = archived || strings.HasPrefix(name, ".reprise/archive/") && content == "appeared\n"
			}
			switch {
			case got != before && got != after:
				return "", fmt.Errorf("half undone: %q", got)
			case len(acked) > 1 && got != before, len(acked) == 1 && got == before && !archived:
				return "", fmt.Errorf("%v, and the files hold %q", acked, got)
			}
			return got, nil
		},
	}
}

// conflictScenario is a crash between two files of a group, after which someone
// else changed one that was still to come.
func conflictScenario() crashfs.Scenario {
	const theirs = "somebody else's\n"
	return crashfs.Scenario{
		Name: "roll forward beside a conflict",
		Start: func(d *crashfs.FS) error {
			for name, content := range groupFiles(0) {
				d.Put(name, []byte(content), 0o644)
			}
			d.Settle()
			for n := 0; d.Files()[".reprise/intent"] == ""; n++ {
				if n > 100 {
					return fmt.Errorf("there is never an intent")
				}
				_, err := d.Kill(n, func() error {
					s, _, err := taken(d, testOptions())
					if err != nil {
						return err
					}
					return s.Apply(context.Background(), groupEdits(1))
				})
				if err != nil {
					return err
				}
			}
			d.Put("STATE.md", []byte(theirs), 0)
			return nil
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, rep, err := taken(d, testOptions())
			if err != nil {
				return err
			}
			if len(rep.Conflicts) != 1 || rep.Conflicts[0].Path != "STATE.md" {
				return fmt.Errorf("conflicts: %+v", rep.Conflicts)
			}
			ack("taken")
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			if _, _, err := taken(d, testOptions()); err != nil {
				return "", err
			}
			files, want := d.Files(), groupFiles(1)
			if files["STATE.md"] != theirs {
				return "", fmt.Errorf("overwritten: %q", files["STATE.md"])
			}
			if files["log.ndjson"] != want["log.ndjson"] || files["new/1.md"] != want["new/1.md"] {
				return "", fmt.Errorf("not rolled forward: %q", files)
			}
			if !strings.Contains(files[".reprise/conflicts/0001"], "STATE.md") {
				return "", fmt.Errorf("the edit is not kept")
			}
			return "done", nil
		},
	}
}

func big(i int) json.RawMessage {
	b := bytes.Repeat([]byte{'a' + byte(i)}, durable.MaxRecord+100)
	return json.RawMessage(`"` + string(b) + `"`)
}

func scenarios() []crashfs.Scenario {
	return []crashfs.Scenario{
		logScenario("create and append", 2, 0, payload),
		logScenario("rotate", 3, 250, payload),
		logScenario("large payloads", 2, 0, big),
		replaceScenario(), groupScenario(2), leaseScenario(), archiveScenario(),
		tornScenario(), repairScenario(), undoScenario(), conflictScenario(),
	}
}
