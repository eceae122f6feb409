package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"reprise"
)

// maxReply is the largest result file that is read.
const maxReply = 1 << 20

// replyOutcomes are the words a reply may use; without one, how the process
// ended counts.
var replyOutcomes = []string{"", "done", "nothing", "failed", "blocked", "question"}

// ReadReply reads the result file of an agent. It is nil without an error if
// there is none. The error tells what is wrong with the one that is there: it is
// no plain file, too large, not one JSON object, has a field that could be meant
// either way or is of the wrong kind, or an outcome without a meaning.
func ReadReply(path string) (*reprise.Reply, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the result: %w", err)
	case !info.Mode().IsRegular():
		return nil, errors.New("read the result: it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxReply+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the result: %w", err)
	case len(b) > maxReply:
		return nil, fmt.Errorf("read the result: it has more than %d bytes", maxReply)
	}
	reply, err := parseReply(b)
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	return reply, nil
}

// parseReply reads a result as strictly as settings are read: what stands twice, is
// written in another case or is of the wrong kind could be meant either way, and
// encoding/json would take the one that comes last. Other fields are left alone.
func parseReply(b []byte) (*reprise.Reply, error) {
	if err := whole(b); err != nil {
		return nil, err
	}
	top, err := fieldsOf("it", b, "outcome", "summary", "verdict", "questions", "gaps", "issues")
	if err != nil {
		return nil, err
	}
	r := &reprise.Reply{
		Outcome: top.text("outcome"), Summary: top.text("summary"), Verdict: top.text("verdict"), Issues: top.texts("issues"),
	}
	for i, raw := range top.list("questions") {
		of, err := fieldsOf(fmt.Sprintf("question %d", i+1), raw, "id", "text", "subject", "options")
		if err != nil {
			return nil, err
		}
		q := reprise.Asked{ID: of.text("id"), Text: of.text("text"), Subject: of.text("subject")}
		for _, o := range of.texts("options") {
			// Two that mean the same are one choice: no reason to do the work again.
			if strings.TrimSpace(o) != "" && !slices.ContainsFunc(q.Options, func(have string) bool { return reprise.SameAnswer(o, have) }) {
				q.Options = append(q.Options, o)
			}
		}
		if of.err == nil && strings.TrimSpace(q.Text) == "" {
			of.err = fmt.Errorf("%s has no text: it cannot be answered", of.name)
		}
		if of.err != nil {
			return nil, of.err
		}
		r.Questions = append(r.Questions, q)
	}
	for i, raw := range top.list("gaps") {
		of, err := fieldsOf(fmt.Sprintf("gap %d", i+1), raw, "id", "priority", "question")
		if err != nil {
			return nil, err
		}
		r.Gaps = append(r.Gaps, reprise.Gap{ID: of.text("id"), Priority: of.text("priority"), Question: of.text("question")})
		if of.err != nil {
			return nil, of.err
		}
	}
	if top.err != nil {
		return nil, top.err
	}
	if !slices.Contains(replyOutcomes, r.Outcome) {
		return nil, fmt.Errorf("outcome %.40q is unknown here; use done, nothing, failed, blocked or question", r.Outcome)
	}
	if r.Outcome == "nothing" { // done, by saying that there was nothing to do
		r.Outcome, r.Nothing = "done", true
	}
	return r, nil
}

// whole tells in words for people why a text is not one JSON value.
func whole(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("it is empty")
	}
	var raw json.RawMessage
	err := json.Unmarshal(b, &raw)
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset < int64(len(b)) {
		return fmt.Errorf("it is not valid JSON: line %d: %w", 1+bytes.Count(b[:syntax.Offset], []byte("\n")), err)
	}
	return errors.New("it is not valid JSON: it ends too early, as if it was cut off")
}

// fields are those of one JSON object, by their exact names. The first thing that is
// wrong with one that is asked for is kept in err.
type fields struct {
	name string // what it is to a person
	raw  map[string]json.RawMessage
	err  error
}

// fieldsOf takes valid JSON apart that must be an object. A name that stands twice and
// one that differs from a known one by its case alone are errors.
func fieldsOf(name string, object []byte, known ...string) (*fields, error) {
	f := &fields{name: name, raw: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%s is not a JSON object", name)
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		if _, twice := f.raw[key]; twice {
			return nil, fmt.Errorf("%s has the field %.40q twice: which of them is meant cannot be told", name, key)
		}
		if i := slices.IndexFunc(known, func(k string) bool { return k != key && strings.EqualFold(k, key) }); i >= 0 {
			return nil, fmt.Errorf("%s has the field %.40q, which is written %q", name, key, known[i])
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		f.raw[key] = value
	}
	return f, nil
}

// get reads one field, which may be missing or null, into a pointer to what it is.
func (f *fields) get(key string, into any, what string) {
	raw, ok := f.raw[key]
	if ok && f.err == nil && json.Unmarshal(raw, into) != nil {
		f.err = fmt.Errorf("%s: %s must be %s", f.name, key, what)
	}
}

func (f *fields) text(key string) (out string) {
	f.get(key, &out, "text")
	return out
}

func (f *fields) list(key string) (out []json.RawMessage) {
	f.get(key, &out, "a list")
	return out
}

func (f *fields) texts(key string) (out []string) {
	for _, raw := range f.list(key) {
		var text *string // null is no text
		if err := json.Unmarshal(raw, &text); f.err == nil && (err != nil || text == nil) {
			f.err = fmt.Errorf("%s: %s must be a list of texts", f.name, key)
		}
		if f.err != nil {
			return nil
		}
		out = append(out, *text)
	}
	return out
}
