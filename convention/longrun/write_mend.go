package longrun

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

var _ reprise.Mender = Layout{}

// Mend implements reprise.Mender. What is rebuilt says done only where a
// summary does, and whatever no other ledger tells is written as open. A file
// whose bytes could not be read is not touched.
//
// What it returns has been read back: the damage is gone and no plan is further
// than before.
func (Layout) Mend(fsys fs.FS, r *reprise.Run) ([]reprise.Mend, error) {
	if !fs.ValidPath(r.Path) {
		return nil, nil
	}
	var d mender
	reader, run := doc.NewReader(fsys), &reprise.Run{Ref: r.Ref}
	if path.Base(r.Path) == longRunDir {
		l := loadLongRun(reader, run)
		if l.blind {
			return nil, nil
		}
		for _, p := range l.plans {
			d.checkpoint(l, p)
		}
		d.history(l.agent, l.atWork(), l.second(nil))
		d.longRunState(l)
	} else {
		g := loadPlanning(reader, run)
		d.history(g.agent, nil, false)
		if len(g.road.phases) > 0 || len(g.plans) > 0 {
			d.state(g.state.file, g.state.ok, path.Join(g.dir, "ROADMAP.md")+" and the summaries below "+path.Join(g.dir, "phases"), g.newState)
		}
	}
	return ledger.Mend(loader(r.Ref), fsys, d.proposals), nil
}

// mender collects the proposals for one run.
type mender struct{ proposals []ledger.Proposal }

// propose adds a way to set damage right.
func (d *mender) propose(what, from string, change func(c *ledger.Changes)) {
	d.proposals = append(d.proposals, ledger.Proposal{What: what, From: from, Make: change})
}

// rebuild proposes a whole new content for a file.
func (d *mender) rebuild(what, from, file, why string, content []byte, err error) {
	d.propose(what, from, func(c *ledger.Changes) {
		c.Fail(err)
		c.Rewrite(file, content, why)
	})
}

// checkpoint rebuilds the checkpoint of a plan that does not tell how many
// tasks are done. What of it can be read stays as it is. No one knows what is right
// of one that says it is about another plan.
func (d *mender) checkpoint(l *longRun, p *plan) {
	c := p.checkpoint
	if c == nil || c.known || c.foreign || len(p.tasks) == 0 {
		return
	}
	done, from := 0, p.path
	if p.summary != nil && p.summary.status == reprise.Done {
		done, from = len(p.tasks), p.path+", "+p.summary.file
	}
	file, why := c.root.File, "rebuild the checkpoint of plan "+p.id
	if c.root.Is(doc.Map) {
		d.propose(fmt.Sprintf("the checkpoint of plan %s does not say how many of its tasks are done", p.id), from+", "+file, func(changes *ledger.Changes) {
			changes.Structured(file).Because("%s", why)
			setCounts(changes, p, done)
		})
		return
	}
	content, err := newCheckpoint(p, l.second(p), done, nil, nil)
	d.rebuild(fmt.Sprintf("the checkpoint of plan %s cannot be read", p.id), from, file, why, content, err)
}

// setCounts sets the numbers of a checkpoint that is JSON. A count that the
// plan's list of tasks allows is believed; any other falls back to done.
func setCounts(changes *ledger.Changes, p *plan, done int) {
	c, total := p.checkpoint, len(p.tasks)
	root := c.root
	changes.Set(root.In("total_tasks"), total)
	if list := root.In("completed_tasks"); list.Node != nil && !root.Has("last_completed_task") {
		if !list.Is(doc.List) {
			names := []any{}
			for _, t := range p.tasks[:done] {
				names = append(names, splice.Object{{Key: "name", Value: t.name}})
			}
			changes.Set(list, names)
		}
		return
	}
	count := root.In("last_completed_task", "current_task_index")
	if n, err := strconv.Atoi(count.Plain()); err == nil && n >= 0 && n <= total {
		return
	}
	for done < total && c.commits[done+1] != "" {
		done++ // each of these has its commit on record
	}
	changes.Set(count, done)
}

// atWork is the plan that the run was at by STATE.md, if it is open and the run
// was executing: the agent that is marked as at work was put to it. nil if the
// files do not tell.
func (l *longRun) atWork() *plan {
	if p := l.plan(l.state.plan); p != nil && l.state.status == wordExecuting && !p.status.Closed() {
		return p
	}
	return nil
}

