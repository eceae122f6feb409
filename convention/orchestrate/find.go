package orchestrate

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// homes are the state folders by generation of the tool. Real projects hold
// several side by side.
var homes = []string{".aios", ".aiox", ".nexos"}

// shape is which of the state files a path is.
type shape uint8

const (
	noShape shape = iota
	epicShape
	loopShape
	workflowShape // .aiox/*-state.yaml, flat or under engine_state
	nexosShape    // .nexos/workflow-state/*-state.yaml
	bobShape      // .aios/workflow-state/*-state.yaml
	buildShape
)

// shapeOf tells the state files by their place. Dashboards, caches, handoffs,
// session states and the files of the master orchestrator are no evidence of a run and have no
// shape; nor have files that were put aside (.migrated, .discarded, .bak).
func shapeOf(p string) shape {
	dir, name := path.Split(p)
	dir = strings.TrimSuffix(dir, "/")
	parent, low := path.Base(dir), strings.ToLower(name)
	isState := isYAML(low) && strings.HasSuffix(stem(low), "-state")
	_, isEpic := epicStateName(low)
	switch home := isHome(parent); {
	case home && isEpic:
		return epicShape
	case home && isState:
		return workflowShape
	case parent == "workflow-state" && isState:
		if path.Base(path.Dir(dir)) == ".nexos" {
			return nexosShape
		}
		if isHome(path.Base(path.Dir(dir))) {
			return bobShape
		}
	case low == "loop-status.json" || low == "loop-status.yaml" || low == "loop-status.yml":
		if parent == "qa" || path.Base(path.Dir(dir)) == "qa" {
			return loopShape
		}
	case low == "build-state.json" && parent == "plan":
		return buildShape
	}
	return noShape
}

func isHome(name string) bool { return slices.Contains(homes, name) }

// epicStateName gives the epic's id from a file name epic-{id}-state.yaml.
func epicStateName(name string) (string, bool) {
	s := stem(name)
	if !isYAML(name) || len(s) <= len("epic--state") || !strings.EqualFold(s[:5], "epic-") || !strings.EqualFold(s[len(s)-6:], "-state") {
		return "", false
	}
	return s[5 : len(s)-6], true
}

// storyFile is a story as its name tells it.
type storyFile struct {
	path  string
	key   key
	plain bool // the name alone does not say that it is a story
}

// census is what one walk over the names of a project found.
type census struct {
	states  []string // state files of all shapes
	stories []storyFile
	specs   []string // folders of a specification pipeline
	unread  map[string]error
}

// survey walks over the names. A folder that cannot be listed is left out; the
// file system reports it. Anything with the name of a state file or a story is
// listed; reading it shows whether it is a file.
func survey(fsys fs.FS) *census {
	t := &census{unread: map[string]error{}}
	// The callback never returns an error of its own, so neither does the walk.
	_ = doc.Search(fsys, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			t.unread[p] = err
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case p != "." && doc.Fixtures(d):
			return fs.SkipDir
		case shapeOf(p) != noShape:
			t.states = append(t.states, p)
		case isSpecArtifact(p) && !d.IsDir():
			if dir := path.Dir(p); !slices.Contains(t.specs, dir) {
				t.specs = append(t.specs, dir)
			}
		default:
			if f, ok := storyName(p); ok {
				t.stories = append(t.stories, f)
			}
		}
		return nil
	})
	return t
}

// Find lists the runs of a project. It reads state files, which are few, to
// know which stories they mention; of the stories it reads only those whose
// name does not settle what they are.
func (*Layout) Find(fsys fs.FS) ([]reprise.Ref, error) {
	t := survey(fsys)
	f := finder{fsys: fsys, folded: map[string]bool{}}
	f.stateRuns(t)
	f.storyRuns(t.stories)
	f.specRuns(t)
	sort.SliceStable(f.refs, func(i, j int) bool { return f.refs[i].Path < f.refs[j].Path })
	return f.refs, nil
}

type finder struct {
	fsys   fs.FS
	refs   []reprise.Ref
	folded map[string]bool // stories that belong to an open state run
}

func (f *finder) add(id, p string, kind reprise.Kind) {
	f.refs = append(f.refs, reprise.Ref{Layout: layoutName, ID: id, Path: p, Kind: kind})
}

