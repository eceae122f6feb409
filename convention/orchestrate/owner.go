package orchestrate

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// plainText is a scalar as text, "" for anything else.
func plainText(n *doc.Node) string {
	if n.IsNull() || n.Kind == doc.Map || n.Kind == doc.List {
		return ""
	}
	return n.Text
}

// locks reads the locks of the project's state folders into the run. A lock
// names a process and proves nothing: tools leave them behind when they die.
// The lock of the status cache belongs to no run and is left out.
func (l *loader) locks() {
	if l.nested {
		return
	}
	for _, home := range homes {
		dir := path.Join(l.project(), home, "locks")
		for _, e := range l.r.Dir(dir) {
			if e.IsDir() || !strings.HasSuffix(e.Name(), ".lock") {
				continue
			}
			l.lock(path.Join(dir, e.Name()))
		}
	}
}

func (l *loader) lock(name string) {
	f := l.r.Open(name)
	if !f.OK() {
		return
	}
	n := f.YAML() // JSON is YAML too
	if n == nil || n.Kind != doc.Map {
		return
	}
	if !l.run.State.Open() || !l.lockConcerns(path.Base(name), n.Get("resource").Str()) {
		return
	}
	o := &reprise.Owner{Agent: n.Get("owner").Str(), Host: n.Get("host", "hostname").Str(), Source: f.At(0)}
	o.PID, _ = n.Get("pid").Int()
	o.StartedAt = n.Get("created_at", "timestamp").Time()
	ttl, _ := n.Get("ttl_seconds", "ttl").Int()
	end := o.StartedAt.Add(time.Duration(ttl) * time.Second)
	term := ""
	if ttl > 0 && !o.StartedAt.IsZero() {
		o.Expires = end
		term = "; its term of " + strconv.Itoa(ttl) + " s ended at " + end.UTC().Format(time.RFC3339)
	}
	code, message := reprise.CodeOwnerMarker, fmt.Sprintf("a lock of %s (pid %d) was not released%s", quote(o.Agent), o.PID, term)
	// There is no clock here. A lock is stale where the files contradict it:
	// they were written after its term, or leave nothing to be at work on.
	if l.run.State == reprise.Waiting || (ttl > 0 && l.run.LastActivity.After(end)) {
		code = reprise.CodeStaleMarker
	}
	if l.run.Owner == nil {
		l.run.Owner = o
	}
	l.r.Report(reprise.Finding{
		Code: code, Severity: reprise.Info, Subject: path.Base(name), Source: f.At(0),
		Message: message, Hint: "make sure that the process is gone before going on, then remove the lock",
	})
}

// lockConcerns reports whether a lock belongs to this kind of run. A resource
// that names none of them may be any.
func (l *loader) lockConcerns(name, resource string) bool {
	text := strings.ToLower(name + " " + resource)
	switch sh := shapeOf(l.run.Path); {
	case strings.Contains(text, "bob"):
		return sh == bobShape || sh == sessionShape
	case strings.Contains(text, "epic"):
		return sh == epicShape
	case strings.Contains(text, "qa"):
		return sh == loopShape
	case strings.Contains(text, "build"):
		return sh == buildShape
	}
	return true
}
