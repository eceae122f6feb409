package durable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

// counter is a source of names that is the same in every process: a leftover of
// the last one always has the name that the next one tries first.
type counter struct{ n byte }

func (c *counter) Read(p []byte) (int, error) {
	c.n++
	for i := range p {
		p[i] = c.n
	}
	return len(p), nil
}

var _ io.Reader = (*counter)(nil)

// testOptions are the same in every process of a scenario.
func testOptions() durable.Options {
	return durable.Options{
		Rand: &counter{}, Reserve: -1,
		Now: func() time.Time { return time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC) },
	}
}

// taken opens a store and takes its lease.
func taken(d *crashfs.FS, o durable.Options) (*durable.Store, *durable.Report, error) {
	s := durable.OpenOn(d, o)
	rep, err := s.Take(context.Background())
	return s, rep, err
}

func payload(i int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)) }

// recordsOf reads a log as a process would that acts on it.
func recordsOf(s *durable.Store, name string) ([]string, error) {
	var out []string
	_, err := s.ReadLog(name, func(r durable.Record) error {
		text := string(r.Payload)
		if len(text) > 100 {
			text = fmt.Sprintf("%d bytes %.20s", len(text), text)
		}
		out = append(out, r.Kind+text)
		return nil
	})
	return out, err
}

// checkLog demands that the log is a gapless beginning of what was written, with
// all that was acknowledged.
func checkLog(got []string, written func(i int) string, acked int) (string, error) {
	for i, text := range got {
		if want := written(i + 1); text != want {
			return "", fmt.Errorf("record %d is %s instead of %s", i+1, text, want)
		}
	}
	if len(got) < acked {
		return "", fmt.Errorf("%d records were acknowledged, %d are there", acked, len(got))
	}
	return strings.Join(got, " "), nil
}

func logScenario(name string, n int, segment int64, body func(i int) json.RawMessage) crashfs.Scenario {
	options := func() durable.Options {
		o := testOptions()
		o.SegmentSize = segment
		return o
	}
	written := func(i int) string {
		text := string(body(i))
		if len(text) > 100 {
			text = fmt.Sprintf("%d bytes %.20s", len(text), text)
		}
		return "step" + text
	}
	return crashfs.Scenario{
		Name: name,
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, _, err := taken(d, options())
			if err != nil {
				return err
			}
			l, err := s.Log("run")
			if err != nil {
				return err
			}
			var first error
			for i := 1; i <= n; i++ {
				// A caller that continues after an error must not do harm.
				if _, err := l.Append("step", body(i)); err == nil {
					ack(fmt.Sprint(i))
				} else if first == nil {
					first = err
				}
			}
			if first != nil {
				return first
			}
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			s, _, err := taken(d, options())
			if err != nil {
				return "", err
			}
			if _, err := s.Log("run"); err != nil {
				return "", err
			}
			got, err := recordsOf(s, "run")
			if err != nil {
				return "", err
			}
			return checkLog(got, written, len(acked))
		},
	}
}

func replaceScenario() crashfs.Scenario {
	versions := []string{"zero\n", "one one\n", "two two two\n", "three\n"}
	return crashfs.Scenario{
		Name:  "replace",
		Start: func(d *crashfs.FS) error { d.Put("docs/STATE.md", []byte(versions[0]), 0o640); return nil },
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return err
			}
			for i := 1; i < len(versions); i++ {
				if err := s.Replace("docs/STATE.md", reprise.HashOf([]byte(versions[i-1])), []byte(versions[i])); err != nil {
					return err
				}
				ack(versions[i])
			}
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return "", err
			}
			b, err := s.ReadFile("docs/STATE.md")
			at := slices.Index(versions, string(b))
			if err != nil || at < len(acked) {
				return "", fmt.Errorf("%d replacements were acknowledged, the file holds %q: %v", len(acked), b, err)
			}
			if info, _ := d.Stat("docs/STATE.md"); info.Mode != 0o640 {
				return "", fmt.Errorf("the mode has become %v", info.Mode)
			}
			return string(b), nil
		},
	}
}

// groupFiles is what a project looks like after n groups of edits.
func groupFiles(n int) map[string]string {
	out := map[string]string{"STATE.md": fmt.Sprintf("state %d\n", n), "log.ndjson": "{}\n"}
	for i := 1; i <= n; i++ {
		out["log.ndjson"] += fmt.Sprintf("{\"event\":%d}\n", i)
		out[fmt.Sprintf("new/%d.md", i)] = fmt.Sprintf("made in %d\n", i)
	}
	return out
}

