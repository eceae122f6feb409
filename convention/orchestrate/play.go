package orchestrate

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// How the runs of this convention are worked on: the development cycle of a story,
// the specification pipeline, the QA loop, epics with their waves, and named
// workflows.
//
// What holds for all of them: a reviewer's word counts only if it is known, and
// only a known approval lets anything pass; work that is sent back is done again,
// and after a number of times in a row a person is asked; what a person said is
// acted upon once.

// Steps, roles and options that several workflows share.
const (
	create, validate, implement, review, closing = "create", "validate", "implement", "qa", "close"

	allowMore, acceptIt, stopIt = "allow more iterations", "accept as it is", "stop"

	rejected, approved = "rejected", "approved"
)

// limits are how often in a row a step may send work back before a person is
// asked; defaultLimit is that of all others.
var limits = map[string]int{validate: 3, "critique": 3}

const defaultLimit = 5

func limit(step string) int {
	return cmp.Or(limits[step], defaultLimit)
}

// alone is for workflows that do one unit at a time.
type alone struct{}

// Pick implements reprise.Playbook.
func (alone) Pick(_ *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	if len(busy) > 0 || len(d.Units) == 0 {
		return nil
	}
	return d.Units[:1]
}

// rule gives the meaning of a verdict. In these workflows concerns are noted and
// the work passes.
func rule(word string) reprise.Ruling {
	if r := reprise.RulingOf(word); r != reprise.PassesWithConcerns {
		return r
	}
	return reprise.Passes
}

// judge turns a reviewer's verdict into what follows. known is what the files
// say where the reviewer left the verdict there instead.
func judge(reply reprise.Reply, known reprise.Ruling) reprise.Conclusion {
	word := rule(reply.Verdict)
	if word == reprise.NoRuling {
		word = known
	}
	c := reprise.Conclusion{Text: said(reply), Issues: len(reply.Issues)}
	switch word := doc.Fold(reply.Verdict); word {
	case "concerns", "waived":
		c.Verdict = word
	}
	switch word {
	case reprise.Passes:
		c.Outcome = approved
	case reprise.SendsBack:
		c.Outcome = rejected
	case reprise.Holds:
		c.Blocked = true
	case reprise.NoRuling:
		c.Problem = "the review gave no ruling"
	default:
		c.Problem = fmt.Sprintf("the ruling %s is unknown here", strconv.Quote(doc.Clip(reply.Verdict, 40)))
	}
	return c
}

// finished is for steps that judge nothing: whatever verdict they give, it is
// about their own work.
func finished(reply reprise.Reply) reprise.Conclusion {
	return reprise.Conclusion{Outcome: "completed", Text: said(reply)}
}

// said is what a reply says in words: the summary and what is to be changed.
func said(reply reprise.Reply) string {
	parts := append([]string{reply.Summary}, reply.Issues...)
	return doc.Clip(strings.TrimSpace(strings.Join(parts, " ")), 300)
}

// again reports whether a review sent the work back and it was not worked on since.
func again(r *reprise.Run, review, maker string) bool {
	s, m := r.Step(review), r.Step(maker)
	return s != nil && s.Rejected > 0 && (m == nil || m.Ended < s.Ended)
}

// escalations asks a person about steps that sent work back too often in a row.
func escalations(r *reprise.Run) []reprise.Event {
	if !r.State.Open() {
		return nil
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		id := escalation(s.ID)
		if s.Rejected < limit(s.ID) || pending(r, id) {
			continue
		}
		return []reprise.Event{{
			Kind: reprise.QuestionAsked, Step: s.ID, Phase: s.Phase, Question: id, Options: []string{allowMore, acceptIt, stopIt}, Closed: true,
			Text: fmt.Sprintf("%s sent the work back %d times in a row. How should it continue?", s.ID, s.Rejected),
		}}
	}
	return nil
}

func escalation(step string) string { return "escalation-" + strings.ReplaceAll(step, " ", "-") }

// pending reports whether a question waits for its answer, or the answer for
// its use.
func pending(r *reprise.Run, id string) bool {
	return slices.ContainsFunc(r.Questions, func(q reprise.Question) bool { return q.ID == id && !q.Applied })
}

