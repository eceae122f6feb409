package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"reprise/report"
)

// job is something that was done from a page.
type job struct {
	Began  time.Time
	Ended  time.Time // zero while it lasts
	Says   string    // what came of it
	Failed bool
}

// maxForm bounds what a page may send.
const maxForm = 256 << 10

// form reads what a page sends: which run is meant, and the digest of what the person saw.
func (s *Server) form(w http.ResponseWriter, r *http.Request) (t target, digest string, ok bool) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return t, "", false
	}
	t, err := s.targetOf(r)
	digest = r.PostForm.Get("digest")
	if err != nil || digest == "" || r.PostForm.Get("confirm") != "yes" {
		http.Error(w, "It is not said which run is meant, as it was seen, or it was not confirmed.", http.StatusBadRequest)
		return t, "", false
	}
	return t, digest, true
}

// answer keeps a person's answer, as `reprise answer` does.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	t, digest, ok := s.form(w, r)
	if !ok {
		return
	}
	text := cmp.Or(r.PostForm.Get("option"), strings.TrimSpace(r.PostForm.Get("text")))
	_, err := ask[report.Answers](r.Context(), s, t.Dir, []string{"answer", "--if=" + digest, "--question=" + r.PostForm.Get("question"), "--text=" + text}, t.Run)
	ended := &job{Began: s.Now(), Ended: s.Now(), Says: "The answer is kept."}
	if err != nil {
		ended.Says, ended.Failed = told(err), true
	}
	s.note(s.answers, t, ended)
	http.Redirect(w, r, t.link("/run"), http.StatusSeeOther)
}

// resume continues a run, as `reprise resume` does. It lasts longer than the request, and
// ends with the server.
func (s *Server) resume(w http.ResponseWriter, r *http.Request) {
	t, digest, ok := s.form(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	if now := s.jobs[t]; now != nil && now.Ended.IsZero() {
		s.mu.Unlock()
		http.Error(w, "It is being resumed from here already.", http.StatusConflict)
		return
	}
	began := &job{Began: s.Now()}
	s.jobs[t] = began
	s.mu.Unlock()
	ctx := r.Context().Value(lifetime{}).(context.Context)
	s.working.Go(func() {
		out, said, code := s.Work(ctx, t.Dir, "resume", "--json", "--if="+digest, "--option="+r.PostForm.Get("option"), "--", t.Run)
		ended := &job{Began: began.Began, Ended: s.Now()}
		ended.Says, ended.Failed = outcome(out, said, code)
		s.note(s.jobs, t, ended)
	})
	http.Redirect(w, r, t.link("/run"), http.StatusSeeOther)
}

// lifetime is the key of the context that lasts as long as the server.
type lifetime struct{}

// outcome tells what came of a resumption, from its last line.
func outcome(out, said string, code int) (says string, failed bool) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var summary report.Summary
	if json.Unmarshal([]byte(lines[len(lines)-1]), &summary) != nil || summary.Schema != report.SummarySchema {
		return told(refused(said, code)), true
	}
	says = strings.ReplaceAll(summary.State.String(), "_", " ")
	if len(summary.Reasons) > 0 {
		says += ": " + summary.Reasons[0]
	}
	return says, code != 0
}

// told is why something was refused, with what can be done about it.
func told(err error) string {
	if why, is := errors.AsType[*refusal](err); is && why.Hint != "" {
		return why.Message + "; " + why.Hint
	}
	return err.Error()
}

func (s *Server) note(of map[target]*job, t target, j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of[t] = j
}

// jobsOf are what was last done to a run from a page: a resumption and an answer, nil for
// none.
func (s *Server) jobsOf(t target) (resumed, answered *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[t], s.answers[t]
}
