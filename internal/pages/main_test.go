package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The reference in docs is what the program says of itself today.
func TestThe_reference_is_what_the_commands_say_of_themselves(t *testing.T) {
	t.Parallel()
	kept, made := filepath.FromSlash("../../docs/reference/commands"), t.TempDir()
	if err := write("reference", made); err != nil {
		t.Fatal(err)
	}
	want, is := contents(t, made), contents(t, kept)
	for name, text := range want {
		if is[name] != text {
			t.Errorf("docs/reference/commands/%s is not what the command says; make generate rewrites it", name)
		}
	}
	for name := range is {
		if want[name] == "" {
			t.Errorf("docs/reference/commands/%s is of no command; make generate removes it", name)
		}
	}
}

func TestPages_are_the_same_bytes_each_time(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"man", "completions"} {
		one, two := t.TempDir(), t.TempDir()
		for _, dir := range []string{one, two} {
			if err := write(kind, dir); err != nil {
				t.Fatal(err)
			}
		}
		first, second := contents(t, one), contents(t, two)
		if len(first) == 0 {
			t.Errorf("no %s was written", kind)
		}
		for name, text := range first {
			if second[name] != text {
				t.Errorf("%s differs", name)
			}
		}
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = string(data)
	}
	return out
}
