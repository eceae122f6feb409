package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"reprise/internal/web/webtest"
)

// TestPictures makes pictures of pages for those who work on them: REPRISE_SHOTS is a list
// of "file width height light|dark address", one on each line.
func TestPictures(t *testing.T) {
	list := os.Getenv("REPRISE_SHOTS")
	if list == "" {
		t.Skip("REPRISE_SHOTS names none")
	}
	b := webtest.Open(t)
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		width, _ := strconv.Atoi(words[1])
		height, _ := strconv.Atoi(words[2])
		b.Size(width, height, words[3] == "dark")
		b.Go(words[4])
		b.Wait("document.querySelector('.live.on') || !('live' in document.body.dataset)")
		if err := os.WriteFile(words[0], b.Picture(strings.TrimPrefix(filepath.Ext(words[0]), ".")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(b.Problems())
}
