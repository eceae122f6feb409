package flow

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"reprise"
	"reprise/internal/doc"
)

// maxSteps bounds a workflow.
const maxSteps = 10_000

// The keys of the file, of a step and of a question; schema/workflow.v1.json has
// the same.
var (
	fileKeys = []string{"name", "title", "parallel", "steps"}
	stepKeys = []string{"id", "title", "needs", "command", "role", "prompt", "ask", "inputs", "outputs", "env", "verify", "on_crash", "attempts", "backoff", "timeout"}
	askKeys  = []string{"question", "options"}
)

// idForm is what steps, workflows and roles may be called.
var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// reserved are ids that stand for something else in the runs of the layout.
var reserved = []string{"close"}

// Problem is one thing that is wrong in a file, with its place; Problems is the
// cause of every error of Parse.
type (
	Problem  = doc.Problem
	Problems = doc.Problems
)

// Read reads the text of a workflow file for Parse. What is no regular file is not
// opened, and of one that is too large no more is read than Parse needs to say so.
func Read(fsys fs.FS, name string) ([]byte, error) {
	return doc.ReadRegular(fsys, name, doc.MaxStrict+1)
}

// ReadGraph reads the task graph of a run that is kept in a folder, for Origin.
func ReadGraph(fsys fs.FS, run string) ([]byte, error) {
	return doc.ReadRegular(fsys, path.Join(run, "task-graph.json"), doc.MaxSize)
}

// Parse reads a workflow. name is what the file is called in messages. The error
// is a Problems that holds everything that is wrong.
func Parse(name string, data []byte) (w *Workflow, err error) {
	w = parsed.Of(name, data, func() (*Workflow, bool) {
		w, err = parse(name, data)
		return w, err == nil
	})
	return w, err
}

var parsed doc.Memo[*Workflow]

func parse(name string, data []byte) (*Workflow, error) {
	strict, root := doc.ParseStrict(name, data)
	p := &parser{}
	top := root.Fields(fileKeys...)
	p.w.Name = p.name(top.At("name"), "a workflow")
	p.w.Title = line(top.At("title"))
	p.w.Parallel = top.At("parallel").Count(1, 64)
	if root.Has() && !top.At("name").Has() {
		root.Report("name: release", "the workflow has no name")
	}
	if p.w.Title == "" {
		p.w.Title = p.w.Name
	}
	items := top.At("steps").List()
	switch {
	case !root.Has() && strict.Err() == nil:
		root.Report("docs/reference/workflows.md has examples", "the file contains no workflow")
	case root.Has() && !top.At("steps").Has():
		root.Report("steps: [{id: build, command: [make]}]", "the workflow has no steps")
	case items != nil && len(items) == 0: // what is no list was reported as that
		top.At("steps").Report("", "the workflow has no steps")
	case len(items) > maxSteps:
		top.At("steps").Report("", "more than %d steps", maxSteps)
		items = nil
	}
	n := len(items)
	p.at, p.folded, p.needs = make(map[string]doc.Value, n), make(map[string]string, n), make(map[string][]doc.Value, n)
	p.w.steps = make([]Step, 0, n)
	for _, item := range items {
		p.step(item)
	}
	p.resolve()
	p.cycle()
	if err := strict.Err(); err != nil {
		return nil, err
	}
	p.w.place = make(map[string]int, n)
	for i := range p.w.steps {
		p.w.place[p.w.steps[i].ID] = i
	}
	return &p.w, nil
}

type parser struct {
	w      Workflow
	at     map[string]doc.Value   // where a step's id stands
	folded map[string]string      // ids as the layout compares them
	needs  map[string][]doc.Value // where a step's needs stand
}

// NameForm tells what a step, a workflow and a run of one can be called.
const NameForm = "letters, digits, dot, dash and underscore, at most 64, beginning with a letter or a digit"

// IsName reports whether a text has that form.
func IsName(text string) bool { return idForm().MatchString(text) }

// name reads an id.
func (p *parser) name(v doc.Value, of string) string {
	text := v.Text()
	if text == "" {
		return ""
	}
	if !IsName(text) {
		v.Report(NameForm, "%q cannot be the name of %s", doc.Clip(text, 40), of)
		return ""
	}
	return text
}

// line reads text that stands in one line.
func line(v doc.Value) string {
	text := strings.TrimSpace(v.Text())
	if strings.ContainsFunc(text, unicode.IsControl) {
		v.Report("", "a title is one line without control characters")
		return ""
	}
	return text
}

