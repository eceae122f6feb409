package autoclaude

import (
	"fmt"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// memory is what attempt_history.json and build_commits.json record.
type memory struct {
	attempts map[string]*attempts
	order    []string // ids of attempts, in file order
	stuck    []stuckItem
	stuckAt  map[string]int // id to stuck
	commits  map[string][]commit
	times    []*doc.Node
	created  []*doc.Node // when the record of attempts was begun
	at       reprise.Source
}

// attempts are the launches on record for one item.
type attempts struct {
	count, failed int
	status        *doc.Node
}

type stuckItem struct {
	id     string
	reason string
	source reprise.Source
}

type commit struct {
	hash   string
	source reprise.Source
}

func (l *loader) readMemory() {
	l.memory = memory{attempts: map[string]*attempts{}, stuckAt: map[string]int{}, commits: map[string][]commit{}}
	l.readAttempts()
	l.readCommits()
}

// readAttempts reads the history in its three shapes: chunks, subtasks, and
// the later one that keeps a bare list of failures per item.
func (l *loader) readAttempts() {
	f := l.open(historyLog)
	root := f.JSON().Object("subtasks", "chunks", "stuck_subtasks", "stuck_chunks", "stuckSubtasks", "metadata")
	m := &l.memory
	m.at = f.At(0)
	for _, key := range []string{"subtasks", "chunks"} {
		for _, field := range root.Get(key).Fields() {
			m.add(field)
		}
	}
	for _, key := range []string{"stuck_subtasks", "stuck_chunks", "stuckSubtasks"} {
		for _, n := range root.Get(key).List() {
			s := stuckItem{source: n.Source()}
			if n.Kind == doc.Map {
				s.id = itemID(n)
				s.reason = oneLine(n.Get("reason").Str(), 120)
			} else {
				s.id = n.Str()
			}
			if _, twice := m.stuckAt[s.id]; s.id != "" && !twice {
				m.stuckAt[s.id] = len(m.stuck)
				m.stuck = append(m.stuck, s)
			}
		}
	}
	meta := root.Get("metadata")
	m.times = append(m.times, meta.Get("last_updated", "lastUpdated"))
	m.created = append(m.created, meta.Get("created_at", "createdAt"))
}

func (m *memory) add(field doc.Field) {
	a := m.attempts[field.Name]
	if a == nil {
		a = &attempts{}
		m.attempts[field.Name] = a
		m.order = append(m.order, field.Name)
	}
	list := field.Value
	onlyFailures := true
	if list != nil && list.Kind == doc.Map {
		a.status = list.Get("status")
		list = list.Get("attempts")
		onlyFailures = false
	}
	var last *doc.Node
	for _, n := range list.List() {
		if n.Kind != doc.Map {
			n.Get("success") // reports the type
			continue
		}
		a.count++
		last = n
		if success, ok := n.Get("success").Bool(); !success && (ok || onlyFailures) {
			a.failed++
		}
	}
	if last != nil {
		m.times = append(m.times, last.Get("timestamp"))
	}
}

func (l *loader) readCommits() {
	root := l.open(commitsLog).JSON().Object("commits", "last_good_commit", "metadata")
	m := &l.memory
	for _, n := range root.Get("commits").List() {
		id, hash := itemID(n), n.Get("hash", "commit", "sha").Str()
		if id == "" || hash == "" {
			continue
		}
		m.commits[id] = append(m.commits[id], commit{hash: hash, source: n.Source()})
		m.times = append(m.times, n.Get("timestamp"))
	}
	m.times = append(m.times, root.Get("metadata").Get("last_updated", "lastUpdated"))
}

// isStuck returns the record that gave up on an item.
func (m *memory) isStuck(id string) (stuckItem, bool) {
	if i, ok := m.stuckAt[id]; ok {
		return m.stuck[i], true
	}
	return stuckItem{}, false
}

// addMemory adds the records as claims. They never win over the plan: the
// history is written by the program after a session, the plan by the agent in
// it, and a commit is recorded for partial work too.
func (l *loader) addMemory() {
	r, m := l.run, &l.memory
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, c := range m.commits[s.ID] {
			s.Commits = append(s.Commits, c.hash)
		}
		if a := m.attempts[s.ID]; a != nil {
			s.Attempts = a.count
			l.addHistoryClaim(s, a)
		}
		l.reportCommitted(s)
		l.reportRetries(s)
	}
	if len(r.Steps) == 0 && len(m.order) > 0 {
		l.rd.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: reprise.Warning, Subject: r.ID, Source: m.at,
			Message: fmt.Sprintf("the plan lists nothing, but attempts are on record for %d items: an earlier plan was lost", len(m.order)),
			Hint:    "see git log and build_commits.json for what was done under the earlier plan",
		})
	}
}

