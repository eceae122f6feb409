package report

// BriefSchema is the version of the document of `reprise brief`.
const BriefSchema = "reprise/brief/v1"

// Brief is the answer of `reprise brief`: where a run stands, for a session that
// takes it over.
type Brief struct {
	Schema   string         `json:"schema" jsonschema:"reprise/brief/v1"`
	Root     string         `json:"root" jsonschema:"absolute path of the project folder"`
	Layout   string         `json:"layout"`
	ID       string         `json:"id" jsonschema:"the run; empty if none is open"`
	For      string         `json:"for" jsonschema:"the CLI it is for; empty for any"`
	Sections []BriefSection `json:"sections" jsonschema:"goal, verified, evidenced, claimed, skipped, in-progress, unknown, changed, next, do-not, others, in this order; others only where there are any"`
	Notes    []string       `json:"notes" jsonschema:"about the CLI that reads it"`
	Text     string         `json:"text" jsonschema:"all of it as the CLI is to read it, text from state between fences, at most 10000 characters"`
}

// BriefSection is one part of a briefing.
type BriefSection struct {
	Key   string      `json:"key" jsonschema:"stable"`
	Title string      `json:"title"`
	Lead  string      `json:"lead" jsonschema:"what it means for its reader"`
	Items []BriefItem `json:"items"`
	Left  int         `json:"left" jsonschema:"how many items were left out to keep it short"`
}

// BriefItem is one statement; its text may hold text from state.
type BriefItem struct {
	Text   string `json:"text"`
	Source string `json:"source" jsonschema:"file:line, commit, journal #number; more than one parted by a semicolon"`
}
