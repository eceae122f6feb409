package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/loose"
	"reprise/internal/transcript"
)

// Record is what the transcript of a session tells of its requests.
type Record struct {
	// Requests are those from a time on; one of nothing where none was made, and none at all
	// where that is not known. More tells that one more may have been under way.
	Requests []reprise.Request
	More     bool
	// Context is how many tokens the session sends again when it is resumed, 0 if that is
	// not on record; Model is the one that they were sent to.
	Context int64
	Model   string
	// Broken says why the program cannot continue the session, "" if nothing speaks against
	// it.
	Broken string
}

// Of the look at one transcript: how many files, with those of helpers, and how long.
const (
	recordFiles = 100
	recordTime  = 3 * time.Second
)

// Recorded reads what a session of a preset used from a time on. env is the environment
// of its program, dir where it worked. ok is false where its transcript is not found.
func Recorded(preset string, env []string, dir, session string, from time.Time) (r Record, ok bool) {
	store := transcript.Folders(lookup(env))[preset]
	if store == "" || session == "" {
		return r, false
	}
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		dirs = append(dirs, real)
	}
	deadline := time.Now().Add(recordTime)
	found, unread := transcript.Store{CLI: preset, FS: os.DirFS(store)}.Find(transcript.Query{
		Dirs: dirs, Most: recordFiles, Session: session, Stop: func() bool { return time.Now().After(deadline) },
	})
	main := transcript.Main(found)
	if main == nil {
		return r, false
	}
	r.Requests, r.More = transcript.Since(found, from)
	r.More = r.More || len(unread) > 0
	if len(r.Requests) == 0 && !r.More {
		r.Requests = noRequest()
	}
	r.Context, r.Model, r.Broken = main.Context(), main.Model(), main.Broken()
	return r, true
}

// noRequest tells that nothing was asked of a model, which is not the same as that it is
// not known.
func noRequest() []reprise.Request { return []reprise.Request{{Cost: new(float64)}} }

// lookup finds a variable in an environment; the last one counts.
func lookup(env []string) func(string) string {
	return func(name string) string {
		for _, entry := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// spentIn fills in what an attempt used: as its stream told with its end, or as its
// transcript has it where the stream was cut off or names no model. model stands for one
// that nothing names.
func (s *stream) spentIn(r *Result, preset, model string, env []string, dir string, from time.Time) {
	if s.ending.outcome != "" {
		r.Spent = slices.Clone(s.spent)
	}
	if r.Spent == nil || slices.ContainsFunc(r.Spent, func(one reprise.Request) bool { return one.Model == "" && one.Total() > 0 }) {
		if found, ok := Recorded(preset, env, dir, r.Session, from); ok {
			r.Spent, r.More = found.Requests, found.More
		}
	}
	for i := range r.Spent {
		if r.Spent[i].Model == "" && r.Spent[i].Total() > 0 {
			r.Spent[i].Model = model[strings.LastIndex(model, "/")+1:]
		}
	}
}

// usedClaude notes what claude says it used, by model. A later version tells what is new
// since its last result; what an earlier one tells is of the process.
func (s *stream) usedClaude(r loose.Value) {
	r = r.Apart() // figures of another shape say nothing of how it ended
	models := r.Fields("modelUsage")
	if r.Has("model_usage_since_last_result") {
		models = r.Fields("model_usage_since_last_result")
	} else {
		s.spent = nil
	}
	for name, u := range models {
		one := reprise.Request{Model: name, Tokens: transcript.Anthropic(u)}
		if cost := u.Number("costUSD"); cost > 0 || one.Total() == 0 {
			one.Cost = &cost
		}
		s.spent = append(s.spent, one)
	}
	slices.SortStableFunc(s.spent, func(a, b reprise.Request) int { return strings.Compare(a.Model, b.Model) })
	if r.Has("modelUsage") && len(s.spent) == 0 && !r.Odd() {
		s.spent = noRequest()
	}
	if cost := r.Number("total_cost_usd"); len(s.spent) == 0 && cost > 0 && !s.resumes && !r.Odd() {
		s.spent = []reprise.Request{{Tokens: transcript.Anthropic(r.At("usage")), Cost: &cost}} // of one that names no model
	}
}

// usedInAll notes figures of the whole session: those of the process only if it began
// the session.
func (s *stream) usedInAll(u loose.Value) {
	if u.Has() && !s.resumes {
		s.spent = []reprise.Request{{Tokens: transcript.Inclusive(u)}}
	}
}

// usedGemini notes what gemini says it used, by model.
func (s *stream) usedGemini(stats loose.Value) {
	models := stats.Fields("models")
	if s.spent = nil; stats.Has() && len(models) == 0 && !stats.Odd() {
		s.spent = noRequest()
	}
	for name, u := range models {
		s.spent = append(s.spent, reprise.Request{Model: name, Tokens: transcript.Inclusive(u)})
	}
	slices.SortStableFunc(s.spent, func(a, b reprise.Request) int { return strings.Compare(a.Model, b.Model) })
}
