package orchestrate

import (
	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
	"strconv"
)

// epicPaper is an epic state while it is edited.
type epicPaper struct {
	*paper
	root  splice.Path
	waves []epicWave
}

// epicWave and epicEntry are a wave and a story with their places.
type epicWave struct {
	wave
	at      splice.Path
	entries []epicEntry
}

type epicEntry struct {
	waveStory
	at     splice.Path
	scalar bool // the entry is the status itself
	bare   bool // the entry is only an id
}

func openEpic(p *paper) *epicPaper {
	e := &epicPaper{paper: p}
	for _, key := range []string{"epic_state", "epicState"} {
		if n := p.tree.Root().Get(key); n != nil && n.Kind == doc.Map {
			e.root = splice.Path{key}
			break
		}
	}
	at := under(e.root, "waves")
	waves := p.node(at)
	if waves == nil {
		return e
	}
	for i, n := range waves.Items {
		if n.Kind == doc.Map {
			name := plainText(n.Get("wave", "number", "id"))
			if name == "" {
				name = strconv.Itoa(i + 1)
			}
			e.waves = append(e.waves, openWave(name, n, under(at, i)))
		}
	}
	for _, f := range waves.Keys {
		if f.Value != nil && f.Value.Kind == doc.Map {
			e.waves = append(e.waves, openWave(f.Name, f.Value, under(at, f.Name)))
		}
	}
	return e
}

func openWave(name string, n *doc.Node, at splice.Path) epicWave {
	w := epicWave{wave: readWave(name, n), at: at}
	stories := n.Get("stories")
	if stories == nil {
		return w
	}
	in := under(at, "stories")
	for i, item := range stories.Items {
		e := epicEntry{at: under(in, i), bare: item.Kind != doc.Map}
		if i < len(w.stories) {
			e.waveStory = w.stories[i]
		}
		w.entries = append(w.entries, e)
	}
	for i, f := range stories.Keys {
		e := epicEntry{at: under(in, f.Name), scalar: f.Value == nil || f.Value.Kind != doc.Map}
		if i < len(w.stories) {
			e.waveStory = w.stories[i]
		}
		w.entries = append(w.entries, e)
	}
	return w
}

func (e *epicPaper) find(id string) (*epicWave, *epicEntry) {
	for i := range e.waves {
		for j := range e.waves[i].entries {
			if e.waves[i].entries[j].id == id {
				return &e.waves[i], &e.waves[i].entries[j]
			}
		}
	}
	return nil, nil
}

// words are the statuses that stories use here.
func (e *epicPaper) words() []string {
	var out []string
	for _, w := range e.waves {
		for _, s := range w.entries {
			out = append(out, s.word)
		}
	}
	return out
}

// waveWords are the statuses that waves use here.
func (e *epicPaper) waveWords() []string {
	out := make([]string, 0, len(e.waves))
	for _, w := range e.waves {
		out = append(out, w.word)
	}
	return out
}

// anyEntryHas reports whether stories carry a key here.
func (e *epicPaper) anyEntryHas(key string) bool {
	for _, w := range e.waves {
		for _, s := range w.entries {
			if s.node != nil && s.node.Kind == doc.Map && s.node.Has(key) {
				return true
			}
		}
	}
	return false
}

func (c *scribe) recordEpic(p *paper) error {
	e := openEpic(p)
	if err := c.epicEvent(e); err != nil {
		return err
	}
	return c.touch(p, e.root, "updated_at", "updatedAt")
}

func (c *scribe) epicEvent(e *epicPaper) error {
	ev := c.ev
	switch ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		return c.epicStatus(e, "active", "active", "in progress", "running", "in_progress")
	case reprise.RunEnded:
		return c.epicEnded(e)
	case reprise.RunStopped:
		if ev.Outcome == "paused" {
			return c.noPlace()
		}
		return c.epicStatus(e, "aborted", "aborted", "cancelled", "canceled")
	case reprise.PhaseEnded:
		return c.waveEnded(e, waveName(ev.Phase))
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		return c.epicQuestion(e)
	}
	if w, entry := e.find(ev.Step); entry != nil {
		return c.epicStory(e, w, entry)
	}
	if at := under(e.root, "prerequisites", ev.Step); e.node(at) != nil && e.node(at).Kind == doc.Map {
		return c.prerequisite(e, at)
	}
	return c.gateStep(e)
}

// epicStatus sets the status of the epic unless one of the words that mean the
// same stands there.
func (c *scribe) epicStatus(e *epicPaper, word string, same ...string) error {
	at := under(e.root, "status")
	now := plainText(e.node(at))
	for _, s := range same {
		if doc.Fold(now) == doc.Fold(s) {
			return nil
		}
	}
	e.because("epic %s is %s", c.run.ID, word)
	if c.ev.Kind == reprise.RunStarted && e.node(under(e.root, "started_at")).IsNull() && e.key(e.root, "started_at") != "" {
		if err := e.set(under(e.root, "started_at"), c.stamp(e.paper, nil)); err != nil {
			return err
		}
	}
	return e.set(at, word)
}