func (p *parser) step(item doc.Value) {
	f := item.Fields(stepKeys...)
	s := Step{
		ID: p.name(f.At("id"), "a step"), Title: line(f.At("title")), Line: item.Source().Line,
		Command: f.At("command").Argv(), Role: p.name(f.At("role"), "a role"), Prompt: f.At("prompt").Text(), Ask: question(f.At("ask")),
		Inputs: paths(f.At("inputs"), false), Outputs: paths(f.At("outputs"), true), Env: f.At("env").Env(), Verify: f.At("verify").Argv(),
		OnCrash:  reprise.Ambiguity(f.At("on_crash").Word(string(reprise.Verify), string(reprise.Rerun), string(reprise.AskWho))),
		Attempts: f.At("attempts").Count(1, 100), Backoff: f.At("backoff").Duration(), Timeout: f.At("timeout").Duration(),
	}
	for _, need := range f.At("needs").List() {
		if id := need.Text(); id != "" {
			if slices.Contains(s.Needs, id) {
				need.Report("", "%q is needed twice", doc.Clip(id, 40))
				continue
			}
			s.Needs = append(s.Needs, id)
			p.needs[s.ID] = append(p.needs[s.ID], need)
		}
	}
	if item.Has() && !f.At("id").Has() {
		item.Report("give it an id", "a step without an id")
	}
	if s.Title == "" {
		s.Title = s.ID
	}
	kind(f)
	if s.OnCrash == "" {
		s.OnCrash = usual(&s)
	}
	if s.ID == "" || !p.free(s.ID, f.At("id")) {
		return
	}
	p.at[s.ID] = f.At("id")
	p.w.steps = append(p.w.steps, s)
}

// free reports an id that is taken: also by one that the layout cannot tell
// from it.
func (p *parser) free(id string, v doc.Value) bool {
	fold := doc.Fold(id)
	switch other, taken := p.folded[fold]; {
	case slices.Contains(reserved, id):
		v.Report("", "%q has a meaning of its own and cannot be the id of a step", id)
	case taken && other == id:
		v.Report("", "the id %q is already used in line %d", id, p.at[other].Source().Line)
	case taken:
		v.Report("ids must differ in more than case, dots, dashes and underscores", "the id %q is too similar to %q in line %d", id, other, p.at[other].Source().Line)
	default:
		p.folded[fold] = id
		return true
	}
	return false
}

// kind reports a step that is of two kinds, and what does not go with its kind.
func kind(f doc.Fields) {
	var kinds []string
	for _, k := range []string{"command", "role", "ask"} {
		if f.At(k).Has() {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) > 1 {
		f.At(kinds[1]).Report("make two steps of it", "a step has one of command, role and ask; this one has %s", strings.Join(kinds, " and "))
		return
	}
	switch {
	case f.At("prompt").Has() && !f.At("role").Has():
		f.At("prompt").Report("add role: NAME", "a prompt needs a role")
	case f.At("role").Has() && !f.At("prompt").Has():
		f.At("role").Report("add prompt: what to do", "a role needs a prompt that says what to do")
	}
	if f.At("command").Has() || f.At("role").Has() {
		return
	}
	for _, k := range []string{"inputs", "outputs", "env", "verify", "on_crash", "attempts", "backoff", "timeout"} {
		if f.At(k).Has() {
			f.At(k).Report("", "%s goes with a command or a role; this step starts nothing", k)
		}
	}
}

// usual is what is done about a step that was cut off where its file does not
// say: what leaves something to look at is looked at, what does not is asked
// about.
func usual(s *Step) reprise.Ambiguity {
	if len(s.Command) > 0 && len(s.Verify) == 0 && len(s.Outputs) == 0 {
		return reprise.AskWho
	}
	return reprise.Verify
}

func question(v doc.Value) *Question {
	if !v.Has() {
		return nil
	}
	f := v.Fields(askKeys...)
	q := &Question{Text: strings.TrimSpace(f.At("question").Text())}
	if !f.At("question").Has() {
		v.Report(`ask: {question: "Release it?", options: [release, stop]}`, "nothing is asked")
	}
	for _, item := range f.At("options").List() {
		o := line(item)
		if o == "" {
			continue
		}
		same := slices.IndexFunc(q.Options, func(other string) bool { return reprise.SameAnswer(o, other) })
		switch {
		case same < 0:
			q.Options = append(q.Options, o)
		case q.Options[same] == o:
			item.Report("", "the option %q occurs twice", doc.Clip(o, 40))
		default:
			item.Report("case, quotation marks and a full stop do not count in an answer", "the options %q and %q mean the same", doc.Clip(q.Options[same], 40), doc.Clip(o, 40))
		}
	}
	return q
}

// paths reads slash paths in the project. What is made must not lie where git's
// or our own state is.
func paths(v doc.Value, made bool) []string {
	var out []string
	for _, item := range v.List() {
		text := item.Text()
		clean := path.Clean(text)
		first, _, _ := strings.Cut(strings.ToLower(clean), "/")
		switch {
		case text == "":
		case strings.ContainsFunc(text, unicode.IsControl), strings.Contains(text, `\`):
			item.Report("paths use slashes", "%q cannot be a path here", doc.Clip(text, 40))
		case path.IsAbs(text):
			item.Report("paths are relative to the project's folder", "%q is absolute", doc.Clip(text, 60))
		case clean == ".." || strings.HasPrefix(clean, "../"):
			item.Report("", "%q leaves the project", doc.Clip(text, 60))
		case clean == ".":
			item.Report("", "%q is the project itself", doc.Clip(text, 60))
		case made && (first == ".git" || first == ".reprise"):
			item.Report("", "%q is in %s, which steps must not change", doc.Clip(text, 60), first)
		case slices.Contains(out, clean):
			item.Report("", "%q occurs twice", doc.Clip(text, 60))
		default:
			out = append(out, clean)
		}
	}
	return out
}
