package autoclaude

import (
	"fmt"
	"slices"
	"strconv"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// readLists reads the items of a phase. Old and new names of the list may
// stand side by side, as one version wrote both: the first in listKeys wins,
// and items that only another list has are added, so that no open work is lost.
func (p *plan) readLists(n ledger.Value, ph int) {
	first := true
	for _, key := range listKeys {
		list := n.In(key)
		if list.IsNull() {
			continue
		}
		if list.Kind != doc.List {
			list.List() // reports the type
			p.lossy = true
			continue
		}
		for i := range list.Items {
			if first {
				p.addItem(list.Item(i), ph, i, key)
			} else {
				p.addSecond(list.Item(i), ph, i, key)
			}
		}
		first = first && len(list.Items) == 0
	}
}

// itemID gives an item's id under any of its names, "" if it has none.
func itemID(n *doc.Node) string {
	for _, key := range idKeys {
		if v := n.Get(key); !v.IsNull() && v.Kind != doc.List && v.Kind != doc.Map {
			if id := oneLine(v.Text, 200); id != "" {
				return id
			}
		}
	}
	return ""
}

func (p *plan) addItem(n ledger.Value, ph, i int, list string) {
	s := reprise.Step{Role: roleCoder, Phase: p.phases[ph].name, Source: n.Source(), Status: reprise.Unknown}
	word, known := "", true
	switch n.Kind {
	case doc.Map:
		s.ID = itemID(n.Node)
		for _, key := range []string{"title", "name", "description", "task", "action"} {
			if s.Title = oneLine(n.Get(key).Str(), 160); s.Title != "" {
				break
			}
		}
		s.Files, s.Made = itemFiles(n.Node, fileKeys...), itemFiles(n.Node, madeKey)
		status := n.Get("status")
		s.Status, word, known = itemStatus(status)
		at := s.Source
		if status != nil {
			at = status.Source()
		}
		s.Claims = []reprise.Claim{{Ledger: planFile, Status: s.Status, Word: word, Source: at, Won: true}}
		for _, key := range []string{"completed_at", "updated_at", "started_at"} {
			if t := n.Get(key); !t.IsNull() {
				p.times = append(p.times, t)
				if s.Claims[0].At.IsZero() {
					s.Claims[0].At = t.Time()
				}
			}
		}
	case doc.String: // a bare line of a flat plan: something to do, nothing said of it
		s.Title, s.Status = oneLine(n.Text, 160), reprise.Pending
		s.Claims = []reprise.Claim{{Ledger: planFile, Status: reprise.Pending, Source: s.Source, Won: true}}
	default:
		n.Get("id") // reports the type
		p.lossy = true
		s.Claims = []reprise.Claim{{Ledger: planFile, Status: reprise.Unknown, Source: s.Source, Won: true}}
	}
	raw := s.ID
	p.nameItem(&s, ph, i)
	if !known {
		p.rd.Report(reprise.Finding{
			Code: reprise.CodeUnknownStatus, Severity: reprise.Warning, Subject: s.ID, Source: s.Claims[0].Source,
			Message: fmt.Sprintf("item %s has the status %s, which is unknown here; it is not counted as done",
				strconv.Quote(s.ID), strconv.Quote(doc.Clip(word, 40))),
			Hint: "set it to pending, in_progress, completed, blocked or failed",
		})
	}
	p.items = append(p.items, item{step: s, phase: ph, raw: raw, list: list, at: []ledger.Value{n}})
	p.phases[ph].items = append(p.phases[ph].items, len(p.items)-1)
}

// nameItem makes the id of an item unique: steps are asked for by id.
func (p *plan) nameItem(s *reprise.Step, ph, i int) {
	if s.ID == "" {
		s.ID = fmt.Sprintf("%d.%d", ph+1, i+1)
		if p.phases[ph].name == "plan" {
			s.ID = strconv.Itoa(i + 1)
		}
	}
	id := s.ID
	for _, taken := p.ids[s.ID]; taken; _, taken = p.ids[s.ID] {
		p.names[id]++
		s.ID = fmt.Sprintf("%s#%d", id, p.names[id]+1)
	}
	if s.ID != id {
		p.rd.Report(reprise.Finding{
			Code: reprise.CodeDuplicateID, Severity: reprise.Warning, Subject: id, Source: s.Source,
			Message: fmt.Sprintf("two items have the id %s; this one is called %s here", strconv.Quote(id), strconv.Quote(s.ID)),
			Hint:    "give one of them another id: records of attempts and commits cannot tell them apart",
		})
	}
	p.ids[s.ID] = len(p.items)
}

// addSecond reads an item of a second list of the same phase.
func (p *plan) addSecond(n ledger.Value, ph, i int, list string) {
	if n.Kind != doc.Map {
		n.Get("id") // reports the type
		return
	}
	at, known := p.ids[itemID(n.Node)]
	if !known || p.items[at].phase != ph {
		p.addItem(n, ph, i, list)
		return
	}
	status := n.Get("status")
	meant, word, _ := itemStatus(status)
	p.items[at].at = append(p.items[at].at, n)
	s := &p.items[at].step
	source := n.Source()
	if status != nil {
		source = status.Source()
	}
	s.Claims = append(s.Claims, reprise.Claim{Ledger: fmt.Sprintf("%s %s", planFile, list), Status: meant, Word: word, Source: source})
	if meant == s.Status {
		return
	}
	p.rd.Report(reprise.Finding{
		Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: s.ID, Source: source,
		Message: fmt.Sprintf("item %s is in two lists of its phase: %s in the one that is read, %s under %q",
			strconv.Quote(s.ID), s.Status, meant, list),
		Hint: "make both lists agree, or remove the older one",
	})
}

// steps gives the items as steps with what they need: the items of the phases
// theirs depends on. Dependencies written at single items are left out: no
// version of the program reads them, agents fill them in loosely, and file
// order was right wherever history shows what came next.
func (p *plan) steps() []reprise.Step {
	needs := make([][]string, len(p.phases))
	total := 0
	for i, ph := range p.phases {
		if ph.loose {
			continue
		}
		for _, need := range ph.needs {
			// A plan made to grow without bounds loses the list, not the
			// order: what may be started is decided by phase.
			if total += len(p.phases[need].items); total > maxNeeds {
				break
			}
			for _, at := range p.phases[need].items {
				needs[i] = append(needs[i], p.items[at].step.ID)
			}
		}
	}
	out := make([]reprise.Step, 0, len(p.items))
	for _, it := range p.items {
		s := it.step
		s.Claims, s.Files = slices.Clone(s.Claims), slices.Clone(s.Files)
		s.Needs = needs[it.phase]
		out = append(out, s)
	}
	return out
}

// maxNeeds bounds the needs written out for one plan. Real plans stay below a
// few thousand.
const maxNeeds = 1 << 18

func (p *plan) done() (done int) {
	for _, it := range p.items {
		if it.step.Status.Closed() {
			done++
		}
	}
	return done
}

// begun reports whether any item is other than pending. What a word without a
// meaning stands for may have been begun.
func (p *plan) begun() bool {
	return slices.ContainsFunc(p.items, func(it item) bool { return it.step.Status != reprise.Pending })
}
