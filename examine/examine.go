// Package examine holds the checks: they take a Run and what was observed about the
// world, and return findings. A check is one file and one line in the table. It reads no
// files and no clock and changes nothing, so the same Run and the same Observed always
// give the same findings.
//
// A check whose evidence is missing from Observed is silent: what was not observed is not
// held against a run.
package examine

import (
	"cmp"
	"slices"
	"sync"

	"reprise"
)

// Check is one question asked of every run, or a kind of finding that only readers
// produce.
type Check struct {
	Code     string           // stable; the code of its findings
	Severity reprise.Severity // the default
	Doc      string           // what it means, in one sentence
	// Cheap checks need only the run and the clock, and run even when a whole project is
	// listed.
	Cheap bool
	// Run performs the check. It is nil for findings that only the layouts' readers
	// produce; such entries exist to be documented.
	Run func(r *reprise.Run, o *World) []reprise.Finding
}

// World is what was observed about the world, plus conclusions from it that apply to all
// runs and are computed once. It is not safe for concurrent use, and while it is in use
// the runs of the project must not change except for their findings and grades.
type World struct {
	reprise.Observed
	records func() records
	titles  map[*reprise.Run]string
}

func NewWorld(o reprise.Observed) *World {
	return &World{
		Observed: o, titles: map[*reprise.Run]string{},
		records: sync.OnceValue(func() records { return recordsOf(o.Peers...) }),
	}
}

// Apply is World.Apply for one run.
func Apply(r *reprise.Run, o reprise.Observed, set Set) { NewWorld(o).Apply(r, set) }

// Set says which checks to run.
type Set uint8

// The sets.
const (
	Cheap Set = iota + 1 // those that need only the run and the clock
	Every                // all of them
)

// Checks returns the table of all checks and codes. Findings of equal severity are listed
// in this order.
func Checks() []Check { return slices.Clone(table()) }

