package examine

import (
	"fmt"

	"reprise"
)

// falseCompletion reports steps that are marked done while evidence contradicts it and
// none supports it. It looks at finished runs too.
func falseCompletion(r *reprise.Run, _ *World) []reprise.Finding {
	var doubtful []*reprise.Step
	var reasons []string
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status != reprise.Done || s.Away != nil { // which is told as work that is not here
			continue
		}
		if why, no := contradicted(s); no {
			doubtful = append(doubtful, s)
			reasons = append(reasons, why)
		}
	}
	const most = 5
	var out []reprise.Finding
	for i, s := range doubtful {
		if i == most {
			break
		}
		f := reprise.Finding{
			Subject: s.ID, Source: s.Source,
			Message: fmt.Sprintf("%s is marked done, but the evidence contradicts that", name(s.ID)),
			Hint:    "check whether its work is there; if not, do it again",
		}
		if reasons[i] != "" {
			f.Message += ": " + reasons[i]
		}
		if more := len(doubtful) - most; i == most-1 && more > 0 {
			f.Message += fmt.Sprintf("; the same is true of %s after it", plural(more, "step"))
		}
		out = append(out, f)
	}
	return out
}

// contradicted returns the first evidence against a step, if there is none for it.
func contradicted(s *reprise.Step) (why string, no bool) {
	for _, e := range s.Evidence {
		if e.For {
			return "", false
		}
		if !no {
			why, no = e.Text, true
		}
	}
	return why, no
}

// closedOpen reports runs that ended with open steps, and whatever is called complete with
// open boxes. It leaves the reader's findings about the end of the run alone.
func closedOpen(r *reprise.Run, _ *World) []reprise.Finding {
	if told(r, reprise.CodeClosedOpen, "") {
		return nil
	}
	if r.State != reprise.Complete && r.State != reprise.Stopped {
		return openBoxes(r)
	}
	var open, spare []string
	for i := range r.Steps {
		switch s := &r.Steps[i]; {
		case s.Due():
			open = append(open, s.ID)
		case s.Optional:
			spare = append(spare, s.ID)
		}
	}
	if len(open) == 0 && len(spare) > 0 && r.State == reprise.Complete {
		return append(openBoxes(r), reprise.Finding{
			Severity: reprise.Info, Message: "optional and still open: " + list(spare),
			Hint: fmt.Sprintf("`reprise resume %s --from %s` does one of them", reprise.Pasted(r.ID, "RUN"), reprise.Pasted(spare[0], "STEP")),
		})
	}
	if len(open) == 0 {
		return openBoxes(r)
	}
	f := reprise.Finding{
		Severity: reprise.Info,
		Message:  fmt.Sprintf("ended on purpose with %s open: %s", plural(len(open), "step"), list(open)),
		Hint:     "only a person can decide to continue",
	}
	if r.State == reprise.Complete {
		f.Severity = reprise.Warning
		f.Message = fmt.Sprintf("marked complete with %s open: %s", plural(len(open), "step"), list(open))
		f.Hint = "close what is done, or reopen the run"
	}
	return []reprise.Finding{f}
}

// nothingMade reports the steps that are done by their agent's word alone.
func nothingMade(r *reprise.Run, _ *World) (out []reprise.Finding) {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Status == reprise.Done && s.Accepted != nil && s.Accepted.WordAlone {
			out = append(out, reprise.Finding{
				Subject: s.ID, Source: s.Source,
				Message: name(s.ID) + reprise.SaidAlone,
				Hint: fmt.Sprintf("check whether it was done before; if not, `reprise resume %s --from %s` does it again",
					reprise.Pasted(r.ID, "RUN"), reprise.Pasted(s.ID, "STEP")),
			})
		}
	}
	return out
}

// openBoxes reports the unticked tasks and criteria of what is marked complete.
func openBoxes(r *reprise.Run) []reprise.Finding {
	if f, ok := r.Unticked(); ok {
		return []reprise.Finding{f}
	}
	return nil
}
