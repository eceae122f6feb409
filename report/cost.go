package report

import "reprise"

// Cost is what a run used, as its journal tells.
type Cost struct {
	Total reprise.Usage `json:"total" jsonschema:"what all attempts since the run was started used"`
	Steps []StepCost    `json:"steps" jsonschema:"the same by step, in the order in which they were started"`
}

// StepCost is what a step used.
type StepCost struct {
	ID       string        `json:"id"`
	Attempts int           `json:"attempts" jsonschema:"how many of agents"`
	Usage    reprise.Usage `json:"usage"`
}
