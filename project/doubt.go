package project

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/journal"
)

// Doubt is a question about steps on which the files and the journal disagree. None of
// them is started until it is answered.
type Doubt struct {
	// Prefix begins the ids of questions of this kind; Question is the one about these
	// steps.
	Prefix   string
	Question reprise.Asked
	// Ends are the events that would record the steps as done.
	Ends []reprise.Event
	// Done, Again and Skip are the answers; Skip is "" where the files
	// cannot say that a step is left out. Each, of several steps, is the one that asks about
	// each of them alone.
	Done, Again, Skip, Each string
	// Finding is shown beside the question.
	Finding reprise.Finding
}

// Prefixes of questions: about steps whose end the files lost, steps that only the files
// mark done or started, and steps deleted from the files.
const (
	LostPrefix    = "lost-"
	ClaimedPrefix = "claimed-"
	BegunPrefix   = "begun-"
	RemovedPrefix = "removed-"
	// UnknownPrefix is for steps whose status the files do not say, OverwrittenPrefix for
	// the output of a finished step that something else changed.
	UnknownPrefix     = "unknown-"
	OverwrittenPrefix = "overwritten-"
)

// isDone is the answer that steps need not be done again, askEach the one that does not
// decide for all of them at once.
const (
	isDone  = "it is done"
	askEach = "ask about each"
)

// AsksDoubt reports whether a question is about a doubt. Layouts have questions with similar
// names.
func AsksDoubt(id string) bool { return doubtName.MatchString(id) }

var doubtName = regexp.MustCompile("^(?:" + strings.Join([]string{LostPrefix, ClaimedPrefix, BegunPrefix, RemovedPrefix, UnknownPrefix, OverwrittenPrefix, "altered-"}, "|") + ")(?:[0-9a-f]+-)?[0-9]+$")

// lapse closes questions that are over: about doubts that no longer exist, and those whose
// answer a step waited for that is closed since.
func (v *View) lapse() {
	for _, q := range v.Run.PendingQuestions() {
		waits := v.Run.Step(q.By)
		closed := q.By != "" && waits != nil && waits.Status.Closed()
		if closed || AsksDoubt(q.ID) && !slices.ContainsFunc(v.Doubts, func(d Doubt) bool { return d.Question.ID == q.ID }) {
			v.Lapsed = append(v.Lapsed, q.ID)
			v.Run.Lapse(q.ID)
		}
		if closed {
			v.Run.Report(Over(v.Run, q))
		}
	}
}

// Over tells that a question is no longer asked: the step that waited for its answer is closed.
func Over(r *reprise.Run, q reprise.Question) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodePendingQuestion, Severity: reprise.Info, Subject: q.By, Source: reprise.Source{File: r.Path},
		Message: fmt.Sprintf("%q is no longer asked: %s, which waited for the answer, is %s", q.Text, q.By, r.Step(q.By).Status),
	}
}

// Reopened returns the accepted end of a step that the files nevertheless mark open, or
// nil.
func (v *View) Reopened(s *reprise.Step) *reprise.Event {
	if s == nil || s.Status.Closed() {
		return nil
	}
	end := v.History.Step(s.ID).Reopened(s)
	if end == nil || v.nextRound(s.ID) {
		return nil
	}
	return end
}

// nextRound reports whether something that finished after a step reopened it: the end of
// a round of a loop reopens its phases.
func (v *View) nextRound(step string) bool {
	reopens := convention.Of(v.Run.Layout).Reopens
	if reopens == nil {
		return false
	}
	for _, ev := range slices.Backward(v.Events) {
		switch {
		case ev.Kind != reprise.StepFinished:
		case slices.Contains(reopens(ev.Step), step):
			return true
		case ev.Step == step:
			return false
		}
	}
	return false
}

