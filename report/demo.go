package report

import "reprise"

// DemoSchema is the version of the document of `reprise demo`.
const DemoSchema = "reprise/demo/v1"

// Demo is what the demo shows: that a run whose engine was killed came to its
// end and no finished step ran twice.
type Demo struct {
	Schema    string        `json:"schema" jsonschema:"reprise/demo/v1"`
	Layout    string        `json:"layout"`
	Run       string        `json:"run" jsonschema:"id of the run"`
	Dir       string        `json:"dir" jsonschema:"absolute path of the scratch folder"`
	Project   string        `json:"project" jsonschema:"absolute path of the project in it"`
	Kept      bool          `json:"kept" jsonschema:"the folder is still there"`
	State     reprise.State `json:"state" jsonschema:"of the run at last"`
	Steps     []DemoStep    `json:"steps" jsonschema:"in the order they came up"`
	Processes []string      `json:"processes" jsonschema:"what was left running; empty if the proof holds"`
	Problems  []string      `json:"problems" jsonschema:"what contradicts the proof; empty if it holds"`
	Proven    bool          `json:"proven"`
	Seconds   float64       `json:"seconds" jsonschema:"how long it all took"`
	Exit      int           `json:"exit"`
}

// DemoStep is what happened to one step.
type DemoStep struct {
	ID             string `json:"id"`
	Launches       int    `json:"launches" jsonschema:"by the agents' own log; 0 for commands and decisions"`
	Finished       int    `json:"finished" jsonschema:"accepted completions, by the journal"`
	FinishedBefore bool   `json:"finished_before" jsonschema:"it was finished when the engine was killed"`
	CutOff         bool   `json:"cut_off" jsonschema:"it was at work when the engine was killed"`
	Asked          bool   `json:"asked" jsonschema:"it ended with a question to a person"`
	Resolution     string `json:"resolution" jsonschema:"how an attempt that was cut off was settled: landed, rerun or ask; empty for others"`
	Why            string `json:"why" jsonschema:"what the resolution rests on"`
}
