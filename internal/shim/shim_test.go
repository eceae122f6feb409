package shim

import (
	"errors"
	"testing"
	"time"
)

func TestMain_takes_only_its_own_arguments(t *testing.T) {
	ready.Store(false) // as it is before main has called Main
	if _, err := Start(Command{Argv: []string{"true"}, Dir: t.TempDir(), Grace: time.Second}); !errors.Is(err, ErrNotReady) {
		t.Errorf("a program that does not call Main would start itself again: %v", err)
	}
	for _, args := range [][]string{nil, {""}, {"status"}, {"status", word}} {
		if handled, _ := Main(args); handled {
			t.Errorf("%q was taken", args)
		}
	}
	for _, args := range [][]string{{word}, {word, "1s", "0"}, {word, "soon", "0", "true"}, {word, "1s", "x", "true"}} {
		if handled, code := Main(args); !handled || code == 0 {
			t.Errorf("%q by hand: %v %d", args, handled, code)
		}
	}
}
