package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/cli"
	"reprise/internal/gitx"
	"reprise/project"
	"reprise/report"
)

// Activities are what a worker does.
type Activities struct {
	Mirror *Mirror
	Client client.Client
	Name   string // of the worker
	queue  string // of what works on branches alone
	trust  trusted
	kept   engine.Kept // of the journals of runs
}

// turn is one activity that works on the branch of a run alone.
type turn struct {
	run      Run
	at       string // the commit that the branch is at
	pushed   string // the commit that this turn pushed, "" for none
	e        *engine.Engine
	mirror   *Mirror
	checkout *Checkout
	asked    []string          // refs that were fetched
	found    map[string]string // what they are
	roles    map[string]bool   // that the project names
	longest  time.Duration     // that an attempt may take

	end     *LandInput          // the attempt that ended; nil if it is only decided what comes next
	given   bool                // its end was given
	brought map[string]*brought // by the key of the attempt
	starts  []Start
	until   time.Time
	over    bool // nothing is left to do
	left    bool // the fleet leaves the run
	keeps   []keptAway

	made string // the commit that the branch is at afterwards
	tip  commit // what it says
	same bool   // the files are those of it
}

// hands are those for a run of the turn.
func (t *turn) hands(ref reprise.Ref, local engine.Hands) engine.Hands {
	h := &hands{Hands: local, turn: t}
	if ref.Path != t.run.Ref.Path {
		h.child = ref
	}
	return h
}

// turned is what the commit of a turn notes, so that a turn whose answer was lost is not
// taken again. Journal is the commit that has the journal, where this one has none.
type turned struct {
	Turn    string
	Result  json.RawMessage
	Journal string `json:",omitempty"`
}

// moment is when and as what an activity was started, as the server tells.
type moment struct {
	turn    string
	started time.Time
}

func now(ctx context.Context) moment {
	info := activity.GetInfo(ctx)
	return moment{info.WorkflowExecution.RunID + "/" + info.ActivityID, info.StartedTime}
}

// take takes a turn: it checks out the branch, has f work on it, and pushes what that
// changed in one commit, if no one else has moved the branch. Its effect is that of one
// turn however often it is repeated. refs are those that f will look at. pushed is the commit
// that the turn pushed, "" for none.
func (a *Activities) take(ctx context.Context, at moment, in Run, subject string, result any, carried *engine.Carried, f func(t *turn) error, refs ...string) (pushed string, err error) {
	branch := "refs/heads/" + Branch(in.Ref.ID)
	found, err := a.Mirror.fetchRun(ctx, in.Ref.ID, in.Last, refs...)
	if err != nil {
		return "", lasting(err)
	}
	if found[branch] == "" {
		return "", lasting(&NoBranchError{Run: in.Ref.ID})
	}
	tip, err := a.Mirror.recorded(ctx, found[branch], &in)
	if err != nil {
		return "", err
	}
	c, err := a.Mirror.forTurn(ctx, tip, Branch(in.Ref.ID), in.Folder)
	if err != nil {
		return "", err
	}
	t := &turn{run: in, at: found[branch], mirror: a.Mirror, checkout: c, asked: refs, found: found, brought: map[string]*brought{}}
	if err := a.taken(ctx, at, t, subject, result, carried, f); err != nil || !t.same {
		return t.pushed, errors.Join(err, c.Close())
	}
	return t.pushed, c.keep(t.made, t.tip)
}

