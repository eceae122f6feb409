package checklist

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
)

// OwnName is the name of the convention for families that a project describes itself.
const OwnName = "families"

// ownFile is the file with the description, under the key of that name.
const ownFile = "reprise.yaml"

// Own reads and writes the lists of families described in the project's reprise.yaml. The
// description contains file names and words but no commands, so it counts without being
// trusted.
type Own struct{}

// Name returns OwnName.
func (Own) Name() string { return OwnName }

// describe reads the families of a project. The error says what is wrong with the
// description; it is nil if there is none.
func describe(fsys fs.FS) ([]Family, error) {
	data, err := doc.ReadRegular(fsys, ownFile, doc.MaxStrict)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Contains(data, []byte(OwnName)) {
		return nil, nil
	}
	if err != nil {
		if there, _ := glob(fsys, ".", ownFile); len(there) == 0 {
			return nil, nil // the folder cannot be read, which is reported elsewhere
		}
		return nil, err
	}
	strict, root := doc.ParseStrict(ownFile, data)
	var out []Family
	for _, e := range root.Entries() {
		if e.Name == OwnName {
			out = ReadFamilies(e.Value)
		}
	}
	return out, strict.Err()
}

// The keys of a family, and of the keys of its tasks; schema/settings.v1.json has the same.
var (
	familyKeys = []string{"form", "lists", "title", "item", "unnumbered", "parallel", "inputs", "words", "items", "keys", "ranks"}
	taskKeys   = []string{"id", "text", "status", "rank", "parts", "needs", "changed", "ended"}
)

// ReadFamilies reads the families that a person described. What is wrong is reported at
// its place.
func ReadFamilies(v doc.Value) (out []Family) {
	for _, e := range v.Entries() {
		f := e.Value.Fields(familyKeys...)
		family := Family{
			Name: OwnName, Form: Form(f.At("form").Word(string(Boxes), string(JSON), string(Lines), string(YAML))),
			Lists: texts(f.At("lists")), Title: f.At("title").Text(), Parallel: f.At("parallel").Text(), Inputs: texts(f.At("inputs")),
			Unnumbered: f.At("unnumbered").Word("true", "false") == "true", Shared: true,
			Items: texts(f.At("items")), Ranks: texts(f.At("ranks")), Words: words(f.At("words")),
		}
		k := f.At("keys").Fields(taskKeys...)
		family.Keys = Keys{
			ID: k.At("id").Text(), Text: k.At("text").Text(), Status: k.At("status").Text(), Rank: k.At("rank").Text(),
			Parts: k.At("parts").Text(), Needs: k.At("needs").Text(), Changed: k.At("changed").Text(), Ended: k.At("ended").Text(),
		}
		family.Form = cmp.Or(family.Form, Boxes)
		if item := f.At("item"); item.Has() {
			form, err := regexp.Compile(item.Text())
			if err != nil || form.SubexpIndex("id") < 0 {
				item.Report(`(?P<id>T\d+) (?P<text>.+)`, "it is not a regular expression with a group named id")
				continue
			}
			family.Item = form
		}
		if family.complete(e, f) {
			out = append(out, family)
		}
	}
	return out
}

// complete reports what a family lacks, and sets the defaults.
func (f *Family) complete(e doc.Entry, at doc.Fields) bool {
	switch {
	case len(f.Lists) == 0:
		e.Key.Report(`lists: ["plans/*/tasks.md"]`, "the family %s does not say where its lists are", doc.Clip(e.Name, 40))
		return false
	case slices.ContainsFunc(f.Lists, func(p string) bool { _, err := path.Match(p, ""); return err != nil || !fs.ValidPath(p) }):
		at.At("lists").Report("a path in the project, where * is a part of a name", "a pattern cannot be read")
		return false
	case f.Form == Boxes && f.Item == nil && !f.Unnumbered:
		e.Key.Report(`item: '(?P<id>T\d+) (?P<text>.+)', or unnumbered: true`, "the family %s does not say how a task is written", doc.Clip(e.Name, 40))
		return false
	case f.twice() != "":
		at.At("words").Report("one status for each word", "the word %q of the family %s stands for more than one status", doc.Clip(f.twice(), 40), doc.Clip(e.Name, 40))
		return false
	case f.Form == Boxes && f.tooLong() != nil:
		at.At("words").Report("words: {in_progress: ['~'], done: [x]}", "the word %q of the family %s does not fit into a box, which has one character", doc.Clip(*f.tooLong(), 40), doc.Clip(e.Name, 40))
		return false
	case f.Form != Boxes && (len(f.Words[reprise.Done]) == 0 || len(f.Words[reprise.Pending]) == 0):
		e.Key.Report("words: {pending: [todo], done: [done]}", "the family %s has no words for what is pending and done", doc.Clip(e.Name, 40))
		return false
	}
	if f.Form == Boxes && len(f.Words) == 0 {
		f.Words = map[reprise.Status][]string{reprise.Pending: {" "}, reprise.Done: {"x", "X"}}
	}
	if f.Form == Boxes && f.Item == nil {
		f.Item = regexp.MustCompile(`^(?P<id>\d+(?:\.\d+)*)[.)]?\s+(?P<text>.+)`)
	}
	if f.Form != Boxes {
		f.Shared = false // the person names the file
	}
	if f.Form != Boxes && len(f.Items) == 0 {
		f.Items = []string{""}
	}
	return true
}

