package autoclaude

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

const (
	specsDir     = ".auto-claude/specs"
	stepPlanning = "planning"
)

// maxRounds is how often QA rejects before a person is asked. The original goes
// on to fifty; where ten rounds did not do it, the next forty did not either.
const maxRounds = 10

// Playbook is how a spec is built: the phases that make the spec and its plan, a
// coder for each item in a checkout of the run's own, review and fixing by QA
// until it is approved, then a person who merges.
type Playbook struct{}

// NewPlaybook returns the playbook.
func NewPlaybook() Playbook { return Playbook{} }

// Begin implements reprise.Playbook. A path may name a spec folder or a file in
// one; an id a spec that is there. A goal in words that an open spec was made
// for is that spec: starting again is continuing.
func (Playbook) Begin(fsys fs.FS, g reprise.Goal) (reprise.Ref, []reprise.Event, error) {
	if g.Path != "" {
		dir := path.Clean(g.Path)
		info, err := fs.Stat(fsys, dir)
		if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path.Dir(dir), specsDir) && strings.TrimSpace(g.Text) != "" {
			// It was archived and is to be made anew.
			return ref(path.Base(dir), dir), []reprise.Event{started(g)}, nil
		}
		if err != nil {
			return reprise.Ref{}, nil, fmt.Errorf("begin a build from %s: %w", g.Path, err)
		}
		if !info.IsDir() {
			dir = path.Dir(dir)
		}
		if path.Base(path.Dir(dir)) != "specs" {
			return reprise.Ref{}, nil, fmt.Errorf("begin a build from %s: it is in no spec folder", g.Path)
		}
		return ref(path.Base(dir), dir), nil, nil
	}
	if g.ID != "" {
		if g.ID != path.Base(g.ID) || strings.HasPrefix(g.ID, ".") || !fs.ValidPath(g.ID) {
			return reprise.Ref{}, nil, fmt.Errorf("begin a build: %q cannot be its name", doc.Clip(g.ID, 60))
		}
		at := ref(g.ID, path.Join(specsDir, g.ID))
		if _, err := fs.Stat(fsys, at.Path); err == nil {
			return at, nil, nil
		}
	}
	if strings.TrimSpace(g.Text) == "" {
		return reprise.Ref{}, nil, &reprise.MissingError{Run: "a build", What: "nothing says what to build", Do: "describe it in a sentence"}
	}
	id, there, err := name(fsys, g.Text)
	if err != nil {
		return reprise.Ref{}, nil, err
	}
	if g.ID != "" {
		id, there = g.ID, false
	}
	at := ref(id, path.Join(specsDir, id))
	if there {
		return at, nil, nil
	}
	return at, []reprise.Event{started(g)}, nil
}

func started(g reprise.Goal) reprise.Event {
	return reprise.Event{Kind: reprise.RunStarted, At: g.Now, Text: g.Text, Outcome: g.Mode, Given: g.Given}
}

// maxGiven bounds a file that is handed on to a fresh start.
const maxGiven = 1 << 20

// GivenOf implements reprise.Giver: what is wanted, the settings of the task, and a spec
// that was written by hand. Those come from a person, directly or through the program's
// window; everything else is made by phases, which a fresh start repeats. A spec that
// stands alone was written by hand: the phases leave files on their way to it.
func (Playbook) GivenOf(fsys fs.FS, r *reprise.Run) (map[string]string, error) {
	names := givenFiles
	for _, made := range []string{"complexity_assessment.json", "research.json", "context.json"} {
		if _, err := fs.Lstat(fsys, path.Join(r.Path, made)); !errors.Is(err, fs.ErrNotExist) {
			names = names[:2]
			break
		}
	}
	out := map[string]string{}
	for _, name := range names {
		at := path.Join(r.Path, name)
		if _, err := fs.Lstat(fsys, at); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f := doc.NewReader(fsys).Open(at)
		switch json := path.Ext(name) == ".json"; {
		case !f.OK() || !utf8.Valid(f.Data) || json && f.JSON() == nil:
			return nil, fmt.Errorf("keep %s: it cannot be read; repair it or move it away", at)
		case len(f.Data) > maxGiven:
			return nil, fmt.Errorf("keep %s: it is larger than %d bytes; move it away", at, maxGiven)
		}
		out[name] = string(f.Data)
	}
	return out, nil
}

// GoalOf implements reprise.Goaler: what the spec was made for, in words.
func (Playbook) GoalOf(fsys fs.FS, r *reprise.Run) string {
	return load(fsys, r.Ref).goal()
}

func ref(id, at string) reprise.Ref {
	return reprise.Ref{Layout: layoutName, ID: id, Path: at, Kind: reprise.KindBuild}
}

// name gives the id of a new spec: the number behind the highest in use, and
// what is left of the first line. there tells that an open spec for exactly this
// goal exists already; then it is its id.
func name(fsys fs.FS, text string) (id string, there bool, err error) {
	highest := 0
	for _, home := range []string{specsDir, "auto-claude/specs", ".auto-claude/worktrees/tasks", ".worktrees"} {
		entries, err := fs.ReadDir(fsys, home)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", false, fmt.Errorf("name a spec: %w", err)
		}
		for _, e := range entries {
			number, _, ok := strings.Cut(e.Name(), "-")
			if n, err := strconv.Atoi(number); ok && err == nil && n < 1_000_000 {
				highest = max(highest, n)
			}
			if home == specsDir && e.IsDir() && sameGoal(fsys, path.Join(home, e.Name()), text) {
				return e.Name(), true, nil
			}
		}
	}
	return fmt.Sprintf("%03d-%s", highest+1, slug(text)), false, nil
}

