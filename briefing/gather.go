package briefing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reprise"
)

func (g *gathering) goal() {
	r := g.Run
	g.add(Goal, fmt.Sprintf("the run %s (%s)", r.ID, r.Kind), r.Path)
	if r.Title != "" && r.Title != r.ID {
		g.add(Goal, r.Title, r.Path)
	}
	// A graph is no goal in words; its tasks are told below.
	if g.Goal != "" && g.Goal != r.Title && !strings.HasPrefix(g.Goal, "{") {
		g.add(Goal, g.Goal, r.Path)
	}
	for _, a := range r.Artifacts {
		if a.Critical && a.Presence == reprise.Present {
			g.add(Goal, "described in "+a.Path, a.Source.String(), a.Path)
		}
	}
}

// name is a step as a person would call it.
func name(id, title string) string {
	if title == "" || title == id {
		return id
	}
	return id + " " + title
}

// steps sorts what the ledgers say by how well it is founded.
func (g *gathering) steps() {
	doubtful := map[string]string{}
	for _, u := range append(slices.Clone(g.Decision.Doubtful), g.Decision.Verify...) {
		doubtful[u.ID] = u.Reason
	}
	for i := range g.Run.Steps {
		s := &g.Run.Steps[i]
		text, sources := name(s.ID, s.Title), g.sourcesOf(s)
		for _, c := range s.Noted {
			g.add(Progress, fmt.Sprintf("%s: %s noted that it %s; a claim that is not verified", s.ID, c.Ledger, c.Word), c.Source.String())
		}
		switch {
		case doubtful[s.ID] != "":
			g.add(Unknown, fmt.Sprintf("%s: called %s, but %s%s", text, s.Status, doubtful[s.ID], evidenceOf(s)), sources...)
		case s.Status == reprise.Skipped:
			g.add(Skipped, text+evidenceOf(s), sources...)
		case s.Status.Closed() && s.Grade >= reprise.Evidenced:
			key := Evidenced
			if s.Grade == reprise.Verified {
				key = Verified
			}
			g.add(key, fmt.Sprintf("%s: %s, %s%s", text, s.Status, s.Grade, evidenceOf(s)), sources...)
		case s.Status.Closed():
			g.add(Claimed, text+": "+s.Status.String(), sources...)
		case s.Status == reprise.Unknown:
			g.add(Unknown, text+": its status cannot be read as anything known", sources...)
		case s.Status == reprise.Failed || s.Status == reprise.Blocked:
			g.add(Unknown, text+": "+s.Status.String(), sources...)
		case s.Status != reprise.Pending || evidenceOf(s) != "":
			g.add(Progress, fmt.Sprintf("%s: %s%s", text, s.Status, evidenceOf(s)), sources...)
		}
	}
}

