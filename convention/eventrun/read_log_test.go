package eventrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"reprise"
	"reprise/internal/doc"
)

func readText(r io.Reader) *logReader {
	lr := newLogReader(nil, "run")
	lr.enter(0, "a.jsonl")
	lr.stream(r)
	return lr
}

const claimed = `{"event_type":"task-claimed","task_id":"T1","timestamp":"2026-01-15T10:30:00Z"}`

// EV7: what is wrong with a line costs that line, and the finding names it.
func TestEV7_damaged_lines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		events     int
		code       string
		line       int
	}{
		{"NUL bytes", claimed + "\n" + strings.Repeat("\x00", 50) + "\n" + claimed + "\n", 2, reprise.CodeDamagedLine, 2},
		{"binary", claimed + "\n\xff\xfe\x1b[31m\n" + claimed, 2, reprise.CodeDamagedLine, 2},
		{"torn at the end", claimed + "\n" + claimed[:40], 1, reprise.CodeDamagedLine, 2},
		{"torn in the middle", claimed[:40] + "\n" + claimed + "\n", 1, reprise.CodeDamagedLine, 1},
		{"torn and glued", claimed + claimed[:40] + claimed + "\n" + claimed, 2, reprise.CodeDamagedLine, 1},
		{"never closed", "{\n\"event_type\": \"x\",\n" + claimed + "\n", 1, reprise.CodeDamagedLine, 1},
		{"never closed at the end", claimed + "\n{\n\"event_type\": \"x\"\n", 1, reprise.CodeDamagedLine, 2},
		{"far too long", claimed + "\n{\"a\":\"" + strings.Repeat("x", maxLine+10) + "\"}\n" + claimed + "\n", 2, reprise.CodeTooLarge, 2},
		{"too long to the end", claimed + "\n" + strings.Repeat("x", maxLine*2+10), 1, reprise.CodeTooLarge, 2},
		{"deep", claimed + "\n" + strings.Repeat(`{"a":`, 100_000) + "\n" + claimed, 2, reprise.CodeDamagedLine, 2},
		{"a fence", "```json\n" + claimed + "\n```\n", 1, reprise.CodeDamagedLine, 1},
	}
	for _, tt := range tests {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(tt.text), "halves": iotest.HalfReader(strings.NewReader(tt.text))} {
			lr := readText(r)
			if lr.events != tt.events {
				t.Errorf("%s (%s): %d events, want %d", tt.name, name, lr.events, tt.events)
			}
			if len(lr.damage.kept) == 0 || lr.damage.kept[0].Code != tt.code || lr.damage.kept[0].Source.Line != tt.line {
				t.Errorf("%s (%s): findings %+v, want %s in line %d", tt.name, name, lr.damage.kept, tt.code, tt.line)
			}
		}
	}
}

// EV7: a log that is garbage from end to end is told in a few findings.
func TestEV7_X9_garbage_is_counted(t *testing.T) {
	t.Parallel()
	r := doc.NewReader(fstest.MapFS{"a.jsonl": {Data: bytes.Repeat([]byte("garbage\n"), 100_000)}})
	readLogs(r, "run", []string{"a.jsonl"})
	found := r.Findings()
	if len(found) != keptPerCode+2 || !strings.HasPrefix(found[keptPerCode].Message, "99991 more") {
		t.Fatalf("%d findings, the last %+v", len(found), found[len(found)-1])
	}
}

// X9: events that open and never close do not make the reading slower than linear.
func TestX9_unclosed_events_are_linear(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"{\n", "{\n }\n", "{\n x\n", " {\n"} {
		lr := readText(strings.NewReader(strings.Repeat(line, 400_000/len(line))))
		if lr.events != 0 || len(lr.damage.kept) == 0 {
			t.Errorf("%q: %d events, %d findings", line, lr.events, len(lr.damage.kept))
		}
	}
}

// EV7: reading that stops in the middle is told; what came before counts.
func TestEV7_X9_reading_stops(t *testing.T) {
	t.Parallel()
	broken := io.MultiReader(strings.NewReader(claimed+"\n"+claimed+"\n"), iotest.ErrReader(errors.New("disk on fire")))
	lr := readText(broken)
	if lr.events != 2 || lr.damage.refused == "" || lr.damage.kept[0].Code != reprise.CodeUnreadable || lr.damage.kept[0].Source.Line != 3 {
		t.Fatalf("%d events, %+v", lr.events, lr.damage.kept)
	}
}

