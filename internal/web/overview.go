package web

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/report"
)

// perPage is how many runs a page lists: more of them make a browser slow, and no one
// reads them.
const perPage = 100

// line is one run in the list.
type line struct {
	report.Run
	target
	Name, Link string
	Key        string // tells it from all others while the page changes
	Age        string // in words
}

// open reports whether something is left to do or to look at: a run marked complete may
// have evidence against it.
func (l line) open() bool {
	return l.State.Open() || reprise.Decision{Action: l.Action, Verdict: l.Verdict}.Contested()
}

// group are runs of one project that stand together.
type group struct {
	folder
	Lines []line
}

// here are the sessions of agent CLIs in a folder that a person could want back.
type here struct {
	folder
	List []report.Session
}

// asking is what waits for a person: a question, or a run that needs a decision.
type asking struct {
	Text string
	Of   line
	Link string
}

// choice is one way to narrow the list.
type choice struct {
	Word, Mark, Link string
	Count            int
	On               bool
}

// overview is the content of the first page.
type overview struct {
	Waiting        []asking
	Choices        []choice
	Groups         []group
	Sessions       []here
	Search, State  string
	Shown, Of      int
	Earlier, Later string // addresses of the pages before and behind this one
	Failed         []folder
	Findings       []report.Finding
}

// overview lists the runs of all projects in the order one would resume them.
func (s *Server) overview(r *http.Request) (frame, error) {
	query := r.URL.Query()
	o := overview{Search: query.Get("q"), State: query.Get("state")}
	var all []line
	folders := s.folders(r.Context())
	for _, f := range folders {
		if f.Why != nil {
			o.Failed = append(o.Failed, f)
			continue
		}
		o.Findings = append(o.Findings, f.Status.Findings...)
		all = append(all, s.lines(f)...)
		if len(f.Status.Sessions) > 0 {
			o.Sessions = append(o.Sessions, here{f, f.Status.Sessions})
		}
	}
	for _, l := range all {
		questions := slices.Concat(l.Questions, l.Asks)
		for _, q := range questions {
			o.Waiting = append(o.Waiting, asking{q.Text, l, l.target.link("question", "question", q.ID)})
		}
		if len(questions) == 0 && l.Action == reprise.Ask && l.State.Open() {
			o.Waiting = append(o.Waiting, asking{"Needs a decision: " + l.Says, l, l.Link})
		}
	}
	o.choices(all)
	list := slices.DeleteFunc(slices.Clone(all), func(l line) bool { return !o.shows(l) })
	o.Of = len(list)
	at, _ := strconv.Atoi(query.Get("from"))
	at = min(max(at, 0), len(list))
	list = list[at:min(at+perPage, len(list))]
	o.Shown = len(list)
	if at > 0 {
		o.Earlier = o.link("from", strconv.Itoa(max(0, at-perPage)))
	}
	if at+len(list) < o.Of {
		o.Later = o.link("from", strconv.Itoa(at+len(list)))
	}
	for _, f := range folders {
		g := group{folder: f}
		for _, l := range list {
			if l.target.Index == f.Index {
				g.Lines = append(g.Lines, l)
			}
		}
		if len(g.Lines) > 0 {
			o.Groups = append(o.Groups, g)
		}
	}
	f := frame{Title: "Runs", name: "overview.html", content: o}
	for _, l := range all {
		f.working = f.working || l.State == reprise.Running
	}
	for _, folder := range folders {
		f.folders = append(f.folders, s.watched(folder)...)
	}
	return f, nil
}

// mostWatched bounds how many folders of a project are watched: the system has no room for
// any number of them. What changes elsewhere is seen a little later.
const mostWatched = 2000

// watched are the folders in which something changes while runs are worked on.
func (s *Server) watched(f folder) []string {
	root := f.Status.Root
	if f.Why != nil { // it may come back
		return []string{filepath.Dir(s.Dirs[f.Index])}
	}
	state := filepath.Join(root, s.State)
	out := []string{root, state, filepath.Join(state, "journal")}
	for _, r := range f.Status.Runs {
		if at := filepath.Join(root, filepath.FromSlash(r.Path)); r.State.Open() {
			out = append(out, at, filepath.Dir(at))
		}
	}
	for _, session := range f.Status.Sessions {
		out = append(out, filepath.Dir(session.Path))
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), mostWatched)]
}

// lines are the runs of a project, by state as every list for a person.
func (s *Server) lines(f folder) []line {
	lines := make([]line, len(f.Status.Runs))
	for i, d := range f.Status.Runs {
		t := target{Index: f.Index, Run: d.Layout + ":" + d.Path}
		lines[i] = line{Run: d, target: t, Name: f.names[i], Link: t.link("run"), Key: key(t), Age: s.age(d.LastActivity)}
	}
	return reprise.ByState(lines, func(l line) reprise.State { return cmp.Or(l.ListedAs, l.State) })
}

// key names a run in a page.
func key(t target) string {
	sum := fnv.New64a()
	fmt.Fprint(sum, t.Index, t.Run)
	return fmt.Sprintf("run-%x", sum.Sum64())
}

func (s *Server) age(at *time.Time) string {
	if at == nil {
		at = new(time.Time)
	}
	return reprise.Ago(s.Now(), *at)
}

// choices counts the runs of each state.
func (o *overview) choices(all []line) {
	counts, open := map[reprise.State]int{}, 0
	for _, l := range all {
		counts[l.State]++
		if l.open() {
			open++
		}
	}
	add := func(word, mark string, n int) {
		key := word
		if word == "open" {
			key = ""
		}
		link := overview{Search: o.Search, State: key}
		o.Choices = append(o.Choices, choice{Word: word, Mark: mark, Link: link.link(), Count: n, On: o.State == key})
	}
	add("open", "", open)
	for _, state := range []reprise.State{
		reprise.Running, reprise.Interrupted, reprise.Waiting, reprise.Unreadable, reprise.NotStarted, reprise.Stopped, reprise.Complete,
	} {
		if counts[state] > 0 {
			add(strings.ReplaceAll(state.String(), "_", " "), stateMarks[state], counts[state])
		}
	}
	add("all", "", len(all))
}

// shows reports whether a run is on the list that was asked for.
func (o *overview) shows(l line) bool {
	switch o.State {
	case "":
		if !l.open() {
			return false
		}
	case "all":
	default:
		if strings.ReplaceAll(l.State.String(), "_", " ") != o.State {
			return false
		}
	}
	for word := range strings.FieldsSeq(strings.ToLower(o.Search)) {
		if !strings.Contains(strings.ToLower(l.Name+" "+l.ID+" "+l.Title+" "+l.Layout+" "+l.Kind+" "+l.Project), word) {
			return false
		}
	}
	return true
}

// link is the address of this list, with more pairs of names and values.
func (o *overview) link(more ...string) string {
	query := url.Values{}
	if o.Search != "" {
		query.Set("q", o.Search)
	}
	if o.State != "" {
		query.Set("state", o.State)
	}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	if len(query) == 0 {
		return "./"
	}
	return "./?" + query.Encode()
}
