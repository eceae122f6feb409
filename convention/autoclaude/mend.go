package autoclaude

import (
	"bytes"
	"io/fs"
	"path"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

var _ reprise.Mender = Layout{}

// Mend implements reprise.Mender. A copy of the plan that is broken or gone is
// rebuilt, byte for byte, from the copy that counts; nothing else can say what
// an item is. A record of the memory is rebuilt only where its file is blank:
// one that is cut off or garbled still tells a person something, and would lose
// it. That a copy is behind the one that counts is no damage.
func (Layout) Mend(fsys fs.FS, r *reprise.Run) ([]reprise.Mend, error) {
	if r.Path == "" {
		return nil, nil
	}
	l := load(fsys, r.Ref)
	proposals := l.mendPlans()
	for _, name := range []string{historyLog, commitsLog} {
		proposals = append(proposals, l.mendMemory(name)...)
	}
	reload := func(fsys fs.FS) *reprise.Run { return load(fsys, r.Ref).run }
	return ledger.Mend(reload, fsys, proposals), nil
}

// rewrite proposes to give a file a whole new content.
func rewrite(name, what, from, why string, content []byte) ledger.Proposal {
	return ledger.Proposal{What: what, From: from, Make: func(c *ledger.Changes) { c.Rewrite(name, content, why) }}
}

// mendPlans rebuilds the copies of the plan that are lost. A plan without items
// is no source: it is the stub that is made before the planner runs, and what
// was lost may have been the real one. Neither is one of which parts cannot be
// read.
func (l *loader) mendPlans() []ledger.Proposal {
	won := l.plan
	if won == nil || len(won.items) == 0 || won.lossy {
		return nil
	}
	var out []ledger.Proposal
	for i, p := range l.copies {
		what := ""
		switch {
		case p == won:
		case p.broken && p.file.OK():
			what = "the copy of the plan in " + p.dir + " cannot be read"
			if saysMore(p.file.Data, won.file.Data) {
				what += ", and the rest of it marks more items completed than the copy it is rebuilt from: look at both first"
			}
		case !p.file.Exists() && (i == 0 || l.workedIn(p.dir)):
			what = "the copy of the plan in " + p.dir + " is gone"
		}
		if what != "" {
			out = append(out, rewrite(p.file.Path, what, won.file.Path, "rebuilt from "+won.file.Path, bytes.Clone(won.file.Data)))
		}
	}
	return out
}

// saysMore compares how often two texts say completed, the only thing that can
// be asked of one that is no longer JSON.
func saysMore(broken, whole []byte) bool {
	word := []byte(`"completed"`)
	return bytes.Count(broken, word) > bytes.Count(whole, word)
}

// workedIn reports whether a coder left notes in a folder of the spec. It edits
// the plan in the same folder, so there was one. Without notes the folder is part
// of a checkout, and the original program copies the plan there when it starts.
// In the project itself the plan belongs in any case: it is listed from there.
func (l *loader) workedIn(dir string) bool {
	for _, name := range []string{historyLog, commitsLog, "build-progress.txt"} {
		if l.rd.Exists(path.Join(dir, name)) {
			return true
		}
	}
	return false
}

// mendMemory rebuilds a record whose file is blank, from the copy in another
// folder of the spec, else as an empty one without times, which are unknown.
func (l *loader) mendMemory(name string) []ledger.Proposal {
	at, present := l.pathOf(name)
	if !present {
		return nil
	}
	f := doc.NewReader(l.fsys).Open(at)
	if !f.OK() || len(bytes.Trim(f.Data, "\x00 \t\r\n\ufeff")) > 0 {
		return nil
	}
	what := at + " is blank, as a write that was cut off leaves it"
	for _, dir := range l.dirs() {
		other := doc.NewReader(l.fsys).Open(path.Join(dir, name))
		if root := other.JSON(); root != nil && root.Kind == doc.Map {
			return []ledger.Proposal{rewrite(at, what, other.Path, "rebuilt from "+other.Path, bytes.Clone(other.Data))}
		}
	}
	record := commitsRecord(splice.Object{})
	if name == historyLog {
		kind := (&item{}).kind()
		if l.plan != nil && len(l.plan.items) > 0 {
			kind = l.plan.items[0].kind()
		}
		record = historyRecord(kind, splice.Object{})
	}
	content, err := ledger.NewJSON(record)
	if err != nil {
		return nil
	}
	return []ledger.Proposal{rewrite(at, what, "nothing: its content is lost, and it starts again as an empty record", "an empty record in the place of a blank file", content)}
}
