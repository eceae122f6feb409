package orchestrate

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

var _ reprise.Mender = (*Layout)(nil)

// Mend turns the reconstruction of a corrupted state into a file. Only epic
// states and QA loops are written anew: what the other states hold (their own
// phases) stands in no second ledger. A state that could only be read line by
// line is kept as it is and gets the quotes it lacks.
//
// A story is completed in what is rebuilt only where its own status or its
// folder says so; an entry of its change log shows no more than that it was begun.
// What it returns has been read back: the damage is gone and nothing is further
// than before.
func (*Layout) Mend(fsys fs.FS, r *reprise.Run) ([]reprise.Mend, error) {
	sh := shapeOf(r.Path)
	if !fs.ValidPath(r.Path) || sh == noShape {
		return nil, nil
	}
	d := &mender{loader: newLoader(fsys, r.Ref), was: load(fsys, r.Ref)}
	if d.file = d.r.Open(r.Path); !d.file.OK() {
		return nil, nil
	}
	switch salvaged := ledger.Found(d.was.Findings, d.file.Path, reprise.CodeSalvaged); {
	case salvaged:
		if m := d.quoted(); len(m) > 0 || sh != epicShape {
			return m, nil
		}
		// Cut off: what is left of it is less than what its stories tell.
		d.run.ID = d.was.ID
		d.rebuildEpic(d.file, "the epic state is cut off")
		d.was = d.run
	case sh != epicShape && !ledger.Found(d.was.Findings, d.file.Path, reprise.CodeUnreadable):
		return nil, nil
	}
	switch {
	case d.was.Phase != confirmPhase:
	case sh == epicShape:
		return d.epic(), nil
	case sh == loopShape:
		return d.loop(), nil
	}
	return nil, nil
}

// mender carries one run whose state file is damaged.
type mender struct {
	*loader
	was  *reprise.Run // as it was read, rebuilt
	file *doc.File
}

// propose offers a new content of the state file. accept, if any, asks for more than that
// the damage is gone and nothing is further.
func (d *mender) propose(what, from, content string, accept func(now *reprise.Run) bool) []reprise.Mend {
	was := *d.was
	was.Steps = slices.Clone(was.Steps)
	for i := range was.Steps {
		// What only its change log closes is not written down as closed.
		if s := &was.Steps[i]; len(s.Claims) > 0 && s.Claims[0].Ledger == changeLedger {
			s.Status = reprise.InProgress
		}
	}
	if !slices.ContainsFunc(was.Steps, func(s reprise.Step) bool { return !s.Status.Closed() }) {
		was.State = reprise.Complete // nothing of it is open: whole, it may say so
	}
	read := func(fsys fs.FS) *reprise.Run {
		if data, err := fs.ReadFile(fsys, d.file.Path); err == nil && bytes.Equal(data, d.file.Data) {
			return &was
		}
		return load(fsys, d.was.Ref)
	}
	return ledger.Mend(read, d.r.FS(), []ledger.Proposal{{
		What: what, From: from,
		Make: func(c *ledger.Changes) { c.Rewrite(d.file.Path, []byte(content), "rebuild "+path.Base(d.file.Path)) },
		Accept: func(_, now *reprise.Run) bool {
			return now.Phase != confirmPhase && now.State != reprise.Unreadable && (accept == nil || accept(now))
		},
	}})
}

// from names the files the stories were read from.
func (d *mender) from() string {
	var names []string
	for i := range d.was.Steps {
		names = append(names, d.was.Steps[i].Path)
	}
	if more := len(names) - 5; more > 1 {
		names = append(names[:5], fmt.Sprintf("%d more stories", more))
	}
	return strings.Join(names, ", ")
}

// lastTime is the latest day that a story records. The time of the damaged file
// itself is that of the damage.
func (d *mender) lastTime() (last time.Time) {
	for i := range d.was.Steps {
		if s := readStory(d.r, d.was.Steps[i].Path); s != nil {
			last = later(last, s.newest().day)
		}
	}
	return last
}