// history replaces a history that cannot be read by one that knows the agent
// that is marked as at work and nothing else. The marker does not tell whether
// it came to an end, so it was interrupted.
func (d *mender) history(a *agents, at *plan, second bool) {
	if !a.exists || a.read {
		return
	}
	var entries []any
	from := a.source.File + " (no agent is marked as at work)"
	if a.id != "" && utf8.ValidString(a.id) {
		entry := splice.Object{{Key: "agent_id", Value: a.id}}
		from = a.source.File
		if at != nil {
			entry = append(entry, splice.Member{Key: "task_description", Value: "Execute plan " + at.id}, splice.Member{Key: "plan", Value: at.id})
			from += ", " + path.Join(path.Dir(a.file), "STATE.md")
		}
		entries = append(entries, append(entry, splice.Member{Key: "timestamp", Value: nil},
			splice.Member{Key: "status", Value: "interrupted"}, splice.Member{Key: "completion_timestamp", Value: nil}))
	}
	content, err := newHistory(second, entries...)
	d.rebuild("the history of agents cannot be read", from, a.file, "begin the history again with the agent that is marked as working", content, err)
}

// hollow reports whether a Markdown file tells nothing: it is no text, or holds
// nothing but headings. A write that was cut off leaves that.
func hollow(data []byte) bool {
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return true
	}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// state proposes a new STATE.md where it is missing, or tells nothing.
func (d *mender) state(f *doc.File, told bool, from string, content func() []byte) {
	what := "STATE.md is missing"
	if f.Exists() {
		what = "STATE.md does not say where the run stands"
		if !f.OK() || told || !hollow(f.Data) {
			return
		}
	}
	if text := content(); text != nil {
		d.rebuild(what, from, f.Path, "rebuild STATE.md", text, nil)
	}
}

// longRunState rebuilds STATE.md of `.long-run/`: the first plan that is open, and
// Complete only where each plan has a completed summary.
func (d *mender) longRunState(l *longRun) {
	if len(l.plans) == 0 {
		return
	}
	d.state(l.r.Open(l.state.file), l.state.read, path.Join(l.dir, "plans")+", "+path.Join(l.dir, "summaries"), func() []byte {
		n := newPosition{at: cmp.Or(l.firstOpen(), l.plans[len(l.plans)-1]), group: true, status: wordComplete}
		for _, p := range l.plans {
			if p.summary == nil || p.summary.status != reprise.Done {
				n.status = wordExecuting
			}
		}
		if n.status == wordExecuting && !l.begun() {
			n.status = wordReady
		}
		if t := lastClaim(l.run); !t.IsZero() {
			n.activity = t.UTC().Format(time.RFC3339)
		}
		return l.newState(n)
	})
}

// lastClaim is the latest time that a ledger records about a plan.
func lastClaim(run *reprise.Run) (last time.Time) {
	for i := range run.Steps {
		for _, c := range run.Steps[i].Claims {
			if c.At.After(last) {
				last = c.At
			}
		}
	}
	return last
}

// newState is STATE.md of `.planning/` as far as the other files tell it, nil if
// they do not tell the phase in which work continues. It never calls the milestone
// complete, and a phase only where all its plans are closed.
func (g *gsd) newState() []byte {
	phase, status := g.current, "In progress"
	if phase.none() {
		phase = g.frontier()
		status = "Phase complete"
	}
	if pending := g.pendingPhases(); phase.none() && len(pending) > 0 {
		phase, status = pending[0], "Ready to plan"
	}
	if phase.none() {
		return nil
	}
	planned := keep(within(g.filed, phase), func(p *plan) bool { return p.path != "" })
	done, total := len(keep(planned, func(p *plan) bool { return p.done })), len(planned)
	switch {
	case status == "Phase complete" && done < total && !g.road.done(phase):
		status = "In progress"
	case status == "In progress" && len(g.done) == 0 && !g.anyTick():
		status = "Ready to execute"
	}
	var b strings.Builder
	b.WriteString("# Project State\n\n## Current Position\n\nPhase: " + strings.TrimPrefix(phase.String(), "0"))
	if n := len(g.road.phases); n > 0 && phase.depth == 1 && phase.letter == 0 && phase.n[0] <= n {
		b.WriteString(" of " + strconv.Itoa(n))
	}
	if ph := g.road.phases[phase]; ph != nil && ph.title != "" {
		b.WriteString(" (" + ledger.MarkdownLine(ph.title, 80) + ")")
	}
	fmt.Fprintf(&b, "\nPlan: %d of %d in current phase\nStatus: %s\n", done, total, status)
	if t := lastClaim(g.run); !t.IsZero() {
		b.WriteString("Last activity: " + t.UTC().Format(time.DateOnly) + "\n")
	}
	return []byte(b.String())
}
