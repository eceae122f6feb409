package report

// SetupSchema is the version of the document.
const SetupSchema = "reprise/setup/v1"

// Setup is the answer of `reprise init`, `reprise trust` and `reprise hook install` or
// `uninstall`: what became of which file.
type Setup struct {
	Schema string      `json:"schema" jsonschema:"reprise/setup/v1"`
	Files  []SetupFile `json:"files"`
	Next   []string    `json:"next" jsonschema:"commands that are offered beside; empty if none are"`
}

// SetupFile is one file.
type SetupFile struct {
	Path    string   `json:"path" jsonschema:"absolute"`
	Outcome string   `json:"outcome" jsonschema:"written, kept, declined, changed, unchanged, trusted, untrusted, revoked; gone for a trusted file that is not there, other for one that has changed since"`
	Dry     bool     `json:"dry,omitempty" jsonschema:"it was only shown: this is what would become of it"`
	Text    string   `json:"text,omitempty" jsonschema:"what is, or would be, written, or the change of it"`
	Starts  []string `json:"starts,omitempty" jsonschema:"the commands that it names"`
}
