package ledger

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// rulings are the words with which a review, a gate or a self-check begins that accepts work
// or sends it back. A convention says where reviews stand; what they say is one table.
var rulings = map[reprise.Status][]string{
	reprise.Done: {"approve", "approved", "aprovado", "aprovada", "pass", "passed", "concerns", "waived", "go", "ready for done"}, reprise.Blocked: {"block", "blocked"},
	reprise.Failed: {
		"reject", "rejected", "reprovado", "reprovada", "rejeitado", "rejeitada", "fail", "failed", "needs work", "needs rework", "needs changes", "needs revision",
		"changes requested", "changes required", "request changes", "requested changes", "no go",
	},
}

// Ruling gives the meaning of a review's ruling: Pending if it says nothing. One that asks or
// takes itself back ("Passed? no", "pass / fail") is unknown. What stands behind it ("PASS
// (iteration 2)", "PASS — by @qa") changes nothing.
func Ruling(text string) reprise.Status {
	text, _ = cutRuling(text)
	whole := doc.Fold(text)
	words := strings.Fields(whole)
	switch {
	case len(words) == 0 && strings.ContainsAny(text, "❌✗✘") && !strings.ContainsAny(text, "✅✓✔?"):
		return reprise.Failed
	case len(words) == 0:
		return reprise.Pending
	}
	for _, status := range []reprise.Status{reprise.Done, reprise.Failed, reprise.Blocked} {
		for _, ruling := range rulings[status] {
			rest, ok := strings.CutPrefix(whole+" ", ruling+" ")
			if ok && !strings.Contains(text, "?") && !takesBack(rest) {
				return status
			}
		}
	}
	return reprise.Unknown
}

// takesBack reports whether the words behind a ruling deny it, or hold one that does not accept:
// a form offers several.
func takesBack(rest string) bool {
	return slices.ContainsFunc(slices.Concat([]string{"no", "not", "nao", "false", "pending"}, rulings[reprise.Failed], rulings[reprise.Blocked]), func(words string) bool {
		return strings.Contains(" "+rest+" ", " "+words+" ")
	})
}

// cutRuling separates a ruling from what is said about it.
func cutRuling(text string) (ruling, about string) {
	if at := aside().FindStringIndex(text); at != nil && at[0] > 0 {
		return text[:at[0]], text[at[0]:]
	}
	return text, ""
}

// closes reports whether what stands for a ruling, and is none of those known, leaves nothing
// open: it says that the work is good, is a form that nobody filled in, or is prose.
func closes(text string) bool {
	text, _, _ = strings.Cut(text, ". ")
	fold := nothing().ReplaceAllString(doc.Fold(text), "clean")
	good := praise().MatchString(fold) && !takesBack(fold) && !lacks().MatchString(fold)
	prose := !refuses().MatchString(fold) && (len(strings.Fields(fold)) > longestRuling || len(fold) > 20*longestRuling)
	return good || prose || form().MatchString(text)
}

// longestRuling is how many words a ruling has. What is longer tells of the review.
const longestRuling = 4

// Settled reports whether what stands behind a ruling says that what it asks for was done:
// "Changes Requested → Fixed".
func Settled(text string) bool {
	_, about := cutRuling(text)
	fold := doc.Fold(about)
	return !takesBack(fold) && slices.ContainsFunc(strings.Fields(fold), func(w string) bool {
		return slices.Contains([]string{"fixed", "resolved", "addressed", "corrigido", "corrigidos"}, w) || slices.Contains(rulings[reprise.Done], w)
	})
}

// Objection is what a document says against its work being done.
type Objection struct {
	Text string
	Line int
	// Answered says that it sent the work back, and all that it asked for is ticked since.
	Answered bool
	of       doc.Section // the review of which it is the ruling
	part     string      // the label, where it may be about a part of the work
}

// Against quotes objections in a sentence.
func Against(all []Objection) string {
	var said []string
	for _, o := range all[:min(len(all), 3)] {
		said = append(said, strconv.Quote(doc.Clip(o.Text, 60)))
	}
	return strings.Join(said, ", ")
}

// Objections reads what a document says against its work being done: unmet, of the tasks and
// criteria, and, in the sections whose titles begin in these ways, what its reviews say since
// one accepted it. A heading may hold the ruling itself.
func Objections(m *doc.Markdown, titles ...string) (review, unmet []Objection) {
	to := 0 // the last line of a section
	for _, sec := range m.Sections() {
		fold := doc.Fold(sec.Title)
		switch {
		case sec.Line <= to || sec.Level == 1:
			continue
		case slices.ContainsFunc(titles, func(title string) bool { return strings.HasPrefix(fold, title) }):
			review = reviewed(sec, review)
		case IsWork(sec.Title):
			for _, line := range sec.Lines() {
				if notMet(line.Text) {
					unmet = append(unmet, Objection{Text: strings.TrimSpace(line.Text), Line: line.No})
				}
			}
		default:
			continue
		}
		to = sec.Line + sec.Length()
	}
	for i, o := range review {
		listed, open := asked(m, o.of.Line, o.of.Line+o.of.Length())
		if !listed && len(review) == 1 { // else which review they belong to is unknown
			listed, open = asked(m, 0, math.MaxInt)
		}
		review[i].Answered = o.of.Line > 0 && listed && !open
	}
	return review, unmet
}