// tooLong returns the first word that is not one character, or nil.
func (f *Family) tooLong() *string {
	for _, status := range slices.Sorted(maps.Keys(f.Words)) {
		words := f.Words[status]
		if i := slices.IndexFunc(words, func(w string) bool { return utf8.RuneCountInString(w) != 1 }); i >= 0 {
			return &words[i]
		}
	}
	return nil
}

// twice returns the first word that stands for more than one status, or "".
func (f *Family) twice() string {
	all := slices.Concat(slices.Collect(maps.Values(f.Words))...)
	slices.Sort(all)
	for _, word := range all {
		meant := 0
		for _, words := range f.Words {
			if slices.ContainsFunc(words, func(w string) bool { return f.same(w, word) }) {
				meant++
			}
		}
		if meant > 1 {
			return word
		}
	}
	return ""
}

func texts(v doc.Value) (out []string) {
	for _, item := range v.List() {
		out = append(out, item.Text())
	}
	return out
}

// words reads the words for each status.
func words(v doc.Value) map[reprise.Status][]string {
	out := map[reprise.Status][]string{}
	for _, e := range v.Entries() {
		var status reprise.Status
		if status.UnmarshalText([]byte(e.Name)) != nil || status == reprise.Unknown {
			e.Key.Report("pending, in_progress, in_review, done, blocked or skipped", "%q is not a status", doc.Clip(e.Name, 40))
			continue
		}
		for _, item := range e.Value.List() {
			out[status] = append(out[status], item.Scalar())
		}
	}
	return out
}

// Find implements reprise.Layout. An unreadable description is shown as a run, so that
// what it describes does not disappear.
func (Own) Find(fsys fs.FS) (refs []reprise.Ref, err error) {
	own, wrong := describe(fsys)
	for _, f := range own {
		for _, pattern := range f.Lists {
			found, err := Layout{f}.findIn(fsys, ".", pattern)
			if err != nil {
				return nil, err
			}
			refs = append(refs, found...)
		}
	}
	if wrong != nil {
		refs = append(refs, reprise.Ref{Layout: OwnName, Kind: reprise.KindTasks, ID: OwnName, Path: ownFile})
	}
	return refs, nil
}

// of returns the layout of the family that a list belongs to.
func of(fsys fs.FS, name string) (Layout, error) {
	own, wrong := describe(fsys)
	for _, f := range own {
		if slices.ContainsFunc(f.Lists, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
			return Layout{f}, nil
		}
	}
	if wrong == nil {
		wrong = fmt.Errorf("no family in %s describes %s", ownFile, name)
	}
	return Layout{}, wrong
}

// Load implements reprise.Layout.
func (Own) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	l, wrong := of(fsys, ref.Path)
	if wrong == nil {
		return l.Load(fsys, ref)
	}
	run := &reprise.Run{Ref: ref, State: reprise.Unreadable, Reason: "the families of lists in " + ownFile + " cannot be read"}
	f := reprise.Finding{
		Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: ref.ID, Source: reprise.Source{File: ownFile}, Message: wrong.Error(),
	}
	var problems doc.Problems
	if errors.As(wrong, &problems) && len(problems) > 0 {
		f.Source.Line, f.Message, f.Hint = problems[0].Line, problems[0].Message, problems[0].Hint
	}
	run.Report(f)
	return run, nil
}

// Record implements reprise.Recorder.
func (Own) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	l, err := of(fsys, r.Path)
	if err != nil {
		return nil, err
	}
	return l.Record(fsys, r, ev)
}

// Aim is Layout.Aim for the family that the list belongs to.
func (Own) Aim(fsys fs.FS, r *reprise.Run, past []reprise.Version) {
	if l, err := of(fsys, r.Path); err == nil {
		l.Aim(fsys, r, past)
	}
}
