package specloop

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Book is the playbook of specification loops: scaffold, write, validate,
// checklist, classify; then ask, apply, validate again and decide, until no
// critical or important gap is left. It has no state.
//
// A loop always comes to an end: at the last iteration, or when rounds resolve
// nothing, a person is asked whether to accept, continue or abort. Answers are on
// record before they are applied, and the same edit that ends the applying says
// that they were: no one is asked twice and nothing is applied twice.
//
// Where the files decide (nothing to ask, nothing to apply, end or another
// round), no agent is started. Turns of context files and nodes of graphs are
// worked on one by one as far as their files have a place for what comes of it.
type Book struct{}

// NewPlaybook returns the playbook.
func NewPlaybook() reprise.Playbook { return Book{} }

// Begin starts a feature below specs/, named by the goal's id or path, or with
// the next number and the words of the goal.
func (Book) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	at := path.Clean(strings.TrimSuffix(g.Path, "/"))
	switch {
	case path.Base(at) == "spec.md" || path.Base(at) == stateDir:
		at = path.Dir(at)
	case g.Path == "" && g.ID != "":
		at = path.Join("specs", g.ID)
	case g.Path == "":
		name, err := nextName(fsys, g.Text)
		if err != nil {
			return reprise.Ref{}, nil, err
		}
		at = path.Join("specs", name)
	}
	name := path.Base(at)
	if !fs.ValidPath(at) || at == "." || plain(name) != name || g.Path == "" && g.ID != "" && name != g.ID {
		return reprise.Ref{}, nil, fmt.Errorf("begin a specification: %q cannot be the folder of a feature", doc.Clip(at, 80))
	}
	ref := reprise.Ref{Layout: layoutName, ID: path.Base(at), Path: at, Kind: reprise.KindSpecLoop}
	for _, name := range []string{"index.md", "context.md", "scaffold.md", "dags"} {
		if _, err := fs.Stat(fsys, path.Join(at, stateDir, name)); err == nil {
			return ref, nil, nil
		}
	}
	if strings.TrimSpace(g.Text) == "" {
		return reprise.Ref{}, nil, wordless(at)
	}
	return ref, []reprise.Event{{Kind: reprise.RunStarted, At: g.Now, Text: g.Text}}, nil
}

// wordless is the error for a feature without a description.
func wordless(at string) error {
	return &reprise.MissingError{Run: at, What: "nothing says what to specify", Do: "describe the feature in a sentence"}
}

// nextName makes NNN-words, with the number after the highest in specs/.
func nextName(fsys fs.FS, text string) (string, error) {
	words := plain(strings.Join(firstWords(text, 5), "-"))
	if words == "" {
		return "", wordless("a specification")
	}
	entries, err := fs.ReadDir(fsys, "specs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("begin a specification: %w", err)
	}
	highest := 0
	for _, e := range entries {
		head, _, ok := strings.Cut(e.Name(), "-")
		if n := doc.Numbers(head); ok && len(n) == 1 && n[0] < 1000 && strings.Trim(head, "0123456789") == "" {
			highest = max(highest, n[0])
		}
	}
	return fmt.Sprintf("%03d-%s", highest+1, words), nil
}

func firstWords(text string, n int) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return plain(string(r)) == "" || r == '-' || r == '.' })
	return words[:min(len(words), n)]
}

// plain leaves what a folder and a branch can be called.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return -1
	}, doc.Clip(s, 60))
}

// Pick offers one unit at a time: every phase rests on the one before it. Nodes
// of a graph that wait for a person are left to the questions.
func (Book) Pick(r *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	if len(busy) > 0 {
		return nil
	}
	units := slices.DeleteFunc(slices.Clone(d.Units), func(u reprise.Unit) bool {
		return slices.ContainsFunc(r.PendingQuestions(), func(q reprise.Question) bool { return q.ID == u.ID })
	})
	return units[:min(len(units), 1)]
}

// feature is the folder of a run.
func feature(r *reprise.Run) string { return featureOf(r.Ref) }

func specPath(r *reprise.Run) string { return path.Join(feature(r), "spec.md") }

// written reports whether there is a specification that is more than what the
// scaffold copied.
func written(fsys fs.FS, r *reprise.Run) bool {
	return newLoader(fsys, r.Ref).spec.written()
}

// standing is the phase a loop stands at, "" where no loop decides.
func standing(r *reprise.Run) string {
	if !r.State.Open() || len(r.Next) == 0 || placeOf(r.Next[0].ID) < 0 {
		return ""
	}
	return r.Next[0].ID
}
