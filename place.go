package reprise

// Place is a Ref as stored in a journal.
type Place struct {
	Layout string `json:"layout"`
	ID     string `json:"id"`
	Path   string `json:"path"`
	Kind   Kind   `json:"kind,omitempty"`
}