// table is built once: every run uses it.
var table = sync.OnceValue(func() []Check {
	const info, warning, blocking = reprise.Info, reprise.Warning, reprise.Blocking
	checks := []Check{
		{reprise.CodeUndoCutOff, blocking, "An `undo` was started in the project and did not finish, so its files are in part from another time: the same undo finishes it.", false, nil},
		{reprise.CodeLiveOwner, info, "A live process holds the run: nothing is started beside it, and nothing is wrong; a warning for a process that a dead engine left behind.", false, liveOwner},
		{reprise.CodeSessionLive, info, "An agent session is working in the run's folder, or a command it started still runs there: nothing is started beside it, and nothing is wrong; an open but idle session is a warning, and the run does not continue automatically until you say so.", false, sessionLive},
		{reprise.CodeConcurrent, blocking, "Another open workflow works on the same story; it blocks if it is alive or was active later, and is only info if it is older.", false, begun(concurrent)},
		{reprise.CodeGitOperation, blocking, "A merge, rebase, cherry-pick, revert, bisect or am is unfinished in the checkout; it is a warning if the run works in another checkout.", false, inGit(gitOperation)},
		{reprise.CodeIndexLock, blocking, "Git's index, head or branch is locked, so nothing can be committed; a warning for a run that works in a checkout of its own.", false, inGit(indexLock)},
		{reprise.CodeCallInAir, warning, "An agent that worked in the run's folder began something and left no result, or its last turn has no end on record: info if it took effect completely or was not begun, a warning if that is unknown, a part is missing, or a session cannot be read; what may have reached another machine stays unknown, whatever was done since, until git's own note of a push or a person (`answer`) settles it, and is not asked about any more, which settles nothing, 14 days after the session if the run went on.", false, callInAir},
		{reprise.CodeUnreadable, warning, "A file of the run cannot be read or parsed, holds nothing, or is missing or ends early compared with the last commit: its content is unknown, and it blocks unless the next step creates the file.", false, nil},
		{reprise.CodePermission, warning, "The file system refuses to let a file or folder be read, so its content is unknown, or to let what working on the run writes be written: it blocks.", false, nil},
		{reprise.CodeMissingArtifact, blocking, "A file that the run refers to is missing or damaged: it blocks if the file is critical and open work needs it, is a warning if the step that creates it must run again, and is info otherwise.", true, open(missingArtifact)},
		{reprise.CodeStatusDrift, warning, "Two records disagree about one step; docs/reference/checks.md lists what each pair of statuses means and whether it blocks.", true, open(statusDrift)},
		{reprise.CodeCriteriaChanged, blocking, "The acceptance criteria of the story changed after the run was last active, while work that depends on them is in progress; it is a warning for a story that is a run of its own, and if our journal shows that no attempt made the change, `resume` asks once.", false, criteriaChanged},
		{reprise.CodeScopeChanged, blocking, "The scope or the requirements of the story changed after the run was last active; it is a warning if only the tasks changed, or if the story is a run of its own.", false, scopeChanged},
		{reprise.CodeWorktreeForeign, blocking, "The run's folder is not a checkout of this repository; a checkout on another branch is a warning.", false, inGit(worktreeForeign)},
		{reprise.CodeBrokenBranch, blocking, "The run's branch, or the one that is checked out, points at no commit, because a power cut left zeros in its ref; `repair` points it at the last commit on record.", false, inGit(brokenBranch)},
		{reprise.CodeWorktreeGone, warning, "Git lists the run's checkout, but its folder is gone, and with it all uncommitted work in it.", false, inGit(worktreeGone)},
		{reprise.CodeWrongBranch, warning, "The run's branch is not checked out where it would continue; it blocks if the run gets a checkout of its own and another folder has its branch checked out.", false, inGit(wrongBranch)},
		{reprise.CodeDetachedHead, warning, "The checkout is on no branch, so commits made there are easily lost; of a finished run it is reported if no branch has what is checked out.", false, when(func(_ *reprise.Run, o *World) bool { return o.Git != nil }, detachedHead)},
		{reprise.CodeUncommitted, warning, "The run's checkout has uncommitted changes; unresolved conflicts block, untracked files alone are info, and what finished steps left or recorded and no commit holds is a warning, of a complete run, too.", false, open(uncommitted)},
		{reprise.CodeFilesChanged, warning, "Commits that do not belong to the run changed its files, which is info if only finished steps name them; if something other than the run changed work that our journal accepted and open steps of a workflow need, `resume` asks once.", false, begun(filesChanged)},
		{reprise.CodeWorkflowChanged, warning, "The workflow file that the run was started from has changed since, or is gone.", false, nil},
		{reprise.CodeNewDependency, warning, "A dependency was added or changed that the saved state does not include: in a manifest, in a Dependencies section, or as a step it does not list.", false, newDependency},
		{reprise.CodeWorkNotHere, blocking, "Work that our journal accepted is not where the run continues: its commit is not checked out, a file that a step had to leave is gone, was emptied or cannot be read, or the repository is gone; it is a warning if git has a commit for an open step but not what the step is to leave, the work may be there in another form, no open step needs the file, a later step may have removed it, the run is finished, or something other than the run reverted the work or left nothing of it, or if only the files of the run call a step done and its commits or files are elsewhere; and so it is if a file that any finished step names was never there, was taken back by a revert, or was deleted after the last work on the run, which is info if that went on since, while what was edited or renamed is as it should be; `--from` does it again.", false, workNotHere},
		{reprise.CodeFalseCompletion, warning, "Something is marked done, but its own evidence contradicts that.", false, falseCompletion},
		{reprise.CodeNothingMade, warning, "A step is done by its agent's word alone: the attempt left no commit and no changed file, gave no verdict, and no verify command confirms it.", false, nothingMade},
		{reprise.CodeUnrecorded, warning, "Commits mention the rest of a step, but its record does not: they may contain the next part of it, or a piece of that.", false, inGit(unrecorded)},
		{reprise.CodeVerifyFailed, warning, "The --verify command failed on a copy of what is checked out.", false, nil},
		{reprise.CodeClosedOpen, warning, "The run ended with work left open, or something is marked done with unticked tasks or criteria; it is info if the run was ended on purpose.", true, closedOpen},
		{reprise.CodeCycle, warning, "Steps wait for each other, so none of them can start.", true, open(cycle)},
		{reprise.CodeUnknownDependency, warning, "A step waits for something that does not exist.", true, open(unknownDependency)},
		{reprise.CodeNotReady, warning, "The last attempt at a step found that its agent cannot work as configured: it is not signed in, its key is refused, it does not trust the folder, or it is denied again what you allowed.", false, nil},
		{reprise.CodeAttemptsSpent, warning, "The next step has used up its attempts, or another one is pointless: it is not retried until you decide; each attempt that counts is listed as info.", false, nil},
		{reprise.CodeRetryLoop, warning, "A step was tried many times without success; another try is unlikely to help.", true, open(retryLoop)},
		{reprise.CodeQuestionHidden, warning, "A question to a person is unanswered, but the state of the run does not show it.", true, open(questionHidden)},
		{reprise.CodePendingQuestion, warning, "A question to a person is unanswered.", false, nil},
		{reprise.CodeOwnerMarker, warning, "A marker says that an agent is working, but it is unknown whether that is true.", false, open(ownerUnknown)},
		{reprise.CodeStaleMarker, info, "A marker of a working agent is left over: the process is gone, or the other files contradict it.", false, open(staleOwner)},
		{reprise.CodeFutureTime, warning, "A recorded time is in the future: a clock was wrong, or the time was invented; do not rely on ages.", true, futureTime},
		{reprise.CodeStaleRun, warning, "Nothing has happened for more than seven days, or the history does not reach back to the last activity: the project may have moved on.", true, begun(staleRun)},
		{reprise.CodeUnknownStatus, warning, "A status word has no meaning in its format; the step counts as open.", false, nil},
		{reprise.CodePlanCopies, warning, "Two copies of a plan differ; only one of them counts.", false, nil},
		{reprise.CodeIntegrity, warning, "A rule of the format is broken.", false, nil},
		{reprise.CodeAmbiguous, warning, "The files do not show clearly where the run stands.", false, nil},
		{reprise.CodeAbandoned, warning, "A step was left open, but work continued beyond it.", false, nil},
		{reprise.CodeGap, warning, "A number is missing from a sequence: something was left out or lost.", false, nil},
		{reprise.CodeDuplicateID, warning, "Two steps have the same id.", false, nil},
		{reprise.CodeDuplicateKey, warning, "A key occurs twice in one map of a file, so which value was meant is unknown.", false, nil},
		{reprise.CodeWrongType, warning, "A value has the wrong type for its place.", false, nil},
		{reprise.CodeDamagedLine, warning, "One line or record is lost; the rest of the file was read.", false, nil},
		{reprise.CodeSalvaged, warning, "A file is not well-formed and was read line by line.", false, nil},
		{reprise.CodeTooLarge, warning, "A file is too large to be read completely; the content of the rest is unknown.", false, nil},
		{reprise.CodeNotRegular, warning, "There is a FIFO, device or folder where a file belongs; it is not opened.", false, nil},
		{reprise.CodeEncoding, warning, "A file is UTF-16, as some shells write it; it is not read and never written to.", false, nil},
		{reprise.CodeLinkOutside, warning, "A link leads out of the project and is not followed.", false, nil},
		{reprise.CodeLeftover, info, "A file is left over from an interrupted write.", false, nil},
		{reprise.CodeSuperseded, info, "A later run of the same task took over; it is a warning if that run is finished.", false, open(superseded)},
		{reprise.CodeSectionChanged, info, "A section that does not define the work, such as notes or a change log, was updated after the run was last active.", false, sectionChanged},
		{reprise.CodeUnpushed, info, "Commits on the run's branch exist only on this machine.", false, inGit(unpushed)},
		{reprise.CodeGitUnavailable, info, "Git could not be asked, so its evidence is missing; it is a warning if git did not answer, and it blocks if there is a repository that git does not work with (damaged, or owned by another user), or if git refuses to say what is uncommitted in the run's checkout because its index is damaged or unreadable.", false, open(gitUnavailable)},
		{reprise.CodeJournalDamaged, blocking, "The run's journal in .reprise/ is damaged before its end, or an earlier repair gave up records; the run's own files still count.", false, nil},
		{reprise.CodeJournalLost, warning, "An agent worked on the run, as its output shows, but the journal that says what was begun and done is gone: a person decides whether it goes on.", false, nil},
		{reprise.CodeStateGone, blocking, "Files that the run's journal wrote are gone: it is a warning if the remaining files still show what the run is and a person is asked before anything is done again.", false, nil},
		{reprise.CodeLostCompletion, warning, "The journal accepted the end of a step, but the run's files do not show it; it blocks if files are gone and the remaining ones do not even contain the step.", false, nil},
		{reprise.CodeUnrecordedEnd, warning, "The files mark a step done, but the journal of the run, which was started from a workflow file, has no end of it, or something else marked it or changed what the files of a run say since an attempt at another task or run began: a person is asked before anything builds on it.", false, nil},
		{reprise.CodeStepsChanged, warning, "Something else changed the steps of a run that was started from a workflow file, and resuming restores them; or an open step was removed from the files since an attempt began, and a person is asked whether to restore it; one that is left out stays in the run as skipped.", false, nil},
		{reprise.CodeElsewhere, blocking, "The run is worked on from another folder around it, or is in another checkout: the journal there knows what was begun; a checkout or branch that is only further along is a warning, and asks.", false, nil},
		{reprise.CodeHandedOver, blocking, "An earlier release handed the run to other machines: its branch on the remote is the run, and the files here may be an old copy.", false, nil},
		{reprise.CodeCopied, blocking, "The project was copied together with its state, or nothing shows that the state was made here: two copies must not continue one run; --adopt accepts this one as a project of its own.", false, nil},
		{reprise.CodeMovedOn, info, "Something else changed a file of the run after our last event in it; the file as it is now counts.", false, nil},
		{reprise.CodeRolledForward, info, "A crash came between an event and the changes to its files; they were, or will be, brought up to date with the journal.", false, nil},
		{reprise.CodeNotTrusted, warning, "The project's settings or the run's workflow file name commands that are not trusted on this machine, or no longer: nothing is started until you trust them.", false, nil},
		{reprise.CodeCostUnknown, warning, "During a run: the cost of an attempt is unknown, so max_cost does not include it.", false, nil},
		{reprise.CodeLeftProcess, warning, "During a run: a process that a step started outlived it and was stopped.", false, nil},
		{reprise.CodeAge, info, "The run was last active between one hour and seven days ago; younger runs are not reported, and older ones are stale.", false, begun(age)},
	}
	for i := range checks {
		checks[i].Run = checks[i].filled()
	}
	return checks
})

