package reprise

// Loop says where a run stands that is worked on in rounds.
type Loop struct {
	At        string // the phase, with its title
	Status    string // the loop's own word for its status, "" if it has none
	Iteration string // as its files count it, "" if they do not
}

// String returns it on one line: "B1 ask (clarifying, iteration 2 / 10)".
func (l Loop) String() string {
	about := l.Status
	if l.Iteration != "" {
		if about != "" {
			about += ", "
		}
		about += "iteration " + l.Iteration
	}
	if about == "" {
		return l.At
	}
	return l.At + " (" + about + ")"
}
