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
	if !fs.ValidPath(r.Path) || shapeOf(r.Path) == noShape {
		return nil, nil
	}
	d := &mender{fsys: fsys, was: load(fsys, r.Ref)}
	if d.file = doc.NewReader(fsys).Open(r.Path); !d.file.OK() {
		return nil, nil
	}
	switch {
	case d.has(reprise.CodeSalvaged):
		if m := d.quoted(); len(m) > 0 || shapeOf(r.Path) != epicShape {
			return m, nil
		}
		// Cut off: what is left of it is less than what its stories tell.
		l := &loader{r: doc.NewReader(fsys), run: &reprise.Run{Ref: r.Ref}}
		l.run.ID = d.was.ID
		l.rebuildEpic(d.file, "the epic state is cut off")
		if l.run.Phase != confirmPhase {
			return nil, nil
		}
		d.was = l.run
		return d.epic(), nil
	case d.was.Phase != confirmPhase || shapeOf(r.Path) != epicShape && !d.has(reprise.CodeUnreadable):
		return nil, nil
	}
	switch shapeOf(r.Path) {
	case epicShape:
		return d.epic(), nil
	case loopShape:
		return d.loop(), nil
	}
	return nil, nil
}

// mender carries one run whose state file is damaged.
type mender struct {
	fsys fs.FS
	was  *reprise.Run // as it was read, rebuilt
	file *doc.File
}

// has reports whether the state file has a finding with this code.
func (d *mender) has(code string) bool { return finds(d.was, code, d.file.Path) }

func finds(r *reprise.Run, code, file string) bool {
	return slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == code && f.Source.File == file })
}

// edit gives the state file this content.
func (d *mender) edit(content string) reprise.Edit {
	return splice.Edit(d.file.Path, d.file.Data, []byte(content), "rebuild "+path.Base(d.file.Path))
}

