// Package examine holds the checks: a Run and what is observed beside it in,
// findings out. A check is one file and one line in the table; it reads no
// files, no clock and changes nothing, so that the same Run and the same
// Observed always give the same findings.
//
// What was not observed is not held against a run: a check whose evidence is
// missing from Observed is silent.
package examine

import (
	"cmp"
	"slices"
	"sync"

	"reprise"
)

// Check is one question asked of every run, or a finding that readers give.
type Check struct {
	Code     string           // stable; the code of the findings it gives
	Severity reprise.Severity // the usual one
	Doc      string           // what it means, in one sentence
	// Cheap checks need nothing but the run and the clock, and are asked even
	// where a whole project is listed.
	Cheap bool
	// Run asks the question. It is nil for what only the readers of the
	// layouts can find: such entries are there to be documented.
	Run func(r *reprise.Run, o *World) []reprise.Finding
}

// World is what was observed beside runs, with what follows from it for all of them: that
// is worked out once. Only one goroutine may ask at a time, and the runs of the project
// must not change meanwhile, but for their findings and grades.
type World struct {
	reprise.Observed
	records func() records
	titles  map[*reprise.Run]string
}

// NewWorld takes what was observed.
func NewWorld(o reprise.Observed) *World {
	return &World{
		Observed: o, titles: map[*reprise.Run]string{},
		records: sync.OnceValue(func() records { return recordsOf(o.Peers...) }),
	}
}

// Apply is World.Apply for one run.
func Apply(r *reprise.Run, o reprise.Observed, set Set) { NewWorld(o).Apply(r, set) }

// Set says which checks are asked.
type Set uint8

// The sets.
const (
	Cheap Set = iota + 1 // those that need only the run and the clock
	Every                // all of them
)

// Checks returns the table of all checks and all codes, in the order in which
// findings of one severity stand.
func Checks() []Check { return slices.Clone(table()) }

