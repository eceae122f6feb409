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
		if lp := readLoop(ledger.Root(f, f.YAML())); verdict(lp.last) == reprise.Failed {
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
	to := 0 // the last line of a review
	for _, sec := range m.Sections() {
		switch {
		case sec.Line <= to || sec.Level == 1:
		case titled(sec.Title, "qa result", "qa review", "resultado qa", "resultados qa", "resultados de qa"):
			to = sec.Line + sec.Length()
			s.readReview(sec)
		case ledger.IsWork(sec.Title):
			to = sec.Line + sec.Length()
			for _, line := range sec.Lines() {
				if notMet(line.Text) {
					s.unmet = append(s.unmet, say{ledger: "story", word: strings.TrimSpace(line.Text), at: s.source(line.No)})
				}
			}
		}
	}
}

// readReview reads the rulings of a section in their order: one that passed settles what
// stands before it.
func (s *storyDoc) readReview(sec doc.Section) {
	bare := false // the ruling stands below its heading
	for _, line := range sec.Lines() {
		text := strings.TrimLeft(strings.TrimSpace(line.Text), "# ")
		if text == "" {
			continue
		}
		labels := append(line.Labels(), doc.Label{Key: "gate", Value: text})
		if !bare {
			key, value, _ := strings.Cut(colons(text), ":")
			labels[len(labels)-1] = doc.Label{Key: key, Value: value}
		}
		bare = isGateKey(text)
		for _, label := range labels {
			if !isGateKey(label.Key) {
				continue
			}
			switch word := struck().ReplaceAllString(label.Value, ""); gateClass(word) {
			case done:
				s.review = nil
			case inProgress:
				s.review = append(s.review, say{ledger: "QA results", word: strings.TrimSpace(word), at: s.source(line.No)})
			default:
				continue
			}
			break
		}
		if notMet(line.Text) {
			s.review = append(s.review, say{ledger: "QA results", word: strings.TrimSpace(line.Text), at: s.source(line.No)})
		}
	}
}

// isGateKey reports whether a label or heading names the ruling of a review.
func isGateKey(key string) bool {
	return oneOf(strings.ReplaceAll(doc.Fold(key), " ", "_"),
		"gate|qa_gate|quality_gate|gate_status|gate_decision|qa_gate_decision|gate_verdict|verdict|final_verdict|veredito|decision")
}

// notMet reports whether a line says of a criterion that it is not met. A sign within its text
// is part of what it asks for.
func notMet(line string) bool {
	text := strings.TrimSpace(line)
	if strings.HasPrefix(text, "|") {
		return rowNotMet().MatchString(text)
	}
	return lineNotMet().MatchString(text)
}

var (
	lineNotMet = doc.Pattern(`(?i)^[-*+>\d.\[\]x \t]*(?:❌[ *]*AC[ #-]*\d+\b|AC[ #-]*\d+\b[^\pL\d|]*(?:❌|not met|unmet|n[aã]o atendido))`)
	rowNotMet  = doc.Pattern(`(?i)^\|[ *]*(?:AC[ #-]*)?\d+[ *]*\|(?:.*\|)?[ *]*(?:❌|not met|unmet|n[aã]o atendido)`)
)
