package reprise

// Codes of findings. A code is part of the JSON contract: it is never renamed
// and never reused for something else.
const (
	CodeUnreadable        = "unreadable-file"        // a file of the run cannot be read or parsed
	CodePermission        = "permission"             // the file system refused to let us read it
	CodeNotRegular        = "not-regular-file"       // a FIFO, device or folder where a file belongs
	CodeLinkOutside       = "link-out-of-tree"       // a link that leaves the project is not followed
	CodeTooLarge          = "file-too-large"         // larger than we read; what was not read is unknown
	CodeDamagedLine       = "damaged-line"           // one line or record is lost, the rest was read
	CodeSalvaged          = "salvaged"               // not well-formed; read line by line instead
	CodeWrongType         = "wrong-type"             // a value has another type than its place asks for
	CodeDuplicateKey      = "duplicate-key"          // a key stands twice; the last one counts
	CodeDuplicateID       = "duplicate-id"           // two units have the same id
	CodeUnknownStatus     = "unknown-status"         // a status word without a meaning
	CodeStatusDrift       = "status-drift"           // two ledgers disagree about one unit
	CodePlanCopies        = "plan-copies-differ"     // two copies of a plan are not the same
	CodeMissingArtifact   = "missing-artifact"       // a file the run needs is not there
	CodeStaleMarker       = "stale-owner-marker"     // a marker of an agent that the other files contradict
	CodeOwnerMarker       = "owner-marker"           // a marker says that somebody is at work
	CodeCycle             = "dependency-cycle"       // steps wait for each other
	CodeUnknownDependency = "unknown-dependency"     // a step waits for something that does not exist
	CodeGap               = "numbering-gap"          // a number is missing in a sequence
	CodeClosedOpen        = "closed-with-open-items" // ended by a person with work left
	CodeFalseCompletion   = "false-completion"       // called done while its own evidence says otherwise
	CodePendingQuestion   = "pending-question"       // a person was asked and has not answered
	CodeUnrecorded        = "unrecorded-commit"      // a commit may hold a piece of what comes next, and no ledger tells of it
	CodeRetryLoop         = "retry-loop"             // many attempts without success
	CodeAttemptsSpent     = "attempts-spent"         // a step is not tried again before a person had a say
	CodeLeftover          = "leftover-file"          // residue of an interrupted write
	CodeAmbiguous         = "ambiguous-state"        // the files do not settle where it stands
	CodeSuperseded        = "superseded"             // a later run took over
	CodeAbandoned         = "abandoned-step"         // open, but the work went on beyond it
	CodeFutureTime        = "future-time"            // a time on record lies in the future
	CodeStaleRun          = "stale-run"              // nothing happened for a long time
	CodeIntegrity         = "integrity"              // a rule of the format is broken
	CodeLiveOwner         = "live-owner"             // a process that is alive holds the run
	CodeElsewhere         = "worked-elsewhere"       // the run is gone on with from another folder
	CodeSessionLive       = "session-live"           // an agent is at work where the run works
	CodeCallInAir         = "call-in-air"            // an agent began something there and left no result
	CodeGitOperation      = "git-mid-operation"      // a merge, rebase or the like is not finished
	CodeIndexLock         = "index-lock"             // git's index is locked
	CodeWrongBranch       = "wrong-branch"           // the checkout is on another branch than the run
	CodeDetachedHead      = "detached-head"          // the checkout is on no branch
	CodeWorktreeGone      = "worktree-gone"          // git lists the run's checkout, its folder is not there
	CodeWorktreeForeign   = "worktree-foreign"       // the run's folder is not the checkout it should be
	CodeUncommitted       = "uncommitted-work"       // changes that no commit holds
	CodeUnpushed          = "unpushed-work"          // commits that no remote has
	CodeGitUnavailable    = "git-unavailable"        // git could not be asked
	CodeCriteriaChanged   = "criteria-changed"       // the acceptance criteria are not what they were
	CodeScopeChanged      = "scope-changed"          // the scope or the tasks are not what they were
	CodeSectionChanged    = "section-changed"        // another section of a document was updated
	CodeFilesChanged      = "files-changed"          // files of the run were changed by other work
	CodeWorkflowChanged   = "workflow-changed"       // the workflow file is not what the run was started from
	CodeNewDependency     = "new-dependency"         // a dependency the saved state does not know
	CodeConcurrent        = "concurrent-workflow"    // another run works on the same story
	CodeQuestionHidden    = "question-hidden"        // an open question behind another state
	CodeVerifyFailed      = "verify-failed"          // a person's command did not succeed
	CodeRolledForward     = "rolled-forward"         // the files were, or will be, brought up to the journal
	CodeMovedOn           = "moved-on"               // something else changed a file after our last event
	CodeStateGone         = "state-gone"             // files of the run that its journal wrote are not there any more
	CodeLostCompletion    = "lost-completion"        // the journal accepted the end of a step and the files call it open
	CodeJournalDamaged    = "journal-damaged"        // our own record of the run cannot be trusted
	CodeLeftProcess       = "left-process"           // something a step started lived on after it
	CodeAge               = "age"                    // how long ago the run was active
)
