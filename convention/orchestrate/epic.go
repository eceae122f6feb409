package orchestrate

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// wave is one wave of an epic state.
type wave struct {
	name    string // the key: a number or a word
	word    string
	at      reprise.Source
	stories []waveStory
}

// waveStory is a story as the epic state knows it.
type waveStory struct {
	id      string
	key     key
	word    string
	at      reprise.Source
	node    *doc.Node
	missing bool // the state gives it no status
}

// epicRoot finds the map with the state: under epic_state, or the document.
func epicRoot(n *doc.Node) *doc.Node {
	if n == nil || n.Kind != doc.Map {
		return nil
	}
	if inner := n.Get("epic_state", "epicState"); inner != nil {
		return inner
	}
	return n
}

// epicWaves reads the waves in the order of their numbers.
func epicWaves(root *doc.Node) []wave {
	if root == nil || root.Kind != doc.Map {
		return nil
	}
	var out []wave
	waves := root.Get("waves")
	if waves != nil && waves.Kind == doc.List {
		for i, n := range waves.Items {
			name := n.Get("wave", "number", "id").Str()
			if name == "" {
				name = strconv.Itoa(i + 1)
			}
			out = append(out, readWave(name, n))
		}
	} else {
		for _, f := range waves.Fields() {
			out = append(out, readWave(f.Name, f.Value))
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := doc.Numbers(out[i].name), doc.Numbers(out[j].name)
		return len(a) > 0 && len(b) > 0 && a[0] < b[0]
	})
	return out
}

func readWave(name string, n *doc.Node) wave {
	w := wave{name: name, word: n.Get("status").Str(), at: n.Get("status").Source()}
	if w.at.File == "" {
		w.at = n.Source()
	}
	stories := n.Get("stories")
	add := func(id string, node *doc.Node) {
		s := waveStory{id: id, key: nameKey(id), node: node, at: node.Source()}
		if node != nil && node.Kind == doc.Map {
			if st := node.Get("status"); st != nil {
				s.word, s.at = st.Str(), st.Source()
			}
		} else {
			s.word = node.Str()
		}
		s.missing = s.word == ""
		w.stories = append(w.stories, s)
	}
	if stories != nil && stories.Kind == doc.List {
		for _, item := range stories.Items {
			if item.Kind == doc.Map {
				add(item.Get("id", "story", "story_id", "storyId").Str(), item)
				continue
			}
			w.stories = append(w.stories, waveStory{id: item.Str(), key: nameKey(item.Str()), at: item.Source(), missing: true})
		}
		return w
	}
	for _, f := range stories.Fields() {
		add(f.Name, f.Value)
	}
	return w
}

// epic reads an epic state with its plan and its stories.
func (l *loader) epic() {
	run := l.run
	run.Kind = reprise.KindEpic
	f, n := l.structured(run.Path)
	root := epicRoot(n)
	if root == nil || root.Kind != doc.Map {
		l.rebuildEpic(f, "the epic state cannot be read")
		l.locks()
		return
	}
	if id := root.Get("epicId", "epic_id", "id").Str(); id != "" {
		run.ID = id
	}
	run.Title = root.Get("title", "epicTitle", "name").Str()
	run.Mode = modeOf(root.Get("mode").Str())
	run.Epic = strings.ToUpper(cutWord(run.ID, "epic"))
	run.Order = doc.Numbers(run.ID)
	l.times(root, 0)
	plan := l.executionPlan(root)
	l.prerequisites(root)
	waves := epicWaves(root)
	run.Branch = epicBranch(root, waves)
	for _, w := range waves {
		for _, s := range w.stories {
			l.epicStory(w, s, plan)
		}
	}
	if !l.unwritten() {
		// The work has passed the prerequisites by: what they should have
		// left is not made again for it.
		for i := range run.Artifacts {
			run.Artifacts[i].MadeBy = ""
		}
	}
	l.epicAsks(root)
	l.epicState(root, waves)
	if run.LastActivity.IsZero() {
		run.Active(f.MTime, f.At(0))
	}
	l.locks()
}