// doubts finds what a person must be asked about the steps of a run.
func doubts(v *View) (out []Doubt) {
	if !v.Run.State.Open() || v.Run.State == reprise.Unreadable {
		return nil
	}
	lost, claimed, begun, unknown, far := doubtful(v)
	left := slices.DeleteFunc(slices.Clone(claimed), func(ev reprise.Event) bool { return !skipped(v.Files, ev.Step) })
	claimed = slices.DeleteFunc(claimed, func(ev reprise.Event) bool { return skipped(v.Files, ev.Step) })
	for _, sort := range []struct {
		ends                []reprise.Event
		prefix, again, code string
		one, many           string // what the question says of one step, and of several
		told                func(steps []string) string
	}{
		{
			lost, LostPrefix, "do it again", reprise.CodeLostCompletion,
			"", "were finished, but the run's files no longer say so",
			func(steps []string) string {
				return "the files no longer say that " + wereFinished(steps) + ": nothing is repeated until you decide"
			},
		},
		{
			claimed, ClaimedPrefix, "do it", reprise.CodeUnrecordedEnd,
			"is marked done in the run's files, but reprise has no record of it", "are marked done in the run's files, but reprise has no record of them",
			func(steps []string) string {
				return "something else wrote that " + wereFinished(steps) + ": nothing builds on it until you decide"
			},
		},
		{
			left, ClaimedPrefix, "do it", reprise.CodeUnrecordedEnd,
			"is marked skipped in the run's files, but reprise has no record of that", "are marked skipped in the run's files, but reprise has no record of that",
			func(steps []string) string {
				return "something else marked as skipped: " + strings.Join(steps, ", ") + "; nothing builds on it until you decide"
			},
		},
		{
			begun, BegunPrefix, "do it again", reprise.CodeUnrecordedEnd,
			"was started and cut off, and the journal has lost that", "were started and cut off, and the journal has lost that",
			func(steps []string) string {
				return "only the run's files say that " + strings.Join(steps, ", ") + " started: nothing is started again until you decide"
			},
		},
	} {
		for _, ends := range v.askedTogether(sort.prefix, sort.ends) {
			d := Doubt{Prefix: sort.prefix, Ends: ends, Done: isDone, Again: sort.again}
			says, asks := sort.one, "Is it done?"
			if len(ends) > 1 {
				says, asks, d.Each = sort.many, "Are they done?", askEach
			}
			if sort.prefix == ClaimedPrefix && (len(ends) == 1 || skipped(v.Files, ends[0].Step)) {
				d.Skip = v.skips(ends[0].Step)
			}
			d.Finding = reprise.Finding{Code: sort.code, Message: sort.told(stepsOf(ends))}
			if len(ends) == 1 && sort.prefix == LostPrefix {
				says = "was finished at " + clock(ends[0].At) + ", but the run's files no longer say so"
			}
			out = append(out, d.about(v.Run, strings.Join(stepsOf(ends), ", ")+" "+says+". "+asks))
		}
	}
	for _, end := range unknown { // what the files say of one tells nothing about another
		d := Doubt{
			Prefix: UnknownPrefix, Ends: []reprise.Event{end}, Done: isDone, Again: "do it",
			Skip:    v.skips(end.Step),
			Finding: reprise.Finding{Code: reprise.CodeUnknownStatus, Message: "whether " + end.Step + " was done is unknown: nothing is started until you decide"},
		}
		d = d.about(v.Run, end.Step+" is not clearly marked done or open in the run's files. Is it done?")
		if !far[end.Step] || v.Run.Question(d.Question.ID) != nil {
			out = append(out, d)
		}
	}
	return slices.Concat(out, removed(v), v.overwritten())
}

// skips returns the answer that a step is left out, "" where the files cannot say that.
func (v *View) skips(step string) string {
	if !v.canSkip(step) {
		return ""
	}
	return "leave it out"
}