// taken is take in a checkout of the branch. Its made and tip are the commit that the branch
// is at afterwards, and same is set if the files are those of that commit.
func (a *Activities) taken(ctx context.Context, at moment, t *turn, subject string, result any, carried *engine.Carried, f func(t *turn) error) error {
	c, in := t.checkout, t.run
	t.made, t.tip = c.Base, c.tip
	var was turned
	if readNote(c.tip.message, &was) == nil && was.Turn == at.turn {
		t.same, t.pushed = true, c.Base
		return json.Unmarshal(was.Result, result)
	}
	if was.Journal != "" {
		if err := c.restoreJournal(ctx, in.Folder, was.Journal); err != nil {
			return err
		}
	}
	root := filepath.Join(c.Dir, filepath.FromSlash(in.Folder))
	if there, err := in.thereIn(root); err != nil || !there {
		return cmp.Or(err, lasting(&NoBranchError{Run: in.Ref.ID, At: t.at}))
	}
	var err error
	var had bool
	if t.keeps, had, err = unmark(root); err == nil && !had && in.Taken {
		err = a.Mirror.ours(ctx, in.Ref.ID, t.at)
	}
	if err != nil {
		return err
	}
	if err := a.prepare(ctx, at, t, carried); err != nil {
		return err
	}
	if err := f(t); err != nil {
		return lasting(err)
	}
	if !t.left || len(t.keeps) > 0 {
		if err := mark(root, in.Ref, t.keeps); err != nil {
			return err
		}
	}
	note, err := json.Marshal(result)
	if err != nil {
		return err
	}
	made, tip, err := t.commit(ctx, subject, turned{Turn: at.turn, Result: note})
	t.same = t.clean() && !t.over && was.Journal == ""
	if err != nil || made == "" {
		return err
	}
	if t.over {
		made, err = c.withoutJournal(ctx, made, reprise.OverSubject(in.Ref.ID), in.Folder, turned{at.turn, note, made})
		if err != nil || made == "" {
			return err
		}
	}
	t.made, t.tip, t.pushed = made, tip, made
	return lasting(ofRun(in.Ref.ID, c.Push(ctx, made, "refs/heads/"+c.branch, t.at, t.landed()...)))
}

// prepare gives a turn its engine.
func (a *Activities) prepare(ctx context.Context, at moment, t *turn, carried *engine.Carried) (err error) {
	root := filepath.Join(t.checkout.Dir, filepath.FromSlash(t.run.Folder))
	if t.e, err = deciderFor(root, clock(at.started)); err != nil {
		return lasting(err)
	}
	t.longest = t.e.Settings.Timeout
	for _, agent := range t.e.Settings.Agents {
		t.longest = max(t.longest, agent.Timeout)
	}
	if t.roles, err = projectRoles(root); err != nil {
		return lasting(err)
	}
	t.e.Parallel, t.e.Hands, t.e.Carried, t.e.Kept, t.e.Still = t.run.Parallel, t.hands, carried, &a.kept, t.checkout.still
	return limits(ctx, a.Client, t.run.Repo, t.e)
}

// clock is the server's clock: that of the machine may be wrong.
func clock(started time.Time) func() time.Time {
	began := time.Now()
	return func() time.Time { return started.Add(time.Since(began)) }
}

// lasting marks errors that trying again does not mend: what a person has to look at. The
// detail is what that person can do.
func lasting(err error) error {
	code := cli.ExitCode(err)
	var silent *gitx.NoAnswerError // the machine is busy, or another worker's git answers
	var rejected *RejectedError    // the next turn works with what someone else left
	if code <= 1 || errors.Is(err, context.Canceled) || errors.As(err, &silent) || errors.As(err, &rejected) {
		return err
	}
	var kept interface{ kept() bool }
	var at interface{ where() string }
	where := ""
	if errors.As(err, &at) {
		where = at.where()
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), fmt.Sprintf("exit-%d", code), err, reprise.HintOf(err), errors.As(err, &kept) && kept.kept(), where)
}

// maxTries is how often a turn is tried that git cannot do on this machine: within two
// minutes, and perhaps on several.
const maxTries = 8

// stuck marks an error of a turn that was tried often enough. One that only needs the remote
// is tried for as long as that takes.
func stuck(tries int32, err error) error {
	var failed *GitError
	var app *temporal.ApplicationError
	if tries < maxTries || errors.As(err, &app) || !errors.As(err, &failed) || !failed.near() {
		return err
	}
	return lasting(&StuckError{tries, err})
}

// StuckError says that a turn failed again and again.
type StuckError struct {
	Tries int32
	Err   error
}

func (e *StuckError) Error() string { return fmt.Sprintf("it failed %d times: %v", e.Tries, e.Err) }

// Unwrap gives the cause.
func (e *StuckError) Unwrap() error { return e.Err }

// Outcome implements the rule that outcomes have exit codes.
func (e *StuckError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// marked is an error as the server gets it: it sees a mark on the outermost error alone.
func marked(err error) error {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app
	}
	return Told(err)
}