// table is made once: it is asked for every run.
var table = sync.OnceValue(func() []Check {
	const info, warning, blocking = reprise.Info, reprise.Warning, reprise.Blocking
	checks := []Check{
		{reprise.CodeLiveOwner, blocking, "A process that is alive holds the run; a second resume would do the work twice.", false, liveOwner},
		{reprise.CodeSessionLive, blocking, "A session of an agent CLI is at work in the folder the run works in, or a command it started still runs there; one that is open with nothing under way is a warning, and nothing continues by itself before you say so.", false, sessionLive},
		{reprise.CodeConcurrent, blocking, "Another open workflow works on the same story; it blocks if it is alive or was active later, and is worth knowing if it is older.", false, begun(concurrent)},
		{reprise.CodeGitOperation, blocking, "A merge, rebase, cherry-pick, revert, bisect or am is not finished in the checkout; it is a warning where the run works in another checkout.", false, inGit(gitOperation)},
		{reprise.CodeIndexLock, warning, "Git's index, head or branch is locked, so that nothing can be committed; it blocks while the holder is alive.", false, inGit(indexLock)},
		{reprise.CodeCallInAir, warning, "An agent that worked in the run's folder began something and left no result, or its last turn has no end on record: it is worth knowing where it has landed or was not begun, and a warning where that cannot be told, a part is missing, or a session cannot be read.", false, callInAir},
		{reprise.CodeUnreadable, warning, "A file of the run cannot be read or parsed: what it would tell is unknown, and it blocks unless the step that comes next makes the file.", false, nil},
		{reprise.CodePermission, warning, "The file system does not let a file or folder be read: what it would tell is unknown, and it blocks.", false, nil},
		{reprise.CodeMissingArtifact, blocking, "A file the run refers to is missing or damaged: blocking if it is critical and the open work needs it, a warning if what makes it must run again, else worth knowing.", true, open(missingArtifact)},
		{reprise.CodeStatusDrift, warning, "Ledgers disagree about one unit; docs/reference/checks.md says of every pair of statuses what it means and whether it blocks.", true, open(statusDrift)},
		{reprise.CodeCriteriaChanged, blocking, "The acceptance criteria of the story changed after the run was last active, while work resting on them is under way; of a story that is a run of its own it is a warning, and where our journal tells that no attempt did it, `resume` asks once.", false, criteriaChanged},
		{reprise.CodeScopeChanged, blocking, "The scope or the requirements of the story changed after the run was last active; changed tasks alone are a warning, and so is a story that is a run of its own.", false, scopeChanged},
		{reprise.CodeWorktreeForeign, blocking, "The folder the run works in is not a checkout of this repository; a checkout that is on another branch is a warning.", false, inGit(worktreeForeign)},
		{reprise.CodeBrokenBranch, blocking, "The branch of the run, or the one that is checked out, points at no commit, because a power cut left zeros in its ref; `repair` points it at the last commit on record.", false, inGit(brokenBranch)},
		{reprise.CodeWorktreeGone, warning, "Git lists the checkout the run works in, but its folder is gone, and with it whatever was not committed there.", false, inGit(worktreeGone)},
		{reprise.CodeWrongBranch, warning, "The run works on a branch that is not checked out where it would continue.", false, inGit(wrongBranch)},
		{reprise.CodeDetachedHead, warning, "The checkout is on no branch: commits made there are easily lost.", false, inGit(detachedHead)},
		{reprise.CodeUncommitted, warning, "Changes that no commit holds lie in the run's checkout; conflicts left in files block, untracked files alone are worth knowing; a step that was finished and that git could not commit is a warning.", false, open(uncommitted)},
		{reprise.CodeFilesChanged, warning, "Files of the run were changed by commits that do not belong to it, or finished work has uncommitted changes; where open steps of a workflow need what our journal accepted and something else than the run changed it, `resume` asks once.", false, begun(filesChanged)},
		{reprise.CodeWorkflowChanged, warning, "The workflow file that a run was started from was changed since, or is gone.", false, nil},
		{reprise.CodeNewDependency, warning, "A dependency was added or changed that the saved state does not account for: a manifest, a Dependencies section, or a step it does not list.", false, newDependency},
		{reprise.CodeWorkNotHere, blocking, "What our journal accepted is not where the run continues: its commit is not in what is checked out, a file that an open step needs is gone, or the repository is; a warning where it may be there in another form, a later step may have taken it away, or the run is finished, and `--from` does it again.", false, workNotHere},
		{reprise.CodeFalseCompletion, warning, "Something is marked done while its own evidence says otherwise.", false, falseCompletion},
		{reprise.CodeUnrecorded, warning, "Commits name what is left of a step, and its ledger does not tell of them: they may hold the next part of it or a piece of that.", false, inGit(unrecorded)},
		{reprise.CodeVerifyFailed, warning, "The command given with --verify did not succeed on a copy of what is checked out.", false, nil},
		{reprise.CodeClosedOpen, warning, "The run ended with work left open; worth knowing where it was ended on purpose.", true, closedOpen},
		{reprise.CodeCycle, warning, "Steps wait for each other, so that none of them can start.", true, open(cycle)},
		{reprise.CodeUnknownDependency, warning, "A step waits for something that does not exist.", true, open(unknownDependency)},
		{reprise.CodeNotReady, warning, "The last attempt at a step found that its agent cannot work as it is set up: it is not signed in, its key is refused, or it does not trust the folder.", false, nil},
		{reprise.CodeAttemptsSpent, warning, "What comes next has used up its attempts, or another one is pointless: it is not tried again before you decide; each attempt that counts is worth knowing.", false, nil},
		{reprise.CodeRetryLoop, warning, "A step was tried many times without success; one more try is unlikely to help.", true, open(retryLoop)},
		{reprise.CodeQuestionHidden, warning, "A person was asked and has not answered, but the state of the run tells of something else.", true, open(questionHidden)},
		{reprise.CodePendingQuestion, warning, "A person was asked and has not answered.", false, nil},
		{reprise.CodeOwnerMarker, warning, "A marker says that an agent is at work, and whether that is so cannot be told.", false, open(ownerUnknown)},
		{reprise.CodeStaleMarker, info, "A marker of an agent at work is left over: the process is gone, or the other files contradict it.", false, open(staleOwner)},
		{reprise.CodeFutureTime, warning, "A time on record lies in the future: a clock was wrong, or the time was invented; ages are not to be trusted.", true, futureTime},
		{reprise.CodeStaleRun, warning, "Nothing happened for more than seven days, or the history does not reach back to when something did: the project may have moved on since.", true, begun(staleRun)},
		{reprise.CodeUnknownStatus, warning, "A status word has no meaning in its format; what it speaks of counts as open.", false, nil},
		{reprise.CodePlanCopies, warning, "Two copies of a plan are not the same; the one that is further along counts.", false, nil},
		{reprise.CodeIntegrity, warning, "A rule of the format is broken.", false, nil},
		{reprise.CodeAmbiguous, warning, "The files do not settle where the run stands.", false, nil},
		{reprise.CodeAbandoned, warning, "A step was left open while the work continued beyond it.", false, nil},
		{reprise.CodeGap, warning, "A number is missing in a sequence: something was left out or lost.", false, nil},
		{reprise.CodeDuplicateID, warning, "Two units have the same id.", false, nil},
		{reprise.CodeDuplicateKey, warning, "A key stands twice in a file; the last one counts.", false, nil},
		{reprise.CodeWrongType, warning, "A value has another type than its place asks for.", false, nil},
		{reprise.CodeDamagedLine, warning, "One line or record is lost; the rest of the file was read.", false, nil},
		{reprise.CodeSalvaged, warning, "A file is not well-formed and was read line by line.", false, nil},
		{reprise.CodeTooLarge, warning, "A file is larger than what is read; what stands in the rest is unknown.", false, nil},
		{reprise.CodeNotRegular, warning, "A FIFO, device or folder stands where a file belongs, and is not opened.", false, nil},
		{reprise.CodeLinkOutside, warning, "A link leads out of the project and is not followed.", false, nil},
		{reprise.CodeLeftover, info, "A file is the residue of an interrupted write.", false, nil},
		{reprise.CodeSuperseded, info, "A later run of the same task took over; a warning where that one is finished.", false, open(superseded)},
		{reprise.CodeSectionChanged, info, "A section that does not define the work was updated after the run was last active, such as notes or a change log.", false, sectionChanged},
		{reprise.CodeUnpushed, info, "Commits of the run's branch are on this machine only.", false, inGit(unpushed)},
		{reprise.CodeGitUnavailable, info, "Git could not be asked, so that its evidence is missing from the answer; it blocks where git refuses to tell what is not committed in the run's checkout, because its index is damaged or may not be read.", false, open(gitUnavailable)},
		{reprise.CodeJournalDamaged, blocking, "The journal of the run in .reprise/ is damaged before its end, or an earlier repair gave records up; what the layout's own files say still counts.", false, nil},
		{reprise.CodeStateGone, blocking, "Files of the run that its journal wrote are no longer there: a warning where the rest still tells what the run is and a person is asked before anything is done again.", false, nil},
		{reprise.CodeLostCompletion, warning, "The journal accepted the end of a step and the files of the run do not tell of it; it blocks where files are gone and the rest does not even know of the step.", false, nil},
		{reprise.CodeUnrecordedEnd, warning, "The files mark a step done, and the journal of the run, which was begun from a workflow file, knows of no end of it, or an attempt at another task of its list marked it: a person is asked before anything builds on it.", false, nil},
		{reprise.CodeStepsChanged, warning, "Something else changed the steps that a run was begun with from a workflow file, and resuming puts them back, or an attempt at another task removed one that was open from its list, and a person is asked whether to put it back.", false, nil},
		{reprise.CodeElsewhere, blocking, "The run is worked on from another folder around it, or is in another checkout: the journal there knows what was begun.", false, nil},
		{reprise.CodeCopied, blocking, "The project was copied together with its state, or nothing says that the state was made here: two copies must not continue one run; --adopt accepts this one as a project of its own.", false, nil},
		{reprise.CodeMovedOn, info, "Something else changed a file of the run after our last event in it; the file counts.", false, nil},
		{reprise.CodeRolledForward, info, "A crash came between an event and the files that tell it; they were, or will be, brought up to the journal.", false, nil},
		{reprise.CodeNotTrusted, warning, "The settings of the project, or the workflow file of the run, name commands that are not trusted on this machine, or no longer: nothing is started before a person trusts them.", false, nil},
		{reprise.CodeCostUnknown, warning, "While a run is worked on: the cost of an attempt is unknown, so max_cost does not count it.", false, nil},
		{reprise.CodeLeftProcess, warning, "While a run is worked on: a process that a step started lived on after it, and was stopped.", false, nil},
		{reprise.CodeAge, info, "The run was last active between one hour and seven days ago; within the hour there is nothing to say, and beyond seven days it is stale.", false, begun(age)},
	}
	for i := range checks {
		checks[i].Run = checks[i].filled()
	}
	return checks
})

