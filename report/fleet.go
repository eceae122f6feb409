package report

import "time"

// FleetSchema is the version of the document of the fleet.
const FleetSchema = "reprise/fleet/v1"

// Fleet is the answer of `reprise-fleet status`: the runs of a repository on many machines,
// as the server tells.
type Fleet struct {
	Schema     string     `json:"schema" jsonschema:"reprise/fleet/v1"`
	Repository string     `json:"repository" jsonschema:"the identity of the repository: its remote without how it is reached; empty if it is not known"`
	Runs       []FleetRun `json:"runs" jsonschema:"open runs first, then the latest"`
	Problem    string     `json:"problem,omitempty" jsonschema:"why nothing is known of the fleet; absent if it is"`
	Remote     string     `json:"remote,omitempty" jsonschema:"why the git remote could not be asked: where a run went on after the fleet left it, its state may be an older one"`
}

// FleetOpen is the state of a run whose workflow is open.
const FleetOpen = "open"

// FleetRun is one run of the fleet.
type FleetRun struct {
	ID        string      `json:"id"`
	State     string      `json:"state" jsonschema:"open while its workflow is; else how the run was left: complete, interrupted, waiting, stopped, or failed if a step failed for good or its workflow did"`
	Started   time.Time   `json:"started"`
	Ended     *time.Time  `json:"ended,omitempty"`
	AtWork    []FleetStep `json:"at_work"`
	Branch    string      `json:"branch" jsonschema:"the branch of the remote that holds it"`
	Here      string      `json:"here,omitempty" jsonschema:"where a checkout of this clone has it as complete, in files that its branch does not have"`
	Accepted  *int        `json:"accepted,omitempty" jsonschema:"how many steps were accepted since its workflow was started; absent if that is not known"`
	Stopping  bool        `json:"stopping,omitempty" jsonschema:"it was told to stop, and something of it is still at work or not on its branch"`
	Questions []Question  `json:"questions" jsonschema:"what it asks"`
	Until     *time.Time  `json:"until,omitempty" jsonschema:"when it looks again by itself"`
	Account   string      `json:"account,omitempty" jsonschema:"what a limit closed that it waits for; absent if it waits for none or that is not known"`
	Met       *FleetLimit `json:"met,omitempty" jsonschema:"who met that limit; absent if the server does not know"`
	Problem   string      `json:"problem,omitempty" jsonschema:"why it is not known where the run stands"`
	Stuck     string      `json:"stuck,omitempty" jsonschema:"why what is to be decided or landed is tried again"`
	// Failed are attempts whose step was not accepted since.
	Failed []FleetFailure `json:"failed,omitempty" jsonschema:"attempts that failed and whose step was not accepted since, with the last words of the agent; of an open run the last attempt of each step"`
}

// FleetLimit is a usage limit, and who met it.
type FleetLimit struct {
	Repository string    `json:"repository,omitempty" jsonschema:"the identity of the repository of the run that met it; absent if that is not known"`
	Run        string    `json:"run,omitempty" jsonschema:"the run that met it; absent if that is not known"`
	At         time.Time `json:"at" jsonschema:"when it was met"`
}

// FleetFailure is an attempt that failed, and why.
type FleetFailure struct {
	Step    string `json:"step" jsonschema:"of a run within the run: RUN/STEP"`
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
}

// FleetStep is an attempt at work: which worker has it since when.
type FleetStep struct {
	Step    string     `json:"step" jsonschema:"of a run within the run: RUN/STEP"`
	Attempt int        `json:"attempt"`
	Role    string     `json:"role,omitempty"`
	Worker  string     `json:"worker,omitempty" jsonschema:"absent while no worker has taken it"`
	Waits   string     `json:"waits,omitempty" jsonschema:"why no worker has it, where that is known"`
	Ended   bool       `json:"ended,omitempty" jsonschema:"it is no longer at work, and what came of it is to be put on the branch"`
	Lost    bool       `json:"lost,omitempty" jsonschema:"it told no end, since its worker was lost"`
	Since   time.Time  `json:"since" jsonschema:"when a worker took it; where none has or it is no longer at work, since when that is so"`
	Beat    *time.Time `json:"heartbeat,omitempty"`
	Session string     `json:"session,omitempty"`
	Line    string     `json:"line,omitempty" jsonschema:"the last line that its agent printed"`
}