// askedTogether groups steps by the questions about them. What a person has answered of some stays
// answered, whatever is to be asked of others since.
func (v *View) askedTogether(prefix string, ends []reprise.Event) (out [][]reprise.Event) {
	for _, q := range v.Run.Questions {
		if !q.Answered || q.Applied || !strings.HasPrefix(q.ID, prefix) {
			continue
		}
		sets := [][]reprise.Event{slices.DeleteFunc(slices.Clone(ends), func(ev reprise.Event) bool { return !slices.Contains(q.About, ev.Step) })}
		if q.About == nil { // recorded without them: its name tells, if it is about one or all
			sets = append(slices.Collect(slices.Chunk(ends, 1)), ends)
		}
		for _, about := range sets {
			if len(about) > 0 && strings.HasPrefix(q.ID, prefix+which(about)+"-") {
				out = append(out, about)
				ends = slices.DeleteFunc(slices.Clone(ends), func(ev reprise.Event) bool { return slices.Contains(stepsOf(about), ev.Step) })
				break
			}
		}
	}
	if len(ends) < 2 || v.asksEach(prefix) {
		return slices.AppendSeq(out, slices.Chunk(ends, 1))
	}
	return append(out, ends)
}

// which names what a question is about: it is another name if that is no longer the same.
func which(ends []reprise.Event) string {
	var b strings.Builder
	for _, end := range ends {
		fmt.Fprintf(&b, "%q %d %d\n", end.Step, end.Attempt, end.At.UnixNano())
		for _, e := range end.Stands {
			fmt.Fprintf(&b, "%q %s\n", e.Path, e.Before)
		}
	}
	return reprise.HashOf([]byte(b.String())).String()[:8]
}

// asksEach reports whether a person wanted to be asked about each step alone.
func (v *View) asksEach(prefix string) bool {
	return slices.ContainsFunc(v.Run.Questions, func(q reprise.Question) bool {
		return strings.HasPrefix(q.ID, prefix) && q.Applied && q.Option(q.Answer) == askEach
	})
}

// removed asks what to do about steps that an attempt deleted from the files. The answer
// can put them back if their former lines are known. While the attempt has no recorded
// end, settling it comes first and asks this too.
func removed(v *View) []Doubt {
	r := v.Run
	d := Doubt{Prefix: RemovedPrefix, Done: "leave it out", Again: "put it back"}
	options, names, from := []string{d.Again, d.Done}, []string(nil), []string(nil)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Removed == nil || v.History.Step(s.ID).Open != nil {
			continue
		}
		names = append(names, strings.TrimSpace(s.ID+" "+s.Title))
		if !slices.Contains(from, s.Source.File) {
			from = append(from, s.Source.File)
		}
		d.Ends = append(d.Ends, reprise.Event{Kind: reprise.StepSkipped, Step: s.ID, Actor: reprise.Person, Text: "a person said that it may go", Listed: s.Removed})
		if s.Removed.Text == "" {
			options = []string{d.Done}
		}
	}
	if d.Ends == nil {
		return nil
	}
	list := strings.Join(names, ", ")
	d.Finding = reprise.Finding{
		Code:    reprise.CodeStepsChanged,
		Message: "what was still to do was removed: " + list + "; the run is not complete until you decide",
	}
	ways := "Put it back, or leave it out?"
	if len(options) == 1 {
		ways = "Put it back by hand and resume, or leave it out? `reprise undo` lists what was kept."
	}
	d = d.about(r, "Still open, but removed from "+strings.Join(from, ", ")+": "+list+". "+ways)
	d.Question.Options = options
	return []Doubt{d}
}

