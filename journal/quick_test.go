package journal_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/journal"
)

// D5: entries of every shape, and entries with a byte or a piece of them changed:
// what is read quickly is what is read strictly.
func TestD5_quick_reading_is_strict_reading(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 7))
	pieces := []string{"", "a", "plain text", "1234567", "12345678", `"`, `\`, "\n", "\t", "/", "\r", "]", "[", "}", "{", ",", "ü", "日", "\u2028", "<&>", "\x00", "\x1f", "\x7f", "\x80", "\xff", `","at":"`, "files", strings.Repeat("long ", 20)}
	shown := len(pieces) // how many of them are made use of
	word := func() string {
		var b strings.Builder
		for range rnd.IntN(4) {
			b.WriteString(pieces[rnd.IntN(shown)])
		}
		return b.String()
	}
	maybe := func() string {
		if rnd.IntN(2) == 0 {
			return ""
		}
		return word()
	}
	cuts := []string{`"`, `\`, `\u0041`, `\/`, `\"`, `\b`, ` `, `,`, `{}`, `null`, `true`, `0`, `-1`, `1e3`, `1.5`, `"kind":"x",`, `"Kind":"x",`, `"attempt":01`, `"attempt":7,`, `"until":"2026-03-20T12:00:00Z",`, `"at":"2026-03-20 12:00",`, "\xc3", "]"}
	quick := 0
	rounds := 60_000
	if testing.Short() {
		rounds = 5_000
	}
	for range rounds {
		if shown = 9; rnd.IntN(3) == 0 {
			shown = len(pieces)
		}
		e := journal.Entry{Nowhere: rnd.IntN(3) == 0, Deferred: rnd.IntN(3) == 0, Event: reprise.Event{
			Kind: reprise.EventKind(word()), At: time.Unix(rnd.Int64N(4e9), rnd.Int64N(1e9)).In(time.FixedZone("", rnd.IntN(48)*1800-43200)), Step: maybe(), Phase: maybe(), Question: maybe(),
			Attempt: rnd.IntN(3) * rnd.IntN(1e9), Actor: maybe(), Agent: maybe(), Commit: maybe(), Text: maybe(), Outcome: maybe(), Policy: reprise.Ambiguity(maybe()), Key: maybe(), Cause: maybe(), Account: maybe(),
		}}
		if rnd.IntN(4) == 0 {
			e.Event.Until = time.Unix(rnd.Int64N(4e9), 0).UTC()
		}
		if rnd.IntN(6) == 0 {
			e.Event.Run = &reprise.Place{Layout: word(), ID: word(), Path: word(), Kind: reprise.Kind(maybe())}
		}
		if rnd.IntN(6) == 0 {
			e.Event.Expect, e.Event.Answers = []reprise.Expected{{Path: word(), Before: reprise.HashOf([]byte(word()))}}, []string{word(), word()}
		}
		if rnd.IntN(6) == 0 {
			e.Event.By, e.Event.Options = maybe(), []string{word()}
		}
		for range rnd.IntN(3) {
			e.Files = append(e.Files, journal.Touch{Path: word(), Before: reprise.HashOf([]byte(word())), After: reprise.HashOf([]byte(word()))})
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		for range rnd.IntN(3) {
			at := rnd.IntN(len(raw))
			switch rnd.IntN(4) {
			case 0:
				raw[at] = byte(rnd.IntN(256))
			case 1:
				raw = append(raw[:at:at], raw[min(len(raw), at+1+rnd.IntN(8)):]...)
			case 2:
				raw = append(raw[:at:at], append([]byte(cuts[rnd.IntN(len(cuts))]), raw[at:]...)...)
			case 3:
				raw = raw[:at]
			}
			if len(raw) == 0 {
				raw = []byte("{")
			}
		}
		got, ok := journal.Quick(raw)
		if !ok {
			continue
		}
		quick++
		var strict journal.Entry
		if err := json.Unmarshal(raw, &strict); err != nil {
			t.Fatalf("%q is accepted, strictly it is not: %v", raw, err)
		}
		if d := cmp.Diff(strict, got); d != "" {
			t.Fatalf("%q: %s", raw, d)
		}
	}
	if quick < rounds/20 {
		t.Errorf("only %d of %d were read quickly", quick, rounds)
	}
}
