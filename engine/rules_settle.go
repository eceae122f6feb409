package engine

import "reprise"

// markLanded marks open steps as done that git shows to be done, once nothing is asked: a
// step that is done may answer a question.
func markLanded(v *View) []Op {
	if !v.Unmarked || v.Decision.Action == reprise.Ask {
		return nil
	}
	return []Op{{Mark: true}}
}

// settleOpen settles attempts that were started and have no end on record, by the policy
// recorded with their start. Each settlement is an event.
func settleOpen(v *View) []Op {
	if len(v.Open) == 0 {
		return nil
	}
	return []Op{{Settle: v.Open}}
}

// settlePhase records what the playbook wants recorded while nothing is at work: the end
// of a phase, a gate, the end of the run. Owed and held work comes first.
func settlePhase(v *View) []Op {
	if len(v.Due) == 0 || len(v.Run.Owed) > 0 || len(v.Held) > 0 {
		return nil
	}
	return []Op{{Record: v.Due, Phase: true}}
}