type question = func(r *reprise.Run, o *World) []reprise.Finding

// filled wraps a check so that missing fields of its findings are filled in: code and
// severity from the check, the run as subject, and its file as source.
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

// when runs a check only on runs for which holds is true.
func when(holds func(*reprise.Run, *World) bool, q question) question {
	return func(r *reprise.Run, o *World) []reprise.Finding {
		if !holds(r, o) {
			return nil
		}
		return q(r, o)
	}
}

// open limits a check to runs that can be resumed.
func open(q question) question {
	return when(func(r *reprise.Run, _ *World) bool { return r.State.Open() }, q)
}

// inGit limits a check to runs in a repository that was looked at.
func inGit(q question) question {
	return open(when(func(_ *reprise.Run, o *World) bool { return o.Git != nil }, q))
}

// begun limits a check to runs that are more than a plan: changes around them may have
// invalidated their work.
func begun(q question) question {
	return when(func(r *reprise.Run, _ *World) bool { return isBegun(r) }, q)
}

// All runs every check and returns the findings in table order.
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

// Apply runs the checks of a set and updates the findings of the run. A check that finds
// the same as the reader replaces the reader's finding, because it knows more. Findings
// are then sorted by severity, worst first, and by table order. Applying twice is the
// same as applying once.
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
			put(i) // reported before; others about the same thing keep their own place
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
		if f := &r.Findings[i]; f.Severity == reprise.Blocking && r.Restorable(f.Source.File) && !slices.Contains(r.Lost, f.Source.File) {
			f.Hint = orRepair(f.Hint)
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

// families are codes that answer the same question: a check that knows who holds a marker
// replaces the reader's finding about it.
var families = map[string]string{
	reprise.CodeLiveOwner: "owner", reprise.CodeOwnerMarker: "owner", reprise.CodeStaleMarker: "owner",
	reprise.CodeQuestionHidden: "question", reprise.CodePendingQuestion: "question",
}

// replaces reports whether f says the same as old, and better.
func replaces(f, old reprise.Finding) bool {
	if f.Code == old.Code && f.Subject == old.Subject {
		return true
	}
	family := families[f.Code]
	return family != "" && family == families[old.Code] && f.Source == old.Source && f.Source.File != ""
}

// told reports whether the run already has a finding with this code; an empty subject
// matches any. Checks that know no more than the reader use it to stay silent.
func told(r *reprise.Run, code, subject string) bool {
	return slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool {
		return f.Code == code && (subject == "" || f.Subject == subject)
	})
}