// Decide says what comes next, and puts on record what that needs.
func (a *Activities) Decide(ctx context.Context, in DecideInput) (*Decision, error) {
	stop := beat(ctx, func() any { return Heartbeat{Worker: a.Name} })
	defer stop()
	d, err := a.decide(ctx, now(ctx), in)
	return d, stuck(activity.GetInfo(ctx).Attempt, err)
}

func (a *Activities) decide(ctx context.Context, at moment, in DecideInput) (*Decision, error) {
	d := &Decision{Carried: in.Run.Carried}
	pushed, err := a.take(ctx, at, in.Run, "reprise: "+in.Run.Ref.ID, d, &d.Carried, func(t *turn) error {
		if len(in.Answers) > 0 {
			if err := t.e.AnswerWithin(ctx, t.run.Ref, in.Answers); err != nil {
				d.Refused = err.Error()
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if in.Stop && (len(in.AtWork) > 0 || !onlyEnds(t.e.Dir, t.run.Ref)) {
			cancel() // nothing more is started
		}
		t.left = in.Stop && len(in.AtWork) == 0 // what could not be landed is landed first
		var sum *engine.Summary
		var err error
		if in.Run.Taken || in.Stop {
			sum, err = t.e.Continue(ctx, t.run.Ref, in.Run.Choice, in.AtWork)
		} else {
			again, unread := doneAgain(ctx, t.e.Dir, &in.Run)
			if unread != nil {
				return unread
			}
			t.keeps = slices.DeleteFunc(t.keeps, func(k keptAway) bool { return again(k.Step) })
			sum, err = t.e.Resume(ctx, t.run.Ref, in.Run.Choice)
			if none, is := errors.AsType[*engine.OptionError](err); is && none.Option == reprise.OptionNow {
				t.run.Choice.Option = "" // the limit ended meanwhile, which is what was wanted
				sum, err = t.e.Resume(ctx, t.run.Ref, t.run.Choice)
			}
			if in.Run.Choice.Option == reprise.OptionNow && sum != nil {
				if wrong := a.open(ctx, t, sum.Opened); wrong != nil {
					return wrong
				}
			}
		}
		return t.decided(d, sum, err)
	})
	d.Last = pushed
	return d, marked(err)
}

// onlyEnds reports whether all that is left of a run is to put its end on record: it is of a workflow
// file, and all its steps are closed.
func onlyEnds(root string, ref reprise.Ref) bool {
	r, err := reprise.Load(convention.Find(ref.Layout), os.DirFS(root), ref)
	file, _ := engine.Origin(root, ref)
	return err == nil && file != "" && !slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return !s.Status.Closed() })
}

// decided fills in what comes next, from what the engine left.
func (t *turn) decided(d *Decision, sum *engine.Summary, err error) error {
	d.Starts, d.Until = t.starts, t.until
	switch {
	case sum == nil:
		return err
	case errors.Is(err, engine.ErrApart):
		d.Finished = finished(sum)
	case err != nil:
		return err
	default:
		sum.Launches += t.run.Launches // the turns before are of the same work
		doc := cli.SummaryDocument(t.run.Ref.ID, sum)
		doc.Next = nextOf(t.run.Ref.ID, sum)
		// The turn commits what it recorded.
		doc.Findings = slices.DeleteFunc(doc.Findings, func(f report.Finding) bool { return f.Code == reprise.CodeUncommitted })
		doc.Findings = doc.Findings[:min(len(doc.Findings), 20)]
		// The server takes 2 MB; the branch has the rest.
		doc.Left, doc.Failed = doc.Left[:min(len(doc.Left), maxFinished)], doc.Failed[:min(len(doc.Failed), maxFinished)]
		d.Left, d.Until = &doc, sum.Until
		settled := len(sum.Questions) == 0 && sum.Until.IsZero()
		t.left, t.over = t.left || settled, settled && sum.IsFinished()
		if t.over {
			t.keeps = nil
		}
	}
	d.Account, d.Questions = sum.Account, newQuestions(sum.Questions, t.e.Carried.Waits)
	return nil
}

// Land settles an attempt that ended and lands its work. An attempt that has an end on
// record already is late, and changes nothing.
func (a *Activities) Land(ctx context.Context, in LandInput) (*Landing, error) {
	stop := beat(ctx, func() any { return Heartbeat{Worker: a.Name} })
	defer stop()
	l, err := a.land(ctx, now(ctx), in)
	return l, stuck(activity.GetInfo(ctx).Attempt, err)
}

