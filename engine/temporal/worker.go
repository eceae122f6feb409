package temporal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Dial connects to the server that Temporal's environment variables and profile file name.
func Dial(name string) (client.Client, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}
	o.Logger, o.Identity = quiet{}, name
	return client.Dial(o)
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
// agents are stopped, what they left is pushed, and their ends are told.
func Work(ctx context.Context, c client.Client, o WorkerOptions) error {
	release, err := hold(o.Dir)
	if err != nil {
		return err
	}
	defer release()
	a := &Activities{Mirror: &Mirror{Remote: o.Remote, Dir: o.Dir, Keep: o.Slots + 1}, Client: c, Name: o.Name, trust: trusted{clone: o.Clone, all: o.Trust}}
	roles, err := a.roles(ctx, o)
	if err != nil {
		return err
	}
	repo := Identity(o.Remote)
	a.queue = queue(repo, "")
	var workers []worker.Worker
	defer func() {
		for _, w := range workers {
			w.Stop()
		}
	}()
	begin := func(queue string, o worker.Options, register func(worker.Worker)) error {
		o.WorkerStopTimeout = time.Minute
		w := worker.New(c, queue, o)
		register(w)
		if err := w.Start(); err != nil {
			return err
		}
		workers = append(workers, w)
		return nil
	}
	err = begin(a.queue, worker.Options{MaxConcurrentActivityExecutionSize: o.Slots + 1}, func(w worker.Worker) {
		Register(w)
		w.RegisterActivityWithOptions(a.Decide, activity.RegisterOptions{Name: DecideActivity})
		w.RegisterActivityWithOptions(a.Land, activity.RegisterOptions{Name: LandActivity})
	})
	for i := 0; err == nil && i < len(roles); i++ {
		// A frozen worker swallows what its open polls are given: it has few of them.
		limits := worker.Options{
			MaxConcurrentActivityExecutionSize: o.Slots, MaxConcurrentActivityTaskPollers: 1, DisableWorkflowWorker: true,
			MaxHeartbeatThrottleInterval: time.Second, DefaultHeartbeatThrottleInterval: time.Second,
		}
		err = begin(queue(repo, roles[i]), limits, func(w worker.Worker) {
			w.RegisterActivityWithOptions(a.Attempt, activity.RegisterOptions{Name: AttemptActivity})
		})
	}
	if err != nil {
		return err
	}
	o.Tell("worker %s takes part in the runs of %s: %v", o.Name, repo, roles)
	<-ctx.Done()
	return nil
}

// Register registers the workflows.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(RunRun, workflow.RegisterOptions{Name: RunWorkflow})
	r.RegisterWorkflowWithOptions(AccountRun, workflow.RegisterOptions{Name: AccountWorkflow})
}

// roles are the queues that a worker takes attempts from.
func (a *Activities) roles(ctx context.Context, o WorkerOptions) ([]string, error) {
	found, err := a.Mirror.Fetch(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	if found["HEAD"] == "" {
		return nil, fmt.Errorf("work on %s: it has no default branch", o.Remote)
	}
	if o.Roles != nil {
		return o.Roles, nil
	}
	c, err := a.Mirror.Checkout(ctx, found["HEAD"], "reprise-look")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	roles, problems, err := a.trust.offers(filepath.Join(c.Dir, filepath.FromSlash(o.Folder)))
	for _, p := range problems {
		o.Tell("%v", p)
	}
	return roles, err
}

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
		return nil, fmt.Errorf("work in %s: another worker does: %w", dir, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "work-*"))
	for _, name := range left {
		if err == nil {
			err = os.RemoveAll(name)
		}
	}
	return func() { f.Close() }, err
}
