package durable_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

func TestT5_private_file_survives_a_crash_at_every_operation(t *testing.T) {
	t.Parallel()
	add := func(d *crashfs.FS, line string) (now string, err error) {
		err = durable.UpdatePrivateOn(d, "trust", func(old []byte) ([]byte, error) {
			now = string(old)
			if !slices.Contains(strings.Split(now, "\n"), line) {
				now += line + "\n"
			}
			return []byte(now), nil
		})
		return now, err
	}
	r := crashfs.Explore(crashfs.Scenario{
		Name: "private file",
		Start: func(d *crashfs.FS) error {
			_, err := add(d, "old")
			return err
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			for _, line := range []string{"one", "two"} {
				if _, err := add(d, line); err != nil {
					return err
				}
				ack(line)
			}
			return nil
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			// Saying again what may be there already must make it durable.
			now, err := add(d, "one")
			if err != nil {
				return "", err
			}
			for _, line := range append([]string{"old", "one"}, acked...) {
				if !slices.Contains(strings.Split(now, "\n"), line) {
					return "", fmt.Errorf("%s is not in %q", line, now)
				}
			}
			return now, nil
		},
	}, crashfs.Config{})
	t.Log(r)
	for _, bad := range r.Bad {
		t.Error(bad)
	}
	if r.States < 20 {
		t.Errorf("only %d states", r.States)
	}
}
