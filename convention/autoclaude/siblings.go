package autoclaude

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// laterTry looks for the same task under a later number: a task that is tried
// again gets a new folder with the same slug. Where a later one is complete,
// open work of this one is superseded; otherwise its existence is reported.
func (l *loader) laterTry() bool {
	r := l.run
	if l.where.base == "" || r.Phase == phaseHumanReview {
		return false
	}
	tries := l.laterTries()
	if len(tries) == 0 {
		return false
	}
	newest, finished := tries[0], false
	for _, p := range tries {
		if len(p.items) > 0 && p.done() == len(p.items) && !p.lossy && (closing(p.status) || p.qa == qaApproved) {
			newest, finished = p, true
			break
		}
	}
	message := fmt.Sprintf("the same task was tried again as %s, which is not finished either", strconv.Quote(path.Base(newest.dir)))
	if finished {
		message = fmt.Sprintf("the same task was tried again as %s and finished there", strconv.Quote(path.Base(newest.dir)))
		r.State, r.Phase, r.Reason, r.Next = reprise.Stopped, "superseded", message, nil
	}
	l.rd.Report(reprise.Finding{
		Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: r.ID, Source: reprise.Source{File: newest.dir},
		Message: message, Hint: "look at the later one first",
	})
	return finished
}

// maxTries bounds how many later tries are read.
const maxTries = 3

// try is a folder of the same task.
type try struct {
	number int
	name   string
}

// laterTries reads the newest plans of the same task, newest first. Slugs are
// cut short, so that different tasks can share one: the titles must agree too.
func (l *loader) laterTries() []*plan {
	number, slug, _ := strings.Cut(l.run.ID, "-")
	mine := doc.Numbers(number)
	if strings.Trim(slug, "-") == "" || len(mine) != 1 {
		return nil
	}
	home := path.Dir(l.run.Path)
	var later []try // the newest maxTries, newest first
	for _, e := range l.rd.Dir(home) {
		if !strings.HasSuffix(e.Name(), slug) {
			continue // of thousands, nearly all
		}
		digits, other, _ := strings.Cut(e.Name(), "-")
		theirs := doc.Numbers(digits)
		if e.IsDir() && other == slug && len(theirs) == 1 && theirs[0] > mine[0] {
			at := slices.IndexFunc(later, func(t try) bool { return t.number < theirs[0] })
			if at < 0 {
				at = len(later)
			}
			later = slices.Insert(later, at, try{theirs[0], e.Name()})
			later = later[:min(len(later), maxTries)]
		}
	}
	var out []*plan
	for _, t := range later {
		p := readPlan(l.fsys, path.Join(home, t.name))
		if p.ok() && (p.title == "" || strings.EqualFold(p.title, l.run.Title)) {
			out = append(out, p)
		}
	}
	return out
}