// doubtful returns the ends of steps up to the next one: those the files lost, those that
// only the files mark done, those that only the files mark started, and those whose
// status the files do not say. far are those of the latter that come after the next one: about
// them nothing is asked before their turn, but what is asked stays. What reopened a step in the files, git or an editor, an
// agent or a person, cannot be seen: whether the work has to be done again is asked.
func doubtful(v *View) (lost, claimed, begun, unknown []reprise.Event, far map[string]bool) {
	far = map[string]bool{}
	r := v.Run
	point := len(r.Steps)
	if len(r.Next) > 0 {
		point = -1
		for i := range r.Steps {
			if r.Steps[i].ID == r.Next[0].ID {
				point = i
				break
			}
		}
	}
	end := func(s *reprise.Step) reprise.Event {
		return reprise.Event{Kind: reprise.StepFinished, Step: s.ID, Phase: s.Phase, Actor: reprise.Person, Text: "a person said that it is done"}
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		_, busy := v.AtWork[s.ID]
		switch was := v.Reopened(s); {
		case was != nil:
			lost = append(lost, *was)
		case busy:
		case s.Claimed:
			claimed = append(claimed, end(s))
		case r.FromFile && s.Status == reprise.InProgress && !s.Ours && !s.Again:
			// Its start is lost, and with it whether it may be repeated.
			begun = append(begun, end(s))
		case s.Status == reprise.Unknown && v.asksUnknown(s):
			unknown, far[s.ID] = append(unknown, end(s)), i > point
		}
	}
	return lost, claimed, begun, unknown, far
}

// asksUnknown reports whether to ask about a step whose status is unknown: the step is in
// a readable list and was not deleted from it, git does not show that it landed, and no
// attempt at it has to be settled first.
func (v *View) asksUnknown(s *reprise.Step) bool {
	return v.Run.Kind == reprise.KindTasks && len(v.Run.Unread) == 0 && s.Removed == nil && !s.Landed() && v.History.Step(s.ID).Open == nil
}

// dropLanded withdraws questions about steps that git shows to be done: those are marked
// instead.
func (v *View) dropLanded() {
	if slices.ContainsFunc(v.Doubts, func(d Doubt) bool { return d.Prefix == UnknownPrefix }) {
		v.Doubts = doubts(v)
		v.Run.Asks = v.asks()
	}
}

// about completes a doubt about the steps of a run. The question gets a new name if the
// steps differ, lost their end again, or an earlier answer settled nothing.
func (d Doubt) about(r *reprise.Run, text string) Doubt {
	d.Finding.Severity, d.Finding.Subject = reprise.Warning, cmp.Or(d.Ends[0].Step, r.ID)
	d.Finding.Source, d.Finding.Hint = reprise.Source{File: r.Path}, "`reprise log` shows what was recorded"
	d.Question = reprise.Asked{Text: text, Options: []string{d.Done, d.Again}, Closed: true, About: slices.DeleteFunc(stepsOf(d.Ends), func(id string) bool { return id == "" })}
	for _, more := range []string{d.Skip, d.Each} {
		if more != "" {
			d.Question.Options = append(d.Question.Options, more)
		}
	}
	name := d.Prefix + which(d.Ends)
	for n := 1; ; n++ {
		d.Question.ID = fmt.Sprintf("%s-%d", name, n)
		if q := r.Question(d.Question.ID); q == nil || !q.Applied {
			return d
		}
	}
}

// tellUnrecorded adds what is known of a run without a journal: what to ask, and where
// its files say that its work was accepted.
func (v *View) tellUnrecorded() {
	v.Doubts = doubts(v)
	v.Run.Asks = v.asks()
	v.tellCommitted()
}

// tellCommitted adds, for a run begun here, the commits in which its files say that its
// work was accepted, since the journal that says so may be lost.
func (v *View) tellCommitted() {
	if !v.Run.FromFile || !v.Run.State.Open() && v.Run.State != reprise.Complete {
		return
	}
	for i := range v.Run.Steps {
		if s := &v.Run.Steps[i]; s.Status == reprise.Done && len(s.Commits) > 0 && !s.Pieces {
			s.Accepted = &reprise.Acceptance{Commit: s.Commits[len(s.Commits)-1]}
		}
	}
}

// asks lists the questions to put before anything is started, except those already asked.
func (v *View) asks() (out []reprise.Asked) {
	if m := v.Changed; m != nil && m.Asks {
		out = append(out, m.Asked())
	}
	for _, d := range v.Doubts {
		out = append(out, d.Question)
	}
	return slices.DeleteFunc(out, func(q reprise.Asked) bool { return v.Run.Question(q.ID) != nil })
}

