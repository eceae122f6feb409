package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
)

// told tells in one line what an ending does: its move, or its events with their
// outcomes, and what else follows from it.
func told(e Ending) string {
	move := map[Move]string{LookForCommits: "look for commits", RunVerify: "verify", RecordLanded: "landed:", AskPlaybook: "ask the playbook", LandWork: "land"}[e.Move]
	var out []string
	if move != "" {
		out = append(out, move)
	}
	for _, ev := range e.Record {
		out = append(out, strings.TrimSpace(strings.TrimPrefix(string(ev.Kind), "step_")+" "+ev.Outcome))
	}
	for _, also := range []struct {
		is   bool
		what string
	}{
		{e.Accepted, "(accepted)"}, {e.Failed, "(failed)"}, {e.Hold, "(held)"}, {e.Refuse, "(refused)"}, {e.Limit, "(limit)"}, {e.Park != "", "(parked)"},
		{len(e.Record) == 0 && e.Move == RecordEnd && !e.Hold, "(open)"},
	} {
		if also.is {
			out = append(out, also.what)
		}
	}
	return strings.Join(out, " ")
}

// What comes of an attempt follows from what is known of it, without a disk, a process or
// a clock. Each row is an attempt that is over, and what is done next.
func TestHow_an_attempt_ended_follows_from_what_was_seen(t *testing.T) {
	t.Parallel()
	by := func(outcome agent.Outcome) func(*Seen) { return func(s *Seen) { s.Result.Outcome = outcome } }
	replies := func(outcome string, asks ...reprise.Asked) func(*Seen) {
		return func(s *Seen) {
			s.Result.Outcome = agent.Done
			s.Result.Reply = &reprise.Reply{Outcome: outcome, Questions: asks}
		}
	}
	concludes := func(c reprise.Conclusion) func(*Seen) {
		return func(s *Seen) { s.Result.Outcome, s.Conclusion = agent.Done, &c }
	}
	policy := func(p reprise.Ambiguity) func(*Seen) { return func(s *Seen) { s.Policy = p } }
	ask := reprise.Asked{Text: "Which?"}
	verify := func(s *Seen) { s.Verify = []string{"make", "test"} }
	answers := func(v Verified) func(*Seen) { return func(s *Seen) { verify(s); s.Verified = v } }
	denied := func(answer string) func(*Seen) {
		return func(s *Seen) {
			g := &reprise.Grant{Agent: "claude", Once: []string{"Bash(x)"}, Run: []string{"Bash(x:*)"}}
			s.Result.Outcome, s.Result.Asks = agent.NeedsPerson, []reprise.Asked{{Text: "may it?", Grant: g, Options: g.Options(), Closed: true, Denied: true}}
			s.Events = []reprise.Event{{Kind: reprise.QuestionAsked, Step: "a", Question: "q", Text: "may it?"}}
			s.Run.Questions = []reprise.Question{{ID: "q", Text: "may it?", Options: g.Options(), Closed: true, Answered: true, Answer: answer}}
		}
	}
	finished := func(s *Seen) { s.Result.Finished = true }
	ends := func(s *Seen) { s.Conclusion, s.Landing = &reprise.Conclusion{}, &Landing{} }
	looked := func(s *Seen) { s.Commits = &Commits{} }
	lacks := func(s *Seen) { s.Missing = "out is not there" }
	expects := func(s *Seen) { s.Expect = []reprise.Expected{{Path: "out"}} }
	heldBack := func(s *Seen) { s.Held = &reprise.Event{} }
	whole := concludes(reprise.Conclusion{Text: "ok"})
	ran := func(r Summary) func(*Seen) {
		return func(s *Seen) { s.Assignment.Child, s.Ran = &reprise.Ref{ID: "child"}, &r }
	}
	asked := func(answer string) func(*Seen) {
		return func(s *Seen) {
			s.Run.Questions = []reprise.Question{{ID: cutOffQuestion("a", 1), Answered: answer != "", Answer: answer, Options: []string{saidLanded, saidRerun, saidSkip}}}
		}
	}
	for name, c := range map[string]struct {
		seen []func(*Seen)
		want string
	}{
		"a unit that needs nobody is finished": {[]func(*Seen){func(s *Seen) { s.Number = 0 }, concludes(reprise.Conclusion{})}, "finished (accepted)"},

		"what is there is for the playbook to judge":          {[]func(*Seen){by(agent.Done)}, "ask the playbook"},
		"what it accepts is made durable first":               {[]func(*Seen){whole}, "land"},
		"and then recorded":                                   {[]func(*Seen){whole, func(s *Seen) { s.Landing = &Landing{Commit: "abc"} }}, "finished (accepted)"},
		"with what follows from it":                           {[]func(*Seen){concludes(reprise.Conclusion{Then: []reprise.Event{{Kind: reprise.PhaseEnded}}}), func(s *Seen) { s.Landing, s.Told = &Landing{}, []string{"q"} }}, "finished answer_applied phase_ended (accepted)"},
		"a file that is not there fails it":                   {[]func(*Seen){whole, lacks}, "failed failed (failed)"},
		"unless it found the work whole":                      {[]func(*Seen){whole, lacks, replies("done"), func(s *Seen) { s.MadeBefore = true }}, "land"},
		"or git may hold it":                                  {[]func(*Seen){whole, lacks, func(s *Seen) { s.MadeBefore = true }}, "look for commits"},
		"and does":                                            {[]func(*Seen){whole, lacks, func(s *Seen) { s.MadeBefore, s.Commits = true, &Commits{Before: "abc"} }}, "land"},
		"and does not":                                        {[]func(*Seen){whole, lacks, looked, func(s *Seen) { s.MadeBefore = true }}, "failed failed (failed)"},
		"a result that cannot be used fails it":               {[]func(*Seen){by(agent.Done), func(s *Seen) { s.Result.ReplyProblem = "no JSON" }}, "failed failed (failed)"},
		"an agent says that it failed":                        {[]func(*Seen){replies("failed")}, "failed failed (failed)"},
		"an agent says that it is blocked":                    {[]func(*Seen){replies("blocked")}, "blocked (failed) (parked)"},
		"an agent has a question":                             {[]func(*Seen){replies("question", ask)}, "question_asked reset question"},
		"an agent says so and asks nothing":                   {[]func(*Seen){replies("question")}, "failed failed (failed)"},
		"done with a question that the playbook does not use": {[]func(*Seen){whole, replies("done", ask)}, "question_asked reset question"},
		"a question that was answered is not asked again": {[]func(*Seen){replies("question", ask), func(s *Seen) {
			s.Events = []reprise.Event{{Kind: reprise.QuestionAsked, Step: "a", Question: "q", Text: "Which?"}}
			s.Run.Questions = []reprise.Question{{ID: "q", Answered: true, Answer: "this"}}
		}}, "failed failed (failed)"},
		"a command verifies it first":           {[]func(*Seen){whole, verify}, "verify"},
		"and succeeds":                          {[]func(*Seen){whole, answers(VerifiedDone)}, "land"},
		"and does not succeed":                  {[]func(*Seen){whole, answers(VerifiedNot)}, "failed failed (failed)"},
		"and was stopped":                       {[]func(*Seen){whole, answers(VerifyStopped)}, "(open)"},
		"a preview takes its word":              {[]func(*Seen){whole, answers(VerifySkipped)}, "land"},
		"the playbook finds a problem":          {[]func(*Seen){concludes(reprise.Conclusion{Problem: "p"})}, "failed failed (failed)"},
		"the playbook calls it failed":          {[]func(*Seen){concludes(reprise.Conclusion{Failed: true})}, "failed failed (failed)"},
		"the playbook calls it blocked":         {[]func(*Seen){concludes(reprise.Conclusion{Blocked: true})}, "blocked (failed) (parked)"},
		"the playbook asks":                     {[]func(*Seen){concludes(reprise.Conclusion{Questions: []reprise.Asked{ask}})}, "question_asked reset question"},
		"the playbook finishes it and asks":     {[]func(*Seen){concludes(reprise.Conclusion{Questions: []reprise.Asked{ask}, Finished: true}), func(s *Seen) { s.Landing = &Landing{} }}, "finished question_asked (accepted)"},
		"git cannot commit it":                  {[]func(*Seen){whole, func(s *Seen) { s.Landing = &Landing{Err: errors.New("locked")} }}, "(held) (parked)"},
		"and that is its own doing":             {[]func(*Seen){whole, func(s *Seen) { s.Landing = &Landing{Err: errors.New("stray"), Own: true} }}, "failed failed (failed)"},
		"one that left nothing at all failed":   {[]func(*Seen){whole, func(s *Seen) { s.Commit, s.Landing = true, &Landing{Empty: true} }}, "failed failed (failed)"},
		"one that left nothing but a result":    {[]func(*Seen){whole, replies("done"), func(s *Seen) { s.Commit, s.Landing = true, &Landing{Empty: true} }}, "finished (accepted)"},
		"a refusal is a failure":                {[]func(*Seen){by(agent.Refused)}, "failed refused (failed)"},
		"a limit costs no attempt":              {[]func(*Seen){by(agent.Limited)}, "deferred reset limited (limit)"},
		"a call is denied after it was allowed": {[]func(*Seen){denied("1")}, "reset needs-permission (refused)"},
		"a call is denied after it was refused": {[]func(*Seen){denied("3")}, "failed failed (failed)"},
		"and it is done without":                {[]func(*Seen){denied("3"), finished, ends}, "finished (accepted)"},
		"and it lacks something":                {[]func(*Seen){denied("3"), finished, lacks}, "failed failed (failed)"},
		"but not what it was allowed":           {[]func(*Seen){denied("1"), finished, ends}, "reset needs-permission (refused)"},
		"an agent is not signed in":             {[]func(*Seen){by(agent.NeedsSetup)}, "reset needs-setup (refused)"},
		"an agent needs a person":               {[]func(*Seen){by(agent.NeedsPerson)}, "question_asked reset question"},
		"an agent needs a person and is done":   {[]func(*Seen){replies("done", ask), by(agent.NeedsPerson)}, "ask the playbook"},
		"a full session is followed by another": {[]func(*Seen){by(agent.OutOfContext)}, "resolved rerun reset lost"},
		"a lost one, too":                       {[]func(*Seen){by(agent.SessionNotFound)}, "resolved rerun reset lost"},
		"a command that cannot be started":      {[]func(*Seen){by(agent.NotStarted)}, "reset not-started (refused)"},

		"what was stopped may have landed":         {[]func(*Seen){by(agent.Stopped)}, "look for commits"},
		"nothing shows it, so it is open again":    {[]func(*Seen){by(agent.Stopped), looked}, "reset stopped"},
		"its command tells later":                  {[]func(*Seen){by(agent.Stopped), looked, verify}, "(open)"},
		"its command tells now if it timed out":    {[]func(*Seen){by(agent.TimedOut), looked, verify}, "verify"},
		"one that may be done twice is open again": {[]func(*Seen){by(agent.Stopped), policy(reprise.Rerun)}, "reset stopped"},
		"a killed agent failed":                    {[]func(*Seen){by(agent.Killed), looked}, "failed killed (failed)"},
		"a killed keeper tells nothing":            {[]func(*Seen){by(agent.Lost), looked, func(s *Seen) { s.Result.CutOff = true }}, "resolved rerun reset cut-off"},
		"its commit proves that it landed":         {[]func(*Seen){by(agent.Killed), func(s *Seen) { s.Commits = &Commits{Accepted: "abc"} }}, "landed: resolved landed"},
		"its result proves that it landed":         {[]func(*Seen){by(agent.Killed), looked, func(s *Seen) { s.Reply = &reprise.Reply{Outcome: "done"} }}, "landed: resolved landed"},
		"but not without what it should leave":     {[]func(*Seen){by(agent.Killed), lacks, func(s *Seen) { s.Reply = &reprise.Reply{Outcome: "done"} }}, "failed killed (failed)"},
		"nor by a result that does not say how":    {[]func(*Seen){by(agent.Killed), looked, func(s *Seen) { s.Reply = &reprise.Reply{} }}, "failed killed (failed)"},
		"nor by a file that is there":              {[]func(*Seen){by(agent.Killed), looked, expects}, "failed killed (failed)"},
		"a person is asked whose policy it is":     {[]func(*Seen){by(agent.Killed), looked, policy(reprise.AskWho)}, "resolved ask question_asked"},

		"nobody saw it end":             {nil, "look for commits"},
		"and nothing shows that it did": {[]func(*Seen){looked}, "resolved rerun reset cut-off"},
		"its result counts where nothing was left to do": {[]func(*Seen){lacks, looked, func(s *Seen) {
			s.MadeBefore, s.Reply = true, &reprise.Reply{Outcome: "done"}
		}}, "landed: resolved landed"},
		"its commit, too":                         {[]func(*Seen){lacks, func(s *Seen) { s.MadeBefore, s.Commits = true, &Commits{Accepted: "abc"} }}, "landed: resolved landed"},
		"only its files call it done":             {[]func(*Seen){looked, func(s *Seen) { s.Filed = "done" }}, "resolved ask question_asked"},
		"only they do, and it may be done twice":  {[]func(*Seen){looked, policy(reprise.Rerun), func(s *Seen) { s.Filed = "done" }}, "resolved rerun reset cut-off"},
		"a file that is there shows nothing":      {[]func(*Seen){looked, expects}, "resolved rerun reset cut-off"},
		"its files call it done, and lack it":     {[]func(*Seen){lacks, func(s *Seen) { s.Filed = "done" }}, "resolved rerun reset cut-off"},
		"its command is asked":                    {[]func(*Seen){looked, verify}, "verify"},
		"its command says yes":                    {[]func(*Seen){looked, answers(VerifiedDone)}, "landed: resolved landed"},
		"and what it was to leave is not there":   {[]func(*Seen){looked, lacks, answers(VerifiedDone)}, "resolved rerun reset cut-off"},
		"its command says no":                     {[]func(*Seen){looked, answers(VerifiedNot)}, "resolved rerun reset cut-off"},
		"its command is not run in a preview":     {[]func(*Seen){looked, answers(VerifySkipped)}, "resolved rerun reset cut-off"},
		"its command was stopped":                 {[]func(*Seen){looked, answers(VerifyStopped)}, "(open)"},
		"its command is not asked twice":          {[]func(*Seen){looked, verify, func(s *Seen) { s.Denied = true }}, "resolved rerun reset cut-off"},
		"a run of its own continues":              {[]func(*Seen){func(s *Seen) { s.Assignment.Child = &reprise.Ref{} }}, "reset cut-off"},
		"held work is as it was":                  {[]func(*Seen){heldBack, looked}, "landed: resolved landed"},
		"and is only committed":                   {[]func(*Seen){heldBack, whole, verify, func(s *Seen) { s.Landed = provedByRecord }}, "land"},
		"held work is committed, and gone":        {[]func(*Seen){heldBack, lacks, func(s *Seen) { s.Commits = &Commits{Accepted: "abc"} }}, "resolved ask question_asked"},
		"held work was changed":                   {[]func(*Seen){heldBack, looked, func(s *Seen) { s.Changed = []string{"out"} }}, "resolved ask question_asked"},
		"held work was changed and may be redone": {[]func(*Seen){heldBack, looked, policy(reprise.Rerun), func(s *Seen) { s.Changed = []string{"out"} }}, "resolved rerun reset cut-off"},
		"held work without git stays held":        {[]func(*Seen){heldBack, func(s *Seen) { s.Git = false }}, "(held) (parked)"},
		"a person is asked once":                  {[]func(*Seen){looked, policy(reprise.AskWho), asked("")}, "(open)"},
		"a person says that it was finished":      {[]func(*Seen){looked, policy(reprise.AskWho), asked(saidLanded)}, "landed: resolved landed"},
		"a person says to run it again":           {[]func(*Seen){looked, policy(reprise.AskWho), asked(saidRerun)}, "resolved rerun reset cut-off answer_applied"},
		"a person leaves it out":                  {[]func(*Seen){looked, policy(reprise.AskWho), asked(saidSkip)}, "skipped answer_applied"},
		"a person says something else":            {[]func(*Seen){looked, policy(reprise.AskWho), asked("hm")}, "question_asked (parked)"},

		"a run of its own is complete":            {[]func(*Seen){ran(Summary{State: reprise.Complete})}, "ask the playbook"},
		"and accepted":                            {[]func(*Seen){ran(Summary{State: reprise.Complete}), func(s *Seen) { s.Conclusion, s.Landing = &reprise.Conclusion{}, &Landing{} }}, "finished (accepted)"},
		"and not accepted":                        {[]func(*Seen){ran(Summary{State: reprise.Complete}), func(s *Seen) { s.Conclusion = &reprise.Conclusion{Problem: "p"} }}, "failed failed (failed)"},
		"a run of its own failed":                 {[]func(*Seen){ran(Summary{Failed: []StepReport{{}}})}, "failed failed (failed)"},
		"a run of its own gave a step up":         {[]func(*Seen){ran(Summary{Parked: []string{"x"}})}, "failed pointless (failed)"},
		"a run of its own cannot go on":           {[]func(*Seen){ran(Summary{Failed: []StepReport{{}}, Refused: []error{errors.New("no")}})}, "reset waiting (parked)"},
		"a run of its own waits for a person":     {[]func(*Seen){ran(Summary{Questions: []reprise.Question{{}}})}, "reset waiting (parked)"},
		"a run of its own waits for a limit":      {[]func(*Seen){ran(Summary{Until: noon})}, "deferred reset limited"},
		"a run of its own holds work":             {[]func(*Seen){ran(Summary{Held: []string{"x"}})}, "reset waiting (held) (parked)"},
		"a run of its own was stopped, and waits": {[]func(*Seen){ran(Summary{Until: noon}), func(s *Seen) { s.Stopping = true }}, "reset waiting"},
	} {
		s := &Seen{Attempt: Attempt{Assignment: reprise.Assignment{Step: "a"}, Number: 1, Began: noon}, Run: &reprise.Run{}, Git: true, Now: noon.Add(time.Hour)}
		for _, change := range c.seen {
			change(s)
		}
		if got := told(EndOf(s)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Every outcome that an agent can have has an end, and none is taken for done that does
// not say so.
func TestOnly_what_says_so_is_accepted(t *testing.T) {
	t.Parallel()
	for _, outcome := range []agent.Outcome{
		agent.Done, agent.Failed, agent.Refused, agent.NeedsPerson, agent.NeedsSetup, agent.Limited, agent.OutOfContext, agent.SessionNotFound, agent.Killed, agent.Stopped, agent.TimedOut, agent.Lost, agent.NotStarted, "anything else",
	} {
		s := &Seen{
			Attempt: Attempt{Assignment: reprise.Assignment{Step: "a"}, Number: 1}, Run: &reprise.Run{}, Result: agent.Result{Outcome: outcome},
			Commits: &Commits{}, Conclusion: &reprise.Conclusion{}, Landing: &Landing{},
		}
		e := EndOf(s)
		if e.Accepted != (outcome == agent.Done) || e.Move != RecordEnd {
			t.Errorf("%s: %s", outcome, told(e))
		}
		closes := func(ev reprise.Event) bool { return ev.Kind == reprise.StepFinished || ev.Kind == reprise.StepSkipped }
		if !e.Accepted && slices.ContainsFunc(e.Record, closes) {
			t.Errorf("%s closes the step: %s", outcome, told(e))
		}
	}
}
