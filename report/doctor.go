package report

// DoctorSchema is the version of the document of `reprise doctor`.
const DoctorSchema = "reprise/doctor/v1"

// Doctor is the answer of `reprise doctor`: whether it can work here.
type Doctor struct {
	Schema string        `json:"schema" jsonschema:"reprise/doctor/v1"`
	Root   string        `json:"root" jsonschema:"absolute path of the project folder"`
	System string        `json:"system" jsonschema:"operating system and processor"`
	Checks []DoctorCheck `json:"checks"`
	Exit   int           `json:"exit"`
}

// DoctorCheck is one thing that was looked at.
type DoctorCheck struct {
	Group string `json:"group" jsonschema:"agents, git, files, processes, settings or terminal"`
	Name  string `json:"name"`
	Level string `json:"level" jsonschema:"fine, absent (not needed), limited or missing (essential)"`
	Says  string `json:"says" jsonschema:"what was found"`
	Means string `json:"means" jsonschema:"what would not work here, and why; empty if nothing"`
	Do    string `json:"do" jsonschema:"what a person can do"`
}