// mended gives the mend if, with the content in place, the file reads without
// damage and nothing is further than before.
func (d *mender) mended(what, from, content string) []reprise.Mend {
	e := d.edit(content)
	now := load(splice.Over(d.fsys, []reprise.Edit{e}), d.was.Ref)
	for _, code := range []string{reprise.CodeUnreadable, reprise.CodeSalvaged, reprise.CodeDamagedLine} {
		if finds(now, code, e.Path) {
			return nil
		}
	}
	closed := true
	for i := range d.was.Steps {
		closed = closed && d.was.Steps[i].Status.Closed()
	}
	if now.Phase == confirmPhase || now.State == reprise.Unreadable || now.State == reprise.Complete && d.was.State != reprise.Complete && !closed {
		return nil
	}
	for i := range now.Steps {
		s := &now.Steps[i]
		if old := d.was.Step(s.ID); s.Status.Closed() && (old == nil && !closed || old != nil && !old.Status.Closed()) {
			return nil
		}
	}
	return []reprise.Mend{{What: what, From: from, Edits: []reprise.Edit{e}}}
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

// lastTime is the latest time that a story records. The time of the damaged
// file itself is that of the damage.
func (d *mender) lastTime() (time.Time, bool) {
	r := doc.NewReader(d.fsys)
	var last time.Time
	for i := range d.was.Steps {
		if sh := readSheet(r, d.was.Steps[i].Path); sh != nil {
			if at := newest(sh.dates, sh.file.MTime); at.day.After(last) {
				last = at.day
			}
		}
	}
	return last, !last.IsZero()
}

// stateOf is the word of an epic state for a story, by what its own file and
// folder say. Outputs are no evidence of their own: they may be of another time.
// A story whose own ledgers do not agree that it is done is not called completed:
// the state would be the witness that settles it.
func (d *mender) stateOf(s *reprise.Step) string {
	for _, c := range s.Claims {
		switch {
		case c.Ledger == outputLedger:
			continue
		case c.Status == reprise.Done && c.Ledger != changeLedger && load(d.fsys, reprise.Ref{Layout: layoutName, Kind: reprise.KindStory, ID: s.ID, Path: s.Path}).State == reprise.Complete:
			return "completed"
		case c.Status == reprise.Done || c.Status == reprise.InProgress || c.Status == reprise.InReview:
			return "in_progress"
		}
		return "pending"
	}
	return "pending"
}

// epic writes an epic state from its stories. Which waves they were in is not
// known any more: they stand in one, which is not completed, so that its gate
// is still asked for.
func (d *mender) epic() []reprise.Mend {
	r := doc.NewReader(d.fsys)
	n := parseStructured(r.Open(d.file.Path))
	torn := slices.ContainsFunc(r.Findings(), func(f reprise.Finding) bool { return f.Code == reprise.CodeSalvaged })
	// The word may have lost letters, too.
	if word := doc.Fold(leftOver(d.file.Data, "status")); !strings.HasPrefix("active", word) && stateWord(word) != reprise.InProgress && stateWord(word) != reprise.Pending {
		return nil // somebody ended it, or it is not known what it was: a person has to look
	}
	if waves := epicRoot(n).Get("waves"); n != nil && n.Kind == doc.Map && !torn && waves != nil && (waves.Kind == doc.Map || waves.Kind == doc.List) && len(waves.Keys)+len(waves.Items) == 0 {
		return nil // whole, and only without stories: to replace it would lose what it says
	}
	var b strings.Builder
	fmt.Fprintf(&b, "epic_state:\n  epicId: %s\n", yamlText(d.was.ID))
	for _, name := range []string{"title", "execution_plan", "mode", "started_at"} {
		// One at the very end may have lost letters.
		if text := leftOver(d.file.Data[:bytes.LastIndexByte(d.file.Data, '\n')+1], name); text != "" && text == oneLine(text, 200) {
			fmt.Fprintf(&b, "  %s: %s\n", name, yamlText(text))
		}
	}
	if at, ok := d.lastTime(); ok {
		fmt.Fprintf(&b, "  updated_at: %q\n", at.UTC().Format(time.RFC3339))
	}
	wave, stories := "pending", ""
	for i := range d.was.Steps {
		s := &d.was.Steps[i]
		word := d.stateOf(s)
		if word != "pending" {
			wave = "in_progress"
		}
		stories += fmt.Sprintf("        %s:\n          status: %s\n", yamlText(s.ID), word)
	}
	for _, id := range d.planned() {
		stories += fmt.Sprintf("        %s:\n          status: pending\n", yamlText(id))
	}
	fmt.Fprintf(&b, "  status: active\n  waves:\n    1:\n      status: %s\n      stories:\n%s", wave, stories)
	return d.mended(fmt.Sprintf("the epic state %s cannot be read", d.file.Path), d.from(), b.String())
}

// planned are the stories of the execution plan that have no file yet.
func (d *mender) planned() (out []string) {
	name := leftOver(d.file.Data, "execution_plan")
	n := doc.NewReader(d.fsys).Open(path.Clean(name)).YAML()
	if name == "" || !fsPath(name) || n == nil {
		return nil
	}
	if inner := n.Get("execution"); inner != nil && inner.Kind == doc.Map {
		n = inner
	}
	var all []planStory
	collect(n.Get("stories"), &all)
	for _, w := range append(n.Get("waves").List(), values(n.Get("waves"))...) {
		if w != nil && w.Kind == doc.Map {
			collect(w.Get("stories"), &all)
		}
	}
	for _, s := range all {
		known := slices.ContainsFunc(d.was.Steps, func(st reprise.Step) bool { return nameKey(st.ID).same(s.key) })
		if !known && safeName(s.key.id) && !slices.Contains(out, s.key.id) {
			out = append(out, s.key.id)
		}
	}
	return out
}

func values(n *doc.Node) (out []*doc.Node) {
	for _, f := range n.Fields() {
		out = append(out, f.Value)
	}
	return out
}

// loop writes the status of a QA loop: of which story, and at which iteration
// as far as that is told. No verdict is: a review that is not on record is held
// again. Of the dialects only the two in JSON get here: what is left of the one
// in YAML is read line by line.
func (d *mender) loop() []reprise.Mend {
	if len(d.was.Steps) != 1 {
		return nil
	}
	data, story := d.file.Data, d.was.Steps[0]
	id := leftOver(data, "storyId", "story_id")
	if id == "" || id != oneLine(id, 100) {
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
	iteration, status, last := "currentIteration", "in_progress", `"history": []`
	if bytes.Contains(data, []byte(`"iteration"`)) && !bytes.Contains(data, []byte(`"currentIteration"`)) && !bytes.Contains(data, []byte(`"history"`)) {
		iteration, status, last = "iteration", "running", `"lastVerdict": null`
	}
	// A loop that was handed to a person is not set going again.
	if word := leftOver(data, "status"); slices.Contains([]string{"escalated", "stopped", "paused"}, word) {
		status = word
	}
	if at, ok := d.lastTime(); ok {
		last = fmt.Sprintf("\"updatedAt\": %q,\n  %s", at.UTC().Format("2006-01-02T15:04:05.000Z"), last)
	}
	text := fmt.Sprintf("{\n  \"storyId\": %s,\n  %q: %d,\n  \"maxIterations\": %d,\n  \"status\": %q,\n  %s\n}\n", strconv.Quote(id), iteration, n, limit, status, last)
	return d.mended(fmt.Sprintf("the status of the QA loop %s cannot be read", d.file.Path), d.from(), text)
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
	f := doc.NewReader(d.fsys).Open(name)
	if !f.OK() || !strings.HasSuffix(name, ".md") {
		return 0
	}
	for _, sec := range f.Markdown().Sections() {
		if !strings.HasPrefix(doc.Fold(sec.Title), "qa results") {
			continue
		}
		for _, l := range sec.Lines() {
			if _, rest, ok := strings.Cut(doc.Fold(l.Text), "iteration "); ok {
				if nums := doc.Numbers(rest); len(nums) > 0 && rest[0] >= '0' && rest[0] <= '9' && nums[0] < 1000 {
					n = max(n, int(nums[0]))
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
	content := strings.Join(lines, "")
	now := load(splice.Over(d.fsys, []reprise.Edit{d.edit(content)}), d.was.Ref)
	if now.State != d.was.State || now.Phase != d.was.Phase || len(now.Steps) != len(d.was.Steps) {
		return nil
	}
	for i := range now.Steps {
		if a, b := &now.Steps[i], &d.was.Steps[i]; a.ID != b.ID || a.Status != b.Status || a.Title != b.Title {
			return nil
		}
	}
	return d.mended(fmt.Sprintf("%s is no valid YAML: values with a colon stand without quotes", d.file.Path),
		d.file.Path+", line "+strings.Join(names, ", "), content)
}
