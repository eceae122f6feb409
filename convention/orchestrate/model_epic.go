package orchestrate

import (
	"path"
	"slices"
	"sort"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// epic is an epic state: the map that holds it, and its waves in the order of
// their numbers, whatever their order in the file.
type epic struct {
	ledger.Value
	waves    []wave
	verdicts ledger.Value // of the gates, by wave
}

// wave is one wave of an epic state.
type wave struct {
	name    string // the key: a number or a word
	word    string
	status  ledger.Value
	at      ledger.Value
	stories []waveStory
}

// waveStory is a story as the epic state knows it.
type waveStory struct {
	id      string
	key     key
	word    string
	at      ledger.Value // the entry
	status  ledger.Value // a field of the entry, or the entry itself
	missing bool         // the state gives it no status
	bare    bool         // the entry is only an id
}

// epicKeys are the keys by which the state of an epic is known.
var epicKeys = []string{"epic_state", "epicState", "waves", "epic_id", "epicId", "status", "current_wave"}

// epicRoot finds the state: under epic_state, or the document itself.
func epicRoot(root ledger.Value) ledger.Value {
	if inner := root.In("epic_state", "epicState"); inner.Node != nil {
		return inner
	}
	return root
}

func readEpic(root ledger.Value) epic {
	e := epic{Value: root, verdicts: root.In("gate_verdicts", "gateVerdicts")}
	if !root.Is(doc.Map) {
		return e
	}
	all := root.In("waves")
	listed := all.Is(doc.List)
	if !listed {
		all.Fields() // reports what is neither a list nor a map
	}
	for _, w := range all.Entries(1) {
		if own := w.Get("wave", "number", "id").Str(); listed && own != "" {
			w.Name = own
		}
		e.waves = append(e.waves, readWave(w.Name, w.Value))
	}
	sort.SliceStable(e.waves, func(i, j int) bool {
		a, b := doc.Numbers(e.waves[i].name), doc.Numbers(e.waves[j].name)
		return len(a) > 0 && len(b) > 0 && a[0] < b[0]
	})
	return e
}

func readWave(name string, at ledger.Value) wave {
	w := wave{name: name, at: at, status: at.In("status"), word: at.Get("status").Str()}
	stories := at.In("stories")
	listed := stories.Is(doc.List)
	if !listed {
		stories.Fields()
	}
	for _, entry := range stories.Entries(1) {
		s := waveStory{id: entry.Name, at: entry.Value, status: entry.Value, bare: listed && !entry.Is(doc.Map)}
		switch {
		case s.bare:
			s.id = entry.Str()
		case entry.Is(doc.Map):
			s.status = entry.In("status")
			if listed {
				s.id = entry.Get(storyIDs...).Str()
			}
		}
		if !s.bare {
			s.word = s.status.Str()
		}
		s.key, s.missing = nameKey(s.id), s.word == ""
		w.stories = append(w.stories, s)
	}
	return w
}

// storyIDs are the keys under which an entry of a list names its story.
var storyIDs = []string{"id", "story", "story_id", "storyId"}

// source is where the status of the story stands, else its entry.
func (s waveStory) source() reprise.Source {
	if s.status.Node != nil {
		return s.status.Source()
	}
	return s.at.Source()
}

// text is a field of the story's entry, "" where the entry is no map.
func (s waveStory) text(keys ...string) string {
	if !s.at.Is(doc.Map) {
		return ""
	}
	return s.at.Get(keys...).Str()
}

// names reports whether the entry has the name of a story in its words.
func (s waveStory) names(file storyFile) bool {
	words := func(text string) string {
		return " " + doc.Fold(strings.NewReplacer("/", " ", ".", " ").Replace(text)) + " "
	}
	said := s.id
	for _, key := range []string{"file", "path", "story_file", "storyFile", "slug", "branch", "title", "name"} {
		said += " " + s.at.In(key).Plain()
	}
	_, slug, _ := strings.Cut(stem(path.Base(file.path)), file.key.id)
	return strings.TrimSpace(words(slug)) != "" && strings.Contains(words(said), words(slug))
}

// stories calls f for every story of the epic.
func (e epic) stories(f func(w *wave, s *waveStory)) {
	for i := range e.waves {
		for j := range e.waves[i].stories {
			f(&e.waves[i], &e.waves[i].stories[j])
		}
	}
}

// words are the words for the statuses of its waves.
func (e epic) words() (out []string) {
	for _, w := range e.waves {
		out = append(out, w.word)
	}
	return out
}

// verdict is the word of the verdict on a gate, "" if there is none.
func (e epic) verdict(gate string) string {
	at := e.verdicts.In(gate)
	if at.Is(doc.Map) {
		at = at.In("status", "verdict")
	}
	return at.Plain()
}

// ruling is what the verdict on a gate means. Only Done lets what comes behind the gate
// begin; Pending says nothing yet.
func (e epic) ruling(gate string) reprise.Status {
	word := e.verdict(gate)
	if s := stateWord(word); word != "" && s != reprise.Unknown {
		return s
	}
	return ledger.Ruling(word)
}

// branch is the branch of the epic or, where it names none, the one that all its
// stories in progress name. If they name several, the run has none.
func (e epic) branch() string {
	if b := ledger.Branch(e.Get("branch").Plain()); b != "" {
		return b
	}
	found, differ := "", false
	e.stories(func(_ *wave, s *waveStory) {
		switch stateWord(s.word) {
		case reprise.InProgress, reprise.InReview, reprise.Failed, reprise.Blocked:
			b := ledger.Branch(s.at.In("branch").Plain())
			differ = differ || b == "" || found != "" && b != found
			found = b
		}
	})
	if differ {
		return ""
	}
	return found
}

// modes are the words of an epic state for how much a person is asked, and ours.
// For an unknown word, a person is asked.
var modes = map[string]string{"yolo": "autopilot", "autopilot": "autopilot", "interactive": "interactive", "preflight": "preflight", "pre flight": "preflight"}

// modeWord spells one of our modes as epic states do.
func modeWord(mode string) string {
	switch mode {
	case "autopilot":
		return "yolo"
	case "preflight":
		return mode
	}
	return "interactive"
}

// epicPlan is the execution plan of an epic: its stories with their waves, files,
// titles and dependencies. Plans are written by models and often are no valid
// YAML; what can be read of them is used.
type epicPlan struct {
	id      string
	base    string // the folder of its stories, as it stands there
	stories []planStory
}

// planStory is one story of a plan. Its wave is "" where the plan has waves and
// the story stands in none.
type planStory struct {
	wave  string
	id    string
	key   key
	file  string
	title string
	needs []string
}

// readPlan reads a plan, nil for a file that holds none.
func readPlan(f *doc.File) *epicPlan {
	n := f.YAML().Object("execution", "waves", "stories", "epicId", "epic_id", "id")
	if n == nil {
		return nil
	}
	root := ledger.Root(f, n)
	if inner := root.In("execution"); inner.Is(doc.Map) {
		root = inner
	}
	p := &epicPlan{id: root.In("epicId", "epic_id", "id").Plain(), base: root.Get("storyBasePath", "story_base_path").Str()}
	waves, first := root.In("waves"), ""
	if waves.Node == nil {
		first = "1"
	}
	p.add(first, root.In("stories"))
	for _, w := range waves.Entries(1) {
		if own := w.In("wave", "number", "id").Plain(); waves.Is(doc.List) && own != "" {
			w.Name = own
		}
		p.add(w.Name, w.In("stories"))
	}
	return p
}

func (p *epicPlan) add(wave string, stories ledger.Value) {
	for _, s := range stories.Entries(1) {
		id := s.Name
		if stories.Is(doc.List) {
			if id = s.Plain(); s.Is(doc.Map) {
				id = s.In(storyIDs...).Plain()
			}
		}
		story := planStory{wave: wave, id: id, key: nameKey(id), file: s.In("file", "path").Plain(), title: s.In("title", "name").Plain()}
		if needs := s.In("depends_on", "dependsOn", "dependencies"); !needs.Is(doc.Map) {
			story.needs = needs.Strs()
		}
		p.stories = append(p.stories, story)
	}
}

// story finds a story of a plan; there may be no plan.
func (p *epicPlan) story(k key) *planStory {
	if p == nil {
		return nil
	}
	if i := slices.IndexFunc(p.stories, func(s planStory) bool { return s.key.same(k) }); i >= 0 {
		return &p.stories[i]
	}
	return nil
}

// fileOf is the path of a story's file as the plan gives it, "" if it does not.
func (l *loader) fileOf(p *epicPlan, k key) string {
	s := p.story(k)
	if s == nil || s.file == "" {
		return ""
	}
	return path.Join(l.inTree(p.base), s.file)
}
