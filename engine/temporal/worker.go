package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"reprise"
)

// Dial connects to the server that Temporal's environment variables and profile file name.
func Dial(name string) (client.Client, error) { return connect(name, client.Dial) }

// DialLater is Dial for those who can wait: it connects once the server is needed.
func DialLater(name string) (client.Client, error) { return connect(name, client.NewLazyClient) }

func connect(name string, dial func(client.Options) (client.Client, error)) (client.Client, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}
	o.Logger, o.Identity = quiet{}, name
	o.ConnectionOptions.GetSystemInfoTimeout = dialWithin
	c, err := dial(o)
	if err != nil && Slow(err) {
		err = &SilentError{Address(), dialWithin}
	}
	return c, err
}

// dialWithin is how long the server may take to answer at all.
const dialWithin = 5 * time.Second

// Address is where the server is.
func Address() string {
	o, _ := envconfig.LoadDefaultClientOptions() // what is wrong with them was said before
	return cmp.Or(o.HostPort, client.DefaultHostPort)
}

// quiet keeps the SDK from writing to the terminal.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// WorkerOptions say what a worker does.
type WorkerOptions struct {
	Remote string // of the repository
	Dir    string // of its own; it is made
	Clone  string // whose trusted files count, "" for none
	Trust  bool   // everything that the remote has is trusted
	Folder string // of the project in the repository
	Name   string
	Slots  int      // attempts at the same time
	Roles  []string // that it offers; nil for all that it has agents for
	Tell   func(format string, args ...any)
}

