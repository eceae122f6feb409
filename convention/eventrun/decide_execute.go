package eventrun

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// execute offers the tasks that may be started: dependencies done, not itself done or
// blocked, and no open question about it. Tasks already begun come first.
func (m *model) execute() {
	if m.log.events == 0 && m.log.damaged+m.log.refused > 0 {
		m.state(reprise.Unreadable, "no event could be read, so which tasks are done is unknown")
		return
	}
	m.checkLogs()
	bootOpen := false
	for _, s := range m.steps {
		bootOpen = bootOpen || isBootstrap(s.ID) && !s.Status.Closed()
	}
	bootOnly := m.bootstrapOnly()
	groups := make([][]reprise.Unit, 5)
	var stuck []string
	for _, s := range m.steps {
		switch {
		case s.Status.Closed():
		case s.Status == reprise.Blocked:
			stuck = append(stuck, s.ID+" is blocked")
			m.askAboutBlock(s)
		case m.exhausted(s):
			stuck = append(stuck, s.ID+" failed "+times(s.failures()))
			m.askAboutFailure(s)
		case m.askedTasks[s.ID] != "":
			stuck = append(stuck, s.ID+" waits for an answer")
		case !s.ready() || isDevelopment(s.ID) && bootOpen || bootOnly && !isBootstrap(s.ID):
		default:
			g, u := m.offer(s)
			groups[g] = append(groups[g], u)
		}
	}
	m.run.Next = slices.Concat(groups...)
	if len(m.run.Next) == 0 {
		m.nothingRunnable(stuck)
		return
	}
	m.state(reprise.Interrupted, "%s", m.standing(m.run.Next[0].ID))
}

// checkLogs reports logs that must have existed or contained more: starting an approved
// run writes one, as does making what the verifier's log calls verified, if each actor
// has its own log; and an actor that records finished tasks does so for each.
func (m *model) checkLogs() {
	dir := path.Join(m.dir, "events")
	const hint = "restore the log from git or a backup"
	counts := slices.ContainsFunc(m.states, func(led stateFile) bool { return led.done > 0 })
	if len(m.files) == 0 && (counts || len(m.states) == 0 && m.docs["constitution.md"].there() && !m.small()) {
		m.run.Lose(dir, "the run was approved but has no log: which tasks are done is unknown", hint)
		return
	}
	actor := func(file string) string { return path.Base(path.Dir(file)) }
	lead := slices.ContainsFunc(m.files, func(file string) bool { return actor(file) == "orchestrator" })
	makers := slices.ContainsFunc(m.files, func(file string) bool { return actor(file) != "verifier" && actor(file) != "orchestrator" })
	recorded := slices.ContainsFunc(m.steps, func(s *step) bool { return s.events != nil && s.events.made })
	if makers && !recorded || !makers && !lead {
		return
	}
	var verified []string
	for _, s := range m.steps {
		if t := s.events; t != nil && t.kind == taskDone && !t.made && actor(m.sourceOf(t.last).File) == "verifier" {
			verified = append(verified, s.ID)
		}
	}
	if len(verified) > 0 {
		m.run.LoseBy(verified, dir, fmt.Sprintf("%s is verified, but no log shows that it was implemented: a log is missing or cut off, and its content is unknown", doc.Clip(verified[0], 60)), hint)
	}
}

// standing says where the run stands with this task first.
func (m *model) standing(first string) string {
	what := "is next"
	switch m.byID[first].group() {
	case 0:
		what = "was being worked on"
	case 1:
		what = "awaits its verification"
	}
	left := ""
	if m.skipped > 0 {
		left = fmt.Sprintf(", %d skipped", m.skipped)
	}
	return fmt.Sprintf("%d of %s done%s, %s %s", m.closed-m.skipped, counted(len(m.steps), "task"), left, first, what)
}

// group is the rank of an open task by its status: those already begun come first.
func (s *step) group() int {
	switch {
	case s.Status == reprise.InProgress && s.Role != "verifier":
		return 0
	case s.Status == reprise.InProgress:
		return 1
	case s.Status == reprise.Failed:
		return 2
	case s.Status == reprise.Unknown:
		return 4
	}
	return 3
}

// offer returns the unit of a task, and its group.
func (m *model) offer(s *step) (group int, u reprise.Unit) {
	u = s.Unit("")
	if u.Path == "" {
		u.Path = m.dir
	}
	where := reprise.Source{}
	if len(s.Claims) > 0 {
		where = s.Claims[0].Source
	}
	switch s.Status {
	case reprise.InProgress:
		u.Reason = fmt.Sprintf("it was started (%s), and no end is on record; check what it left: it may have finished without recording it", where)
		if s.Role == "verifier" {
			u.Reason = "it is implemented but not verified: verify it, do not implement it again"
			if report := m.report(s.ID); report != "" {
				u.Reason += "; there is a report (" + report + ")"
			}
		}
	case reprise.Failed:
		u.Reason = fmt.Sprintf("it failed %s (%s)", times(max(1, s.failures())), where)
	case reprise.Unknown:
		u.Role = "verifier"
		u.Reason = fmt.Sprintf("its state is unknown (%s): find out what is there before anything else", where)
	default:
		u.Reason = "everything it depends on is done"
		if len(s.Needs) == 0 {
			u.Reason = "it depends on nothing"
		}
	}
	return s.group(), u
}

func (s *step) failures() int32 {
	if s.events == nil || s.events.extra == nil {
		return 0
	}
	return s.events.extra.failures
}

// report returns the path of a task's verification report.
func (m *model) report(id string) string {
	if strings.Contains(id, "/") {
		return ""
	}
	for _, name := range []string{"verifications/" + id + ".md", "verification/" + id + "-verification.yaml"} {
		if p := path.Join(m.dir, name); m.r.Exists(p) {
			return p
		}
	}
	return ""
}

// nothingRunnable says what the run is waiting for.
func (m *model) nothingRunnable(stuck []string) {
	open := m.openSteps()
	if len(stuck) > 0 {
		m.state(reprise.Waiting, "no task can be started: %s", shortList(stuck))
		return
	}
	m.state(reprise.Waiting, "no task can be started: what %s for cannot be done (see the findings about the dependencies)", waitFor(open))
	m.run.Questions = append(m.run.Questions, reprise.Question{
		ID: "dependencies", Subject: "task-graph", Source: reprise.Source{File: m.graph.file},
		Text: "The dependencies of " + shortList(open) + " can never be met. Correct the task graph.",
	})
}

func waitFor(ids []string) string {
	if len(ids) == 1 {
		return ids[0] + " waits"
	}
	return shortList(ids) + " wait"
}
