package orchestrate

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// otherSays collects what other files say about the story: its copies, the table of its
// epic, the epic state and the QA gate. Only files recognized by name are opened.
func (l *loader) otherSays(s *storyDoc, k key) []say {
	return slices.Concat(l.copySays(s), l.epicTableSays(s, k), l.epicStateSays(s.path, k), l.gateSays(s.path, k))
}

// copySays reads the copies of the story under the same file name in sibling
// folders: moved stories leave their old file behind.
func (l *loader) copySays(s *storyDoc) []say {
	var out []say
	parent := path.Dir(path.Dir(s.path))
	if _, ended := folderSays(s.path); !ended {
		return nil
	}
	for _, d := range l.r.Dir(parent) {
		p := path.Join(parent, d.Name(), path.Base(s.path))
		if !d.IsDir() || p == s.path || !l.r.Exists(p) {
			continue
		}
		l.run.Also = append(l.run.Also, reprise.Ref{Layout: layoutName, ID: l.run.ID, Path: p, Kind: reprise.KindStory})
		if c := readStory(l.r, p); c != nil {
			if said, ok := c.claim(); ok {
				out = append(out, say{ledger: "copy in " + d.Name() + "/", class: c.class(), word: said.Word, at: said.Source})
			}
		}
	}
	return out
}

// epicTableSays reads the row about the story in the tables of its epic's
// file: the one it links to, or the one whose name has its epic's number.
func (l *loader) epicTableSays(s *storyDoc, k key) []say {
	name := s.epicLink
	if name == "" {
		name = l.epicFile(s.path, k)
	}
	if name == "" {
		return nil
	}
	f, base := l.r.Open(name), path.Base(s.path)
	for _, t := range f.Markdown().All().Tables() {
		col := t.Column("Status", "Estado", "Situação", "状态")
		if col < 0 {
			continue
		}
		for _, row := range t.Rows {
			if !rowNames(row, k, base) {
				continue
			}
			if c := classify(row[col].Text); c > unknown {
				return []say{{ledger: "epic table", class: c, word: row[col].Text, at: f.At(row[col].Line)}}
			}
		}
	}
	return nil
}

// rowNames reports whether one of the first two cells of a row names the story.
func rowNames(row []doc.Cell, k key, base string) bool {
	for _, c := range row[:min(2, len(row))] {
		text := c.Text
		if strings.Contains(text, "/"+base) || strings.Contains(text, "("+base) {
			return true
		}
		if i := strings.Index(text, "["); i >= 0 {
			text = text[i+1:]
			text, _, _ = strings.Cut(text, "]")
		}
		if nameKey(strings.Trim(text, "*_` ")).same(k) {
			return true
		}
	}
	return false
}

// epicFile finds the Markdown file of the story's epic by its number.
func (l *loader) epicFile(story string, k key) string {
	if len(k.nums) < 2 || k.prefix != "" {
		return ""
	}
	for _, dir := range []string{path.Dir(story), path.Join(path.Dir(story), "epics")} {
		for _, e := range l.r.Dir(dir) {
			n, ok := epicFolder(e.Name())
			if ok && n == k.nums[0] && !e.IsDir() && strings.HasSuffix(strings.ToLower(e.Name()), ".md") && !strings.Contains(strings.ToLower(e.Name()), "story") {
				return path.Join(dir, e.Name())
			}
		}
	}
	return ""
}

// epicStateSays reads the epic states whose file name names the story's epic. What
// one says of another story with the same number is not this one's.
func (l *loader) epicStateSays(story string, k key) []say {
	if len(k.nums) == 0 {
		return nil
	}
	project := projectOf(l.run.Path)
	var out []say
	for _, home := range homes {
		for _, e := range l.r.Dir(path.Join(project, home)) {
			id, ok := epicStateName(e.Name())
			if !ok || !epicMatches(id, k) {
				continue
			}
			name := path.Join(project, home, e.Name())
			f := l.r.Open(name)
			named := bytes.Contains(f.Data, []byte(k.id)) || bytes.Contains(f.Data, []byte(joinInts(k.nums)))
			damaged := bytes.IndexByte(f.Data, 0) >= 0 || !bytes.Contains(f.Data, []byte("waves"))
			if !f.OK() || !named && !damaged {
				continue // it does not name the story
			}
			readEpic(epicRoot(ledger.Root(f, f.YAML().Object(epicKeys...)))).stories(func(_ *wave, st *waveStory) {
				if !st.key.same(k) {
					return
				}
				if meant := l.meant(st); !strings.EqualFold(meant, path.Base(story)) {
					if meant == "" {
						l.oneOfSeveral(st)
					}
					return
				}
				// The branch of a story that was not begun does not exist yet.
				if l.run.Branch == "" && stateClass(st.word) > ready {
					l.run.Branch = ledger.Branch(st.at.In("branch").Plain())
				}
				out = append(out, say{ledger: stateLedger, class: stateClass(st.word), word: st.word, at: st.source()})
			})
		}
	}
	return out
}

