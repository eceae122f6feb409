package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"reprise"
)

// MaxStrict is the largest file that is read strictly.
const MaxStrict = 1 << 20

// maxProblems bounds what is reported of one file.
const maxProblems = 50

// Strict reads YAML that a person wrote for us, where nothing may be guessed:
// what is unknown, doubled, misspelt or of the wrong kind is a Problem at its
// line and column. Users' state files are read with Reader instead, which takes
// what it can get.
//
// The only YAML it refuses on top are aliases, merged keys and a second
// document: a value stands where it is used.
type Strict struct {
	name     string
	lines    []string
	problems Problems
}

// ParseStrict parses one document. The Value is absent where the text is not
// YAML or empty; Problems tells the former.
func ParseStrict(name string, data []byte) (*Strict, Value) {
	s := &Strict{name: name}
	if len(data) > MaxStrict {
		s.report(0, 0, "", "larger than %d KiB, not read", MaxStrict>>10)
		return s, Value{s: s}
	}
	data = bytes.TrimPrefix(data, bom)
	for i, starts := 0, yamlLines(data); i < len(starts); i++ {
		end := len(data)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		s.lines = append(s.lines, strings.TrimRight(string(data[starts[i]:end]), "\r\n\u0085\u2028\u2029"))
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var root, more yaml.Node
	switch err := dec.Decode(&root); {
	case errors.Is(err, io.EOF):
		return s, Value{s: s}
	case err != nil:
		s.syntax(err)
		return s, Value{s: s}
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		s.syntax(err)
	default:
		s.report(more.Line, more.Column, "keep one, without a line of ---", "a second document begins here")
	}
	if len(root.Content) == 0 {
		return s, Value{s: s}
	}
	return s, Value{s: s, y: root.Content[0]}
}

var (
	yamlLine = Pattern(`^line (\d+): `)
	// zeroBased are messages of the part of the parser that counts lines from 0.
	zeroBased = Pattern(`^did not find expected ('|key|node content|<)`)
)

// syntax reports what the parser says; it knows the line only.
func (s *Strict) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if m := yamlLine().FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
		if zeroBased().MatchString(text) {
			line++
		}
	}
	column := 1
	if line > 0 && line <= len(s.lines) {
		column += len(s.lines[line-1]) - len(strings.TrimLeft(s.lines[line-1], " \t"))
	}
	s.report(line, column, "text with brackets, a comma, or one of : ? # in it needs quotes; lines are indented with spaces", "not valid YAML: %s", showable(text))
}

func (s *Strict) report(line, column int, hint, format string, args ...any) {
	if len(s.problems) >= maxProblems {
		return
	}
	p := Problem{File: s.name, Line: line, Column: column, Message: fmt.Sprintf(format, args...), Hint: hint}
	if line > 0 && line <= len(s.lines) {
		p.Text = showable(s.lines[line-1])
	}
	s.problems = append(s.problems, p)
}

// Err gives all problems in the order of the lines, or nil. It is a Problems.
func (s *Strict) Err() error {
	if len(s.problems) == 0 {
		return nil
	}
	return s.problems.order()
}

// Value is a value with its place, or the absence of one. Its methods report
// what does not fit and give the zero value then, so that one reading finds
// everything that is wrong.
type Value struct {
	s *Strict
	y *yaml.Node
}

// Entry is one entry of a map whose keys are not known before.
type Entry struct {
	Name       string
	Key, Value Value
}

// Has reports whether the value is written at all.
func (v Value) Has() bool { return v.y != nil }

// Source gives its place.
func (v Value) Source() reprise.Source {
	if v.y == nil {
		return reprise.Source{File: v.s.name}
	}
	return reprise.Source{File: v.s.name, Line: v.y.Line}
}

// Report says that something is wrong with the value. hint may be "".
func (v Value) Report(hint, format string, args ...any) {
	if v.y == nil {
		v.s.report(0, 0, hint, format, args...)
		return
	}
	v.s.report(v.y.Line, v.y.Column, hint, format, args...)
}