type question = func(r *reprise.Run, o *World) []reprise.Finding

// filled is the question of a check that fills in what its findings leave out: the code
// and severity of the check, the run as their subject, and its file as their place.
func (c Check) filled() question {
	if c.Run == nil {
		return nil
	}
	return func(r *reprise.Run, o *World) []reprise.Finding {
		found := c.Run(r, o)
		for i := range found {
			f := &found[i]
			f.Code, f.Severity = cmp.Or(f.Code, c.Code), cmp.Or(f.Severity, c.Severity)
			f.Subject, f.Source.File = cmp.Or(f.Subject, r.ID), cmp.Or(f.Source.File, r.Path)
		}
		return found
	}
}

// when asks a question only of runs for which something holds.
func when(holds func(*reprise.Run, *World) bool, q question) question {
	return func(r *reprise.Run, o *World) []reprise.Finding {
		if !holds(r, o) {
			return nil
		}
		return q(r, o)
	}
}

// open asks about runs that can be resumed.
func open(q question) question {
	return when(func(r *reprise.Run, _ *World) bool { return r.State.Open() }, q)
}

// inGit asks about those of a repository that was looked at.
func inGit(q question) question {
	return open(when(func(_ *reprise.Run, o *World) bool { return o.Git != nil }, q))
}

