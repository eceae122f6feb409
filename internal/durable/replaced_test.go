package durable_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise/internal/durable"
)

// TestX8_a_file_that_is_replaced_while_it_is_opened_is_a_file opens one that someone
// else installs again and again, as whoever looks at a run does that is just taken up.
func TestX8_a_file_that_is_replaced_while_it_is_opened_is_a_file(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	disk, err := durable.OpenFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "a")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := os.WriteFile(name+"2", []byte("x"), 0o600); err != nil {
				t.Error(err)
				return
			}
			if err := os.Rename(name+"2", name); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(50 * time.Microsecond)
		}
	}()
	for n := range 10_000 {
		f, err := disk.Open("a", 0, 0)
		if err != nil {
			t.Errorf("the %dth time: %v", n, err)
			break
		}
		f.Close()
	}
	close(stop)
	<-stopped
}
