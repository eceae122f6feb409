package reprise

import (
	"fmt"
	"math"
	"strings"
)

// Tokens counts the tokens of requests to a model.
type Tokens struct {
	Input      int64 `json:"input" jsonschema:"sent, without what a cache held or took in"`
	CacheRead  int64 `json:"cache_read" jsonschema:"sent and held by a cache"`
	CacheWrite int64 `json:"cache_write" jsonschema:"sent and taken in by a cache"`
	Output     int64 `json:"output" jsonschema:"answered, with reasoning"`
	Reasoning  int64 `json:"reasoning" jsonschema:"the part of output that was reasoning, where that is told"`
}

// Sent is the size of the prompt.
func (t Tokens) Sent() int64 { return t.Input + t.CacheRead + t.CacheWrite }

// Total is all that was sent and answered.
func (t Tokens) Total() int64 { return t.Sent() + t.Output }

func (t Tokens) plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.CacheRead + o.CacheRead, t.CacheWrite + o.CacheWrite, t.Output + o.Output, t.Reasoning + o.Reasoning}
}

// Request is what an agent's CLI reports about one or more requests to the same model.
// Cost is in US dollars, nil if not reported.
type Request struct {
	Model string
	Tokens
	Cost *float64
}

// Usage is what one or more attempts used. An unreported figure is nil, never zero. It is
// stored as JSON in the journal: fields are added, never renamed.
type Usage struct {
	Model  string   `json:"model,omitempty" jsonschema:"the models that were asked, as the CLI calls them"`
	Tokens *Tokens  `json:"tokens,omitempty" jsonschema:"absent if they are not known"`
	Cost   *float64 `json:"cost_usd,omitempty" jsonschema:"US dollars; absent if it is not known"`
	// Estimated says that Cost was computed with prices from the settings.
	Estimated bool `json:"estimated,omitempty" jsonschema:"the cost was worked out with the prices in reprise.yaml"`
	// MoreTokens and MoreCost say that more was used than is known: the figure is a lower
	// bound.
	MoreTokens bool `json:"more_tokens,omitempty" jsonschema:"more tokens were used than are known"`
	MoreCost   bool `json:"more_cost,omitempty" jsonschema:"it cost more than is known"`
}

// Price is a model's price in US dollars per million tokens. Unset prices for cached
// tokens default to Input.
type Price struct {
	Input, Output         float64
	CacheRead, CacheWrite *float64
}

func (p Price) of(t Tokens) float64 {
	price := func(set *float64) float64 {
		if set != nil {
			return *set
		}
		return p.Input
	}
	all := float64(t.Input)*p.Input + float64(t.Output)*p.Output + float64(t.CacheRead)*price(p.CacheRead) + float64(t.CacheWrite)*price(p.CacheWrite)
	return all / 1e6
}

// Prices holds prices by model name or prefix of one.
type Prices map[string]Price

// of returns the price of a model; the longest match counts.
func (p Prices) of(model string) (price Price, ok bool) {
	best := ""
	for name := range p {
		if strings.HasPrefix(model, name) && (!ok || len(name) > len(best)) {
			best, ok = name, true
		}
	}
	return p[best], ok
}

// UsageOf adds up the requests of one attempt. Without requests nothing is known. Costs
// that the CLI does not report are estimated if prices has the model.
func UsageOf(requests []Request, prices Prices) (u Usage) {
	var models []string
	for _, r := range requests {
		one := Usage{Tokens: &r.Tokens, Cost: r.Cost}
		if price, ok := prices.of(r.Model); ok && r.Cost == nil {
			cost := price.of(r.Tokens)
			one.Cost, one.Estimated = &cost, true
		}
		u.Add(one)
		if r.Model != "" && !strings.Contains(", "+u.Model+",", ", "+r.Model+",") {
			models = append(models, r.Model)
			u.Model = strings.Join(models, ", ")
		}
	}
	return u
}

// Add adds what another attempt used. Unknown figures make the sum a lower bound.
func (u *Usage) Add(o Usage) {
	if o.Tokens != nil {
		sum := *o.Tokens
		if u.Tokens != nil {
			sum = sum.plus(*u.Tokens)
		}
		u.Tokens = &sum
	}
	if o.Cost != nil {
		sum := *o.Cost
		if u.Cost != nil {
			sum += *u.Cost
		}
		u.Cost = &sum
	}
	u.MoreTokens = u.MoreTokens || o.MoreTokens || o.Tokens == nil
	u.MoreCost = u.MoreCost || o.MoreCost || o.Cost == nil
	u.Estimated = u.Estimated || o.Estimated
}

// NoUsage is the usage of an attempt that sent no request to a model.
func NoUsage() Usage { return Usage{Tokens: &Tokens{}, Cost: new(float64)} }

// Sum adds up what attempts used; nothing if there are none.
func Sum(list ...Usage) (u Usage) {
	for _, o := range list {
		u.Add(o)
	}
	return u
}

// Money returns the cost in words: "$1.23", "at least about $1.23", "not known".
func (u Usage) Money() string {
	switch {
	case u.Cost == nil && !u.MoreCost:
		return "nothing"
	case u.Cost == nil:
		return "not known"
	}
	text := Dollars(*u.Cost)
	if u.Estimated {
		text = "about " + text
	}
	if u.MoreCost {
		text = "at least " + text
	}
	return text
}

// Counted returns the number of tokens in words: "12k tokens", "at least 12k tokens",
// "not known".
func (u Usage) Counted() string {
	switch {
	case u.Tokens == nil && !u.MoreTokens:
		return "nothing"
	case u.Tokens == nil:
		return "not known"
	case u.MoreTokens:
		return "at least " + Count(u.Tokens.Total()) + " tokens"
	}
	return Count(u.Tokens.Total()) + " tokens"
}

// String says on one line what was used: tokens by type, and money. An unknown figure is
// omitted; if both are unknown, it is "not known".
func (u Usage) String() string {
	var out []string
	if u.Tokens != nil {
		parts := []string{Count(u.Tokens.Sent()) + " in", Count(u.Tokens.Output) + " out"}
		if u.Tokens.CacheRead > 0 {
			parts[0] += " (" + Count(u.Tokens.CacheRead) + " cached)"
		}
		out = append(out, u.Counted()+": "+strings.Join(parts, ", "))
	}
	if u.Cost != nil {
		out = append(out, u.Money())
	}
	if len(out) == 0 {
		return u.Counted()
	}
	return strings.Join(out, ", ")
}

// Dollars formats an amount of money, below a cent with as many digits as needed.
func Dollars(amount float64) string {
	if amount > 0 && amount < 0.01 {
		return "$" + strings.TrimRight(fmt.Sprintf("%.4f", math.Max(amount, 0.0001)), "0")
	}
	return fmt.Sprintf("$%.2f", amount)
}

// Count formats a number of tokens: 950, 12.3k, 4.1M.
func Count(n int64) string {
	for _, unit := range []struct {
		size int64
		sign string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit.size)), ".0") + unit.sign
		}
	}
	return fmt.Sprint(n)
}