// got names what stands there, for messages.
func (v Value) got() string {
	switch v.y.Kind {
	case yaml.SequenceNode:
		return kindNames[List]
	case yaml.MappingNode:
		return kindNames[Map]
	case yaml.AliasNode:
		return "an alias"
	}
	if v.null() {
		return "nothing"
	}
	return strconv.Quote(Clip(v.y.Value, 40))
}

func (v Value) null() bool { return v.y.Kind == yaml.ScalarNode && v.y.ShortTag() == "!!null" }

// is reports whether the value has a shape, and reports it if it has another.
func (v Value) is(kind yaml.Kind, want string) bool {
	if v.y == nil {
		return false
	}
	if v.y.Kind == yaml.AliasNode {
		v.Report("write the value out", "aliases are not read here")
		return false
	}
	if v.y.Kind != kind || v.null() {
		v.Report("", "%s stands where %s belongs", v.got(), want)
		return false
	}
	return true
}

// Entries gives the entries of a map in the order of the file, each key once.
func (v Value) Entries() []Entry {
	if !v.is(yaml.MappingNode, "a map") {
		return nil
	}
	out := make([]Entry, 0, len(v.y.Content)/2)
	seen := map[string]int{} // the lines of the keys
	for i := 0; i+1 < len(v.y.Content); i += 2 {
		key := Value{v.s, v.y.Content[i]}
		if !key.is(yaml.ScalarNode, "a key") {
			continue
		}
		name := key.y.Value
		if line, twice := seen[name]; twice {
			key.Report("", "key %q stands in line %d already", Clip(name, 40), line)
			continue
		}
		seen[name] = key.y.Line
		out = append(out, Entry{name, key, Value{v.s, v.y.Content[i+1]}})
	}
	return out
}

// Fields are the entries of a map whose keys are known before.
type Fields struct {
	of      Value
	entries []Entry
}

// At gives the value of a key, absent where it is not written.
func (f Fields) At(key string) Value {
	for i := range f.entries {
		if f.entries[i].Name == key {
			return f.entries[i].Value
		}
	}
	return Value{s: f.of.s}
}

