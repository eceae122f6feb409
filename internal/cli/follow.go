package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/internal/watch"
	"reprise/journal"
	"reprise/project"
	"reprise/report"
	"reprise/upkeep"
)

// rescanEvery is how often files are read even if nothing reports a change.
const rescanEvery = 2 * time.Second

// follower shows what is recorded about a run and what its attempts print.
type follower struct {
	*app
	page *page
	root string
	run  *reprise.Run
	step string // "" for all of them
	hide func(string) string

	shown   uint64 // the number of the last entry shown
	outputs []*tailed
}

// follow shows a run's journal, everything added to it, and the output of attempts, until
// the run is no longer worked on.
func (a *app) follow(ctx context.Context, found *project.Judgement, run *reprise.Run, name, step string) error {
	f := &follower{app: a, page: a.page(a.out), root: found.Root, run: run, step: step, hide: a.hide(found.Root)}
	defer f.close()
	folders := watch.Open(rescanEvery)
	defer folders.Close()
	tender := a.tender(upkeepFlags{dir: f.root})
	state := filepath.Join(f.root, durable.StateDir)
	judged, fresh := time.Now(), true
	for working := found.Decisions[run].State == reprise.Running; ; {
		folders.Add(state, filepath.Join(state, "journal"), filepath.Join(state, "logs"))
		h, err := tender.Log(run)
		if err == nil {
			err = f.more(h, working)
		}
		if err != nil {
			return err
		}
		if !working && fresh && onlyMade(h) {
			// Between creating a run and working on it, `run` briefly releases it.
			working, fresh = true, false
		}
		if !working {
			if f.shown == 0 && !a.json {
				fmt.Fprintf(a.err, "reprise has no record of %s, and it is not being worked on.\n", plain(name))
			}
			return nil
		}
		if !folders.Wait(ctx) {
			return nil
		}
		if time.Since(judged) >= rescanEvery {
			if working, err = f.works(ctx); err != nil {
				return err
			}
			judged = time.Now()
		}
	}
}

// onlyMade reports whether a run was created and nothing has been done yet.
func onlyMade(h *upkeep.History) bool {
	return len(h.Entries) > 0 && !slices.ContainsFunc(h.Entries, func(e journal.Entry) bool {
		return e.Event.Kind != reprise.RunStarted && (e.Event.Kind != reprise.EngineLeft || e.Event.Outcome != "")
	})
}

// works reports whether someone is working on the run.
func (f *follower) works(ctx context.Context) (bool, error) {
	found, err := f.judgeAgain(ctx, f.root, project.JudgeOptions{})
	if err != nil {
		return false, err
	}
	for _, r := range found.Runs {
		if r.Ref == f.run.Ref {
			return found.Decisions[r].State == reprise.Running, nil
		}
	}
	return false, nil
}

// more shows the new entries, each after the output that preceded it. Output of attempts
// that ended before following began is omitted.
func (f *follower) more(h *upkeep.History, working bool) error {
	all, first := journal.Fold(h.Entries), f.shown == 0
	for _, e := range h.Entries {
		ev := e.Event
		if e.Seq <= f.shown || f.step != "" && ev.Step != f.step {
			continue
		}
		if err := f.printed(ev.Step, slices.Contains(endings, ev.Kind)); err != nil {
			return err
		}
		f.shown = e.Seq
		if err := f.entry(e); err != nil {
			return err
		}
		open := all.Step(ev.Step).Open
		if ev.Kind == reprise.StepStarted && (!first || open != nil && open.Attempt == ev.Attempt) {
			f.outputs = append(f.outputs, &tailed{step: ev.Step, attempt: ev.Attempt, began: all.Began})
		}
	}
	if h.Damage != nil {
		return h.Damage
	}
	return f.printed("", !working)
}

// endings are the events that end an attempt.
var endings = []reprise.EventKind{
	reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepReset, reprise.StepDeferred, reprise.StepResolved, reprise.StepHeld,
}

func (f *follower) entry(e journal.Entry) error {
	doc := logEntry(e)
	if f.json {
		return f.writeLine(report.Follow{Schema: report.FollowSchema, Entry: &doc})
	}
	f.page.entry(doc)
	return nil
}

// printed shows the new output of the attempts at a step or, without one, of all. ended
// says that nothing more will come.
func (f *follower) printed(step string, ended bool) error {
	ends := func(t *tailed) bool { return step == "" || t.step == step }
	for _, t := range f.outputs {
		if !ends(t) {
			continue
		}
		lines, err := t.more(f.root, f.run.Ref, f.hide, ended)
		if err != nil {
			return err
		}
		for _, line := range lines {
			if err := f.output(t, line); err != nil {
				return err
			}
		}
		if ended {
			t.file.Close()
		}
	}
	f.outputs = slices.DeleteFunc(f.outputs, func(t *tailed) bool { return ended && ends(t) })
	return nil
}

func (f *follower) output(t *tailed, line string) error {
	if f.json {
		return f.writeLine(report.Follow{Schema: report.FollowSchema, Step: t.step, Attempt: t.attempt, Output: line})
	}
	f.page.line("%s", fit(fmt.Sprintf("      %s | %s", clip(t.step, 30), plain(line)), f.page.columns))
	return nil
}

func (f *follower) close() {
	for _, t := range f.outputs {
		t.file.Close() // a nil file has nothing to close
	}
}

// tailed is the output of an attempt being shown.
type tailed struct {
	step    string
	attempt int
	began   time.Time
	file    *os.File // nil until it exists
	part    []byte   // of an incomplete line
	words   agent.Words
}

// more returns the lines added since the last call, in the end including an incomplete
// one.
func (t *tailed) more(root string, ref reprise.Ref, hide func(string) string, ended bool) (lines []string, err error) {
	if t.file == nil {
		_, t.file, err = project.OpenOutput(root, ref, t.began, t.step, t.attempt)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("follow the output of %s: %w", t.step, err)
		}
	}
	data, err := io.ReadAll(io.LimitReader(t.file, allOutput))
	if err != nil {
		return nil, fmt.Errorf("follow the output of %s: %w", t.step, err)
	}
	data = append(t.part, data...)
	whole := len(data)
	if !ended {
		whole = strings.LastIndexByte(string(data), '\n') + 1
	}
	t.part = slices.Clone(data[whole:])
	for line := range strings.Lines(hide(strings.ToValidUTF8(string(data[:whole]), "\uFFFD"))) {
		lines = append(lines, strings.Split(t.words.Line(strings.TrimRight(line, " \t\r\n")), "\n")...)
	}
	if ended {
		lines = append(lines, t.words.Rest())
	}
	return slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" }), nil
}

// allOutput limits how much is shown at once.
const allOutput = 64 << 20