// EV3: blocks end anywhere in a line, and line numbers stay right.
func TestEV3_lines_across_blocks(t *testing.T) {
	t.Parallel()
	data := sampleLog(20_000, 37, 1) // several buffers
	data = append(data, "torn"...)
	want := readText(bytes.NewReader(data))
	for name, r := range map[string]io.Reader{
		"halves": iotest.HalfReader(bytes.NewReader(data)),
		"eof":    iotest.DataErrReader(bytes.NewReader(data)),
		"odd":    &oddReader{data: data},
	} {
		got := readText(r)
		if got.events != want.events || got.last != want.last || got.events != 20_000 || got.damage.kept[0].Source.Line != 20_001 {
			t.Errorf("%s: %d events, last %+v, want %+v", name, got.events, got.last, want.last)
		}
		for id, a := range want.tasks {
			if b := got.tasks[id]; b == nil || a.last != b.last || a.attempts() != b.attempts() {
				t.Errorf("%s: task %s: %+v, want %+v", name, id, b, a)
			}
		}
	}
}

// oddReader gives 1, 2, 3, … bytes, beginning again at 4099.
type oddReader struct {
	data []byte
	n    int
}

func (o *oddReader) Read(p []byte) (int, error) {
	if len(o.data) == 0 {
		return 0, io.EOF
	}
	o.n = o.n%4099 + 1
	n := copy(p[:min(len(p), o.n)], o.data)
	o.data = o.data[n:]
	return n, nil
}

// EV3: several readers at once give what one gives, whoever takes which file. `make race` tries it
// under the race detector.
func TestEV3_parallel_reading_is_deterministic(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	var logs []string
	one := newLogReader(fsys, "run")
	for i := range 9 {
		name := fmt.Sprintf("events/a%d/x.jsonl", i)
		data := append(sampleLog(2000+i*100, 53, i), []byte("torn\n"+`{"event":"escalation","event_id":"e`+fmt.Sprint(i)+`","timestamp":"2026-01-01T00:00:00Z"}`+"\n")...)
		fsys[name] = &fstest.MapFile{Data: data}
		logs = append(logs, name)
		one.read(int32(i), name)
	}
	for range 5 {
		got := readLogs(doc.NewReader(fsys), "run", logs)
		if got.damaged != 9 || got.events != one.events || got.last != one.last || len(got.tasks) != 53 || len(got.alarms) != 9 {
			t.Fatalf("%d damaged, %d events of %d", got.damaged, got.events, one.events)
		}
		for id, a := range one.tasks {
			b := got.tasks[id]
			if a.last != b.last || a.kind != b.kind || a.attempts() != b.attempts() || a.extra != nil && !slices.Equal(a.extra.recent, b.extra.recent) {
				t.Fatalf("task %s: %+v, want %+v", id, b, a)
			}
		}
	}
}