// Fields gives the entries of a map that may have these keys and no others.
func (v Value) Fields(known ...string) Fields {
	out := Fields{v, v.Entries()}
	for _, e := range out.entries {
		if slices.Contains(known, e.Name) {
			continue
		}
		hint := "known here: " + strings.Join(known, ", ")
		if near := Near(e.Name, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		e.Key.Report(hint, "there is no key %q here", Clip(e.Name, 40))
	}
	return out
}

// List gives the items of a list.
func (v Value) List() []Value {
	if !v.is(yaml.SequenceNode, "a list") {
		return nil
	}
	out := make([]Value, len(v.y.Content))
	for i, y := range v.y.Content {
		out[i] = Value{v.s, y}
	}
	return out
}

// Text gives a scalar as it is written: 1.10 stays 1.10. Only an absent value
// gives "" without a report.
func (v Value) Text() string {
	if !v.is(yaml.ScalarNode, "text") {
		return ""
	}
	switch {
	case strings.TrimSpace(v.y.Value) == "":
		v.Report("", "empty text stands here")
		return ""
	case strings.ContainsRune(v.y.Value, 0):
		v.Report("", "a NUL character stands in the text")
		return ""
	}
	return v.y.Value
}

// Scalar is Text that may be blank.
func (v Value) Scalar() string {
	if !v.is(yaml.ScalarNode, "text") {
		return ""
	}
	return v.y.Value
}

// Argv gives a command: a list with the program and its arguments. One text is
// refused, because splitting it would take a shell.
func (v Value) Argv() []string {
	if v.y != nil && v.y.Kind == yaml.ScalarNode && !v.null() {
		words := strings.Fields(v.y.Value)
		v.Report("no shell is used; write a list: ["+showable(Clip(strings.Join(words, ", "), 80))+"]", "a command is a list of texts, not one text")
		return nil
	}
	items := v.List()
	if v.y != nil && v.y.Kind == yaml.SequenceNode && len(items) == 0 {
		v.Report("name the program and its arguments, such as [make, test]", "the command is empty")
	}
	var out []string
	for i, item := range items {
		// An argument may be empty, the program may not.
		if i > 0 && item.y.Kind == yaml.ScalarNode && !item.null() && item.y.Value == "" {
			out = append(out, "")
			continue
		}
		text := item.Text()
		if i == 0 && text != "" && strings.HasPrefix(text, "-") {
			item.Report("", "a program cannot begin with a dash")
		}
		out = append(out, text)
	}
	return out
}

// Count gives a whole number within bounds, or 0 where there is none.
func (v Value) Count(least, most int) int {
	if !v.is(yaml.ScalarNode, "a whole number") {
		return 0
	}
	n, err := strconv.Atoi(v.y.Value)
	if err != nil || v.y.ShortTag() != "!!int" {
		v.Report("", "%s stands where a whole number belongs", v.got())
		return 0
	}
	if n < least || n > most {
		v.Report("", "%d is not between %d and %d", n, least, most)
		return 0
	}
	return n
}

// Amount gives a number that is not negative, such as 3 or 0.25, or 0 where there is none.
func (v Value) Amount() float64 {
	if !v.is(yaml.ScalarNode, "a number") {
		return 0
	}
	n, err := strconv.ParseFloat(v.y.Value, 64)
	if tag := v.y.ShortTag(); err != nil || tag != "!!int" && tag != "!!float" || !(n >= 0 && n < 1e12) {
		v.Report("", "%s stands where an amount belongs, such as 3 or 0.25", v.got())
		return 0
	}
	return n
}

// durationForm is what schema/ says of a duration too.
var durationForm = Pattern(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`)

// Duration gives a span of time longer than nothing, such as 90s or 1h30m, or 0
// where there is none.
func (v Value) Duration() time.Duration {
	if !v.is(yaml.ScalarNode, "a duration") {
		return 0
	}
	d, err := time.ParseDuration(v.y.Value)
	switch {
	case !durationForm().MatchString(v.y.Value) || err != nil:
		v.Report("write a number with its unit: 500ms, 90s, 20m, 1h30m", "%s is not a duration", v.got())
		return 0
	case d <= 0:
		v.Report("leave it out for the usual one", "a duration of nothing")
		return 0
	}
	return d
}

var sizeForm = Pattern(`^([0-9]+) ?(B|KiB|MiB|GiB)$`)

// Size gives a number of bytes, such as 64MiB, or 0 where there is none.
func (v Value) Size() int64 {
	if !v.is(yaml.ScalarNode, "a size") {
		return 0
	}
	if m := sizeForm().FindStringSubmatch(v.y.Value); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		unit := map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[m[2]]
		if err == nil && n > 0 && n <= math.MaxInt64/unit {
			return n * unit
		}
	}
	v.Report("write a number with its unit: 512KiB, 64MiB, 1GiB", "%s is not a size", v.got())
	return 0
}

// Word gives one of the known words.
func (v Value) Word(known ...string) string {
	text := v.Text()
	for _, k := range known {
		if k == text {
			return text
		}
	}
	if text != "" {
		hint := "known: " + strings.Join(known, ", ")
		if near := Near(text, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		v.Report(hint, "%q is not known here", Clip(text, 40))
	}
	return ""
}

// EnvName is the form of the name of an environment variable.
var EnvName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Env gives environment variables by name. Names that begin with REPRISE_ are
// ours to set.
func (v Value) Env() map[string]string {
	if !v.Has() {
		return nil
	}
	out := map[string]string{}
	for _, e := range v.Entries() {
		switch {
		case !EnvName.MatchString(e.Name):
			e.Key.Report("", "%q cannot be the name of an environment variable", Clip(e.Name, 40))
		case strings.HasPrefix(e.Name, "REPRISE_"):
			e.Key.Report("", "variables that begin with REPRISE_ are set by reprise itself")
		case e.Value.y.Kind == yaml.ScalarNode && e.Value.y.Value == "" && !e.Value.null():
			out[e.Name] = ""
		default:
			out[e.Name] = e.Value.Text()
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
