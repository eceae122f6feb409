package reprise

import "testing"

func TestUsage_is_added_up_and_what_is_not_known_stays_so(t *testing.T) {
	t.Parallel()
	some, half := Tokens{Input: 1000, CacheRead: 300, Output: 70, Reasoning: 20}, 0.5
	prices := Prices{"gpt": {Input: 1, Output: 2}, "gpt-5-codex": {Input: 10, Output: 100, CacheRead: new(float64)}}
	for name, c := range map[string]struct {
		usage Usage
		want  string
	}{
		"no attempt":                    {Sum(), "nothing"},
		"an attempt that tells nothing": {Sum(UsageOf(nil, nil)), "not known"},
		"tokens alone":                  {UsageOf([]Request{{"m", some, nil}}, nil), "1.4k tokens: 1.3k in (300 cached), 70 out"},
		"two requests":                  {UsageOf([]Request{{"m", some, nil}, {"m", some, nil}}, nil), "2.7k tokens: 2.6k in (600 cached), 140 out"},
		"money as told":                 {UsageOf([]Request{{"m", some, &half}}, Prices{"m": {Input: 1e6}}), "1.4k tokens: 1.3k in (300 cached), 70 out, $0.50"},
		"money by the prices":           {UsageOf([]Request{{"gpt-5", some, nil}}, prices), "1.4k tokens: 1.3k in (300 cached), 70 out, about $0.0014"},
		"the longest name counts":       {UsageOf([]Request{{"gpt-5-codex-mini", some, nil}}, prices), "1.4k tokens: 1.3k in (300 cached), 70 out, about $0.02"},
		"a model without a price":       {UsageOf([]Request{{"gpt-5", some, nil}, {"other", some, nil}}, prices), "2.7k tokens: 2.6k in (600 cached), 140 out, at least about $0.0014"},
		"an attempt that is not known beside one that is": {
			Sum(UsageOf([]Request{{"m", some, &half}}, nil), Usage{}), "at least 1.4k tokens: 1.3k in (300 cached), 70 out, at least $0.50",
		},
		"an attempt whose money is not known": {
			Sum(UsageOf([]Request{{"m", some, &half}}, nil), UsageOf([]Request{{"m", some, nil}}, nil)), "2.7k tokens: 2.6k in (600 cached), 140 out, at least $0.50",
		},
		"a known zero": {UsageOf([]Request{{"m", Tokens{}, new(float64)}}, nil), "0 tokens: 0 in, 0 out, $0.00"},
	} {
		if got := c.usage.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if u := UsageOf([]Request{{"a", some, nil}, {"b", some, nil}, {"a", some, nil}}, nil); u.Model != "a, b" {
		t.Errorf("models %q", u.Model)
	}
}
