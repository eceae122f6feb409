package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// recordings reads all that were made.
func recordings(t testing.TB) []recording {
	t.Helper()
	var out []recording
	for _, p := range versions(allPresets()) {
		files, err := filepath.Glob(filepath.Join(streams, p.Name+"-"+p.Tested[0], "*.txtar"))
		if err != nil || len(files) < len(situations) {
			t.Fatalf("%s has %d recordings, %d situations are known (%v)", p.Name, len(files), len(situations), err)
		}
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(raw)
			rec := recording{Preset: p.Name, Version: p.Tested[0], Case: strings.TrimSuffix(filepath.Base(f), ".txtar")}
			for line := range strings.Lines(string(a.Comment)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
				value = strings.TrimSpace(value)
				switch name {
				case "resume":
					rec.Resume = value == "true"
				case "session":
					rec.Session = value
				case "exit":
					if _, err := fmt.Sscan(value, &rec.Exit); err != nil {
						t.Fatalf("%s: %v", f, err)
					}
				case "signal":
					rec.Signal = value
				case "ours":
					rec.Ours = Outcome(value)
				case "outcome":
					rec.Want = Outcome(value)
				}
			}
			rec.Stdout, rec.Stderr = string(a.Files[0].Data), string(a.Files[1].Data)
			out = append(out, rec)
		}
	}
	return out
}

func (rec recording) preset() Preset {
	all := Presets()
	return all[slices.IndexFunc(all, func(p Preset) bool { return p.Name == rec.Preset })]
}

func (rec recording) lines() []string {
	return strings.Split(strings.TrimSuffix(rec.Stdout, "\n"), "\n")
}

// replay gives lines to the reader of a preset and judges the end.
func (rec recording) replay(lines []string) (Result, *stream) {
	p := rec.preset()
	s := p.stream(func() time.Time { return noon })
	s.resumes = rec.Resume
	if rec.Resume || p.Chooses {
		s.want = rec.Session
	}
	for _, l := range lines {
		if _, err := s.line([]byte(l), p.read, nil); err != nil {
			break
		}
	}
	r := Result{Outcome: Done, Exit: rec.Exit, Signal: rec.Signal, Stderr: rec.Stderr}
	switch {
	case rec.Ours != "":
		r.Outcome, r.silent = rec.Ours, rec.Ours == TimedOut
	case rec.Signal != "":
		r.Outcome = Killed
	case rec.Exit != 0:
		r.Outcome = Failed
	}
	s.judge(&r, p.Name)
	return r, s
}

func TestRecorded_streams_give_their_outcome(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		t.Run(rec.Preset+"-"+rec.Version+"/"+rec.Case, func(t *testing.T) {
			t.Parallel()
			r, _ := rec.replay(rec.lines())
			if r.Outcome != rec.Want {
				t.Errorf("outcome %s (%s), want %s", r.Outcome, r.Reason, rec.Want)
			}
			if r.Outcome != TimedOut && r.Outcome != Killed && r.Reason == "" {
				t.Error("no reason")
			}
			if rec.Case == "killed-in-tool" && rec.Preset != "opencode" || rec.Case == "stopped-in-tool" && rec.Preset == "qwen" {
				if len(r.Open) != 1 || !strings.Contains(r.Open[0].Input, "touch started; sleep") {
					t.Errorf("open calls %+v, want the command that was cut off", r.Open)
				}
			}
			if rec.Case == "success" && (len(r.Open) > 0 || r.LastText != "The file is written.") {
				t.Errorf("open %+v, last text %q", r.Open, r.LastText)
			}
			if rec.Case == "denied" && (len(r.Asks) != 1 || r.Asks[0].Grant == nil || !r.Asks[0].Closed) {
				t.Errorf("asks %+v, want one that offers to allow it", r.Asks)
			}
			if rec.Want == Limited && r.Account != rec.Preset {
				t.Errorf("account %q", r.Account)
			}
			if !rec.Resume && rec.Session == "" && rec.Stdout != "" && r.Session == "" {
				t.Error("the session was not learned")
			}
		})
	}
}

