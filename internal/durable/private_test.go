package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

func TestT5_private_file_is_made_for_its_owner_alone(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a", "b", "trust")
	if b, err := durable.ReadPrivate(name); b != nil || err != nil {
		t.Fatalf("read of nothing: %q, %v", b, err)
	}
	put := func(text string) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return []byte(text), nil }
	}
	for _, text := range []string{"one\n", "two\n", "two\n", ""} {
		if err := durable.UpdatePrivate(name, put(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.ReadPrivate(name); err != nil || string(got) != text {
			t.Fatalf("read %q, %v", got, err)
		}
	}
	for path, want := range map[string]os.FileMode{name: 0o600, name + ".lock": 0o600, filepath.Dir(name): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
	refused := errors.New("no")
	if err := durable.UpdatePrivate(name, func([]byte) ([]byte, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("the cause is lost: %v", err)
	}
	if err := durable.UpdatePrivate("relative", put("x")); err == nil {
		t.Error("a relative path was taken")
	}
}

func TestT5_private_writers_do_not_lose_each_other(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "trust")
	var wait sync.WaitGroup
	const writers, each = 8, 5
	for range writers {
		wait.Go(func() {
			for range each {
				err := durable.UpdatePrivate(name, func(old []byte) ([]byte, error) { return append(old, "x\n"...), nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	got, err := durable.ReadPrivate(name)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(got), "x\n"); n != writers*each {
		t.Errorf("%d of %d changes are there", n, writers*each)
	}
}

// stopped is what the process does not survive.
type stopped struct{}

func TestT5_private_file_is_old_or_new_after_any_stop(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		dir := t.TempDir()
		name := filepath.Join(dir, "trust")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		disk, err := durable.OpenFS(dir)
		if err != nil {
			t.Fatal(err)
		}
		died := func() (died bool) {
			defer func() {
				if r := recover(); r != nil {
					if _, ok := r.(stopped); !ok {
						panic(r)
					}
					died = true
				}
			}()
			err := durable.UpdatePrivateOn(crashfs.StopBefore(disk, n, func() { panic(stopped{}) }), "trust", func([]byte) ([]byte, error) { return []byte("new"), nil })
			if err != nil {
				t.Fatal(err)
			}
			return false
		}()
		got, err := durable.ReadPrivate(name)
		if err != nil || string(got) != "old" && string(got) != "new" {
			t.Fatalf("stopped before operation %d: %q, %v", n, got, err)
		}
		// What the stopped one left is in no one's way. Once the new file is
		// there the stop may be at closing the lock, which a death would do.
		if string(got) == "old" {
			if err := durable.UpdatePrivate(name, func([]byte) ([]byte, error) { return []byte("next"), nil }); err != nil {
				t.Fatalf("stopped before operation %d: %v", n, err)
			}
		}
		if !died {
			if n < 5 || string(got) != "new" {
				t.Fatalf("after %d operations the file is %q", n, got)
			}
			return
		}
	}
}