func groupEdits(n int) []reprise.Edit {
	was := groupFiles(n - 1)
	return []reprise.Edit{
		{Path: "STATE.md", Base: reprise.HashOf([]byte(was["STATE.md"])), Content: []byte(groupFiles(n)["STATE.md"])},
		{Path: "log.ndjson", Base: reprise.HashOf([]byte(was["log.ndjson"])), Append: true, Content: fmt.Appendf(nil, "{\"event\":%d}\n", n)},
		{Path: fmt.Sprintf("new/%d.md", n), Content: fmt.Appendf(nil, "made in %d\n", n)},
	}
}

// projectFiles lists what is in the project beside the state folder.
func projectFiles(d *crashfs.FS) (map[string]string, error) {
	out := map[string]string{}
	for name, content := range d.Files() {
		if strings.HasPrefix(name, ".reprise/") || strings.HasSuffix(name, ".tmp") {
			continue
		}
		out[name] = content
	}
	return out, nil
}

func groupScenario(groups int) crashfs.Scenario {
	return crashfs.Scenario{
		Name: "many files at once",
		Start: func(d *crashfs.FS) error {
			for name, content := range groupFiles(0) {
				d.Put(name, []byte(content), 0o644)
			}
			return nil
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return err
			}
			for n := 1; n <= groups; n++ {
				if err := s.Apply(context.Background(), groupEdits(n)); err != nil {
					return err
				}
				ack(fmt.Sprint(n))
			}
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			_, rep, err := taken(d, testOptions())
			if err != nil {
				return "", err
			}
			if len(rep.Conflicts) > 0 {
				return "", fmt.Errorf("conflict: %+v", rep.Conflicts)
			}
			got, err := projectFiles(d)
			if err != nil {
				return "", err
			}
			for n := len(acked); n <= groups; n++ {
				if fmt.Sprint(got) == fmt.Sprint(groupFiles(n)) {
					return fmt.Sprint(n), nil
				}
			}
			return "", fmt.Errorf("%d groups were acknowledged, the files are those of none: %q", len(acked), got)
		},
	}
}

func leaseScenario() crashfs.Scenario {
	return crashfs.Scenario{
		Name: "lease",
		Work: func(d *crashfs.FS, ack func(string)) error {
			for range 3 {
				s, rep, err := taken(d, testOptions())
				if err != nil {
					return err
				}
				ack(fmt.Sprint(rep.Generation))
				if err := s.Release(); err != nil {
					return err
				}
			}
			return nil
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			_, rep, err := taken(d, testOptions())
			if err != nil {
				return "", err
			}
			for _, gen := range acked {
				var n uint64
				fmt.Sscan(gen, &n)
				if rep.Generation <= n {
					return "", fmt.Errorf("generation %d was given away twice", rep.Generation)
				}
			}
			return "taken", nil
		},
	}
}

func archiveScenario() crashfs.Scenario {
	return crashfs.Scenario{
		Name: "archive",
		Start: func(d *crashfs.FS) error {
			d.Put("plans/old.md", []byte("old plan\n"), 0o644)
			d.Put("done/a/b.md", []byte("in a folder\n"), 0o644)
			return nil
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return err
			}
			for _, name := range []string{"plans/old.md", "done/a"} {
				if _, err := s.Archive(name); err != nil {
					return err
				}
				ack(name)
			}
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return "", err
			}
			boxes, err := s.Archived()
			if err != nil {
				return "", err
			}
			where := map[string]string{}
			for name, content := range d.Files() {
				if content == "old plan\n" || content == "in a folder\n" {
					where[content] += name + ";"
				}
			}
			old, folder := where["old plan\n"], where["in a folder\n"]
			if strings.Count(old, ";") != 1 || strings.Count(folder, ";") != 1 {
				return "", fmt.Errorf("lost or doubled: %q", where)
			}
			if len(acked) > 0 && !strings.HasPrefix(old, ".reprise/archive/") || len(acked) > 1 && !strings.HasPrefix(folder, ".reprise/archive/") {
				return "", fmt.Errorf("acknowledged and not archived: %q", where)
			}
			if n := strings.Count(old+folder, ".reprise/archive/"); len(boxes) != n {
				return "", fmt.Errorf("%d things are archived, and shown are %q", n, boxes)
			}
			return old + folder, nil
		},
	}
}