// A stream that was cut anywhere before its end is never done, however well the
// process says it ended.
func TestA_truncated_stream_is_never_done(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		if rec.Want != Done {
			continue
		}
		rec.Exit, rec.Signal = 0, ""
		all := rec.lines()
		for k := range all {
			if r, _ := rec.replay(all[:k]); r.Outcome == Done {
				t.Errorf("%s/%s: done after %d of %d lines", rec.Preset, rec.Case, k, len(all))
			}
		}
		last := all[len(all)-1]
		for cut := range last {
			torn := append(slices.Clone(all[:len(all)-1]), last[:cut])
			if r, _ := rec.replay(torn); r.Outcome == Done {
				t.Errorf("%s/%s: done with the last line torn at %d", rec.Preset, rec.Case, cut)
			}
		}
	}
}

// Lines that are glued, split, or have others between them say the same.
func TestGlued_split_and_strange_lines_change_nothing(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		t.Run(rec.Preset+"-"+rec.Version+"/"+rec.Case, func(t *testing.T) {
			t.Parallel()
			all := rec.lines()
			if len(all) > 12 {
				all = slices.Concat(all[:6], all[len(all)-6:]) // the middle is more of the same
			}
			want, _ := rec.replay(all)
			same := func(how string, lines []string) {
				t.Helper()
				got, _ := rec.replay(lines)
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(OpenCall{}, Result{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
			same("all on one line", []string{strings.Join(all, "")})
			for i := range len(all) - 1 {
				same("two on a line", slices.Concat(all[:i], []string{all[i] + all[i+1]}, all[i+2:]))
			}
			for i, line := range all {
				step := max(1, len(line)/7)
				for at := 1 + i%7; at < len(line); at += step {
					same("one on two lines", slices.Concat(all[:i], []string{line[:at], line[at:]}, all[i+1:]))
				}
			}
			var between []string
			for _, line := range all {
				between = append(between, "Warning: something", "", line, `{"type":"nobody.knows.this","data":[1,{"type":"result"}]}`, "[1,2]", "null")
			}
			if rec.Want != Done || !rec.preset().soft {
				same("strange lines between", between)
			}
		})
	}
}

// A notice inside another line is taken out, and both are read.
func TestA_limit_notice_inside_a_line(t *testing.T) {
	t.Parallel()
	const notice = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1767366000,"rateLimitType":"five_hour"}}`
	for _, rec := range recordings(t) {
		if rec.Preset != "claude" || rec.Case != "limit" {
			continue
		}
		all := rec.lines()
		for i, line := range all {
			for at := 0; at <= len(line); at++ {
				mixed := line[:at] + notice + line[at:]
				if at > 0 && json.Valid([]byte(mixed)) {
					continue // it fell into a list: a value like any other
				}
				r, _ := rec.replay(slices.Concat(all[:i], []string{mixed}, all[i+1:]))
				if r.Outcome != Limited || !r.Until.Equal(time.Unix(1767366000, 0)) {
					t.Fatalf("line %d at %d: %s until %v (%s)", i, at, r.Outcome, r.Until, r.Reason)
				}
			}
		}
	}
}

// A new session that has another name than the one asked for is that one, and what it cost
// counts: a program around the agent may name sessions itself.
func TestA_new_session_may_have_a_name_of_its_own(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		if rec.Case != "success" || rec.Resume {
			continue
		}
		rec.Session = "ffffffff-0000-4000-8000-000000000000"
		if r, _ := rec.replay(rec.lines()); r.Outcome != Done || r.Session == rec.Session {
			t.Errorf("%s: %s in %s (%s)", rec.Preset, r.Outcome, r.Session, r.Reason)
		}
	}
}

// A session that is not the one asked for is found out at its first event.
func TestAnother_session_is_not_accepted(t *testing.T) {
	t.Parallel()
	for _, rec := range recordings(t) {
		if rec.Case != "success" {
			continue
		}
		rec.Resume, rec.Session = true, "ffffffff-0000-4000-8000-000000000000"
		r, s := rec.replay(rec.lines())
		if r.Outcome != SessionNotFound || r.Session != rec.Session {
			t.Errorf("%s: %s in %s (%s)", rec.Preset, r.Outcome, r.Session, r.Reason)
		}
		if rec.Preset != "copilot" && s.events > 1 {
			t.Errorf("%s: %d events were accepted first", rec.Preset, s.events)
		}
	}
}
