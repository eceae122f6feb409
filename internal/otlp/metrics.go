package otlp

import "reprise"

type (
	metric struct {
		Name      string     `json:"name"`
		Unit      string     `json:"unit"`
		Sum       *sum       `json:"sum,omitempty"`
		Histogram *histogram `json:"histogram,omitempty"`
	}
	sum struct {
		Points      []point `json:"dataPoints"`
		Temporality int     `json:"aggregationTemporality"`
		Monotonic   bool    `json:"isMonotonic"`
	}
	histogram struct {
		Points      []point `json:"dataPoints"`
		Temporality int     `json:"aggregationTemporality"`
	}
	point struct {
		Attributes []attribute `json:"attributes"`
		Start      string      `json:"startTimeUnixNano"`
		Time       string      `json:"timeUnixNano"`
		Value      *float64    `json:"asDouble,omitempty"`
		Count      string      `json:"count,omitempty"`
		Sum        *float64    `json:"sum,omitempty"`
		Buckets    []string    `json:"bucketCounts,omitempty"`
		Bounds     []float64   `json:"explicitBounds,omitempty"`
	}
)

// delta says that a point counts what came since the last one.
const delta = 1

// metrics counts what attempts used and how they ended, each attempt once: tokens and
// time by the conventions for generative AI, money, retries and cut-offs by names of ours.
func metrics(parts []part) (out []metric) {
	tokens, took := histogram{Temporality: delta}, histogram{Temporality: delta}
	cost, retried, cut := sum{Temporality: delta, Monotonic: true}, sum{Temporality: delta, Monotonic: true}, sum{Temporality: delta, Monotonic: true}
	for _, p := range parts {
		s := p.of
		if s.Attempt == 0 {
			continue
		}
		at := func(value float64, more ...attribute) point {
			if s.Usage != nil {
				more = append(more, modelAttributes(s.Usage.Model)...)
			}
			return point{Attributes: append([]attribute{text("gen_ai.operation.name", "invoke_agent")}, more...), Start: nanos(s.From), Time: nanos(s.To), Value: &value}
		}
		one := func(value float64, more ...attribute) point {
			p := at(value, more...)
			p.Value, p.Count, p.Sum, p.Buckets = nil, "1", &value, []string{"1"}
			return p
		}
		took.Points = append(took.Points, one(s.Took().Seconds()))
		if s.Attempt > 1 {
			retried.Points = append(retried.Points, at(1))
		}
		if s.Kind == reprise.SpanCutOff {
			cut.Points = append(cut.Points, at(1))
		}
		if s.Usage == nil {
			continue
		}
		if t := s.Usage.Tokens; t != nil {
			tokens.Points = append(tokens.Points, one(float64(t.Sent()), text("gen_ai.token.type", "input")), one(float64(t.Output), text("gen_ai.token.type", "output")))
		}
		if s.Usage.Cost != nil {
			cost.Points = append(cost.Points, at(*s.Usage.Cost))
		}
	}
	for _, m := range []metric{
		{Name: "gen_ai.client.token.usage", Unit: "{token}", Histogram: &tokens},
		{Name: "gen_ai.client.operation.duration", Unit: "s", Histogram: &took},
		{Name: "reprise.cost", Unit: "{USD}", Sum: &cost},
		{Name: "reprise.attempts.retried", Unit: "{attempt}", Sum: &retried},
		{Name: "reprise.attempts.cut_off", Unit: "{attempt}", Sum: &cut},
	} {
		if m.Sum != nil && len(m.Sum.Points) > 0 || m.Histogram != nil && len(m.Histogram.Points) > 0 {
			out = append(out, m)
		}
	}
	return out
}