// EV3: words of all the descriptions, in their spellings.
func TestEV3_words(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]kind{
		"task-created": taskPending, "task_ready": taskPending, "task-claimed": taskStarted, "task_started": taskStarted, "recovery-attempt": taskStarted,
		"task-implemented": taskImplemented, "task_completed": taskDone, "task-verified": taskDone, "TaskVerified": taskDone,
		"task-failed": taskFailed, "task_failure": taskFailed, "task-verification-failed": taskFailed, "TASK-BLOCKED": taskBlocked,
		"task_exploded": taskUnknown, "task_graph_created": kindOther, "prd_created": kindOther, "execution-error": kindOther, "checkpoint-created": kindOther,
		"run-completed": runDone, "run-complete": runDone, "run_failed": runFailed, "run-cancelled": runCancelled, "run_canceled": runCancelled,
		"phase_transition": phaseMoved, "phase-started": phaseMoved, "phase-entered": phaseMoved, "phase-gate-passed": approvalGiven,
		"escalation": escalated, "escalation-resolved": escalationResolved, "session-resumed": runStarted,
		"cleanup-completed": cleanupDone, "pr-prep-completed": prepDone, "ready-for-human-review": reviewReady,
		"consolidation-started": consolidationStarted, "consolidation-completed": consolidationDone, "stm-archived": consolidationDone,
		"dependency_installation_pending": depsPending, "dependency_installation_verified": depsSettled,
		"bootstrap_gate_presented": bootGateShown, "bootstrap_gate_response": bootGateAnswered,
		"development_gate_presented": gateShown, "development_gate_response": gateAnswered, "unified_execution_started": unifiedMarker,
	} {
		if got := newWord(text).meaning(true); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// EV5: the same stage has another number in each version.
func TestEV5_numberings(t *testing.T) {
	t.Parallel()
	for s, want := range map[stage][3]string{
		intake: {"0 intake", "0 intake", "1 prd"}, planning: {"1 planning", "2 planning", "7 development planning"},
		approval: {"1 planning", "3 approval", "8 development approval"}, execution: {"2 execution", "4 execution", "9 execution"},
		cleanup: {"3 cleanup", "5 cleanup", "10 cleanup"}, consolidation: {"4 consolidation", "6 consolidation", "11 consolidation"},
	} {
		if got := [3]string{seedNumbers.label(s), unifiedNumbers.label(s), stateNumbers.label(s)}; got != want {
			t.Errorf("stage %d: %q, want %q", s, got, want)
		}
	}
}

// EV7: every object that encoding/json accepts is an event, and nothing is one
// that is cut off or holds NUL bytes.
func TestEV7_X9_what_is_cut_off_is_no_event(t *testing.T) {
	t.Parallel()
	reads := func(line []byte) bool {
		lr := newLogReader(nil, "run")
		lr.enter(0, "a.jsonl")
		return lr.event(line, 1, 0)
	}
	alphabet := []byte("{}[]\",:\\0e.-+ntf u\x00\x1f \t\r\x7f\xffx")
	for _, s := range []string{
		`{"event_type":"task-claimed","task_id":"T003","timestamp":"2026-01-15T10:30:00Z","details":{"n":[1,-2.5e+3,true,false,null,{}]}}`,
		`{}`, `{"a":"\u00e9\n\\"}`, `{"type":null}`, `{"task_id":["T1"]}`, `{"a":{"b":"c"}}`, "{\t\"a\" :\r1 }", `{"":""}`, `{"a":"é漢字"}`,
	} {
		for i := range len(s) {
			if reads([]byte(s[:i])) || reads([]byte(s[:i]+"\x00"+s[i:])) {
				t.Errorf("cut or filled at %d it is taken for an event: %q", i, s)
			}
			for _, c := range alphabet {
				changed := []byte(s)
				changed[i] = c
				if changed[0] == '{' && json.Valid(changed) && !reads(changed) {
					t.Errorf("not read: %q", changed)
				}
			}
		}
	}
}

// FuzzLog asks of any log: no panic, the same tally twice, every line counted
// as an event, as blank or as damage.
func FuzzLog(f *testing.F) {
	f.Add([]byte("{\"event_type\":\"task-claimed\",\"task_id\":\"T1\",\"timestamp\":\"2026-01-15T10:30:00Z\"}\n{\"type\":\"task_verified\",\"task"))
	f.Add([]byte("[\n{\"type\":\"escalation\"},\n]\n{\n  \"type\": \"run_failed\"\n}\n{\n\"a\n{}{}\n\x00\x00\n"))
	f.Add([]byte("\xef\xbb\xbf{\"event\":\"task_blocked\",\"task_id\":7,\"timestamp\":1768473000}\r\n\r\n5\n\"x\"\n[1]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := readText(bytes.NewReader(data)), readText(bytes.NewReader(data))
		if a.events != b.events || len(a.tasks) != len(b.tasks) || a.last != b.last || len(a.damage.kept) != len(b.damage.kept) {
			t.Fatal("two readings differ")
		}
		if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))) > 0 && a.events == 0 && len(a.damage.kept) == 0 {
			t.Fatalf("neither an event nor damage in %q", data)
		}
	})
}