// Work is a worker: it takes part in the runs of one repository until ctx ends. Then its
// agents are stopped, what they left is pushed, and their ends are told. It waits for a
// server or a remote that cannot be reached. The error says what only a person can mend.
func Work(ctx context.Context, c client.Client, o WorkerOptions) error {
	release, err := hold(o.Dir)
	if err != nil {
		return err
	}
	defer release()
	a := &Activities{Mirror: &Mirror{Remote: o.Remote, Dir: o.Dir, Keep: o.Slots + 1}, Client: c, Name: o.Name, trust: trusted{clone: o.Clone, all: o.Trust}}
	// Git says the same of a remote that is away and of one that was never there.
	var roles, problems []string
	passes := func(err error) bool { _, asked := errors.AsType[*NoRoleError](err); return !asked }
	err = o.patiently(ctx, "the remote", passes, func() error { roles, problems, err = a.roles(ctx, o); return err })
	if err != nil {
		return err
	}
	for _, p := range problems {
		o.Tell("%s", p)
	}
	fatal := make(chan error, 1)
	var workers []worker.Worker
	defer func() {
		for _, w := range workers {
			w.Stop()
		}
	}()
	begin := func(queue string, limits worker.Options, register func(worker.Worker)) error {
		limits.WorkerStopTimeout, limits.StickyScheduleToStartTimeout = time.Minute, stickyWithin
		limits.OnFatalError = func(err error) {
			select {
			case fatal <- err:
			default: // one is enough
			}
		}
		return o.patiently(ctx, "the server", Unreachable, func() error {
			w := worker.New(c, queue, limits)
			register(w)
			if err := w.Start(); err != nil {
				return err
			}
			workers = append(workers, w)
			return nil
		})
	}
	repo, s := Identity(o.Remote), newSlots(o.Slots)
	tuner, err := worker.NewCompositeTuner(worker.CompositeTunerOptions{ActivitySlotSupplier: s})
	if err != nil {
		return err
	}
	a.queue = queue(repo, "")
	err = begin(a.queue, worker.Options{MaxConcurrentActivityExecutionSize: o.Slots + 1, DeadlockDetectionTimeout: busy}, func(w worker.Worker) {
		Register(w)
		w.RegisterActivityWithOptions(a.Decide, activity.RegisterOptions{Name: DecideActivity})
		w.RegisterActivityWithOptions(a.Land, activity.RegisterOptions{Name: LandActivity})
	})
	offer := func(role string) error {
		// A frozen worker swallows what its open polls are given: it has few of them.
		limits := worker.Options{Tuner: tuner, MaxConcurrentActivityTaskPollers: 1, DisableWorkflowWorker: true}
		return begin(queue(repo, role), limits, func(w worker.Worker) {
			w.RegisterActivityWithOptions(s.limit(a.Attempt), activity.RegisterOptions{Name: AttemptActivity})
		})
	}
	for i := 0; err == nil && i < len(roles); i++ {
		err = offer(roles[i])
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	go a.keepPushing(ctx)
	o.Tell("worker %s takes part in the runs of %s: %v", o.Name, repo, roles)
	for pause := offerAgain; ; pause = min(2*pause, time.Minute) {
		var again <-chan time.Time
		if len(problems) > 0 {
			again = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-fatal:
			return err
		case <-again:
		}
		now, still, err := a.roles(ctx, o)
		if err != nil {
			continue // what it offers stays as it is
		}
		for _, p := range still {
			if !slices.Contains(problems, p) {
				o.Tell("%s", p)
			}
		}
		problems = still
		for _, role := range now {
			if slices.Contains(roles, role) {
				continue
			}
			if err := offer(role); err != nil || ctx.Err() != nil {
				return err
			}
			roles = append(roles, role)
			o.Tell("worker %s offers %s as well", o.Name, role)
		}
	}
}

// offerAgain is after how long a worker looks again whether it has agents for the roles that it does
// not offer: a person may have trusted a file, or installed a program.
const offerAgain = 5 * time.Second

// busy is how long the code of a workflow, which waits for nothing, may take on a machine that
// has no time for it. The server gives a workflow task twice that.
const busy = 5 * time.Second

// stickyWithin is for how long what a run is asked waits for the worker that knows it. After that
// any other one answers, before half of listPatience is over.
const stickyWithin = 2 * time.Second

// patiently does what a worker begins with until that succeeds, ctx ends, or the error is
// not of a sort that passes. what is what has to be reached for it.
func (o *WorkerOptions) patiently(ctx context.Context, what string, passes func(error) bool, do func() error) error {
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, time.Minute) {
		err := do()
		if err == nil || !passes(err) {
			return err
		}
		o.Tell("waiting for %s, trying again in %s: %v", what, pause, Asked(err))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// Register registers the workflows.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(RunRun, workflow.RegisterOptions{Name: RunWorkflow})
	r.RegisterWorkflowWithOptions(AccountRun, workflow.RegisterOptions{Name: AccountWorkflow})
}

// roles are the queues that a worker takes attempts from; problems tell why a role is not offered. The
// error is a *NoRoleError if the worker is to offer a role that has no queue.
func (a *Activities) roles(ctx context.Context, o WorkerOptions) (roles, problems []string, err error) {
	found, err := a.Mirror.Fetch(ctx, "HEAD")
	if err != nil {
		return nil, nil, err
	}
	if found["HEAD"] == "" {
		return nil, nil, fmt.Errorf("work on %s: it has no default branch", o.Remote)
	}
	c, err := a.Mirror.Checkout(ctx, found["HEAD"], "reprise-look")
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	root := filepath.Join(c.Dir, filepath.FromSlash(o.Folder))
	if o.Roles != nil {
		named, err := projectRoles(root)
		if err != nil {
			return nil, nil, err
		}
		for _, role := range o.Roles {
			if !named[role] && role != commandQueue && role != defaultQueue {
				return nil, nil, &NoRoleError{role}
			}
		}
		return o.Roles, nil, nil
	}
	roles, why, err := a.trust.offers(root)
	for _, p := range why {
		problems = append(problems, p.Error())
	}
	return roles, problems, err
}

// NoRoleError says that a worker is to offer a role whose steps wait for another one.
type NoRoleError struct{ Role string }

func (e *NoRoleError) Error() string {
	return fmt.Sprintf("offer the role %s: the project's reprise.yaml does not name it, so its steps wait for the role %s", e.Role, defaultQueue)
}

// Hint says what a person can do.
func (e *NoRoleError) Hint() string {
	return fmt.Sprintf("`reprise-fleet worker --role %s` takes them, with those of all other roles that are not named; to have it apart, name %s under roles in reprise.yaml on the default branch", defaultQueue, reprise.Pasted(e.Role, "ROLE"))
}

// Outcome implements the rule that outcomes have exit codes.
func (e *NoRoleError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// WorkHeldError says that another worker has the folder that a worker is to have for itself.
type WorkHeldError struct {
	Dir string
	Err error
}

func (e *WorkHeldError) Error() string {
	return fmt.Sprintf("work in %s: another worker does: %v", e.Dir, e.Err)
}

// Unwrap gives the cause.
func (e *WorkHeldError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *WorkHeldError) Hint() string {
	return fmt.Sprintf("a second worker on this machine needs a folder of its own: `reprise-fleet worker --work %s`; one worker takes several steps at once with `--parallel N`", reprise.Pasted(e.Dir+"-2", "DIR"))
}

// Outcome implements the rule that outcomes have exit codes.
func (e *WorkHeldError) Outcome() reprise.Outcome { return reprise.OutcomeHeld }

// hold keeps a second worker out of a folder, and clears what a killed one left in it.
func hold(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, &WorkHeldError{dir, err}
	}
	left, err := filepath.Glob(filepath.Join(dir, "work-*"))
	for _, name := range left {
		if err == nil {
			err = os.RemoveAll(name)
		}
	}
	return func() { f.Close() }, err
}