// stateOf is the status of a story in an epic state, by what its own file and
// folder say. Outputs are no evidence of their own: they may be of another time.
// A story whose own ledgers do not agree that it is done is not called completed:
// the state would be the witness that settles it.
func (d *mender) stateOf(s *reprise.Step) string {
	claims := slices.DeleteFunc(slices.Clone(s.Claims), func(c reprise.Claim) bool { return c.Ledger == outputLedger })
	if len(claims) == 0 {
		return "pending"
	}
	switch c := claims[0]; c.Status {
	case reprise.Done:
		story := reprise.Ref{Layout: layoutName, Kind: reprise.KindStory, ID: s.ID, Path: s.Path}
		if c.Ledger != changeLedger && load(d.r.FS(), story).State == reprise.Complete {
			return "completed"
		}
		return "in_progress"
	case reprise.InProgress, reprise.InReview:
		return "in_progress"
	}
	return "pending"
}

// epic writes an epic state from its stories. Which waves they were in is no
// longer known: they stand in one, which is not completed, so that its gate is
// still asked for.
func (d *mender) epic() []reprise.Mend {
	data := d.file.Data
	reader := doc.NewReader(d.r.FS())
	f := reader.Open(d.file.Path)
	waves := epicRoot(ledger.Root(f, parseStructured(f))).In("waves")
	torn := ledger.Found(reader.Findings(), f.Path, reprise.CodeSalvaged)
	if !torn && (waves.Is(doc.Map) || waves.Is(doc.List)) && len(waves.Entries(1)) == 0 {
		return nil // whole, and only without stories: to replace it would lose what it says
	}
	// The word may have lost letters, too.
	if word := doc.Fold(leftOver(data, "status")); !strings.HasPrefix("active", word) && stateWord(word) != reprise.InProgress && stateWord(word) != reprise.Pending {
		return nil // someone ended it, or it is not known what it was: a person has to look
	}
	e, wave := newEpic{id: d.was.ID}, newWave{name: "1", status: "pending"}
	for _, name := range []string{"title", "execution_plan", "mode", "started_at"} {
		// One at the very end may have lost letters.
		if text := leftOver(data[:bytes.LastIndexByte(data, '\n')+1], name); text == ledger.Line(text, 200) {
			e.head.text("  ", name, text)
		}
	}
	if at := d.lastTime(); !at.IsZero() {
		e.head.text("  ", "updated_at", at.UTC().Format(time.RFC3339))
	}
	e.head.field("  ", "status", "active")
	for i := range d.was.Steps {
		word := d.stateOf(&d.was.Steps[i])
		if word != "pending" {
			wave.status = "in_progress"
		}
		wave.stories = append(wave.stories, newStory{id: d.was.Steps[i].ID, status: word})
	}
	for _, id := range d.planned() {
		wave.stories = append(wave.stories, newStory{id: id, status: "pending"})
	}
	e.waves = []newWave{wave}
	return d.propose(fmt.Sprintf("the epic state %s cannot be read", d.file.Path), d.from(), e.String(), nil)
}

// planned are the stories of the execution plan that have no file yet.
func (d *mender) planned() (out []string) {
	name := leftOver(d.file.Data, "execution_plan")
	if name == "" || !fsPath(name) {
		return nil
	}
	plan := readPlan(d.r.Open(path.Clean(name)))
	if plan == nil {
		return nil
	}
	for _, s := range plan.stories {
		known := slices.ContainsFunc(d.was.Steps, func(st reprise.Step) bool { return nameKey(st.ID).same(s.key) })
		if !known && isName(s.key.id) && !slices.Contains(out, s.key.id) {
			out = append(out, s.key.id)
		}
	}
	return out
}

