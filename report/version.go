package report

// VersionSchema names the document that version prints.
const VersionSchema = "reprise/version/v1"

// Version is what this program was built from, as far as the build says.
type Version struct {
	Schema   string `json:"schema" jsonschema:"reprise/version/v1"`
	Version  string `json:"version" jsonschema:"the release, or the version that Go derives from the last release and the commit"`
	Revision string `json:"revision,omitempty" jsonschema:"the commit"`
	Time     string `json:"time,omitempty" jsonschema:"when that was made"`
	Modified bool   `json:"modified" jsonschema:"whether files were changed since that commit"`
	Go       string `json:"go" jsonschema:"the version of Go that compiled it"`
	Platform string `json:"platform" jsonschema:"the system and the processor it runs on"`
}