// epicMatches reports whether an epic state's name can be that of the story's
// epic: EPIC-6 for 6.3, ACT for ACT-1, CP-5 for CP-5.1.
func epicMatches(id string, k key) bool {
	id = cutWord(strings.ToLower(id), "epic")
	return strings.EqualFold(id, k.epicName())
}

func stateClass(word string) class {
	return cmp.Or(map[reprise.Status]class{
		reprise.Pending: ready, reprise.InProgress: inProgress, reprise.Failed: inProgress, reprise.InReview: inReview,
		reprise.Done: done, reprise.Blocked: blocked, reprise.Skipped: dropped,
	}[stateWord(word)], unknown)
}

// gateSays reads the QA gates of the story: files in qa/gates beside the
// folder of stories whose name begins with its id, and the gate of its epic. Of several
// the newest counts by their own dates; of those without one the last by name.
func (l *loader) gateSays(story string, k key) []say {
	if len(k.nums) == 0 {
		return nil
	}
	dir := path.Join(path.Dir(storiesRoot(story)), "qa", "gates")
	latest, days := map[string]say{}, map[string]string{}
	take := func(n *doc.Node, name string) {
		word, at := gateWord(n)
		if word == "" {
			return
		}
		if day := n.Get("updated", "date", "reviewed_at", "timestamp").Plain(); day >= days[name] {
			latest[name], days[name] = say{ledger: name, class: gateClass(word), word: word, at: at}, day
		}
	}
	for _, e := range l.r.Dir(dir) {
		ext := path.Ext(e.Name())
		if nums := doc.Numbers(e.Name()); len(nums) == 0 || nums[0] != k.nums[0] || e.IsDir() || (ext != ".yml" && ext != ".yaml") {
			continue // told apart quickly: there is a gate for every story
		}
		gate := func() *doc.Node { return l.r.Open(path.Join(dir, e.Name())).YAML().Object() }
		switch n, isEpic := epicFolder(e.Name()); {
		case nameKey(stem(e.Name())).same(k):
			take(gate(), gateLedger)
		case isEpic && k.prefix == "" && len(k.nums) > 1 && n == k.nums[0]:
			take(storyInGate(gate(), k, e.Name()), epicGate)
		}
	}
	var out []say
	for _, name := range []string{gateLedger, epicGate} {
		if s, ok := latest[name]; ok {
			out = append(out, s)
		}
	}
	return out
}

// epicGate is the name under which the gate of an epic is quoted.
const epicGate = "epic gate"

// storyInGate finds the verdict on one story in the gate of its epic. A gate that lists
// stories applies to these; the final gate of an epic, if it lists none, to all; the gate
// of a wave, or of an aspect of it, to none.
func storyInGate(n *doc.Node, k key, name string) *doc.Node {
	list := n.Get("stories")
	if list == nil {
		if strings.Contains(strings.ToLower(name), "final") {
			return n
		}
		return nil
	}
	for _, s := range (ledger.Value{Node: list}).Entries(1) {
		if list.Kind == doc.List {
			s.Name = s.In(storyIDs...).Plain()
		}
		if s.Is(doc.Map) && nameKey(s.Name).same(k) {
			return s.Node
		}
	}
	return nil
}

// gateWord finds the verdict of a gate under any of the keys in use. A key
// may hold a map with the verdict inside.
func gateWord(n *doc.Node) (string, reprise.Source) {
	for _, name := range []string{"gate", "verdict", "final_verdict", "gate_decision", "decision", "status"} {
		v := n.Get(name)
		if v.Is(doc.Map) {
			v = v.Get("verdict", "decision", "status", "result", "gate")
		}
		if v.Is(doc.String) && strings.TrimSpace(v.Text) != "" {
			return v.Text, v.Source()
		}
	}
	return "", reprise.Source{}
}

// gateClass is what the ruling of a gate makes of a story.
func gateClass(word string) class {
	return cmp.Or(map[reprise.Status]class{reprise.Done: done, reprise.Failed: inProgress, reprise.Blocked: inProgress}[ledger.Ruling(word)], unknown)
}