// unused gives the answers on record that nothing was done with yet.
func unused(r *reprise.Run) []reprise.Question {
	var out []reprise.Question
	for _, q := range r.Questions {
		if q.Answered && !q.Applied {
			out = append(out, q)
		}
	}
	return out
}

// saidTo is what the answer to a question stands for, in folded words: one of its
// options, else the words themselves.
func saidTo(q reprise.Question) string {
	return doc.Fold(cmp.Or(q.Option(q.Answer), q.Answer))
}

// unheard asks again where the answer is not one of the options: earlier versions
// accepted any words.
func unheard(r *reprise.Run) []reprise.Event {
	for _, q := range unused(r) {
		ours := q.ID == closeState || strings.HasPrefix(q.ID, "escalation-") || r.Kind == reprise.KindEpic && (q.ID == openReview || strings.HasPrefix(q.ID, "gate-") || strings.HasPrefix(q.ID, "blocked-"))
		if ours && !q.Closed && len(q.Options) > 0 && q.Option(q.Answer) == "" {
			return []reprise.Event{{Kind: reprise.QuestionAsked, Step: q.Subject, Question: q.ID, Text: q.Text, Options: q.Options, Closed: true}}
		}
	}
	return nil
}

// applied is the event that an answer was used.
func applied(q reprise.Question) reprise.Event {
	return reprise.Event{Kind: reprise.AnswerApplied, Question: q.ID, Text: q.Answer, Actor: "person"}
}

// answers acts on answers to our own escalations and to questions that stand in
// the files. Others are for the agent that asked: they go with its next attempt.
func answers(r *reprise.Run, stop func(step string) []reprise.Event) []reprise.Event {
	if out := unheard(r); len(out) > 0 {
		return out
	}
	for _, q := range unused(r) {
		step, ours := strings.CutPrefix(q.ID, "escalation-")
		if !ours {
			switch {
			case q.Source.File == "":
				continue
			case saidTo(q) == stopIt && r.State.Open():
				return append(stop(""), applied(q))
			}
			return []reprise.Event{applied(q)}
		}
		for i := range r.Steps {
			if escalation(r.Steps[i].ID) == q.ID {
				step = r.Steps[i].ID
			}
		}
		var out []reprise.Event
		switch answer := saidTo(q); {
		case strings.HasPrefix(answer, "accept"):
			if s := r.Step(step); s != nil && (!s.Status.Closed() || r.Kind == reprise.KindSpecPipeline) {
				out = append(out, reprise.Event{Kind: reprise.StepFinished, Step: step, Phase: s.Phase, Outcome: "waived", Actor: "person", Text: "accepted as it is by a person"})
			}
		case answer == stopIt:
			out = stop(step)
		}
		return append(out, applied(q))
	}
	return nil
}

// ended is the event that a person stopped the run.
func ended(string) []reprise.Event {
	return []reprise.Event{{Kind: reprise.RunStopped, Actor: "person", Text: "stopped by a person"}}
}

// closeState is the question about a state whose story was closed outside of it,
// or for which it is unknown whether more would follow.
const closeState = "close-workflow"

// outside asks about a state that was left open while its story was closed.
func outside(r *reprise.Run, d reprise.Decision) []reprise.Event {
	if r.State != reprise.Complete || d.Action != reprise.Ask || pending(r, closeState) {
		return nil
	}
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Phase != "story" && !s.Status.Closed() {
			return askToClose(closeState, fmt.Sprintf("The story was completed outside this workflow, and %s is open. Close it?", s.ID))
		}
	}
	return nil
}

// askToClose asks whether a run is to be closed.
func askToClose(id, text string) []reprise.Event {
	return []reprise.Event{{Kind: reprise.QuestionAsked, Question: id, Text: text, Options: []string{"close it", "leave it open"}, Closed: true}}
}