// timesIn takes every time on record in a state, else that of its file.
func (l *loader) timesIn(f *doc.File, n *doc.Node) {
	if l.times(n, 0); l.run.LastActivity.IsZero() {
		l.run.Active(f.MTime, f.At(0))
	}
}

// modes are the words of an epic state for how much a person is asked, and ours.
// A word without a meaning is none: a person is asked then.
var modes = map[string]string{"yolo": "autopilot", "autopilot": "autopilot", "interactive": "interactive", "preflight": "preflight", "pre flight": "preflight"}

func modeOf(word string) string { return modes[doc.Fold(word)] }

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

// times takes every time on record, at whatever depth: the fields that should
// hold the latest one are often left behind.
func (l *loader) times(n *doc.Node, depth int) {
	if n == nil || depth > 8 {
		return
	}
	for _, f := range n.Keys {
		low := strings.ToLower(f.Name)
		if v := f.Value; v != nil && v.Kind != doc.Map && v.Kind != doc.List {
			if strings.HasSuffix(low, "_at") || strings.HasSuffix(f.Name, "At") || strings.Contains(low, "updated") || strings.Contains(low, "timestamp") || low == "date" {
				if t, ok := doc.ParseTime(v.Text); ok {
					l.run.Active(t, v.Source())
				}
			}
			continue
		}
		l.times(f.Value, depth+1)
	}
	for _, item := range n.Items {
		l.times(item, depth+1)
	}
}

// prerequisites become the first steps: the waves wait for them.
func (l *loader) prerequisites(root *doc.Node) {
	pre := root.Get("prerequisites")
	if pre == nil || pre.Kind != doc.Map {
		return
	}
	for _, f := range pre.Keys {
		if f.Value == nil || f.Value.Kind != doc.Map {
			continue
		}
		st := f.Value.Get("status")
		word := st.Str()
		step := reprise.Step{
			ID: f.Name, Title: f.Value.Get("title", "task", "name").Str(), Phase: "prerequisites",
			Role: role(f.Value.Get("owner", "agent").Str()), Status: l.wordStatus(f.Name, word, st.Source()),
			Source: f.Value.Source(),
		}
		if cond, ok := f.Value.Get("conditional").Bool(); ok && cond && step.Status == reprise.Pending {
			step.Title = strings.TrimSpace(step.Title + " (conditional)")
		}
		if st != nil {
			step.Claims = []reprise.Claim{{Ledger: stateLedger, Status: step.Status, Word: word, Source: st.Source(), Won: true}}
		}
		l.artifactOf(f.Name, f.Value.Get("artifact").Str(), f.Value.Source())
		l.run.Steps = append(l.run.Steps, step)
	}
}

// wordStatus reads a status of a state file and reports a word without a
// meaning.
func (l *loader) wordStatus(subject, word string, at reprise.Source) reprise.Status {
	if word == "" {
		return reprise.Pending
	}
	s := stateWord(word)
	if s == reprise.Unknown {
		if at.File == "" {
			at.File = l.run.Path
		}
		l.r.Report(reprise.Finding{
			Code: reprise.CodeUnknownStatus, Severity: reprise.Warning, Subject: subject, Source: at,
			Message: fmt.Sprintf("the status %s has no meaning here", strconv.Quote(doc.Clip(word, 60))),
			Hint:    "it counts as open until a person says otherwise",
		})
	}
	return s
}

// role writes an agent without its sign.
func role(agent string) string {
	agent = strings.TrimPrefix(strings.TrimSpace(agent), "@")
	agent, _, _ = strings.Cut(agent, " ")
	return agent
}

