package orchestrate

import (
	"fmt"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// against reports what the files of a story that is done say against that: a gate that failed
// last, a review that was rejected, criteria that are not met.
func (l *loader) against(s *storyDoc, all []say) {
	passed, found := gatePassed(all), s.unmet
	for _, g := range all {
		if (g.ledger == gateLedger || g.ledger == epicGate) && g.class == inProgress {
			found = append(found, g)
		}
	}
	if name := path.Join(projectOf(l.run.Path), "qa", l.run.ID, "loop-status.json"); l.r.Exists(name) {
		f := l.r.Open(name)
		if lp := readLoop(ledger.Root(f, f.YAML())); ledger.Ruling(lp.last) == reprise.Failed {
			found = append(found, say{ledger: loopLedger, word: lp.last, at: f.At(0)})
		}
	}
	if !passed {
		found = append(found, s.review...)
	}
	var said []string
	for _, f := range found[:min(len(found), 3)] {
		said = append(said, fmt.Sprintf("%s says %s", f.ledger, short(f.word, 60)))
	}
	if len(found) > 0 {
		l.report(reprise.Warning, reprise.CodeFalseCompletion, l.run.ID, found[0].at, "marked done, but "+strings.Join(said, ", "),
			"review it again, correct what is out of date, or reopen the story")
	}
}

// noticeUnmet keeps what a story says of criteria that are not met, and of its reviews since
// one passed.
func (s *storyDoc) noticeUnmet(m *doc.Markdown) {
	review, unmet := ledger.Objections(m, "qa result", "qa review", "qa re review", "re review", "resultado qa", "resultados qa", "resultados de qa")
	for _, o := range review {
		s.review = append(s.review, say{ledger: "QA results", word: o.Text, at: s.source(o.Line)})
	}
	for _, o := range unmet {
		s.unmet = append(s.unmet, say{ledger: "story", word: o.Text, at: s.source(o.Line)})
	}
}
