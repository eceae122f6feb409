package doctor

import (
	"os"
	"syscall"
	"testing"

	"reprise/internal/durable"
)

func TestX10_a_place_where_nothing_can_be_recorded_is_said(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		place durable.Place
		want  Level
	}{
		"a disk":    {durable.Place{Kind: "ext4", Locks: true}, Fine},
		"read-only": {durable.Place{Kind: "ext4", Locks: true, Refuses: syscall.EROFS}, Missing},
		"full":      {durable.Place{Kind: "tmpfs", Locks: true, Volatile: true, Full: true}, Missing},
		"in memory": {durable.Place{Kind: "tmpfs", Locks: true, Volatile: true}, Limited},
	} {
		if got := place(Check{Level: Fine}, c.place); got.Level != c.want || (got.Do == "") != (c.want == Fine) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestX10_a_folder_that_must_not_be_written_to(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("everything may be written to")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if got := (Options{Dir: dir}).files(); got.Level != Missing {
		t.Errorf("%+v", got)
	}
}

func TestX10_without_a_home_nothing_can_be_trusted(t *testing.T) {
	t.Parallel()
	for home, want := range map[string]int{"": 2, "rel": 2, t.TempDir(): 1} {
		_, got, _ := Options{Dir: t.TempDir(), Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}.settings()
		if len(got) != want || want == 2 && (got[1].Level != Limited || got[1].Do == "") {
			t.Errorf("%q: %+v", home, got)
		}
	}
}
