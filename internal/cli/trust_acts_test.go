package cli

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"reprise/flow"
	"reprise/settings"
)

// TestT5_whatever_acts_stands_in_the_question sets every field of a step and of an agent
// to something: the question for trust shows it, or the field is known to start nothing
// by itself. A field that is added is in neither list.
func TestT5_whatever_acts_stands_in_the_question(t *testing.T) {
	t.Parallel()
	harmless := map[string][]string{
		"Step":  {"Title", "Needs", "Prompt", "Ask", "Inputs", "Outputs", "OnCrash", "Attempts", "Backoff", "Timeout", "Line"},
		"Agent": {"Model", "Account", "Timeout", "Silence", "Call", "Source"},
	}
	question := func(starts ...settings.Start) string {
		var b bytes.Buffer
		(&page{w: &b, columns: 200}).trust(&settings.Untrusted{Starts: starts})
		return b.String()
	}
	const mark = "m4rk"
	for _, zero := range []any{flow.Step{}, settings.Agent{}} {
		kind := reflect.TypeOf(zero)
		for i := range kind.NumField() {
			name := kind.Field(i).Name
			v := reflect.New(kind).Elem()
			want := mark
			switch f := v.Field(i); {
			case kind.Name() == "Agent" && name == "Approve":
				f.SetString("all")
				want = "may do everything without asking"
			case f.Kind() == reflect.String:
				f.SetString(mark)
			case f.Type() == reflect.TypeFor[[]string]():
				f.Set(reflect.ValueOf([]string{mark}))
			case f.Type() == reflect.TypeFor[map[string]string]():
				f.Set(reflect.ValueOf(map[string]string{"X": mark}))
			}
			var says string
			if step, is := v.Interface().(flow.Step); is {
				if step.Role == "" && len(step.Command) == 0 {
					step.Role = "dev" // what starts nothing sets nothing
				}
				says = question(flowStarts([]flow.Step{step})...)
			} else {
				says = question(settings.Start{Agent: v.Interface().(settings.Agent)})
			}
			if told := strings.Contains(says, want); told == slices.Contains(harmless[kind.Name()], name) {
				t.Errorf("%s.%s: told %v:\n%s", kind.Name(), name, told, says)
			}
		}
	}
}