func (l *loader) addHistoryClaim(s *reprise.Step, a *attempts) {
	if a.status.IsNull() {
		return
	}
	status, word, ok := itemStatus(a.status)
	if !ok {
		l.rd.Report(reprise.Finding{
			Code: reprise.CodeUnknownStatus, Severity: reprise.Warning, Subject: s.ID, Source: a.status.Source(),
			Message: fmt.Sprintf("the attempt history gives %s the status %s, which is unknown here", strconv.Quote(s.ID), strconv.Quote(doc.Clip(word, 40))),
		})
	}
	s.Claims = append(s.Claims, reprise.Claim{Ledger: historyLog, Status: status, Word: word, Source: a.status.Source()})
	var message string
	switch {
	case status == reprise.Done && s.Status != reprise.Done:
		message = fmt.Sprintf("the attempt history says %s is completed, the plan does not (%s)", strconv.Quote(s.ID), s.Status)
	case s.Status == reprise.Done && (status == reprise.Failed || status == reprise.Blocked):
		message = fmt.Sprintf("the plan says %s is completed, the attempt history says %s", strconv.Quote(s.ID), strconv.Quote(doc.Clip(word, 40)))
	default:
		return
	}
	l.rd.Report(reprise.Finding{
		Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: s.ID, Source: a.status.Source(),
		Message: message, Hint: "the plan counts; look at the commits of the item before you do it again",
	})
}

// reportCommitted warns of work that would be redone: a crash between commit
// and plan leaves the item open.
func (l *loader) reportCommitted(s *reprise.Step) {
	if s.Status.Closed() || len(s.Commits) == 0 {
		return
	}
	c := l.memory.commits[s.ID][len(s.Commits)-1]
	l.rd.Report(reprise.Finding{
		Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: s.ID, Source: c.source,
		Message: fmt.Sprintf("commit %s is on record for item %s, which the plan calls %s", shortHash(c.hash), strconv.Quote(s.ID), s.Status),
		Hint:    "partial work is recorded too: look at the commit before you do the item again",
	})
}

func (l *loader) reportRetries(s *reprise.Step) {
	a := l.memory.attempts[s.ID]
	if a == nil {
		a = &attempts{}
	}
	stuck, given := l.memory.isStuck(s.ID)
	if !given {
		return
	}
	severity, why := reprise.Warning, ""
	if s.Status.Closed() {
		severity = reprise.Info
	}
	if stuck.reason != "" {
		why = " (" + strconv.Quote(stuck.reason) + ")"
	}
	l.rd.Report(reprise.Finding{
		Code: reprise.CodeRetryLoop, Severity: severity, Subject: s.ID, Source: stuck.source,
		Message: fmt.Sprintf("item %s was given up%s: %d attempts on record, %d of them failed", strconv.Quote(s.ID), why, a.count, a.failed),
		Hint:    "the original program would retry it forever: change the item or its files first, then clear the record",
	})
}

func shortHash(hash string) string {
	return strconv.Quote(string([]rune(hash)[:min(len([]rune(hash)), 10)]))
}

// stuckIDs names the items on the stuck list, for a sentence.
func (m *memory) stuckIDs() string {
	var ids []string
	for _, s := range m.stuck[:min(len(m.stuck), 5)] {
		ids = append(ids, strconv.Quote(doc.Clip(s.id, 40)))
	}
	return doc.Clip(strings.Join(ids, ", "), 80)
}
