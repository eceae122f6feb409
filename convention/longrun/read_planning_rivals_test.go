package longrun

import "testing"

// TestX2_GSDSlugs: whether the folder of a phase bears the title of the phase.
func TestX2_GSDSlugs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slug, title string
		want        int
	}{
		{"02-mail-queue", "Mail Queue", 2},
		{"02-mail-queue", "The Queue of Mail ✓", 2},
		{"03-auth", "Authentication & Login", 1},
		{"42-selbstst-ndigkeit", "Selbstständigkeit", 1},
		{"02-audit", "Mail Queue", 0},
		{"02-1-of-3", "1 of 3", 0},
		{"phase-2", "phase-2", 0},
	} {
		if got := shared(c.slug, c.title); got != c.want {
			t.Errorf("%s and %q share %d words, want %d", c.slug, c.title, got, c.want)
		}
	}
}
