package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"reprise"
	"reprise/report"
)

var update = flag.Bool("update", false, "rewrite the schemas from the types")

// documents maps each schema to the type it is made from.
func documents(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	return map[string]*jsonschema.Schema{
		"status.v1.json":   generate[report.Status](t, "What runs in a project, in which state each is, and what comes next."),
		"detect.v1.json":   generate[report.Detect](t, "How one run was interrupted, and the ways to continue."),
		"check.v2.json":    generate[report.Check](t, "Whether it is safe to resume one run, from where, and why."),
		"checks.v1.json":   generate[report.Checks](t, "Every check, with the code of its findings and what it means."),
		"log.v1.json":      generate[report.Log](t, "What reprise recorded of a run."),
		"timeline.v1.json": generate[report.Timeline](t, "When what of a run was worked on or waited for."),
		"follow.v1.json":   generate[report.Follow](t, "One thing that was recorded or printed while a run is followed; one line each."),
		"watch.v1.json":    generate[report.Watched](t, "One run that changed while projects are watched; one line each."),
		"clean.v1.json":    generate[report.CleanUp](t, "What giving up a run did, or would do."),
		"repair.v1.json":   generate[report.Repair](t, "What is damaged, and what was or can be rebuilt."),
		"undo.v1.json":     generate[report.Undo](t, "What can be brought back, and what was."),
		"progress.v1.json": generate[report.WorkProgress](t, "One thing that happened while a run was worked on; one line each."),
		"summary.v1.json":  generate[report.Summary](t, "What came of working on a run."),
		"setup.v1.json":    generate[report.Setup](t, "What became of which file when a project was set up."),
		"notice.v1.json":   generate[report.Notice](t, "What a person who is elsewhere is told of a run."),
		"preview.v1.json":  generate[report.Preview](t, "What would be changed and started."),
		"answer.v1.json":   generate[report.Answers](t, "Which questions were answered, and which still wait."),
		"demo.v1.json":     generate[report.Demo](t, "What the demo shows, and whether that is proven."),
		"brief.v1.json":    generate[report.Brief](t, "Where a run stands, for a session that takes it over."),
		"doctor.v1.json":   generate[report.Doctor](t, "What works on this machine and in this project, and what would not."),
		"version.v1.json":  generate[report.Version](t, "Which version this is, and what it was built from."),
		"error.v1.json":    generate[report.Error](t, "Why a command could not answer."),
	}
}

func generate[T any](t *testing.T, about string) *jsonschema.Schema {
	t.Helper()
	words := func(list []string) *jsonschema.Schema {
		enum := make([]any, len(list))
		for i, w := range list {
			enum[i] = w
		}
		return &jsonschema.Schema{Type: "string", Enum: enum}
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[reprise.State]():         words(reprise.StateWords()),
		reflect.TypeFor[reprise.Verdict]():       words(reprise.Words(reprise.Verdict(0))),
		reflect.TypeFor[reprise.Severity]():      words(reprise.Words(reprise.Severity(0))),
		reflect.TypeFor[reprise.Status]():        words(reprise.StatusWords()),
		reflect.TypeFor[reprise.Grade]():         words(reprise.Words(reprise.Grade(0))),
		reflect.TypeFor[reprise.Presence]():      words(reprise.Words(reprise.Presence(0))),
		reflect.TypeFor[reprise.Life]():          words(reprise.Words(reprise.Life(0))),
		reflect.TypeFor[reprise.Effect]():        words(reprise.Words(reprise.Effect(0))),
		reflect.TypeFor[reprise.Landing]():       words(reprise.Words(reprise.Landing(0))),
		reflect.TypeFor[reprise.EndedBy]():       words(reprise.Words(reprise.EndedBy(0))),
		reflect.TypeFor[reprise.SpanKind]():      words(reprise.Words(reprise.SpanKind(0))),
		reflect.TypeFor[reprise.Action]():        words(reprise.Words(reprise.Action(0))),
		reflect.TypeFor[reprise.ResumeType]():    words([]string{"active_agent", "partial_plan", "between_plans", "pending_clarification"}),
		reflect.TypeFor[[]reprise.ResumeState](): {Type: "array", Items: &jsonschema.Schema{Type: "object"}, Description: "what else was found behind the first match, in the same form"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Description = about
	loosen(s)
	return s
}

// loosen lets documents of a later release carry more fields than this schema
// knows: a reader must not break on them.
func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = nil
	if slices.Equal(s.Types, []string{"null", "array"}) { // our lists are never null
		s.Types, s.Type = nil, "array"
	}
	for _, p := range s.Properties {
		loosen(p)
	}
	loosen(s.Items)
}

func TestX10_schemas_are_those_of_the_types(t *testing.T) {
	for name, s := range documents(t) {
		raw, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, '\n')
		if *update {
			if err := os.WriteFile(name, raw, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, raw) {
			t.Errorf("%s is not what the types say; run `make generate` and look at the difference", name)
		}
	}
}

func TestX10_schemas_refuse_unknown_words(t *testing.T) {
	s := documents(t)["status.v1.json"]
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	doc := func(state string) any {
		var v any
		text := `{"schema":"reprise/status/v1","root":"/p","findings":[],"sessions":[],"sessions_unread":[],"runs":[{"layout":"l","id":"i","path":"p","kind":"build","title":"","state":"` + state +
			`","verdict":"none","progress":{"done":0,"total":1},"last_activity":null,"next":[],"questions":[],"findings":[]}]}`
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if err := resolved.Validate(doc("interrupted")); err != nil {
		t.Error(err)
	}
	if err := resolved.Validate(doc("finished")); err == nil {
		t.Error("an unknown state was taken")
	}
}

func TestX10_check_document_matches_its_schema(t *testing.T) {
	resolved, err := documents(t)["check.v2.json"].Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	bare := &reprise.Run{State: reprise.Unreadable, Steps: []reprise.Step{{ID: "a"}}, Artifacts: []reprise.Artifact{{Path: "p"}}, Owner: &reprise.Owner{}, Findings: []reprise.Finding{{Severity: reprise.Info}}}
	full := &reprise.Run{
		State: reprise.Interrupted, LastActivity: time.Unix(0, 0), Questions: []reprise.Question{{ID: "q", AskedAt: time.Unix(0, 0)}},
		Steps: []reprise.Step{
			{ID: "a", Status: reprise.Done, Grade: reprise.Verified, Claims: []reprise.Claim{{Status: reprise.Done, At: time.Unix(0, 0), Won: true}}, Evidence: []reprise.Evidence{{Kind: reprise.EvidenceCommand, For: true}}},
			{ID: "b", Status: reprise.Pending, Needs: []string{"a"}},
		},
		Next: []reprise.Unit{{ID: "b"}}, Artifacts: []reprise.Artifact{{Path: "p", Presence: reprise.Missing, MadeBy: "a"}},
	}
	o := reprise.Observed{Now: time.Unix(7200, 0), Git: &reprise.Git{Head: "abc"}}
	docs := map[string]report.Check{"none": report.NewCheck("/p", "preflight", o)}
	for name, r := range map[string]*reprise.Run{"bare": bare, "full": full} {
		docs[name] = report.NewCheck("/p", "interactive", o, report.NewChecked("d", r, reprise.Next(r, o, reprise.Policy{}), o))
	}
	for name, doc := range docs {
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
