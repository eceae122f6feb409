package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/journal"
)

// reopened gives the end of a step that was accepted and that the files call open all
// the same; nil for any other step.
func (w *work) reopened(s *reprise.Step) *reprise.Event {
	if s == nil {
		return nil
	}
	end := w.hist.Step(s.ID).Reopened(s)
	if end == nil || journal.NextRound(w.layout, s.ID, len(w.told), func(i int) *reprise.Event { return &w.told[i] }) {
		return nil
	}
	return end
}

// lost is reopened for a step whose files only ever add to what they tell: nobody
// opened it again, they lost that it was finished.
func (w *work) lost(s *reprise.Step) *reprise.Event {
	if keeps, ok := w.layout.(interface{ Appends() bool }); !ok || !keeps.Appends() {
		return nil
	}
	return w.reopened(s)
}

// The answers to what became of steps whose end the files lost.
const (
	lostDone  = "it is done"
	lostAgain = "do it again"
)

// lostPrefix begins the names of questions about steps whose end the files lost.
const lostPrefix = "lost-"

// doubt is what a person is asked about steps of which the files and the journal do
// not tell the same.
type doubt struct {
	prefix string // of the name of the question
	ends   []reprise.Event
	// ask words the question, tell what a person sees beside it.
	ask  func(names []string) string
	tell func(names []string) reprise.Finding
	// done and again are the answers.
	done, again string
}

// settleLost asks a person about steps that were accepted and whose files lost
// that, and does what they said: done once must not become done twice because a
// file was cut. Until then none of them is started.
func (w *work) settleLost(ctx context.Context) error {
	d := doubt{prefix: lostPrefix, done: lostDone, again: lostAgain}
	for i := range w.run.Steps {
		if end := w.lost(&w.run.Steps[i]); end != nil {
			d.ends = append(d.ends, *end)
		}
	}
	d.ask = func(names []string) string {
		if len(names) > 1 {
			return fmt.Sprintf("%s were finished and the files of the run have lost that. Are they done?", strings.Join(names, ", "))
		}
		return fmt.Sprintf("%s was finished at %s and the files of the run have lost that. Is it done?", names[0], d.ends[0].At.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	d.tell = func(names []string) reprise.Finding {
		return reprise.Finding{
			Code: reprise.CodeLostCompletion, Severity: reprise.Warning, Subject: names[0], Source: reprise.Source{File: w.ref.Path},
			Message: fmt.Sprintf("the files have lost that %s finished: nothing of that is done again before a person had a say", are(names)),
			Hint:    "`reprise log` shows what was recorded",
		}
	}
	if asked, err := w.settleDoubt(ctx, d); err != nil || !asked {
		return err
	}
	return w.settleLost(ctx)
}

// settleDoubt asks a person about steps, or does what they said of them. again reports
// that the answer said neither: it is used up, and the question comes again.
func (w *work) settleDoubt(ctx context.Context, d doubt) (again bool, err error) {
	id := w.doubtQuestion(d)
	if err := w.withdraw(ctx, d.prefix, id); err != nil || len(d.ends) == 0 {
		return false, err
	}
	q, asked := w.question(id)
	switch {
	case !asked:
		var names []string
		for _, end := range d.ends {
			names = append(names, end.Step)
		}
		w.notice(d.tell(names))
		return false, w.ask(ctx, reprise.Assignment{}, []reprise.Asked{{ID: id, Text: d.ask(names), Options: []string{d.done, d.again}, Closed: true}})
	case !q.Answered:
		return false, nil
	}
	slices.SortStableFunc(d.ends, func(a, b reprise.Event) int { return a.At.Compare(b.At) })
	var then []reprise.Event
	for _, end := range d.ends {
		switch q.Option(q.Answer) {
		case d.done:
			then = append(then, end)
		case d.again:
			then = append(then, resetBy(end.Step))
		}
	}
	if q.Option(q.Answer) == d.again {
		then = append(then, w.withdrawals("what it was said of is done again", anyStep)...)
	}
	then = append(then, reprise.Event{Kind: reprise.AnswerApplied, Question: id, Text: q.Answer, Actor: actor})
	then[0].At = w.Now()
	if err := w.recordAll(ctx, then...); err != nil {
		return false, err
	}
	return len(then) == 1, w.load()
}

// doubtQuestion names the question about steps: another one where they are others,
// or lost it again, or the answer said neither.
func (w *work) doubtQuestion(d doubt) string {
	if len(d.ends) == 0 {
		return ""
	}
	var which strings.Builder
	for _, end := range d.ends {
		fmt.Fprintf(&which, "%q %d %d\n", end.Step, end.Attempt, end.At.UnixNano())
	}
	name := d.prefix + reprise.HashOf([]byte(which.String())).String()[:8]
	for n := 1; ; n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		if q, asked := w.question(id); !asked || !q.Applied {
			return id
		}
	}
}

// withdraw takes questions about steps back that do not stand any more, all but one.
func (w *work) withdraw(ctx context.Context, prefix, but string) error {
	any := false
	for _, q := range w.run.PendingQuestions() {
		if !strings.HasPrefix(q.ID, prefix) || q.ID == but {
			continue
		}
		any = true
		if err := w.record(ctx, reprise.Event{Kind: reprise.AnswerApplied, At: w.Now(), Question: q.ID, Text: "the files have changed since; it is not asked any more", Actor: actor}); err != nil {
			return err
		}
	}
	if !any {
		return nil
	}
	return w.load()
}

func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " was"
	}
	return strings.Join(names, ", ") + " were"
}

// tellReopened says that a step is done again that was accepted. Files that keep
// only how things stand may have been changed on purpose or by a program that
// wrote what it had read before: they count, but not in silence.
func (w *work) tellReopened(step string) {
	s := w.run.Step(step)
	end := w.reopened(s)
	if end == nil {
		return
	}
	w.notice(reprise.Finding{
		Code: reprise.CodeLostCompletion, Severity: reprise.Warning, Subject: step, Source: s.Source,
		Message: fmt.Sprintf("%s was finished at %s, and its files call it %s now, which nobody here did: it is started again", step, end.At.UTC().Format("2006-01-02 15:04:05 MST"), s.Status),
		Hint:    "`reprise log` shows what was recorded",
	})
}
