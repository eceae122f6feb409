package autoclaude

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// laterTry looks for the same task under a later number: a task that is tried
// again gets a new folder with the same slug. Where the later one is complete,
// open work of this one is superseded; otherwise that it exists is told.
func (l *loader) laterTry() bool {
	r := l.run
	number, slug, _ := strings.Cut(r.ID, "-")
	if strings.Trim(slug, "-") == "" || l.where.base == "" || r.Phase == phaseHumanReview {
		return false
	}
	mine := doc.Numbers(number)
	for _, e := range l.rd.Dir(path.Dir(r.Path)) {
		digits, other, _ := strings.Cut(e.Name(), "-")
		theirs := doc.Numbers(digits)
		if !e.IsDir() || other != slug || len(mine) != 1 || len(theirs) != 1 || theirs[0] <= mine[0] {
			continue
		}
		dir := path.Join(path.Dir(r.Path), e.Name())
		p := readPlan(l.fsys, dir)
		// Slugs are cut short, so that different tasks can share one.
		if !p.ok() || p.title != "" && !strings.EqualFold(p.title, r.Title) {
			continue
		}
		finished := len(p.items) > 0 && p.done() == len(p.items) && !p.lossy && (closing(p.status) || p.qa == qaApproved)
		message := fmt.Sprintf("the same task was tried again as %s, which is not finished either", strconv.Quote(e.Name()))
		if finished {
			message = fmt.Sprintf("the same task was tried again as %s and finished there", strconv.Quote(e.Name()))
		}
		l.rd.Report(reprise.Finding{
			Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: r.ID, Source: reprise.Source{File: dir}, Message: message,
			Hint: "resume the later one",
		})
		if finished {
			r.State, r.Phase, r.Reason, r.Next = reprise.Stopped, "superseded", message, nil
			return true
		}
	}
	return false
}