// begun asks about runs that are more than a plan: what changed around them since may
// have taken the ground from under them.
func begun(q question) question {
	return when(func(r *reprise.Run, _ *World) bool { return isBegun(r) }, q)
}

// All asks every check and returns what they found, in the order of the table.
func All(r *reprise.Run, o reprise.Observed) []reprise.Finding { return ask(r, NewWorld(o), Every) }

func ask(r *reprise.Run, o *World, set Set) []reprise.Finding {
	var out []reprise.Finding
	for _, c := range table() {
		if c.Run == nil || (!c.Cheap && set != Every) {
			continue
		}
		for _, f := range c.Run(r, o) {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// Apply asks the checks of a set and edits the findings of the run: a check
// that found the same as the reader did, replaces what the reader said, for it
// has seen more. The findings then stand by severity, the worst first, and by
// the order of the table. Applying twice gives the same as applying once.
func (o *World) Apply(r *reprise.Run, set Set) {
	found := ask(r, o, set)
	placed := make([]bool, len(found))
	var out []reprise.Finding
	put := func(i int) {
		if !placed[i] {
			placed[i] = true
			out = append(out, found[i])
		}
	}
	for _, old := range r.Findings {
		if i := slices.Index(found, old); i >= 0 {
			put(i) // told before; the others about the same have their own place
			continue
		}
		keep := true
		for i, f := range found {
			if replaces(f, old) {
				keep = false
				put(i)
			}
		}
		if keep {
			out = append(out, old)
		}
	}
	for i := range found {
		put(i)
	}
	r.Findings = out
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == reprise.Blocking && r.Restorable(f.Source.File) {
			f.Hint = repairs
		}
	}
	place := map[string]int{}
	for i, c := range table() {
		place[c.Code] = i
	}
	slices.SortStableFunc(r.Findings, func(a, b reprise.Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(place[a.Code], place[b.Code]))
	})
}

// families are codes that are answers to the same question: a check that knows
// who holds a marker replaces what the reader could say of it.
var families = map[string]string{
	reprise.CodeLiveOwner: "owner", reprise.CodeOwnerMarker: "owner", reprise.CodeStaleMarker: "owner",
	reprise.CodeQuestionHidden: "question", reprise.CodePendingQuestion: "question",
}

// replaces reports whether f tells what old told, and better.
func replaces(f, old reprise.Finding) bool {
	if f.Code == old.Code && f.Subject == old.Subject {
		return true
	}
	family := families[f.Code]
	return family != "" && family == families[old.Code] && f.Source == old.Source && f.Source.File != ""
}

// told reports whether the run carries a finding with this code already; an
// empty subject stands for any. Checks that know no more than the reader ask it
// and keep silent.
func told(r *reprise.Run, code, subject string) bool {
	return slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool {
		return f.Code == code && (subject == "" || f.Subject == subject)
	})
}