// epicStory adds a story as a step, with the words of state and story.
func (l *loader) epicStory(w wave, s waveStory, plan epicPlan) {
	step := reprise.Step{
		ID: s.id, Title: nodeTitle(s.node), Phase: "wave " + w.name, Source: s.at,
		Role: "dev", Status: reprise.Pending, Traces: storyTraces(s.key),
	}
	if s.node != nil && s.node.Kind == doc.Map {
		if r := role(s.node.Get("executor", "agent").Str()); r != "" {
			step.Role = r
		}
		if c := s.node.Get("commit").Str(); c != "" {
			step.Commits = []string{c}
		}
		step.Files = l.filesOf(s.node.Get("files_modified", "filesModified", "files"))
	}
	if p := plan.story(s.key); p != nil {
		step.Needs = p.needs
		if step.Title == "" {
			step.Title = p.title
		}
	}
	if !s.missing {
		step.Status = l.wordStatus(s.id, s.word, s.at)
		step.Claims = append(step.Claims, reprise.Claim{Ledger: stateLedger, Status: step.Status, Word: s.word, Source: s.at, Won: true})
	}
	step.Path = l.storyPath(s.key, plan)
	if step.Path == "" {
		l.missingStory(w, s, plan, step.Status)
	} else {
		l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{Name: "story " + s.id, Path: step.Path, Presence: reprise.Present, Critical: true, NeededBy: step.Phase, Source: s.at})
		l.storyClaim(&step)
		l.reviewClaims(&step, s.key)
	}
	l.run.Steps = append(l.run.Steps, step)
}

// missingStory: a story nobody has begun may simply not be written yet; one
// that was begun has lost its file.
func (l *loader) missingStory(w wave, s waveStory, plan epicPlan, status reprise.Status) {
	name := s.id + ".story.md"
	if p := plan.story(s.key); p != nil && p.file != "" {
		name = path.Join(plan.base, p.file)
	}
	begun := status != reprise.Pending
	l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{Name: "story " + s.id, Path: name, Presence: reprise.Missing, Critical: begun && !status.Closed(), NeededBy: "wave " + w.name, Source: s.at})
	if !begun || status.Closed() {
		return
	}
	l.r.Report(reprise.Finding{
		Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: s.id, Source: s.at,
		Message: fmt.Sprintf("the state says %s, but story %s has no file", strconv.Quote(doc.Clip(s.word, 40)), s.id),
		Hint:    "bring the story's file back, or set it to pending to have it written again",
	})
}

// storyClaim adds what the story's file says. The furthest of the two wins.
func (l *loader) storyClaim(step *reprise.Step) {
	sh := readSheet(l.r, step.Path)
	if sh == nil {
		return
	}
	if d := newest(sh.dates, sh.file.MTime); !d.day.IsZero() {
		l.run.Active(d.day, sh.source(d.line))
	}
	if len(step.Files) == 0 {
		step.Files = sh.files
	}
	i := sh.winner()
	if i < 0 {
		return
	}
	f := sh.fields[i]
	claim := reprise.Claim{Ledger: "story", Status: f.class.status(), Word: f.word, Source: sh.source(f.line)}
	old := step.Status
	ahead := far(claim.Status) > far(old) && !old.Closed()
	if ahead || len(step.Claims) == 0 {
		for j := range step.Claims {
			step.Claims[j].Won = false
		}
		claim.Won, step.Status = true, claim.Status
	}
	step.Claims = append(step.Claims, claim)
	if len(step.Claims) < 2 || f.class.status() == old || (old == reprise.Pending && f.class == ready) || f.class <= unknown {
		return
	}
	severity := reprise.Warning
	if !old.Closed() && !claim.Status.Closed() {
		severity = reprise.Info
	}
	l.r.Report(reprise.Finding{
		Code: reprise.CodeStatusDrift, Severity: severity, Subject: step.ID, Source: claim.Source,
		Message: fmt.Sprintf("the epic state says %s, the story says %s (%s)", strconv.Quote(doc.Clip(step.Claims[0].Word, 40)), strconv.Quote(doc.Clip(f.word, 40)), meaning(old, f.class)),
		Hint:    "the further of the two is taken; correct the other",
	})
}

// far orders statuses by how much has been done.
func far(s reprise.Status) int {
	switch s {
	case reprise.InProgress, reprise.Failed, reprise.Blocked:
		return 1
	case reprise.InReview:
		return 2
	case reprise.Done, reprise.Skipped:
		return 3
	}
	return 0
}
