package web

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
)

// Output is a part of what the agent of an attempt printed, in whole lines.
type Output struct {
	Text     string
	From, To int64 // where it stands among all of it
	Size     int64
	Root     string // the project
	Path     string // the file, relative to it
	Working  bool   // more may come
}

// Printed gives a part of what the agent of an attempt printed, up to a place in it, to
// its end if that is negative.
type Printed func(ctx context.Context, dir, run, step string, attempt int, to int64) (Output, error)

// Window is how many bytes of an output a page shows.
const Window = 64 << 10

type outputPage struct {
	target
	Output
	Step           string
	Attempt        int
	Back, Changes  string
	First, Earlier string // addresses of the parts before this one, "" at the beginning
	Later, Last    string // and behind it, "" at the end
	End            bool   // this is the end of it
}

// output shows a part of what an agent printed, the end if nothing else is asked for: a
// hundred megabytes are no more work than a page.
func (s *Server) output(r *http.Request) (frame, error) {
	t, err := s.targetOf(r)
	if err != nil {
		return frame{}, err
	}
	query := r.URL.Query()
	p := outputPage{target: t, Step: query.Get("step"), Back: t.link("run")}
	if p.Attempt, err = strconv.Atoi(query.Get("attempt")); err != nil || p.Attempt < 1 || p.Step == "" {
		return frame{}, &refusal{Message: "no such page", Exit: http.StatusNotFound}
	}
	to, err := strconv.ParseInt(query.Get("to"), 10, 64)
	if err != nil || to < 0 {
		to = -1
	}
	if p.Output, err = s.Printed(r.Context(), t.Dir, t.Run, p.Step, p.Attempt, to); err != nil {
		return frame{}, &refusal{Message: err.Error()}
	}
	p.Changes = t.attempt("changes", p.Step, p.Attempt)
	link := func(to int64) string {
		return t.link("output", "step", p.Step, "attempt", strconv.Itoa(p.Attempt), "to", strconv.FormatInt(to, 10))
	}
	if p.From > 0 {
		p.First, p.Earlier = link(min(Window, p.Size)), link(p.From)
	}
	if p.End = to < 0; !p.End {
		p.Last = t.attempt("output", p.Step, p.Attempt)
		if p.Later = p.Last; p.To+Window < p.Size {
			p.Later = link(p.To + Window)
		}
	}
	return frame{
		Title: p.Step + ", attempt " + strconv.Itoa(p.Attempt), name: "output.html", content: p, working: p.Working && p.End,
		folders: []string{filepath.Dir(filepath.Join(p.Root, filepath.FromSlash(p.Path)))},
	}, nil
}
