package agent

import (
	"cmp"
	"sync"
	"time"
)

// Gate keeps the accounts that a usage limit closed, so that one closed window stops all
// steps that would run into it. When the limit expires one attempt goes first; once it
// succeeds the others follow, one after another. The zero value is open for all accounts.
//
// It is memory only: Close tells a new process again what was recorded.
type Gate struct {
	mu       sync.Mutex
	accounts map[string]*closed
}

// closed is an account that was closed and is not yet as before.
type closed struct {
	until   time.Time
	guessed time.Duration // how long was guessed last, where no time was told
	probing bool          // one attempt is on its way to find out
	next    time.Time     // once it succeeded: when the next may follow
	passed  bool
}

// How long is guessed where no time is told, how far apart the others follow,
// and when all is as before.
const (
	firstGuess = time.Minute
	mostGuess  = time.Hour
	stagger    = 5 * time.Second
)

// LimitedBy is the account that a limit of this agent closes.
func (o Options) LimitedBy() string { return cmp.Or(o.Account, o.Preset, Command) }

// Close shuts an account until a time; the zero time stands for one that is not
// known, which is guessed longer each time it was too short. It returns the time
// that counts. A later time of an earlier call is kept.
func (g *Gate) Close(account string, until, now time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.accounts == nil {
		g.accounts = map[string]*closed{}
	}
	c := g.accounts[account]
	if c == nil {
		c = &closed{}
		g.accounts[account] = c
	}
	if until.IsZero() {
		if c.guessed == 0 || c.probing || c.passed {
			c.guessed = min(max(2*c.guessed, firstGuess), mostGuess)
		}
		until = now.Add(c.guessed)
	}
	if until.After(c.until) {
		c.until = until
	}
	c.probing, c.passed = false, false
	return c.until
}

// Enter asks to begin an attempt. If it may not begin, again is when to ask
// again; zero stands for as soon as an attempt that is on its way has ended.
func (g *Gate) Enter(account string, now time.Time) (again time.Time, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.accounts[account]
	switch {
	case c == nil:
		return time.Time{}, true
	case now.Before(c.until):
		return c.until, false
	case c.passed && now.Before(c.next):
		return c.next, false
	case c.passed:
		c.next = now.Add(stagger)
		return time.Time{}, true
	case c.probing:
		return time.Time{}, false
	}
	c.probing = true
	return time.Time{}, true
}

// Left tells that an attempt ended, or gave a first answer, without running into
// the limit; answered says whether the provider answered at all. Without an
// answer nothing is known, and the next one goes first.
func (g *Gate) Left(account string, answered bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.accounts[account]
	switch {
	case c == nil || now.Before(c.until):
	case c.passed && now.Sub(c.next) > time.Minute:
		delete(g.accounts, account)
	case c.probing:
		c.probing = false
		c.passed, c.next = answered, now.Add(stagger)
	}
}
