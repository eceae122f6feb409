package project

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// tellForgotten reports a run without a journal where an agent's output shows that one was
// lost: what was begun and done is unknown then, whatever the files say, and only a person
// can say that it goes on or is complete. The output may be that of a run which is not there
// any more, if this one was begun and has the step: it may be that run under another name.
func (h *home) tellForgotten(r *reprise.Run, runs []*reprise.Run) {
	known := func(ref reprise.Ref) bool {
		return slices.ContainsFunc(h.names, func(name string) bool { return journal.Names(name, ref) })
	}
	if !r.State.Open() && r.State != reprise.Complete || len(r.Asks) > 0 || known(r.Ref) {
		return
	}
	logs := outputs(h.dir)
	of := func(log string) func(*reprise.Run) bool {
		name, worlds := strings.CutPrefix(log, runsDir)
		return func(r *reprise.Run) bool {
			return strings.HasPrefix(log, r.LogPrefix()) || worlds && journal.Placed(path.Dir(path.Dir(name)), r.Ref)
		}
	}
	at := slices.IndexFunc(logs, func(log string) bool { return of(log)(r) })
	said := "an agent worked on it here, and the journal that says what was begun and done is gone"
	if at < 0 && r.State == reprise.Interrupted {
		at = slices.IndexFunc(logs, func(log string) bool {
			explained := slices.ContainsFunc(h.names, func(name string) bool {
				return journal.MadeLog(name, log)
			})
			return !explained && !slices.ContainsFunc(runs, of(log)) && attempted(r, log)
		})
		said = "an agent worked here on a run that is gone, like its journal: it may be this one under another name"
	}
	if at < 0 {
		return
	}
	file := logs[at]
	if !strings.HasPrefix(file, runsDir) {
		file = "logs/" + file
	}
	r.Report(reprise.Finding{
		Code: reprise.CodeJournalLost, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: path.Join(durable.StateDir, file)},
		Message: said,
		Hint:    "look at what is there; `reprise resume " + reprise.Pasted(r.ID, "RUN") + " --option continue` goes on by its files alone",
	})
}

// attempted reports whether a log is that of an attempt at a step which a run of its layout
// has.
func attempted(r *reprise.Run, log string) bool {
	name, worlds := strings.CutPrefix(strings.TrimSuffix(log, ".log"), runsDir)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[:i]
	}
	return strings.HasPrefix(name, r.Layout+"-") && slices.ContainsFunc(r.Steps, func(s reprise.Step) bool {
		word := reprise.TrailerWord(s.ID)
		return worlds && path.Base(name) == word || strings.HasSuffix(name, "."+word)
	})
}

// runsDir is where runs on worlds have their attempts, as RUN/attempts/STEP.NUMBER.
const runsDir = "runs/"

// outputs lists what agents left here: logs, and the attempts of runs on worlds whose journal is gone.
func outputs(dir string) (out []string) {
	state := filepath.Join(dir, durable.StateDir)
	logs, _ := os.ReadDir(filepath.Join(state, "logs")) // without any there is nothing to tell
	for _, e := range logs {
		out = append(out, e.Name())
	}
	runs, _ := os.ReadDir(filepath.Join(state, runsDir)) // likewise
	for _, run := range runs {
		if _, err := os.Lstat(filepath.Join(state, runsDir, run.Name(), "journal")); err == nil {
			continue
		}
		attempts, _ := os.ReadDir(filepath.Join(state, runsDir, run.Name(), "attempts"))
		for _, a := range attempts {
			out = append(out, runsDir+run.Name()+"/attempts/"+a.Name())
		}
	}
	return out
}
