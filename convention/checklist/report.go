package checklist

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// warn reports a warning about a task or about the list.
func warn(r *doc.Reader, code, subject string, at reprise.Source, hint, format string, args ...any) {
	r.Report(reprise.Finding{Code: code, Severity: reprise.Warning, Subject: subject, Source: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// some lists names, only the first of many.
func some(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// left returns the open boxes that are not tasks. One below an open task is part of it
// and closed with it, and one below a skipped task is skipped; any other is work that no one
// would be assigned.
func (l *list) left() []loose {
	if len(l.loose) == 0 {
		return nil
	}
	open := map[string]bool{} // what is not done
	for _, of := range [][]item{l.items, l.whole} {
		for i := range of {
			if of[i].status() != reprise.Done {
				open[of[i].id] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(l.loose), func(b loose) bool { return open[b.within] || b.place.status.Closed() })
}

// reportPutOff names the tasks that are not started because of a word in their text.
func (l *list) reportPutOff(r *doc.Reader, run string) {
	var at reprise.Source
	var names []string
	for i := range l.items {
		if it := &l.items[i]; it.putOff && !it.stuck && !it.status().Closed() {
			if names = append(names, it.id+" ("+it.held+")"); len(names) == 1 {
				at = it.places[0].source
			}
		}
	}
	if len(names) > 0 {
		r.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: reprise.Info, Subject: run, Source: at, Message: "open, but not started: " + some(names, 4),
			Hint: "remove the word to have the task done; if it only describes the task, put it in backticks",
		})
	}
}

// reportLeft names the open boxes that are not tasks.
func (l *list) reportLeft(r *doc.Reader, run string) {
	left, others := l.elsewhere(l.left())
	quoted := func(left []loose) (names []string) {
		for _, b := range left {
			where := fmt.Sprintf("line %d", b.place.source.Line)
			if b.place.source.File != l.file.Path {
				where = path.Base(b.place.source.File)
			}
			names = append(names, fmt.Sprintf("%s %q", where, doc.Clip(b.text, 40)))
		}
		return names
	}
	if len(others) > 0 {
		list := path.Base(l.file.Path)
		warn(r, reprise.CodeAmbiguous, run, others[0].place.source, "move them to "+list+", or describe the file under `"+OwnName+"` in "+ownFile+" to have them done; until then the list is not complete",
			"open, but not in %s: %s", list, some(quoted(others), 3))
	}
	if len(left) == 0 {
		return
	}
	names := quoted(left)
	if len(l.items) == 0 {
		what, hint := "no task is written as an item with a box and its id, so what is done is unknown: ",
			"write each on a line of its own: `- [ ]` or `- [x]`, its id, its text; or describe them under `"+OwnName+"` in "+ownFile
		if len(l.phases) > 0 {
			what = "the steps of its tasks have no boxes, so what is done is unknown: "
			hint = "write each step of a task as `- [ ]`, or `- [x]` if it is done; a plan that is over can be moved elsewhere"
		}
		if l.family.Form != Boxes {
			what = "no task is where " + l.family.Name + " has them, so these are not read: "
			hint = "move them there, or describe the file under `" + OwnName + "` in " + ownFile
		}
		r.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: run, Source: left[0].place.source, Message: what + some(names, 3), Hint: hint,
		})
		return
	}
	warn(r, reprise.CodeAmbiguous, run, left[0].place.source, "write them like the other tasks, tick them, or remove them; until then the list is not complete",
		"open, but not written as tasks: %s", some(names, 3))
}

// reportWhole reports a task that disagrees with its parts, which count.
func (l *list) reportWhole(r *doc.Reader, run *reprise.Run, whole *item) {
	open := slices.DeleteFunc(l.parts(whole), func(o *item) bool { return o.optional || o.status().Closed() })
	decides := whole.deciding()
	switch {
	case len(open) > 0 && decides.status == reprise.Blocked && whole.held == "":
		severity := reprise.Info
		if len(run.Next) == 0 {
			severity = reprise.Warning
		}
		r.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: severity, Subject: whole.id, Source: decides.source,
			Message: fmt.Sprintf("%s is %s, so its tasks are not started: %s", whole.id, decides.said(), doc.Clip(named(open), 120)),
			Hint:    "change the status of " + whole.id + " once nothing is in the way",
		})
	case whole.holds:
	case len(open) == 0 && !whole.leads && (begun(decides.status) || decides.status == reprise.Pending && l.reliedOn(whole)):
		warn(r, reprise.CodeStatusDrift, whole.id, decides.source, "close it if nothing of it is missing, otherwise add what is missing as a part",
			"%s says %q, but all its parts are done", whole.id, decides.said())
	case len(open) > 0 && decides.status == reprise.Done:
		counts := "the parts count"
		if decides.label.There() {
			counts = "they are not started"
		} else if slices.ContainsFunc(open, (*item).contested) {
			counts = "whether they are done is unknown"
		}
		warn(r, reprise.CodeStatusDrift, whole.id, decides.source, "close them in the list if they are done, or open "+whole.id+" again",
			"%s is marked done, but parts of it are open: %s; %s", whole.id, doc.Clip(named(open), 120), counts)
	}
}

