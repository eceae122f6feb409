package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A project that was moved away is seen at once when it comes back: what gave no answer is
// looked at again when something changes around it.
func TestWhat_gives_no_answer_is_followed_from_the_folder_around(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "moved")
	s := New(Options{Dirs: []string{dir}, Now: time.Now, Run: func(context.Context, string, ...string) (string, string, int) {
		return "", "it is not there", 40
	}})
	for path, content := range map[string]func(*http.Request) (frame, error){
		"/": s.overview, "/run?project=0&run=r": s.run, "/question?project=0&run=r&question=q": s.question,
	} {
		f, _ := s.made(httptest.NewRequest(http.MethodGet, path, nil), content)
		if !f.Live || !slices.Contains(f.folders, filepath.Dir(dir)) {
			t.Errorf("%s: live %v, watched %q", path, f.Live, f.folders)
		}
	}
}