// loop writes the status of a QA loop: its story, and its iteration if
// known. Rulings are not restored: a review that is not on record is repeated. Only the
// two JSON dialects get here; what is left of the YAML one is read line by line.
func (d *mender) loop() []reprise.Mend {
	if len(d.was.Steps) != 1 {
		return nil
	}
	data, story := d.file.Data, d.was.Steps[0]
	id := leftOver(data, "storyId", "story_id")
	if id == "" || id != ledger.Line(id, 100) {
		id = story.ID
	}
	n, ok := leftNumber(data, "currentIteration", "current_iteration", "iteration")
	if !ok {
		n = d.reviews(story.Path)
	}
	limit, ok := leftNumber(data, "maxIterations", "max_iterations")
	if !ok || limit < 1 {
		limit = defaultIterations
	}
	has := func(key string) bool { return bytes.Contains(data, []byte(strconv.Quote(key))) }
	how := dialectOf(ledger.Value{})
	if has("iteration") && !has("currentIteration") && !has("history") {
		how.counter, how.running, how.lastVerdict = "iteration", "running", "lastVerdict"
	}
	// A loop that was handed to a person is not set going again.
	word := leftOver(data, "status")
	if !slices.Contains([]string{"escalated", "stopped", "paused"}, word) {
		word = ""
	}
	var times []splice.Member
	if at := d.lastTime(); !at.IsZero() {
		times = []splice.Member{{Key: "updatedAt", Value: ledger.SpellTime(at, "", "")}}
	}
	text, err := ledger.NewJSON(newLoop(how, id, n, limit, word, times...))
	if err != nil {
		return nil
	}
	return d.propose(fmt.Sprintf("the status of the QA loop %s cannot be read", d.file.Path), d.from(), string(text), nil)
}

// leftNumber finds a number in what is left of a text. One at the very end may
// have lost digits.
func leftNumber(data []byte, keys ...string) (int, bool) {
	if i := bytes.LastIndexAny(data, ",\n}"); i >= 0 {
		n, err := strconv.Atoi(leftOver(data[:i], keys...))
		return n, err == nil && n >= 0 && n < 1000
	}
	return 0, false
}

// reviews is the highest iteration that the QA results of a story name.
func (d *mender) reviews(name string) (n int) {
	f := d.r.Open(name)
	if !f.OK() || !strings.HasSuffix(name, ".md") {
		return 0
	}
	for _, sec := range f.Markdown().Sections() {
		if !titled(sec.Title, "qa results") {
			continue
		}
		for _, l := range sec.Lines() {
			if _, rest, ok := strings.Cut(doc.Fold(l.Text), "iteration "); ok {
				if v, digits := number(rest); digits > 0 && v < 1000 {
					n = max(n, v)
				}
			}
		}
	}
	return n
}

// quoted puts values into quotes that YAML does not take without. The file must
// then say, word for word, what was read of it line by line.
func (d *mender) quoted() []reprise.Mend {
	var names []string
	lines := strings.SplitAfter(string(d.file.Data), "\n")
	for i, line := range lines {
		text := strings.TrimRight(line, " \t\r\n")
		key, value, ok := strings.Cut(text, ": ")
		value = strings.TrimLeft(value, " ")
		if !ok || value == "" || strings.ContainsAny(key, `"'#{[`) || strings.ContainsAny(value[:1], "\"'|>&*[{#!") ||
			!strings.Contains(value, ": ") && !strings.HasSuffix(value, ":") && !strings.ContainsAny(value[:1], "@`%") {
			continue
		}
		if strings.Contains(value, " #") {
			continue // where the value ends and a comment begins is not known
		}
		lines[i] = text[:len(text)-len(value)] + "'" + strings.ReplaceAll(value, "'", "''") + "'" + line[len(text):]
		names = append(names, strconv.Itoa(i+1))
	}
	if len(names) == 0 {
		return nil
	}
	same := func(now *reprise.Run) bool {
		return now.State == d.was.State && now.Phase == d.was.Phase && slices.EqualFunc(now.Steps, d.was.Steps, func(a, b reprise.Step) bool {
			return a.ID == b.ID && a.Status == b.Status && a.Title == b.Title
		})
	}
	return d.propose(fmt.Sprintf("%s is not valid YAML: values with a colon are not quoted", d.file.Path),
		d.file.Path+", line "+strings.Join(names, ", "), strings.Join(lines, ""), same)
}