// sameGoal reports whether a spec was made for this goal and is still open.
func sameGoal(fsys fs.FS, dir, text string) bool {
	rd := doc.NewReader(fsys)
	have := rd.Open(path.Join(dir, "requirements.json")).JSON().Get("task_description").Str()
	if have == "" || strings.Join(strings.Fields(have), " ") != strings.Join(strings.Fields(text), " ") {
		return false
	}
	switch doc.Fold(rd.Open(path.Join(dir, planFile)).JSON().Get("status").Str()) {
	case "done", "completed", "complete", "pr created":
		return false
	}
	return true
}

// slug makes a folder name from a title: up to about fifty ASCII letters and digits.
func slug(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	words := strings.FieldsFunc(strings.ToLower(line), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	out := ""
	for _, w := range words {
		if out != "" && len(out)+1+len(w) > 50 {
			break
		}
		out = strings.TrimPrefix(out+"-"+w[:min(len(w), 50)], "-")
	}
	return out
}

// Pick implements reprise.Playbook. Phases of the spec and of QA are done one at
// a time. Items may be done in parallel with each other where the plan calls them
// independent and the files they name are not the same: they share a checkout.
func (Playbook) Pick(r *reprise.Run, d reprise.Decision, busy []string) []reprise.Unit {
	var out []reprise.Unit
	taken := slices.Clone(busy)
	for _, u := range d.Units {
		switch {
		case u.Role == "human" || slices.Contains(taken, u.ID):
			continue
		case len(taken) > 0 && !beside(r, u.ID, taken):
			continue
		}
		out, taken = append(out, u), append(taken, u.ID)
	}
	return out
}

// beside reports whether an item can be worked on while others are.
func beside(r *reprise.Run, id string, others []string) bool {
	s := r.Step(id)
	if s == nil || s.Role != roleCoder || len(s.Files) == 0 || s.Status == reprise.Failed {
		return false
	}
	for _, other := range others {
		o := r.Step(other)
		if o == nil || o.Role != roleCoder || len(o.Files) == 0 || slices.ContainsFunc(o.Files, func(f string) bool { return slices.Contains(s.Files, f) }) {
			return false
		}
	}
	return true
}

// Settle implements reprise.Playbook. An item that is in progress while no agent
// works on it was cut off: it is pending again, unless git shows that it landed. Where QA rejected it too often, a person is asked.
func (Playbook) Settle(fsys fs.FS, r *reprise.Run, d reprise.Decision) ([]reprise.Event, error) {
	if d.Action != reprise.Start {
		return nil, nil
	}
	if d.Point.ID == stepQAFix {
		return escalate(fsys, r), nil
	}
	var out []reprise.Event
	for i := range r.Steps {
		s := &r.Steps[i]
		landed := slices.ContainsFunc(d.Verify, func(u reprise.Unit) bool { return u.ID == s.ID })
		if s.Role == roleCoder && s.Status == reprise.InProgress && !landed {
			out = append(out, reprise.Event{Kind: reprise.StepReset, Step: s.ID, Phase: s.Phase, Text: "it was in progress and is not being worked on"})
		}
	}
	return out, nil
}

// escalate asks a person once QA has rejected the build maxRounds times in a row,
// and as often again, unless they have just answered.
func escalate(fsys fs.FS, r *reprise.Run) []reprise.Event {
	n := load(fsys, r.Ref).plan.rejections()
	if n == 0 || n%maxRounds != 0 {
		return nil
	}
	if slices.ContainsFunc(r.Questions, func(q reprise.Question) bool { return q.ID == askQA && !q.Applied }) {
		return nil
	}
	return []reprise.Event{{
		Kind: reprise.QuestionAsked, Question: askQA, Step: stepQAFix,
		Text: fmt.Sprintf("QA rejected the build %d times in a row", n), Options: []string{"approve", "continue"}, Closed: true,
	}}
}

// Lift names the files by which people and the original program pause a build. A
// limit that says when it ends is waited for, and its file stays.
func Lift(fsys fs.FS, r *reprise.Run) []string {
	l, marks := load(fsys, r.Ref), []string{"PAUSE", "AUTH_PAUSE"}
	if r.Until.IsZero() {
		marks = append(marks, "RATE_LIMIT_PAUSE")
	}
	var out []string
	for _, dir := range l.dirs() {
		for _, mark := range marks {
			if at := path.Join(dir, mark); there(fsys, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

func there(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// goal is what the spec was made for, in words.
func (l *loader) goal() string {
	for _, dir := range l.dirs() {
		if text := l.rd.Open(path.Join(dir, givenFiles[0])).JSON().Get("task_description").Str(); text != "" {
			return text
		}
	}
	return ""
}

// rejections counts the rounds since QA last said anything but no.
func (p *plan) rejections() (n int) {
	if p == nil {
		return 0
	}
	rounds := p.root.In("qa_iteration_history").Entries(0)
	for _, round := range slices.Backward(rounds) {
		if qaMeaning(round.In("status").Plain()) != qaRejected && doc.Fold(round.In("status").Plain()) != "error" {
			break
		}
		n++
	}
	return n
}