func (a *Activities) land(ctx context.Context, at moment, in LandInput) (*Landing, error) {
	l := &Landing{Carried: in.Run.Carried}
	subject := fmt.Sprintf("%s: attempt %d", in.Start.Name(), in.Start.Number)
	if in.Start.Title != "" && in.Start.Title != in.Start.Step {
		subject = fmt.Sprintf("%s: %s", in.Start.Name(), oneLine(in.Start.Title))
	}
	pushed, err := a.take(ctx, at, in.Run, subject, l, &l.Carried, func(t *turn) error {
		t.end = &in
		may := func() bool { return in.Decide && in.Run.Taken && t.clean() }
		landed, left, err := t.e.Proceed(ctx, t.run.Ref, in.Start.Elsewhere, in.Run.Choice, in.AtWork, may)
		var late *engine.LateError
		switch {
		case errors.As(err, &late):
			l.Late = true
			return nil
		case left != nil:
			l.Next = &Decision{}
			err = t.decided(l.Next, left, err)
		case errors.Is(err, engine.ErrApart):
			l.Verify, err = true, nil
		}
		if err != nil {
			return err
		}
		if l.Next != nil {
			l.Next.Carried = l.Carried
		}
		for _, step := range finished(landed) {
			l.Accepted = &step
		}
		if err := t.keep(ctx, &in, l.Accepted != nil); err != nil {
			return err
		}
		l.Failed = brief(cli.SummaryDocument("", landed).Failed)
		for i := range l.Failed {
			if said := t.lastWords(in.Start.Key); said != "" && !strings.Contains(l.Failed[i].Text, said) {
				l.Failed[i].Text += ": " + said
			}
		}
		return a.close(ctx, t, landed)
	}, AttemptRef(in.Run.Ref.ID, in.Start.Elsewhere))
	l.Last = pushed
	return l, marked(err)
}

// keep notes that the work of an attempt is kept by its worker, or that its step is done.
func (t *turn) keep(ctx context.Context, in *LandInput, accepted bool) error {
	step := keyOf(in.Start.Elsewhere)
	is := func(k keptAway) bool { return k.Step == step }
	if accepted {
		t.keeps = slices.DeleteFunc(t.keeps, is)
	}
	if !in.Kept || slices.ContainsFunc(t.keeps, is) {
		return nil
	}
	k := keptAway{Step: step, Number: in.Start.Number, Name: in.Start.Name(), Ref: AttemptRef(t.run.Ref.ID, in.Start.Elsewhere), Where: in.Where}
	if in.Start.Run.Path != "" {
		judged, err := project.Judge(ctx, t.e.Dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Adopt: true})
		if err != nil {
			return err
		}
		if r := judged.Find(t.run.Ref); r != nil {
			k.Within = outerOf(t.e.Dir, judged, r).step(step)
		}
	}
	t.keeps = append(t.keeps, k)
	return nil
}

// nextOf is the command that continues a run, or that brings one that is finished to whoever runs
// it. What the fleet has no command for is done in a checkout of the branch.
func nextOf(id string, sum *engine.Summary) string {
	verb, flags := sum.FollowUp()
	switch verb {
	case "":
		return merging(id)
	case "answer", "resume":
		verb = "reprise-fleet " + verb
	default:
		verb = "reprise " + verb
	}
	words := []string{verb, reprise.Pasted(id, "RUN")}
	for _, flag := range flags {
		if !strings.HasPrefix(flag, "--") {
			flag = reprise.Pasted(flag, "STEP")
		}
		words = append(words, flag)
	}
	return strings.Join(words, " ")
}

// finished are the steps that a turn finished.
func finished(sum *engine.Summary) []report.WorkStep {
	return brief(cli.SummaryDocument("", sum).Finished)
}

// brief says of steps only a few words each.
func brief(steps []report.WorkStep) []report.WorkStep {
	for i := range steps {
		steps[i].Text = tail(steps[i].Text, 500)
	}
	return steps
}

func oneLine(text string) string {
	words := []rune(strings.Join(strings.Fields(text), " "))
	return string(words[:min(len(words), 80)])
}

func isNotFound(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}
