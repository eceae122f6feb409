package autoclaude

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"

	"reprise"
	"reprise/internal/doc"
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
	mends := l.mendPlans()
	for _, name := range []string{historyLog, commitsLog} {
		if m, ok := l.mendMemory(name); ok {
			mends = append(mends, m)
		}
	}
	return mends, nil
}

// mendPlans rebuilds the copies of the plan that are lost. A plan without items
// is no source: it is the stub that is made before the planner runs, and what
// was lost may have been the real one. Neither is one of which parts cannot be
// read.
func (l *loader) mendPlans() []reprise.Mend {
	won := l.plan
	if won == nil || len(won.items) == 0 || won.lossy {
		return nil
	}
	var out []reprise.Mend
	for i, p := range l.copies {
		why := "rebuilt from " + won.file.Path
		m := reprise.Mend{From: won.file.Path}
		switch {
		case p == won:
			continue
		case p.broken && p.file.OK():
			m.What = "the copy of the plan in " + p.dir + " cannot be read"
			if saysMore(p.file.Data, won.file.Data) {
				m.What += ", and what is left of it calls more items completed than the copy it is rebuilt from: look at both first"
			}
			m.Edits = []reprise.Edit{splice.Edit(p.file.Path, p.file.Data, bytes.Clone(won.file.Data), why)}
		case !p.file.Exists() && (i == 0 || l.workedIn(p.dir)):
			m.What = "the copy of the plan in " + p.dir + " is gone"
			m.Edits = []reprise.Edit{splice.Create(p.file.Path, bytes.Clone(won.file.Data), why)}
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

// saysMore compares how often two texts say completed, the only thing that can
// be asked of one that is no JSON any more.
func saysMore(broken, whole []byte) bool {
	word := []byte(`"completed"`)
	return bytes.Count(broken, word) > bytes.Count(whole, word)
}

// workedIn reports whether a coder left notes in a folder of the spec. It edits
// the plan beside them, so that there was one. Without notes the folder is part
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
// folder of the spec, else as an empty one.
func (l *loader) mendMemory(name string) (reprise.Mend, bool) {
	at, present := l.pathOf(name)
	if !present {
		return reprise.Mend{}, false
	}
	f := doc.NewReader(l.fsys).Open(at)
	if !f.OK() || len(bytes.Trim(f.Data, "\x00 \t\r\n\ufeff")) > 0 {
		return reprise.Mend{}, false
	}
	m := reprise.Mend{What: at + " is blank, as a write that was cut off leaves it"}
	for _, dir := range l.dirs() {
		other := doc.NewReader(l.fsys).Open(path.Join(dir, name))
		if root := other.JSON(); root != nil && root.Kind == doc.Map {
			m.From = other.Path
			m.Edits = []reprise.Edit{splice.Edit(at, f.Data, bytes.Clone(other.Data), "rebuilt from "+other.Path)}
			return m, true
		}
	}
	m.From = "nothing: what it recorded is lost, and it begins anew as an empty record"
	m.Edits = []reprise.Edit{splice.Edit(at, f.Data, []byte(l.emptyRecord(name)), "an empty record in the place of a blank file")}
	return m, true
}

// emptyRecord is what the original program begins a record with, without the
// times, which nobody knows.
func (l *loader) emptyRecord(name string) string {
	if name == commitsLog {
		return "{\n  \"commits\": [],\n  \"last_good_commit\": null,\n  \"metadata\": {}\n}\n"
	}
	key := "subtasks"
	if l.plan != nil && len(l.plan.items) > 0 {
		if place := l.plan.items[0].places[0]; place[len(place)-2] == "chunks" {
			key = "chunks"
		}
	}
	return fmt.Sprintf("{\n  %q: {},\n  %q: [],\n  \"metadata\": {}\n}\n", key, "stuck_"+key)
}
