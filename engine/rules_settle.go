package engine

import "reprise"

// markLanded marks steps that git shows and their ledger calls open once nothing is
// asked: a step that is done may settle what was asked.
func markLanded(v *View) []Op {
	if !v.Unmarked || v.Decision.Action == reprise.Ask {
		return nil
	}
	return []Op{{Mark: true}}
}

// settleOpen settles attempts that were started and whose end nobody saw, by the policy
// that was recorded with their start. How each was settled is an event; nothing is
// settled in silence.
func settleOpen(v *View) []Op {
	if len(v.Open) == 0 {
		return nil
	}
	return []Op{{Settle: v.Open}}
}

// settlePhase records what the playbook says is due while nothing is at work: the end
// of a phase, a gate, the end of the run. Owed and held work comes first.
func settlePhase(v *View) []Op {
	if len(v.Due) == 0 || len(v.Run.Owed) > 0 || len(v.Held) > 0 {
		return nil
	}
	op := Op{Record: v.Due, Phase: true}
	for _, ev := range v.Due {
		if ev.Kind == reprise.StepReset && ev.Actor != person {
			op.Reopened = append(op.Reopened, ev.Step)
		}
	}
	return []Op{op}
}
