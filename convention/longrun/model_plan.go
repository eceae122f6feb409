package longrun

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// plan is one plan of either dialect with what every ledger says about it. It exists as
// soon as one file mentions it.
type plan struct {
	planKey        // in `.long-run/` a number alone, in no phase
	id      string // as its file name spells it
	path    string // the PLAN file, "" if there is none
	source  reprise.Source
	title   string
	needs   []planKey
	files   []string // that it says it changes
	summary *summary
	agents  []*agentEntry // in file order

	claims []reprise.Claim // the strongest ledger first
	status reprise.Status

	// In `.long-run/` only.
	read       bool // what the file says is known
	group      string
	tasks      []task
	checkpoint *checkpoint

	// In `.planning/` only.
	wave       int  // -1: not declared; some projects begin with 0
	declared   bool // depends_on is there
	human      bool // autonomous: false
	superseded string
	promised   []string // must_haves.artifacts
	size       int
	box        *box   // in ROADMAP.md
	why        string // it is offered
	done       bool   // its summary closes it
	live       bool   // it is really left to do
	recorded   bool   // two records call it done, and it has no summary
	closed     bool   // its phase is recorded complete, and itself it is not
	orphan     bool   // it lies outside the roadmap
	disputed   bool   // STATE.md calls it done, its box in ROADMAP.md does not
}

// task is one task of a plan, as the plan's file has it.
type task struct {
	name  string
	text  string // the block around it
	files []string
	line  int
}

// summary is a SUMMARY file with the places of what it states.
type summary struct {
	file    string
	source  reprise.Source // of the status
	status  reprise.Status
	word    string
	reason  string
	at      time.Time
	made    []string // files it says were made
	commits []string // that it names

	statusAt ledger.Text // where the status stands, or would stand
	endedAt  ledger.Text
	reasonAt ledger.Text
}

// name is the file, "" if there is none.
func (s *summary) name() string {
	if s == nil {
		return ""
	}
	return s.file
}

// endText is the time of a plan's summary as written.
func (p *plan) endText() string {
	if p.summary == nil {
		return ""
	}
	return p.summary.endedAt.Value
}

// claim is what the summary says of its plan.
func (s *summary) claim() reprise.Claim {
	return reprise.Claim{Ledger: "SUMMARY", Status: s.status, Word: cmp.Or(s.word, "unreadable"), Source: s.source, At: s.at}
}

// latest is the last entry of an agent about the plan, nil if there is none.
func (p *plan) latest() *agentEntry {
	if len(p.agents) == 0 {
		return nil
	}
	return p.agents[len(p.agents)-1]
}

// planSet collects plans by their keys.
type planSet map[planKey]*plan

// at gives the plan of a key, made if nothing spoke of it before.
func (s planSet) at(k planKey, id string) *plan {
	if s[k] == nil {
		s[k] = &plan{planKey: k, id: id}
	}
	return s[k]
}

func (s planSet) sorted() []*plan {
	return slices.SortedFunc(maps.Values(s), func(a, b *plan) int { return a.compare(b.planKey) })
}

// needed gives the plans that a plan depends on and that exist.
func (s planSet) needed(p *plan) (out []*plan) {
	for _, k := range p.needs {
		if d := s[k]; d != nil {
			out = append(out, d)
		}
	}
	return out
}

// reportCycles reports the plans that depend on themselves through others.
func (s planSet) reportCycles(r *doc.Reader, plans []*plan) {
	cyclic := inCycles(plans, s.needed)
	for _, p := range plans {
		if cyclic[p] {
			warn(r, reprise.CodeCycle, p.id, p.source, fmt.Sprintf("plan %s depends on itself through other plans", p.id), "correct depends_on in one of them")
		}
	}
}

// inCycles returns the plans that reach themselves: Tarjan's strongly connected
// components, so that the cost grows with the edges and not with their paths.
func inCycles(plans []*plan, edges func(*plan) []*plan) map[*plan]bool {
	index, low, found := map[*plan]int{}, map[*plan]int{}, map[*plan]bool{}
	var stack []*plan
	var visit func(p *plan)
	visit = func(p *plan) {
		index[p], low[p] = len(index)+1, len(index)+1
		stack = append(stack, p)
		for _, q := range edges(p) {
			if q == p {
				found[p] = true
			}
			if index[q] == 0 {
				visit(q)
			}
			low[p] = min(low[p], low[q])
		}
		if low[p] != index[p] {
			return
		}
		from := slices.Index(stack, p)
		for _, q := range stack[from:] {
			low[q] = math.MaxInt // left: of no other component
			found[q] = found[q] || len(stack)-from > 1
		}
		stack = stack[:from]
	}
	for _, p := range plans {
		if index[p] == 0 {
			visit(p)
		}
	}
	return found
}

// warn reports something about the run that a person should know.
func warn(r *doc.Reader, code, subject string, at reprise.Source, message, hint string) {
	report(r, reprise.Warning, code, subject, at, message, hint)
}

func report(r *doc.Reader, severity reprise.Severity, code, subject string, at reprise.Source, message, hint string) {
	r.Report(reprise.Finding{Code: code, Severity: severity, Subject: subject, Source: at, Message: message, Hint: hint})
}