// asked reports whether what reviews ask for is listed between two lines of a document, and
// whether some of it is not ticked.
func asked(m *doc.Markdown, from, to int) (listed, open bool) {
	for _, sec := range m.Sections() {
		title := doc.Fold(sec.Title)
		if sec.Line < from || sec.Line > to || !strings.HasPrefix(title, "action items") && !strings.HasPrefix(title, "review follow up") {
			continue
		}
		for _, c := range sec.Boxes() {
			listed, open = true, open || !c.Ticked
		}
	}
	return listed, open
}

// Rejections reads what a review that is a document of its own says since it accepted the work.
func Rejections(m *doc.Markdown) []Objection { return reviewed(m.All(), nil) }

func reviewed(sec doc.Section, out []Objection) []Objection {
	// rule reports whether a text is a ruling. One that accepts settles what stands before it; a
	// bare status, which may be that of a part, only others of its kind. What concludes a review
	// with a word that is unknown here did not accept the work.
	rule := func(key, text string, line int, table bool) bool {
		part := ""
		if fold := doc.Fold(key); fold == "status" || advises().MatchString(fold) {
			part = fold
		}
		text = struck().ReplaceAllString(text, "")
		switch status := Ruling(text); {
		case status == reprise.Done, (status == reprise.Failed || status == reprise.Blocked) && Settled(text):
			out = slices.DeleteFunc(out, func(o Objection) bool { return part == "" || o.part == part })
		case status == reprise.Failed, status == reprise.Blocked, status == reprise.Unknown && concludes().MatchString(doc.Fold(key)) && !table && !closes(text):
			out = append(out, Objection{Text: strings.TrimSpace(text), Line: line, of: sec, part: part})
		default:
			return false
		}
		return true
	}
	_, own, _ := strings.Cut(colons.Replace(sec.Title), ":")
	rule("", own, sec.Line, false)
	bare := false // the ruling stands below its heading
	for _, line := range sec.Lines() {
		text := strings.TrimLeft(strings.TrimSpace(line.Text), "# ")
		if text == "" {
			continue
		}
		labels := append(line.Labels(), doc.Label{Key: "gate", Value: text})
		if !bare {
			key, value, _ := strings.Cut(colons.Replace(text), ":")
			labels[len(labels)-1] = doc.Label{Key: key, Value: value}
		}
		bare = rules(text) && !advises().MatchString(doc.Fold(text))
		for _, l := range labels {
			if advises().MatchString(doc.Fold(l.Key)) && len(strings.Fields(doc.Fold(l.Value))) > longestRuling {
				continue // it says what to do
			}
			if rules(l.Key) && rule(l.Key, l.Value, line.No, l.Form == doc.TableLabel) {
				break
			}
		}
		if notMet(line.Text) {
			out = append(out, Objection{Text: strings.TrimSpace(line.Text), Line: line.No})
		}
	}
	return out
}

// rules reports whether a label or heading names the ruling of a review: not an earlier one, nor
// one on a part.
func rules(key string) bool { return ruled().MatchString(strings.ReplaceAll(doc.Fold(key), "_", " ")) }

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
	colons     = strings.NewReplacer("\uff1a", ":")
	struck     = doc.Pattern(`(?s)~~.*?~~`) // it no longer holds
	advises    = doc.Pattern(`^(?:(?:qa|quality|final|review|overall) )*(?:recommendation|assessment)$`)
	ruled      = doc.Pattern(`^(?:(?:qa|quality|final|review|recommended|overall|gate) )*(?:gate|recommendation|assessment|verdict|veredito|decision|decisao|outcome|status|sign off|self check(?: result)?)$`)
	aside      = doc.Pattern(`[(—–→>;,]|--|\.(?:\s|$)`)
	form       = doc.Pattern(`^\W*[\[{<]|\s[/|]\s`)
	nothing    = doc.Pattern(`\bno (?:\w+ ){0,2}(?:issues?|changes?|fixes|findings?|concerns?|problems?|blockers?|follow ups?|actions?)\b(?: (?:required|needed|found|requested|remaining))?`)
	lacks      = doc.Pattern(`\b(?:partially|partly|almost|nearly|needs?|needed|required|requested|once|after|until|unless|before)\b`)
	refuses    = doc.Pattern(`^(?:(?:do )?not|cannot|needs?|fix(?:es)?|changes?|rework)\b`)
	praise     = doc.Pattern(`\b(?:approved?|aprobad[oa]|aprovad[oa]|accept(?:ed|able)?|pass(?:ed|es|ing)?|go|ok|okay|lgtm|success(?:ful)?|clean|completed?|done|fixed|resolved|addressed|applied|corrigidos?|excellent|outstanding|good|great|solid|sound|stable|secure|validated|verified|ready|merged?|shipped|production)\b`)
	concludes  = doc.Pattern(`(?:^| )(?:verdict|veredito|decision|decisao|outcome)$`)
	lineNotMet = doc.Pattern(`(?i)^[-*+>\d.\[\]x \t]*(?:❌[ *]*AC[ #-]*\d+\b|(?:AC[ #-]*\d+\b|(?:all )?(?:ACs|acceptance criteria) met\b)[^\pL\d|✓✅]*(?:[❌✗✘]|not met|unmet|not implemented|n[aã]o atendido|(?-i:FAIL(?:ED)?)\b))`)
	rowNotMet  = doc.Pattern(`(?i)^\|(?:[ *]*(?:AC[ #-]*)?\d+[ *]*\|(?:.*\|)?[ *]*(?:❌|not met|unmet|not implemented|n[aã]o atendido|(?-i:MISSING|FAIL(?:ED)?) *\|)|.*\|[ *]*not (?:done|implemented)[ *]*\|)`)
)
