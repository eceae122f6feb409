package web

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"reprise"
	"reprise/report"
)

// job is something that was done from a page.
type job struct {
	Began  time.Time
	Ended  time.Time // zero while it lasts
	Says   string    // what came of it
	Failed bool
	about  string // the question that was answered
}

// maxForm bounds what a page may send.
const maxForm = 256 << 10

// form reads what a page sends: which run is meant, and the digest of what the person saw.
func (s *Server) form(w http.ResponseWriter, r *http.Request) (t target, digest string, ok bool) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		shut(w)
		s.refuse(w, r, http.StatusBadRequest, &refusal{Message: "The form cannot be read."})
		return t, "", false
	}
	patient(w)
	t, err := s.targetOf(r)
	digest = r.PostForm.Get("digest")
	if err != nil || digest == "" || r.PostForm.Get("confirm") != "yes" {
		s.refuse(w, r, http.StatusBadRequest, &refusal{Message: "It is not said which run is meant, as it was seen, or it was not confirmed."})
		return t, "", false
	}
	if !same(r.PostForm.Get("nonce"), s.nonce(strings.TrimPrefix(r.URL.Path, "/"), t)) {
		s.refuse(w, r, http.StatusForbidden, &refusal{Message: "It does not come from the page of this run."})
		return t, "", false
	}
	return t, digest, true
}

// nonce is what a page about a run holds for one thing that can be done from it. No request
// does anything without it, and who has not seen the page cannot know it.
func (s *Server) nonce(action string, t target) string {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%q %q %q", action, t.Dir, t.Run)
	return hex.EncodeToString(h.Sum(nil))
}

// Nonce is that of an action of the page.
func (p *runPage) Nonce(action string) string { return p.nonce(action, p.target) }

// refuse tells a person that nothing was done, and why.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, code int, why error) {
	f, _ := s.made(r, func(*http.Request) (frame, error) { return frame{Title: "Nothing was done"}, why })
	f.Live = false // asked for again, it would be done again
	write(w, f, code)
}

// answer keeps a person's answer, as `reprise answer` does. Who is refused is told what is
// on record instead.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	t, digest, ok := s.form(w, r)
	if !ok {
		return
	}
	id, text := r.PostForm.Get("question"), cmp.Or(r.PostForm.Get("option"), strings.TrimSpace(r.PostForm.Get("text")))
	if text == "" {
		s.refuse(w, r, http.StatusBadRequest, &refusal{Message: "The answer to " + id + " is empty."})
		return
	}
	_, err := ask[report.Answers](r.Context(), s, t.Dir, []string{"answer", "--if=" + digest, "--question=" + id, "--text=" + text}, t.Run)
	if err != nil {
		why := &refusal{Message: fmt.Sprintf("The answer to %s was not kept: %v. It was “%s”.", id, err, text), Hint: hint(err)}
		log, _ := ask[report.Log](r.Context(), s, t.Dir, []string{"log"}, t.Run)
		if kept, is := recorded(log.Entries, id); is {
			why.Message += fmt.Sprintf(" On record is “%s”.", kept.Text)
		}
		s.refuse(w, r, http.StatusConflict, why)
		return
	}
	s.note(s.answers, t, &job{Began: s.Now(), Ended: s.Now(), about: id, Says: fmt.Sprintf("The answer to %s is kept: “%s”.", id, text)})
	see(w, t.link("run"))
}

// recorded is the last answer to a question that is on record, in whatever order.
func recorded(entries []report.LogEntry, question string) (last report.LogEntry, is bool) {
	for _, e := range entries {
		if e.Kind == reprise.QuestionAnswered && e.Question == question && e.Seq >= last.Seq {
			last, is = e, true
		}
	}
	return last, is
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
		s.refuse(w, r, http.StatusConflict, &refusal{Message: "It is being resumed from here already."})
		return
	}
	began := &job{Began: s.Now()}
	s.jobs[t] = began
	s.mu.Unlock()
	ctx, lasts := r.Context().Value(lifetime{}).(context.Context)
	if !lasts { // it is not served by Serve
		ctx = context.WithoutCancel(r.Context())
	}
	// The confirmation on the page is the yes that some ways ask for.
	args := []string{"resume", "--json", "--yes", "--if=" + digest, "--option=" + r.PostForm.Get("option")}
	if r.PostForm.Get("option") == reprise.OptionFromPhase {
		args = append(args, "--from="+r.PostForm.Get("from"))
	}
	s.working.Go(func() {
		out, said, code := s.Work(ctx, t.Dir, append(args, "--", t.Run)...)
		ended := &job{Began: began.Began, Ended: s.Now()}
		ended.Says, ended.Failed = outcome(out, said, code)
		s.note(s.jobs, t, ended)
	})
	see(w, t.link("run"))
}

// lifetime is the key of the context that lasts as long as the server.
type lifetime struct{}

// outcome tells what came of a resumption, from the last document that it printed: the
// summary of the work or, where the run was cleaned up or repaired, what that gives.
func outcome(out, said string, code int) (says string, failed bool) {
	var last json.RawMessage
	for docs := json.NewDecoder(strings.NewReader(out)); docs.Decode(&last) == nil; {
	}
	var summary report.Summary
	if json.Unmarshal(last, &summary) == nil && summary.Schema == report.SummarySchema {
		says = strings.ReplaceAll(summary.State.String(), "_", " ")
		if len(summary.Reasons) > 0 {
			says += ": " + summary.Reasons[0]
		}
		return says, code != 0
	}
	var upkeep struct { // what counts of report.CleanUp and report.Repair
		Done              bool
		Refused, Snapshot string
	}
	switch err := json.Unmarshal(last, &upkeep); {
	case err == nil && upkeep.Refused != "":
		return upkeep.Refused, true
	case err == nil && upkeep.Done:
		return "Done. `reprise undo " + upkeep.Snapshot + "` takes it back.", code != 0
	}
	return told(refused(said, code)), true
}

// told is why something was refused, with what can be done about it.
func told(err error) string {
	if do := hint(err); do != "" {
		return err.Error() + "; " + do
	}
	return err.Error()
}

// hint is what a person can do about a refusal, "" if nothing is known.
func hint(err error) string {
	if why, is := errors.AsType[*refusal](err); is {
		return why.Hint
	}
	return ""
}

func (s *Server) note(of map[target]*job, t target, j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of[t] = j
}

// news are the resumption and the answer from a page that nothing came after, nil for
// none: neither the other of the two nor what is on record at the time latest.
func (s *Server) news(t target, latest time.Time) (resumed, answered *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []*job{s.jobs[t], s.answers[t]}
	for _, j := range list {
		if j != nil && j.at().After(latest) {
			latest = j.at()
		}
	}
	for i, j := range list {
		if j != nil && !j.Ended.IsZero() && j.Ended.Before(latest) {
			list[i] = nil
		}
	}
	return list[0], list[1]
}

// at is when it ended or, while it lasts, began.
func (j *job) at() time.Time {
	if j.Ended.IsZero() {
		return j.Began
	}
	return j.Ended
}