func stepsOf(events []reprise.Event) (out []string) {
	for _, ev := range events {
		out = append(out, ev.Step)
	}
	return out
}

// overstepped returns what Overstepped does for interrupted attempts. The next engine
// records and asks the same.
func (v *View) overstepped() (out []reprise.Event) {
	if v.Run.State == reprise.Running || v.Run.State == reprise.Unreadable {
		return nil
	}
	for _, open := range v.History.Open() {
		for _, ev := range append(Overstepped(v.Run, v.History, open.Step), Overrun(v.Run, v.History, open.Step)...) {
			if !slices.Contains(stepsOf(out), ev.Step) {
				out = append(out, ev)
			}
		}
	}
	return out
}

// OneWord reports whether all steps of a run follow from one word of its files.
func OneWord(r *reprise.Run) bool {
	f := r.Kind.Facts()
	return f.Phased && !f.Stories || convention.Of(r.Layout).Reopens != nil
}

// Overrun returns the steps that an attempt at one before them marked done with its own:
// they were to come after it. Phases of a loop may have ended in an earlier round.
func Overrun(r *reprise.Run, h *journal.History, by string) (out []reprise.Event) {
	at := slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return s.ID == by })
	if at < 0 || !OneWord(r) {
		return nil
	}
	reopens, behind := convention.Of(r.Layout).Reopens, []string{by}
	for _, s := range r.Steps[at+1:] {
		if len(s.Needs) > 0 && !slices.ContainsFunc(s.Needs, func(id string) bool { return slices.Contains(behind, id) }) {
			continue
		}
		behind = append(behind, s.ID)
		again := reopens != nil && slices.ContainsFunc(r.Steps, func(p reprise.Step) bool { return slices.Contains(reopens(p.ID), s.ID) })
		if s.Status == reprise.Done && (again || h.Step(s.ID).Accepted == nil) {
			says := s.Says(r.State)
			out = append(out, reprise.Event{Kind: reprise.StepOverstepped, Step: s.ID, By: by, Says: &says})
		}
	}
	return out
}

// Overstepped returns which other steps were marked done or optional since an attempt
// began, by none of their own, and which the files no longer declare. A step may continue as parts, and
// an attempt that is no step of the run itself, or no longer one, may plan other steps
// instead. Its own step must stay as well.
func Overstepped(r *reprise.Run, h *journal.History, by string) (out []reprise.Event) {
	list := convention.Of(r.Layout).Open != nil
	fresh := func(p *reprise.Step) bool {
		return !p.Status.Closed() && !slices.ContainsFunc(h.Listed, func(l reprise.Listed) bool { return l.ID == p.ID })
	}
	planned := !list && r.Step(by) == nil && slices.ContainsFunc(r.Steps, func(p reprise.Step) bool { return fresh(&p) })
	for _, l := range h.Listed {
		ev := reprise.Event{Kind: reprise.StepOverstepped, Step: l.ID, By: by}
		now, own := r.Step(l.ID), l.ID == by
		continued := slices.ContainsFunc(r.Steps, func(p reprise.Step) bool {
			rest, ok := strings.CutPrefix(p.ID, l.ID)
			switch {
			case !ok || rest == "":
				return false
			case rest[0] == '.':
				return own || !p.Status.Closed()
			case list: // it may stand there with more words, where it has no number
				return own && rest[0] == '-'
			}
			return (rest[0] == '-' || rest[0] == '/') && fresh(&p)
		})
		switch {
		case continued, own && now != nil, !own && h.Step(l.ID).Open != nil, now == nil && planned:
		case now == nil && (list || l.In != ""):
			ev.Listed = &l
			out = append(out, ev)
		case now != nil && (now.Status.Closed() || now.Optional && l.Required):
			out = append(out, ev)
		}
	}
	return out
}