// epicEnded closes the epic. One with open stories is not closed as completed:
// nobody would believe it.
func (c *scribe) epicEnded(e *epicPaper) error {
	switch c.ev.Outcome {
	case "aborted":
		return c.epicStatus(e, "aborted", "aborted", "cancelled", "canceled")
	case "", "completed", "approved":
	default:
		return c.noPlace()
	}
	for _, w := range e.waves {
		for _, s := range w.entries {
			if c.openEntry(s) {
				return c.cannot("story %s is open", oneLine(s.id, 40))
			}
		}
	}
	if err := c.epicStatus(e, spellState(reprise.Done, "completed"), "completed", "complete", "done"); err != nil {
		return err
	}
	if e.key(e.root, "completed_at") != "" && e.tree.Changed() {
		return e.set(under(e.root, "completed_at"), c.stamp(e.paper, e.node(under(e.root, "completed_at"))))
	}
	return nil
}

// openEntry reports whether a story of the state is open. One that is listed
// without a status is as far as its file.
func (c *scribe) openEntry(s epicEntry) bool {
	if step := c.run.Step(s.id); s.bare && step != nil {
		return !step.Status.Closed()
	}
	return !stateWord(s.word).Closed()
}

// storyWords are the format's own words for the status of a story.
var storyWords = map[reprise.EventKind]struct {
	status reprise.Status
	word   string
}{
	reprise.StepStarted:  {reprise.InProgress, "in_progress"},
	reprise.StepFinished: {reprise.Done, "completed"},
	reprise.StepFailed:   {reprise.Failed, "failed"},
	reprise.StepBlocked:  {reprise.Blocked, "blocked"},
	reprise.StepSkipped:  {reprise.Skipped, "skipped"},
	reprise.StepReset:    {reprise.Pending, "pending"},
}

// eventStatus is what an event about a step makes of it: a step that finished
// without success failed.
func (c *scribe) eventStatus() (status reprise.Status, word string, ok bool) {
	kind := c.ev.Kind
	if kind == reprise.StepFinished && (c.ev.Outcome == "failed" || c.ev.Outcome == "rejected") {
		kind = reprise.StepFailed
	}
	w, ok := storyWords[kind]
	return w.status, w.word, ok
}

// epicStory records an event of one story in the state, its wave and its file.
func (c *scribe) epicStory(e *epicPaper, w *epicWave, s *epicEntry) error {
	status, word, ok := c.eventStatus()
	if !ok {
		return c.noPlace()
	}
	step := c.run.Step(s.id)
	if s.bare {
		if step == nil || step.Path == "" || status == reprise.Failed || status == reprise.Skipped {
			return c.cannot("the state lists story %s without a status", oneLine(s.id, 40))
		}
		return c.storyFollows(step.Path, status)
	}
	if stateWord(s.word) != status || s.missing {
		word = spellState(status, word, e.words()...)
		at := s.at
		if !s.scalar {
			at = under(at, "status")
		}
		if err := e.set(at, word); err != nil {
			return err
		}
		s.word, s.missing = word, false
		e.because("story %s is %s", oneLine(s.id, 40), word)
		if err := c.entryTimes(e, s, status); err != nil {
			return err
		}
	}
	if hash := oneLine(c.ev.Commit, 64); hash != "" && status == reprise.Done && !s.scalar && plainText(e.node(under(s.at, "commit"))) == "" {
		if err := e.set(under(s.at, "commit"), hash); err != nil {
			return err
		}
		e.because("story %s has a commit", oneLine(s.id, 40))
	}
	if err := c.waveFollows(e, w); err != nil {
		return err
	}
	if step == nil || step.Path == "" {
		return nil
	}
	return c.storyFollows(step.Path, status)
}

// entryTimes sets when a story was started and completed, where the file keeps
// these times.
func (c *scribe) entryTimes(e *epicPaper, s *epicEntry, status reprise.Status) error {
	key := ""
	switch status {
	case reprise.InProgress:
		key = "started_at"
	case reprise.Done:
		key = "completed_at"
	}
	if key == "" || s.scalar || !e.anyEntryHas(key) && !e.anyEntryHas("started_at") {
		return nil
	}
	at := under(s.at, key)
	if key == "started_at" && plainText(e.node(at)) != "" {
		return nil // begun before; it goes on
	}
	return e.set(at, c.stamp(e.paper, e.node(at)))
}

// storyFollows moves the story's own file along with the state that drives it,
// as far as it must so that the two say the same.
func (c *scribe) storyFollows(p string, status reprise.Status) error {
	s := readSheet(c.r, p)
	if s == nil {
		return nil // the state alone tells; the loader reports the file
	}
	now := noClass
	if w := s.winner(); w >= 0 {
		now = s.fields[w].class
	}
	if _, ended := folderSay(p); ended {
		if status != reprise.Done && status != reprise.Skipped {
			return c.cannot("story %s lies in a folder for finished work", p)
		}
		return nil
	}
	switch status {
	case reprise.InProgress:
		if rankOf(now) == rankOf(done) {
			return c.cannot("story %s is closed", p)
		}
		// A draft is validated before it is begun: it moves by its own phases.
		if rankOf(now) < rankOf(inProgress) && now != draft || now == blocked {
			return c.moveStory(p, inProgress, c.ev.Text)
		}
	case reprise.Done:
		return c.moveStory(p, done, c.ev.Text)
	case reprise.Failed:
		if rankOf(now) > rankOf(inProgress) {
			return c.moveStory(p, inProgress, c.ev.Text)
		}
	case reprise.Blocked:
		return c.moveStory(p, blocked, c.ev.Text)
	case reprise.Pending:
		if now == done || now == dropped {
			return c.cannot("story %s is closed", p)
		}
		if rankOf(now) > rankOf(ready) {
			return c.moveStory(p, ready, "reset")
		}
	}
	return nil
}
