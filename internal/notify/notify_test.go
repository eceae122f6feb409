package notify_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"reprise/internal/notify"
	"reprise/report"
)

func TestA_notice_reaches_the_desktop_as_text_and_the_command_as_json(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts")
	}
	dir := t.TempDir()
	for _, name := range []string{"notify-send", "osascript"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$(dirname \"$0\")/shown\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var bell bytes.Buffer
	environ := append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	n := notify.Open(notify.Ways{
		Desktop: true, Bell: &bell, Command: []string{"sh", "-c", "cat > got"}, Dir: t.TempDir(), Environ: environ, CommandEnviron: environ,
		Failed: func(err error) { t.Error(err) },
	})
	n.Send(report.Notice{Kind: "asks", Title: "t asks", Text: "Ship\n\x1b[2J<b>it</b>?"})
	n.Close()
	shown, err := os.ReadFile(filepath.Join(dir, "shown"))
	if err != nil || !strings.Contains(string(shown), "reprise: t asks\nShip [2J&lt;b&gt;it") {
		t.Errorf("%v: %q", err, shown)
	}
	if bell.String() != "\a" {
		t.Errorf("bell: %q", bell.String())
	}
}

func TestWhat_a_program_says_of_its_failure_is_told(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	failed := make(chan error, 1)
	n := notify.Open(notify.Ways{Command: []string{"sh", "-c", "echo no server is there >&2; exit 1"}, Dir: t.TempDir(), CommandEnviron: os.Environ(), Failed: func(err error) { failed <- err }})
	n.Send(report.Notice{})
	n.Close()
	if err := <-failed; !strings.Contains(err.Error(), "exit status 1: no server is there") {
		t.Error(err)
	}
}

func TestA_command_that_never_ends_keeps_nobody_and_is_told_of_once(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	var mu sync.Mutex
	said := 0
	n := notify.Open(notify.Ways{Command: []string{"sh", "-c", "sleep 1000000"}, Dir: t.TempDir(), CommandEnviron: os.Environ(), Failed: func(error) {
		mu.Lock()
		defer mu.Unlock()
		said++
	}})
	for range 100 {
		n.Send(report.Notice{}) // returns, though no one takes them
	}
	n.Close() // returns, too
	mu.Lock()
	defer mu.Unlock()
	if said != 1 {
		t.Errorf("said %d times", said)
	}
	notify.Open(notify.Ways{}).Send(report.Notice{}) // no way is set: no one is told
}