// firstOf gives the first of several answers to what is to be recorded.
func firstOf(all ...[]reprise.Event) []reprise.Event {
	for _, out := range all {
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// closes gives the answer to closeState that is on record and was not used;
// yes tells that it is to be closed.
func closes(r *reprise.Run) (q reprise.Question, yes, ok bool) {
	for _, q := range unused(r) {
		if q.ID == closeState {
			return q, strings.HasPrefix(saidTo(q), "close"), true
		}
	}
	return q, false, false
}

// told lists the answers that the next attempt at a step should use.
func told(r *reprise.Run) []string {
	var out []string
	for _, q := range unused(r) {
		if q.Source.File == "" && !strings.HasPrefix(q.ID, "escalation-") && q.ID != closeState {
			out = append(out, q.ID)
		}
	}
	return out
}

// assignment is what every unit starts from.
func assignment(r *reprise.Run, u reprise.Unit, step, role string) reprise.Assignment {
	role = cmp.Or(role, "dev")
	a := reprise.Assignment{
		Unit: u, Step: step, Role: role, Template: role, Policy: reprise.Verify, Answers: told(r),
		Facts: map[string]string{"workflow": string(r.Kind), "phase": step},
	}
	if s := r.Step(step); s != nil && s.Rejected > 0 {
		a.Facts["iteration"], a.Facts["max"] = strconv.Itoa(s.Rejected+1), strconv.Itoa(limit(step))
	}
	return a
}

// Bounds for the text of a file in a prompt.
const (
	maxSection = 6000
	maxLine    = 200
)

// criteriaTitles and findingTitles are headings of a story.
var (
	criteriaTitles = []string{"Acceptance Criteria", "Critérios de Aceitação", "Critérios de Aceite", "Criteria", "验收标准"}
	findingTitles  = []string{"QA Results", "QA Findings", "Review Findings", "QA Review"}
)

// withTask adds what a step is to do and to leave, in at most n characters.
func withTask(r *reprise.Run, a *reprise.Assignment, s *reprise.Step, n int) {
	if s.Title != "" {
		a.Data = append(a.Data, reprise.Data{Name: "task", Source: s.Source, Text: doc.Clip(s.Title, n)})
	}
	for _, art := range r.Artifacts {
		if art.MadeBy == s.ID && fs.ValidPath(art.Path) && art.Presence != reprise.Unchecked {
			a.Expect = append(a.Expect, reprise.Expected{Path: art.Path})
		}
	}
}

// withStory adds what an agent should know of a story.
func withStory(fsys fs.FS, a *reprise.Assignment, story string) {
	if story == "" {
		return
	}
	a.Inputs = append(a.Inputs, story)
	a.Facts["story"] = story
	s := readStory(doc.NewReader(fsys), story)
	if s == nil || isYAML(story) {
		return
	}
	add := func(name string, line int, text string, n int) {
		if text = strings.TrimSpace(text); text != "" {
			a.Data = append(a.Data, reprise.Data{Name: name, Source: s.source(line), Text: doc.Clip(text, n)})
		}
	}
	add("title", 0, s.title, maxLine)
	if c, ok := s.claim(); ok {
		add("status", c.Source.Line, c.Word, maxLine)
	}
	if sec, ok := s.file.Markdown().Section(criteriaTitles...); ok {
		add("acceptance criteria", sec.Line, sec.Text(), maxSection)
	}
	if sec, ok := s.file.Markdown().Section(findingTitles...); ok {
		add("review findings", sec.Line, sec.Text(), maxSection)
	}
}

// storyOf returns the file of the story that a state is about, or "".
func storyOf(r *reprise.Run) string {
	for _, a := range r.Also {
		if a.Kind == reprise.KindStory {
			return a.Path
		}
	}
	return ""
}

// unwritten reports whether a story is only the form of one, whatever its status.
func unwritten(fsys fs.FS, r *reprise.Run) bool {
	if s := r.Step(create); s != nil && s.Status == reprise.Pending {
		return true
	}
	s := readStory(doc.NewReader(fsys), r.Path)
	return s != nil && s.form
}

// emptied reports whether nothing is left of a story.
func emptied(fsys fs.FS, story string) bool {
	s := readStory(doc.NewReader(fsys), story)
	return s != nil && s.file.Blank()
}

// Playbooks say how the runs of this convention are worked on, by their kind.
func Playbooks() map[reprise.Kind]reprise.Playbook {
	return map[reprise.Kind]reprise.Playbook{
		reprise.KindStory: Story{}, reprise.KindSpecPipeline: Pipeline{}, reprise.KindQALoop: Loop{}, reprise.KindEpic: Epic{}, reprise.KindWorkflow: Workflow{},
	}
}