// reportUnfinished names what holds tasks and is open itself although none of them is: some
// may be missing, or it is to be closed. While other work goes on, only what is known to
// have no task is told.
func (l *list) reportUnfinished(r *doc.Reader, run *reprise.Run) {
	severity, what := reprise.Warning, "open, although none of its tasks is: "
	if slices.ContainsFunc(run.Steps, func(s reprise.Step) bool { return s.Due() }) {
		severity, what = reprise.Info, "open, and without tasks: "
	}
	about := slices.DeleteFunc(l.unfinishedWholes(), func(w *item) bool {
		return severity == reprise.Info && (!w.holds || l.family.Keys.Within == "" || len(l.parts(w)) > 0)
	})
	if len(about) > 0 {
		r.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: severity, Subject: run.ID, Source: about[0].deciding().source, Message: what + named(about),
			Hint: "close it if nothing of it is missing, otherwise write its tasks; until then the list is not complete",
		})
	}
}

// report reports what is odd about a task of a run.
func (l *list) report(r *doc.Reader, run string, it *item) {
	every := "each entry is done"
	if l.family.Form == Boxes {
		every = "every box is ticked"
	}
	own := slices.DeleteFunc(slices.Clone(it.places), func(p place) bool { return p.lesser || p.again })
	if len(own) > 1 {
		warn(r, reprise.CodeDuplicateID, it.id, own[1].source, "", "%s occurs %d times in the list; it counts as done once %s", it.id, len(own), every)
	}
	for i, p := range it.places {
		if p.again && !p.whole && p.status.Closed() != it.places[i-1].status.Closed() {
			warn(r, reprise.CodeStatusDrift, it.id, p.source, "check whether its work is there, and make the two agree",
				"its entry says both %q and %q, so whether %s is done is unknown", it.places[i-1].said(), p.said(), it.id)
		}
	}
	decides := it.deciding()
	if decides.word == "" {
		warn(r, reprise.CodeUnknownStatus, it.id, decides.source, "", "%s has no status, so whether it is done is unknown", it.id)
	} else if decides.status == reprise.Unknown && !it.contested() {
		warn(r, reprise.CodeUnknownStatus, it.id, decides.source, "", "the status %q is unknown here, so whether %s is done is unknown", doc.Clip(decides.word, 40), it.id)
	}
	if it.stuck {
		warn(r, reprise.CodeAmbiguous, it.id, decides.source, "remove the line once nothing is in the way", "%s is not started: %s", it.id, it.held)
	}
	if it.twice {
		warn(r, reprise.CodeDuplicateID, it.id, decides.source, "tick it if it is the same task, else give it a number of its own",
			"%s is not started: %s, and the box here is open", it.id, it.held)
	}
	if gone := l.skippedNeeds(it); len(gone) > 0 && !decides.status.Closed() && len(l.openNeeds(it)) == 0 {
		warn(r, reprise.CodeAmbiguous, it.id, decides.source, "`reprise resume "+reprise.Pasted(run, "RUN")+" --skip "+reprise.Pasted(it.id, "STEP")+"` leaves it out too; if it still makes sense, remove the dependency",
			"%s is not started: it needs %s, which was not done and will not be", it.id, named(gone))
	}
	if begun(decides.status) && !l.ready(it) {
		why := it.held
		if needs := l.openNeeds(it); len(needs) > 0 {
			why = "it needs " + strings.Join(needs[:min(3, len(needs))], ", ")
		}
		warn(r, reprise.CodeAmbiguous, it.id, decides.source, "", "%s is begun but cannot continue yet: %s", it.id, why)
	}
}
