package eventrun

import (
	"fmt"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// stage is where a run stands, independent of how its version numbers phases.
type stage uint8

const (
	stageNone stage = iota
	intake
	planning
	approval
	execution
	cleanup
	consolidation
)

// numbering is one of the three ways to number phases. Versions of the workflow number
// the same stages differently, and no event says which numbering it uses.
type numbering []struct {
	name  string
	stage stage
}

var (
	seedNumbers = numbering{
		{"intake", intake}, {"planning", planning}, {"execution", execution}, {"cleanup", cleanup}, {"consolidation", consolidation},
	}
	unifiedNumbers = numbering{
		{"intake", intake}, {"routing", planning}, {"planning", planning}, {"approval", approval},
		{"execution", execution}, {"cleanup", cleanup}, {"consolidation", consolidation},
	}
	stateNumbers = numbering{
		{"intake", intake}, {"prd", intake}, {"bootstrap detection", planning}, {"dependency check", planning},
		{"bootstrap planning", planning}, {"bootstrap tasks", planning}, {"bootstrap approval", approval},
		{"development planning", planning}, {"development approval", approval},
		{"execution", execution}, {"cleanup", cleanup}, {"consolidation", consolidation},
	}
)

func (n numbering) at(no int) stage {
	if no < 0 || no >= len(n) {
		return stageNone
	}
	return n[no].stage
}

// label names a stage. If a stage has several numbers the last one is used: the earlier
// ones are its parts.
func (n numbering) label(s stage) string {
	if s == approval && len(n) == len(seedNumbers) {
		s = planning // the gate is at the end of this phase
	}
	for i := len(n) - 1; i >= 0; i-- {
		if n[i].stage == s {
			return strconv.Itoa(i) + " " + n[i].name
		}
	}
	return ""
}

// stageWord parses the name of a phase.
func stageWord(name string) stage {
	word := doc.Fold(name)
	for _, n := range []numbering{stateNumbers, unifiedNumbers, seedNumbers} {
		for _, p := range n {
			if p.name == word {
				return p.stage
			}
		}
	}
	switch {
	case word == "":
		return stageNone
	case strings.Contains(word, "approv"):
		return approval
	case strings.Contains(word, "exec"), strings.Contains(word, "verif"), strings.Contains(word, "implement"):
		return execution
	case strings.Contains(word, "clean"), strings.HasPrefix(word, "pr "):
		return cleanup
	case strings.Contains(word, "consolid"):
		return consolidation
	case strings.Contains(word, "plan"), strings.Contains(word, "bootstrap"), strings.Contains(word, "dependency"):
		return planning
	case strings.Contains(word, "intake"), strings.Contains(word, "prd"), strings.Contains(word, "requirement"):
		return intake
	}
	return stageNone
}

// recorded is what a ledger says about the phase.
type recorded struct {
	number, from int // -1 if it gives none
	name         string
	ledger       string
	source       reprise.Source
	key          key
	set          bool
	own          bool // in the numbering of workflow-state.json
}

// recordedPhase returns the latest statement about the phase: from the events, or from a
// newer state file.
func (m *model) recordedPhase() recorded {
	r := recorded{number: -1, from: -1}
	if n := &m.log.latest[phaseMoved]; n.set {
		b := n.body()
		r = recorded{number: -1, from: -1, ledger: "events", source: m.sourceOf(n.key), key: n.key, set: true}
		if no, ok := b.number("to_phase", "phase"); ok {
			r.number = no
		} else {
			r.name = b.text("to_phase", "phase")
		}
		if no, ok := b.number("from_phase"); ok {
			r.from = no
		}
		if name := b.text("phase_name", "to_phase_name"); name != "" {
			r.name = name
		}
	}
	for _, led := range m.states {
		if led.phase < 0 && led.phaseName == "" {
			continue
		}
		at := never
		if !led.updated.IsZero() {
			at = instantOf(led.updated)
		}
		if !r.set || (key{at: at}).after(r.key) {
			r = recorded{number: led.phase, from: -1, name: led.phaseName, ledger: led.name, source: led.phaseAt, key: key{at: at}, set: true, own: led.phase >= 0}
		}
	}
	return r
}

// numberings lists the possible ways to count, most likely first.
func (m *model) numberings(r recorded) []numbering {
	later := m.made("bootstrap-plan.md") || m.log.latest[unifiedMarker].set || m.log.latest[bootGateShown].set ||
		m.log.latest[bootGateAnswered].set || m.log.latest[gateShown].set || m.log.latest[depsPending].set || m.log.latest[depsSettled].set
	hasState := false
	for _, led := range m.states {
		hasState = hasState || led.name == "workflow-state.json"
	}
	top := max(r.number, r.from)
	switch {
	case r.own || top > 6:
		return []numbering{stateNumbers}
	case hasState:
		return []numbering{stateNumbers, unifiedNumbers}
	case later || top > 4:
		return []numbering{unifiedNumbers, stateNumbers}
	}
	return []numbering{seedNumbers, unifiedNumbers, stateNumbers}
}

// readPhase converts a recorded phase to a stage, using the numbering that agrees with
// the artifacts, if there is one.
func (m *model) readPhase(r recorded, inferred stage) (stage, numbering) {
	ways := m.numberings(r)
	if s := stageWord(r.name); s != stageNone {
		for _, n := range ways {
			if n.at(r.number) == s {
				return s, n
			}
		}
		return s, ways[0]
	}
	for _, n := range ways {
		if n.at(r.number) == inferred || inferred == approval && len(n) == len(seedNumbers) && n.at(r.number) == planning {
			return inferred, n
		}
	}
	return ways[0].at(r.number), ways[0]
}

// phaseLabel names the run's stage, with the recorded number if it is one of that
// stage's.
func phaseLabel(r recorded, n numbering, s stage) string {
	if n.at(r.number) == s && r.set {
		return strconv.Itoa(r.number) + " " + n[r.number].name
	}
	return n.label(s)
}

// settlePhase compares the recorded phase with what the artifacts allow, and returns the
// stage to continue with.
func (m *model) settlePhase(inferred stage) stage {
	r := m.recordedPhase()
	said, way := m.readPhase(r, inferred)
	at := inferred
	switch {
	case !r.set:
	case said == stageNone:
		m.r.Report(reprise.Finding{
			Code: reprise.CodeUnknownStatus, Severity: reprise.Warning, Subject: r.ledger, Source: r.source,
			Message: fmt.Sprintf("phase %q is not part of this workflow; the artifacts decide", doc.Clip(strings.TrimSpace(phaseText(r)), 40)),
		})
	case said == planning && inferred == intake && strings.HasPrefix(r.ledger, "manifest"):
		// That file has no word for what comes before the plan.
	case said > inferred:
		m.r.Report(reprise.Finding{
			Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: r.ledger, Source: r.source,
			Message: fmt.Sprintf("phase %s is on record, but the artifacts and tasks are at %q; what is missing comes first", strings.TrimSpace(phaseText(r)), way.label(inferred)),
			Hint:    "check whether an artifact was lost",
		})
	case said < inferred && r.from > r.number && r.number >= 0 && said <= approval && !m.startedAfter(r.key):
		// Sent back on purpose: what was approved no longer is.
		at = said
	}
	m.run.Phase = phaseLabel(r, way, at)
	return at
}

// quietPhase names the phase of a closed run, for which a missing phase event does no
// harm.
func (m *model) quietPhase(inferred stage) {
	r := m.recordedPhase()
	said, way := m.readPhase(r, inferred)
	m.run.Phase = phaseLabel(r, way, max(said, inferred))
}

func phaseText(r recorded) string {
	if r.number < 0 {
		return r.name
	}
	return strconv.Itoa(r.number) + " " + r.name
}

// startedAfter reports whether a task was worked on after a position in the log.
func (m *model) startedAfter(k key) bool {
	for _, s := range m.steps {
		if s.events != nil && s.events.word != nil && s.events.kind != taskPending && s.events.last.after(k) {
			return true
		}
	}
	return false
}