// stateRuns adds the runs of state files. A loop that was never started is
// none. Of several open states of one story the first keeps it and the others
// are dropped: load finds them again and names them in Also.
func (f *finder) stateRuns(t *census) {
	for _, sh := range stateOrder {
		for _, p := range t.states {
			if shapeOf(p) != sh || laterCopy(p, func(q string) bool { return slices.Contains(t.states, q) }) != "" {
				continue
			}
			ref := stateRef(p)
			l := peek(f.fsys, ref, t.stories)
			run := l.run
			run.Findings = append(run.Findings, l.r.Findings()...)
			if sh == loopShape && isIdle(run) {
				continue
			}
			if sh != epicShape {
				story := foldedStory(run)
				if f.folded[story] {
					continue
				}
				f.folded[story] = story != ""
			}
			ref.ID, ref.Kind = run.ID, run.Kind
			f.refs = append(f.refs, ref)
		}
	}
}

// laterCopy returns the same state file in the folder of a later generation of
// the tool, "" if there is none. The older one was left behind by the change
// of names and belongs to that run.
func laterCopy(p string, exists func(string) bool) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		at := slices.Index(homes, part)
		for later := len(homes) - 1; at >= 0 && later > at; later-- {
			parts[i] = homes[later]
			if q := strings.Join(parts, "/"); exists(q) {
				return q
			}
			parts[i] = part
		}
	}
	return ""
}

// stateOrder is the order in which states may take a story.
var stateOrder = []shape{epicShape, loopShape, workflowShape, nexosShape, bobShape, buildShape}

// stateRef names the run of a state file.
func stateRef(p string) reprise.Ref {
	ref := reprise.Ref{Layout: layoutName, Path: p, Kind: reprise.KindWorkflow}
	name := strings.TrimPrefix(stem(path.Base(p)), ".")
	switch shapeOf(p) {
	case epicShape:
		id, _ := epicStateName(path.Base(p))
		if rest := cutWord(id, "epic"); rest == id {
			id = "EPIC-" + id
		}
		ref.ID, ref.Kind = id, reprise.KindEpic
	case loopShape:
		ref.ID, ref.Kind = "qa-loop", reprise.KindQALoop
		if parent := path.Base(path.Dir(p)); parent != "qa" {
			ref.ID = "qa-loop-" + parent
		}
	case buildShape:
		ref.ID = "build"
		if parent := path.Base(path.Dir(path.Dir(p))); parent != "." && parent != "/" {
			ref.ID = "build-" + parent
		}
	case bobShape, nexosShape:
		ref.ID = "workflow-" + strings.TrimSuffix(name, "-state")
	default:
		ref.ID = strings.TrimSuffix(name, "-state")
	}
	return ref
}

// foldedStory returns the story file an open run is about.
func foldedStory(run *reprise.Run) string {
	if !run.State.Open() {
		return ""
	}
	return storyOf(run)
}

// storyRuns adds the stories that are runs of their own.
func (f *finder) storyRuns(all []storyFile) {
	r := doc.NewReader(f.fsys)
	groups := map[string][]storyFile{}
	var order []string
	for _, s := range all {
		g := s.path
		if len(s.key.nums) > 0 {
			g = storiesRoot(s.path) + "\x00" + s.key.prefix + "\x00" + joinInts(s.key.nums) + string(rune(s.key.letter))
		}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], s)
	}
	for _, g := range order {
		for _, s := range f.stories(r, groups[g]) {
			if !f.folded[s.path] {
				f.add(s.key.id, s.path, reprise.KindStory)
			}
		}
	}
}

// stories leaves out of a group of files with one id the documents without
// criteria of their own and the copies that a moved story left behind.
func (f *finder) stories(r *doc.Reader, group []storyFile) []storyFile {
	if len(group) == 1 {
		if group[0].plain && !looksLikeStory(r, group[0].path) {
			return nil
		}
		return group
	}
	kept := slices.DeleteFunc(slices.Clone(group), func(s storyFile) bool {
		sh := readStory(r, s.path)
		return sh != nil && !sh.criteria // what cannot be read may be the story itself
	})
	if len(kept) == 0 {
		kept = slices.Clone(group)
	}
	return slices.DeleteFunc(kept, func(s storyFile) bool { return isLeftCopy(s, group) })
}

// isLeftCopy reports whether a story lies in a folder next to one for finished
// work that has a file of the same name.
func isLeftCopy(s storyFile, group []storyFile) bool {
	if _, ended := folderSays(s.path); ended {
		return false
	}
	return slices.ContainsFunc(group, func(o storyFile) bool {
		_, ended := folderSays(o.path)
		return ended && path.Base(o.path) == path.Base(s.path) && path.Dir(path.Dir(o.path)) == path.Dir(path.Dir(s.path))
	})
}

// looksLikeStory reads a file whose name says little: a story has a status in
// its head, and criteria or tasks.
func looksLikeStory(r *doc.Reader, p string) bool {
	s := readStory(r, p)
	return s != nil && s.criteria && s.winner() >= 0 && s.fields[s.winner()].head
}

// joinInts writes numbers with dots between them.
func joinInts(nums []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(nums), " ", "."), "[]")
}