// evidenceOf gives the evidence for and against a step.
func evidenceOf(s *reprise.Step) string {
	var parts []string
	for _, e := range s.Evidence {
		if text := oneLine(e.Text); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

// sourcesOf names where a step's status and evidence stand.
func (g *gathering) sourcesOf(s *reprise.Step) []string {
	var out []string
	for _, c := range s.Claims {
		if c.Won {
			out = append(out, c.Source.String())
		}
	}
	if len(out) == 0 {
		out = append(out, s.Source.String())
	}
	for _, e := range s.Evidence {
		source := e.Source
		if strings.HasSuffix(e.Kind, "commit") {
			source = commit(source)
		}
		out = append(out, source)
	}
	return out
}

func journal(seq uint64) string { return fmt.Sprintf("journal #%d", seq) }

// attempts lists those whose end is not on record, and the last failures.
func (g *gathering) attempts() {
	open, cut, failed, held := map[string]Recorded{}, map[string]Recorded{}, map[string]Recorded{}, map[string]Recorded{}
	var order []string
	for _, ev := range g.Journal {
		if ev.Step != "" && !slices.Contains(order, ev.Step) {
			order = append(order, ev.Step)
		}
		switch ev.Kind {
		case reprise.RunStarted:
			clear(open)
			clear(cut)
			clear(failed)
		case reprise.StepStarted:
			open[ev.Step] = ev
			delete(held, ev.Step)
		case reprise.StepHeld:
			held[ev.Step] = ev
		case reprise.StepResolved:
			if ev.Outcome == string(reprise.Rerun) {
				cut[ev.Step] = ev
				delete(open, ev.Step)
			}
		case reprise.StepFailed:
			failed[ev.Step] = ev
			delete(open, ev.Step)
		case reprise.StepFinished, reprise.StepSkipped:
			delete(open, ev.Step)
			delete(cut, ev.Step)
			delete(failed, ev.Step)
		case reprise.StepReset, reprise.StepDeferred, reprise.StepBlocked:
			delete(open, ev.Step)
		}
	}
	for _, step := range order {
		if ev, ok := held[step]; ok && open[step].Attempt == ev.Attempt {
			g.add(Progress, fmt.Sprintf("%s: attempt %d ended well and its work is not committed: %s; `reprise resume` commits it, and it must not be done again", step, ev.Attempt, ev.Text), journal(ev.Seq))
		} else if ev, ok := open[step]; ok {
			if g.Decision.State == reprise.Running {
				g.add(Progress, fmt.Sprintf("%s: attempt %d is under way", step, ev.Attempt), journal(ev.Seq))
			} else {
				g.add(Unknown, ev.Unended(), journal(ev.Seq))
			}
		}
		if ev, ok := cut[step]; ok {
			g.add(Progress, fmt.Sprintf("%s: attempt %d was cut off: %s", step, ev.Attempt, ev.Text), journal(ev.Seq))
		}
		if ev, ok := failed[step]; ok {
			g.add(Progress, fmt.Sprintf("%s: attempt %d failed: %s", step, ev.Attempt, ev.Text), journal(ev.Seq))
		}
	}
}

// calls tells what sessions set out to do without a result on record.
func (g *gathering) calls() {
	for _, s := range g.Observed.Sessions {
		for _, c := range s.Calls {
			if c.Open() && !s.Caller {
				g.add(Unknown, begun(s, c, c.Text), fmt.Sprintf("%s transcript of %s", s.CLI, s.ID))
			}
		}
	}
}

// begun says what a session began, what became of it, and how to find out if that is not
// known.
func begun(s reprise.Session, c reprise.Call, text string) string {
	text = fmt.Sprintf("%s session %s began %s: %s; %s effect, %s", s.CLI, s.ID, c.Tool, text, cmp.Or(c.Effect, reprise.EffectUnknown), cmp.Or(c.Landing, reprise.LandingUnknown))
	if len(c.Signs) > 0 {
		text += ": " + strings.Join(c.Signs, "; ")
	}
	if c.Open() {
		text += "; to find out, " + c.Look()
	}
	return text
}

// InAir tells of the calls of sessions that have no result what an agent has to know
// that works where they did: what each was, whether it took effect and how to find out.
// It is "" if there are none. All of it is data: sessions wrote it.
func InAir(list []reprise.Session) string {
	var out strings.Builder
	for _, s := range list {
		for _, c := range s.Calls {
			if c.Passed || c.Effect == reprise.EffectNone {
				continue
			}
			fmt.Fprintf(&out, "- %s\n", oneLine(begun(s, c, c.Whole)))
		}
	}
	return out.String()
}

func (g *gathering) findings() {
	for _, f := range g.Run.Findings {
		if f.Severity >= reprise.Warning {
			g.add(Unknown, f.Message, f.Source.String())
		}
	}
}

// changes tells what is not as the state files left it.
func (g *gathering) changes() {
	git := g.Observed.Git
	if git == nil {
		if g.Observed.GitError != "" {
			g.add(Unknown, "git could not be asked: "+g.Observed.GitError, "git")
		}
		return
	}
	if git.Operation != "" {
		g.add(Changed, "a "+git.Operation+" is under way in the repository", "git status")
	}
	for _, c := range git.Changed {
		from := "git status"
		if c.Worktree != "" {
			from += " in " + c.Worktree
		}
		g.add(Changed, c.Says(), from)
	}
	if git.ChangedMore > 0 {
		g.add(Changed, fmt.Sprintf("%d more files are changed", git.ChangedMore), "git status")
	}
	for _, p := range slices.Sorted(maps.Keys(g.Observed.Sections)) {
		for _, c := range g.Observed.Sections[p] {
			what := "was changed"
			switch {
			case c.Added:
				what = "was added"
			case c.Removed:
				what = "was removed"
			}
			g.add(Changed, fmt.Sprintf("the section %q of %s %s", c.Title, p, what), p, commit(c.Commit))
		}
	}
	for _, c := range git.Commits {
		if !g.Run.LastActivity.IsZero() && c.At.After(g.Run.LastActivity) && c.OnHead && !c.Merge {
			g.add(Changed, "committed since: "+c.Subject, commit(c.Hash))
		}
	}
}

func commit(hash string) string {
	if hash == "" {
		return ""
	}
	return "commit " + hash[:min(12, len(hash))]
}

func (g *gathering) next() {
	d := g.Decision
	point := d.Point
	if s := g.Run.Step(g.Step); s != nil && g.Step != "" {
		u := s.Unit("")
		point = &u
	}
	if point != nil {
		text := name(point.ID, point.Title)
		if point.Phase != "" && point.Phase != point.ID {
			text += ", in " + point.Phase
		}
		if point.Role != "" {
			text += ", for the role " + point.Role
		}
		s, from := g.Run.Step(point.ID), []string{point.Path}
		if s != nil {
			from = append(from, s.Source.String())
		}
		g.add(Next, text, from...)
		if s != nil && len(s.Files) > 0 {
			g.add(Next, "it touches "+strings.Join(s.Files, ", "), s.Source.String())
		}
	} else if d.Action == reprise.Start {
		g.add(Next, "nothing has to be started: resuming settles what is left", g.Run.Path)
	} else {
		why := d.Action.String()
		if d.State == reprise.Running {
			why = "it is running"
		}
		g.add(Next, "nothing may be started: "+why, g.Run.Path)
	}
	for _, q := range d.Unanswered(g.Run) {
		if g.Run.Question(q.ID) == nil {
			g.add(DoNot, fmt.Sprintf("do not begin %s before a person has answered what resuming asks (%s): %s", cmp.Or(q.Subject, "anything"), q.ID, q.Text), g.Run.Path)
		}
	}
	for _, reason := range d.Reasons {
		g.add(Next, "because: "+reason, g.Run.Path)
	}
	for _, a := range d.Missing {
		g.add(Next, a.Path+" is needed and is "+a.Presence.String(), a.Source.String(), a.Path)
	}
}

func (g *gathering) doNot() {
	for _, q := range g.Run.Questions {
		switch {
		case !q.Answered:
			g.add(DoNot, fmt.Sprintf("do not decide what a person was asked (%s): %s", q.ID, q.Text), q.Source.String())
		case !q.Applied && q.Answer != "":
			g.add(DoNot, fmt.Sprintf("do not ask again (%s): %s -- the answer is: %s", q.ID, q.Text, q.Answer), q.Source.String())
		}
	}
	if d := g.Decision; d.Holder != nil {
		g.add(DoNot, "do not begin anything yet: it "+d.Holder.Holds(), d.Holder.Source.String())
	} else if d.Verdict == reprise.BlockedVerdict && d.State != reprise.Running && g.Step == "" {
		g.add(DoNot, "do not begin anything: it is blocked until a person has resolved what the reasons say", g.Run.Path)
	}
	if g.Decision.Action == reprise.Wait {
		g.add(DoNot, "do not start yet: it "+g.Run.Awaits(), "journal")
	}
	if o := g.Run.Owner; o != nil {
		if life, ok := g.Observed.Owners[o.Source]; ok && life.Life == reprise.Alive {
			g.add(DoNot, "do not begin at all while it is being worked on: "+life.Reason, o.Source.String())
		}
	}
	for _, u := range g.Decision.Verify {
		g.add(DoNot, "do not do "+name(u.ID, u.Title)+" again: check and mark it", u.Path)
	}
	var keep, skipped []string
	for _, id := range g.Decision.Keep {
		if s := g.Run.Step(id); s != nil && s.Status == reprise.Skipped {
			skipped = append(skipped, id)
		} else {
			keep = append(keep, id)
		}
	}
	if len(keep) > 0 {
		g.add(DoNot, "do not redo what stays valid: "+strings.Join(keep, ", "), g.Run.Path)
	}
	if len(skipped) > 0 {
		g.add(DoNot, "do not do what was left out: "+strings.Join(skipped, ", "), g.Run.Path)
	}
	if g.Run.Branch != "" {
		g.add(DoNot, "do not work on another branch than "+g.Run.Branch, g.Run.Path)
	}
	for _, w := range g.Run.Also {
		g.add(DoNot, "do not take the other copy of this run for another run: "+w.Path, w.Path)
	}
}

// others tells in a line each what else is open in the project.
func (g *gathering) others() {
	for _, o := range g.Others {
		g.add(Others, other(o), o.Run.Path)
	}
}

// other tells of a run in a line.
func other(o Other) string {
	text := fmt.Sprintf("%s (%s): %s, %s done", name(o.Name, o.Run.Title), o.Run.Kind, o.Decision.State, o.Run.Progress().Words(" of "))
	switch {
	case o.Decision.Point != nil:
		text += "; next is " + name(o.Decision.Point.ID, o.Decision.Point.Title)
	case len(o.Decision.Reasons) > 0:
		text += "; " + o.Decision.Reasons[0]
	}
	return text
}
