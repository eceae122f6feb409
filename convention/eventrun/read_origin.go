package eventrun

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// origin is the person's own workflow file that a graph was made from.
type origin struct {
	File   string       `json:"file"`
	SHA256 reprise.Hash `json:"sha256"`
}

// originIn finds the origin in a graph, or the zero value.
func originIn(graph []byte) (o origin) {
	const key = "workflow"
	if !bytes.Contains(graph, []byte(`"`+key+`"`)) {
		return o
	}
	value, ok := doc.Member(graph, key)
	if !ok || json.Unmarshal(value, &o) != nil || !fs.ValidPath(o.File) || o.SHA256.IsZero() {
		return origin{}
	}
	return o
}

// Defined implements reprise.Definer: the steps of a person's own workflow file are
// changed in that file.
func (Layout) Defined(r reprise.Ref, text string) (file string, content []byte, ok bool) {
	text = strings.TrimSpace(text)
	if originIn([]byte(text)).File == "" {
		return "", nil, false
	}
	return path.Join(r.Path, graphJSON), []byte(text + "\n"), true
}

// maxOrigin limits how much of a workflow file is read to detect a change.
const maxOrigin = 64 << 20

// checkOrigin marks a run of a workflow file, and reports an open one whose file is gone
// or has changed. An unreadable file is left to whoever needs it.
func (m *model) checkOrigin() {
	o := m.graph.origin
	m.run.FromFile = o.File != ""
	if o.File == "" || !m.run.State.Open() {
		return
	}
	found := reprise.Finding{Code: reprise.CodeWorkflowChanged, Severity: reprise.Warning, Subject: m.run.ID, Source: reprise.Source{File: o.File}}
	f, _, err := doc.OpenRegular(m.r.FS(), o.File)
	if errors.Is(err, fs.ErrNotExist) {
		found.Message = "the workflow file that the run was started from is gone"
		found.Hint = "restore it: nothing else says what the steps do"
		m.r.Report(found)
		return
	}
	if err != nil {
		return
	}
	defer f.Close()
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(f, maxOrigin)); err != nil || n == maxOrigin || reprise.Hash(h.Sum(nil)) == o.SHA256 {
		return
	}
	found.Message = "the workflow file has changed since the run was started"
	found.Hint = "resuming adopts it once you trust it, if it still has what was begun; or restore it; --fresh starts over with it"
	m.r.Report(found)
}
