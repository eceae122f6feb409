package longrun

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// agentEntry is one entry of agent-history.json, in either family.
type agentEntry struct {
	id, plan, phase string
	task            string
	word            string
	status          reprise.Status
	at, ended       time.Time
	stamp           string // the time as written
	segment         string
	index           int // in its list
	place           ledger.Value
	source          reprise.Source
}

// agentWords are the states of an agent. Its own "completed" only says that the agent
// ended: the summary that follows is what accepts the plan.
var agentWords = map[string]reprise.Status{
	"spawned": reprise.InProgress, "interrupted": reprise.InProgress, "resumed": reprise.InProgress,
	"running": reprise.InProgress, "in progress": reprise.InProgress,
	"queued": reprise.Pending, "pending": reprise.Pending,
	"completed": reprise.InReview, "complete": reprise.InReview, "done": reprise.InReview,
	"failed": reprise.Failed, "timeout": reprise.Failed, "cancelled": reprise.Failed, "canceled": reprise.Failed,
	"skipped": reprise.Skipped,
}

// agents is what agent-history.json and current-agent-id.txt say together.
type agents struct {
	file    string
	list    ledger.Value // of the entries
	entries []*agentEntry
	read    bool // the history is there and was understood
	exists  bool
	marker  bool   // current-agent-id.txt is there
	id      string // what it holds
	source  reprise.Source
	ends    string      // how its line ends
	entry   *agentEntry // the marker's entry
	why     string      // why there is no entry
}

func readAgents(r *doc.Reader, run *reprise.Run, dir string) *agents {
	a := &agents{}
	f := r.Open(path.Join(dir, "agent-history.json"))
	a.file, a.exists = f.Path, f.Exists()
	if n := f.JSON().Object("entries", "agents", "version"); n != nil {
		a.read, a.list = true, ledger.Root(f, n).In("entries", "agents")
		for i, item := range n.Get("entries", "agents").List() {
			if item.IsNull() || item.Kind != doc.Map {
				f.Report(reprise.Warning, reprise.CodeWrongType, n.Line, "an entry of the history is not a map; it is ignored", "")
				continue
			}
			e := readAgent(f, run, item)
			e.index, e.place = i, a.list.Item(i)
			a.entries = append(a.entries, e)
		}
	}
	m := r.Open(path.Join(dir, "current-agent-id.txt"))
	a.source, a.ends = m.At(1), "\n"
	if !m.Exists() {
		return a
	}
	if a.marker = true; strings.HasSuffix(string(m.Data), "\r\n") {
		a.ends = "\r\n"
	}
	a.id, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(string(m.Data), "\ufeff")), "\n")
	a.id = strings.TrimSpace(a.id)
	if strings.ContainsRune(a.id, 0) || len(a.id) > 1000 {
		m.Lost(reprise.CodeUnreadable, 1, "this is not an agent id", "remove the file once you know that no agent is running")
		a.id = ""
	}
	for _, e := range a.entries {
		if a.id != "" && e.id == a.id {
			a.entry = e // the latest one counts: an agent can be resumed under its id
		}
	}
	switch {
	case a.entry != nil:
	case !m.Whole():
		a.why = "the marker cannot be read"
	case a.id == "":
		a.why = "the marker is empty"
	case !a.exists:
		a.why = "agent-history.json is missing"
	case !a.read:
		a.why = "agent-history.json cannot be read"
	default:
		a.why = "agent-history.json does not list it"
	}
	return a
}

func readAgent(f *doc.File, run *reprise.Run, n *doc.Node) *agentEntry {
	e := &agentEntry{
		id: n.Get("agent_id").Str(), plan: n.Get("plan").Str(), phase: n.Get("phase").Str(),
		task: n.Get("task_description").Str(), word: n.Get("status").Str(), segment: n.Get("segment").Str(),
		stamp: n.Get("timestamp").Str(), source: f.At(n.Line), status: reprise.Unknown,
	}
	e.at = lenientTime(n.Get("timestamp"))
	e.ended = lenientTime(n.Get("completion_timestamp"))
	run.Active(e.at, cmp.Or(n.Get("timestamp").Source(), e.source))
	run.Active(e.ended, cmp.Or(n.Get("completion_timestamp").Source(), e.source))
	if status, ok := agentWords[doc.Fold(e.word)]; ok {
		e.status = status
	} else {
		f.Report(reprise.Warning, reprise.CodeUnknownStatus, n.Line,
			fmt.Sprintf("an agent has the status %s, which is unknown here", quoted(e.word)), "")
	}
	return e
}

// interrupted reports whether an entry says that its agent was cut off.
func (e *agentEntry) interrupted() bool { return doc.Fold(e.word) == "interrupted" }

// owner is the marker as a claim about who is or was at work.
func (a *agents) owner() *reprise.Owner {
	if !a.marker || a.id == "" {
		return nil
	}
	o := &reprise.Owner{Agent: a.id, Source: a.source}
	if a.entry != nil {
		o.StartedAt = a.entry.at
	}
	return o
}

// markerFinding reports the marker: stale where other files contradict it.
func (a *agents) markerFinding(stale bool, why string) reprise.Finding {
	f := reprise.Finding{
		Code: reprise.CodeOwnerMarker, Severity: reprise.Warning, Subject: "current-agent-id.txt", Source: a.source,
		Message: fmt.Sprintf("%s is marked as working: %s", a.name(), why),
		Hint:    "make sure that the agent is no longer running before you continue",
	}
	if stale {
		f.Code = reprise.CodeStaleMarker
		f.Message = fmt.Sprintf("the marker of %s is left over: %s", a.name(), why)
		f.Hint = "once no such agent is running, the marker can be removed"
	}
	return f
}

func (a *agents) name() string {
	if a.id == "" {
		return "an agent"
	}
	return "agent " + strconv.Quote(doc.Clip(a.id, 60))
}
