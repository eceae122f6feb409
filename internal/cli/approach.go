package cli

import (
	"errors"
	"slices"
	"strings"

	"reprise"
	"reprise/engine"
	"reprise/report"
)

// approach does what must happen before the work: if necessary, a person is shown the run
// and chooses, agrees or confirms. ok is false if nothing is to be done; the user has
// then been told.
func (s *job) approach(p *page, j judged, wish engine.Wish) (_ engine.Choice, ok bool, err error) {
	how, choice, err := wish.Approach(j.run, j.d)
	if e, is := errors.AsType[*engine.UnattendedError](err); is {
		err = s.unattended(j, e.Need)
	}
	if err != nil {
		return choice, false, err
	}
	switch how {
	case engine.PickWay:
		p.asking = true
		return s.pickWay(p, j, choice)
	case engine.SayWord:
		p.asking, p.full = true, true
		p.check(j)
		if choice.Means().GivesUp {
			p.say("The old state is archived and the work starts from scratch.")
		} else if j.d.Verdict == reprise.BlockedVerdict {
			return choice, false, &engine.UnsafeError{Run: j.run.ID, Reasons: j.d.Reasons, Came: j.d.Outcome()}
		}
		ok, err = s.saysProceed(p)
		return choice, ok, err
	}
	ok, err = s.follow(p, j, how, &choice)
	if err == nil && !ok {
		err = fail(exitNeedsAnswer, "", "nothing was started")
	}
	return choice, ok, err
}

// follow asks for what an approach needs before it can be taken.
func (s *job) follow(p *page, j judged, how engine.Approach, choice *engine.Choice) (ok bool, err error) {
	switch how {
	case engine.GiveUp:
		return s.confirm(s.ctx, s.flags.upkeepFlags, "The old state is archived and the work starts from scratch. Do it?")
	case engine.PickStep:
		choice.From, err = s.chooseStep(p, j)
		return choice.From != "", err
	}
	return how == engine.Go, nil
}

// pickWay shows the run and lets a person choose.
func (s *job) pickWay(p *page, j judged, choice engine.Choice) (engine.Choice, bool, error) {
	p.decision(j)
	p.gap()
	p.verdictAgain(j)
	options := j.d.Options(j.run)
	if len(options) == 0 {
		p.say("It cannot be resumed as it is; `" + s.command("check", j.name) + "` says why.")
		s.came(j.d.Outcome())
		return choice, false, nil
	}
	return s.picked(p, j, choice, options)
}

// picked lets a person choose one of the options, and asks for what it needs.
func (s *job) picked(p *page, j judged, choice engine.Choice, options []reprise.Option) (engine.Choice, bool, error) {
	key, err := s.choose(s.ctx, options)
	if err != nil {
		return choice, false, err
	}
	choice.Option = key
	how, err := engine.Picked(j.run, j.d, key)
	if err != nil {
		return choice, false, err
	}
	ok, err := s.follow(p, j, how, &choice)
	switch {
	case err != nil:
		return choice, false, err
	case !ok:
		s.came(reprise.OutcomeAsk)
		p.say("Nothing was started.")
	case choice.Means().Works:
		p.gap()
	}
	return choice, ok, nil
}

// chooseStep asks at which step to restart; "" for none.
func (s *job) chooseStep(p *page, j judged) (string, error) {
	p.heading("Steps:")
	p.numbered("  ", report.Each(j.run.Steps, func(st reprise.Step) string { return stepName(st.ID, st.Title) + " -- " + stepWords(&st) }), linesTitle)
	n, err := s.chooseNumber(s.ctx, len(j.run.Steps))
	if err != nil || n == 0 {
		return "", err
	}
	return j.run.Steps[n-1].ID, nil
}

// saysProceed waits for the confirmation that ends a pre-flight check. With any other
// reply it says that nothing was started.
func (s *job) saysProceed(p *page) (bool, error) {
	line, _, err := s.readLine(s.ctx, "> ")
	if err != nil {
		return false, err
	}
	if strings.ToLower(strings.TrimSpace(line)) == "proceed" {
		return true, nil
	}
	p.say("Nothing was started.")
	s.came(reprise.OutcomeAsk)
	return false, nil
}

// opens arranges for the confirmation to be shown once the work begins, if the run is
// resumed as it is.
func (s *job) opens(p *page, j judged, choice engine.Choice) {
	s.opening = nil
	if !choice.Means().Works {
		return
	}
	p.asksFirst = j.d.Point != nil && !startsUnanswered(j) && choice.Option != reprise.OptionAnswer
	s.opening = func() {
		j.d = j.d.From(j.run, choice.From)
		p.asking = true
		show := formOf(j.run.Kind).confirm
		if show == nil {
			show = (*page).confirmation
		}
		show(p, j)
		if !p.full {
			p.section("Warnings:", findingTexts(j.run.Findings, reprise.Warning), 0, linesMessage)
		}
		p.section("Done before, and done again:", doneAgain(j.run, choice.From), shownPhases, linesTitle)
		p.gap()
	}
}

// doneAgain names the steps that are done and that going back to a step repeats.
func doneAgain(r *reprise.Run, from string) (out []string) {
	at := slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return from != "" && s.ID == from })
	if at < 0 {
		return nil
	}
	again := r.AgainFrom(at)
	for _, s := range r.Steps {
		if again[s.ID] && s.Status == reprise.Done {
			out = append(out, stepName(s.ID, s.Title))
		}
	}
	return out
}
