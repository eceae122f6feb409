package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"reprise/internal/loose"
)

// Preset is what is known of one kind of agent: how it is started without a
// terminal, how a session is named and resumed, and how to read what it
// prints.
type Preset struct {
	Name    string
	Program string   // as it is usually called
	Tested  []string // the versions that the tests drive, the latest first
	// Chooses tells that we choose the id of a new session; otherwise it is
	// learned from the first event.
	Chooses bool

	// Keys are the variables by which a person signs it in or says where its model is; a * at the
	// end stands for anything.
	Keys []string

	session string // the form of its ids, a regular expression
	// args come first, again in their place to resume; then what it may do
	// without asking, the model and the session, whose id stands for ID. The
	// prompt is on standard input.
	args, again   []string
	edits, all    []string
	model         string
	fresh, resume []string
	last          []string // behind a person's own arguments
	// approves are its flags for what it may do without asking; if a person
	// gives one, ours is left out.
	approves []string
	permits  permits
	env      []string // set unless a person set them
	// read takes one event and returns what a person would want to see.
	read func(*stream, loose.Value) string
	// soft tells that nothing it prints is a sure end.
	soft bool
	// mute tells that it waits for a limit to end without a word.
	mute bool
	// native finds the program behind a wrapper that would outlive it.
	native []string
}

// Command is the preset for everything else: the command of the settings, and
// the contract of docs/reference/agents.md.
const Command = "command"

// Presets are the known kinds, by name.
func Presets() []Preset {
	return []Preset{claude, codex, copilot, gemini, opencode, qwen, {Name: Command}}
}

// Approval is what an agent may do without asking.
type Approval string

// The approvals. Each is the nearest a program has; Edits is what stands for "".
const (
	ApproveNone     Approval = "none"     // only what its own settings allow
	ApproveEdits    Approval = "edits"    // change files of the folder it works in
	ApproveCommands Approval = "commands" // these, and run any command: build, tests, git
	ApproveAll      Approval = "all"      // everything: for a machine that can be lost
)

// Options say which kind of agent to start and how.
type Options struct {
	Preset string
	// Command is the program, if it is not the usual one, and further
	// arguments; for the preset "command" the command. The command of a job
	// counts more.
	Command []string
	Model   string
	Approve Approval
	// Account is what a usage limit closes; "" stands for the preset.
	Account string

	Grace  time.Duration
	MaxLog int64
	Shim   []string
	Now    func() time.Time // nil stands for the clock
}

// UnknownPresetError tells of an unknown preset.
type UnknownPresetError struct{ Name string }

// Error implements error.
func (e *UnknownPresetError) Error() string { return "choose agent: no preset is called " + e.Name }

// Hint says what a person can do.
func (e *UnknownPresetError) Hint() string {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return "the presets are " + strings.Join(names, ", ")
}

// New gives the agent that the options describe.
func New(o Options) (Agent, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	p, err := presetOf(o)
	if err != nil {
		return nil, err
	}
	o.Preset = p.Name
	return &driver{p, o}, nil
}

// presetOf gives the preset that options name.
func presetOf(o Options) (Preset, error) {
	name := cmp.Or(o.Preset, Command)
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
	}
	return Preset{}, &UnknownPresetError{o.Preset}
}

// driver starts agents of one preset.
type driver struct {
	preset  Preset
	options Options
}

// PresetOf gives the preset that an agent was made of, "" if it is of none.
func PresetOf(a Agent) string {
	if d, ok := a.(*driver); ok {
		return d.preset.Name
	}
	return ""
}

// Start implements Agent. The id of a session that we choose is told before the
// process exists: if this process dies in between, the id names a session that
// never began, and resuming it is SessionNotFound.
func (d *driver) Start(ctx context.Context, job Job) (Session, error) {
	p, o := d.preset, d.options
	if len(job.Command) > 0 {
		o.Command = job.Command
	}
	l := Launch{Stdin: job.Prompt, Grace: o.Grace, MaxLog: o.MaxLog, Shim: o.Shim}
	if p.Name == Command {
		l.Argv = o.Command
		l.Finish = func(r *Result) { r.ByExit(o.Now()) }
		return l.Start(ctx, job)
	}
	s := p.stream(o.Now)
	if job.Resume && !p.isSession(job.Session) {
		// Some begin a new session for a name they do not know.
		return over{Result{Outcome: SessionNotFound, Session: job.Session, Reason: "that is not a session id of " + p.Name}}, nil
	}
	learned := job.Learned
	s.resumes = job.Resume
	switch {
	case job.Resume:
		s.want = job.Session
	case p.Chooses:
		s.want = cmp.Or(job.Session, newID())
	}
	l.Argv = p.line(o, job, s.want)
	if err := outside(&l.Argv[0], job); err != nil {
		return nil, err
	}
	if p.Chooses && !job.Resume {
		if err := p.chosen(s.want, learned); err != nil {
			return nil, &StartError{Command: p.Program, Cause: err}
		}
	}
	_, env := p.permitted(p.approval(o), job)
	l.Env = append(unset(p.env, job.Env), env...)
	l.Stream = func(line []byte) (string, error) { return s.line(line, p.read, learned) }
	l.Busy = s.busy
	began := time.Now()
	l.Finish = func(r *Result) {
		s.judge(r, o.LimitedBy())
		s.spentIn(r, p.Name, o.Model, slices.Concat(job.Env, l.Env), job.Dir, began)
	}
	return l.Start(ctx, job)
}

// line is the command line for a job with this session.
func (p Preset) line(o Options, job Job, session string) []string {
	program, more := p.Program, o.Command
	if len(more) > 0 && !strings.HasPrefix(more[0], "-") {
		program, more = more[0], more[1:]
	}
	o.Approve = p.approval(o)
	program = behind(program, p.native, job.Env, job.Dir, job.Project)
	return slices.Concat([]string{program}, p.argv(o, job, session), more, p.last)
}

// approval is what it may do without asking; ApproveNone where flags of a person's own
// say so.
func (p Preset) approval(o Options) Approval {
	if slices.ContainsFunc(o.Command, func(a string) bool {
		flag, _, _ := strings.Cut(a, "=")
		return slices.Contains(p.approves, flag)
	}) {
		return ApproveNone
	}
	return cmp.Or(o.Approve, ApproveEdits)
}

// stream reads what the program prints.
func (p Preset) stream(now func() time.Time) *stream {
	return &stream{now: now, soft: p.soft, mute: p.mute, preset: p.Name, permits: p.permits}
}

// argv are the arguments without a person's own.
func (p Preset) argv(o Options, job Job, session string) []string {
	args, approve, name := p.args, p.edits, p.fresh
	if job.Resume {
		name = p.resume
		if p.again != nil {
			args = p.again
		}
	}
	switch o.Approve {
	case ApproveAll:
		approve = p.all
	case ApproveNone:
		approve = nil
	}
	permitted, _ := p.permitted(o.Approve, job)
	args = slices.Concat(args, approve, permitted)
	if o.Model != "" {
		args = append(args, p.model, o.Model)
	}
	for _, a := range name {
		args = append(args, strings.ReplaceAll(a, "ID", session))
	}
	return args
}

// isSession reports whether a text has the form of its session ids.
func (p Preset) isSession(id string) bool {
	ok, err := regexp.MatchString(p.session, id)
	return ok && err == nil
}

// NewSession stands in a CommandLine for the id of a session that is chosen when
// it begins.
const NewSession = "NEW-SESSION"

// CommandLine tells what Start would start for a job. It starts nothing.
func (d *driver) CommandLine(job Job) []string {
	p, o := d.preset, d.options
	if len(job.Command) > 0 {
		o.Command = job.Command
	}
	if p.Name == Command {
		return slices.Clone(o.Command)
	}
	session := job.Session
	if !job.Resume && session == "" && p.Chooses {
		session = NewSession
	}
	return p.line(o, job, session)
}

// chosen tells the id of a session that we name, before it begins.
func (p Preset) chosen(id string, learned func(string) error) error {
	if !p.isSession(id) {
		return errors.New("the session to begin has no id of the right form")
	}
	if learned == nil {
		return nil
	}
	return learned(id)
}

// unset leaves out variables that the environment has.
func unset(add, env []string) []string {
	return slices.DeleteFunc(slices.Clone(add), func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	})
}

// over is a session that ended before it began.
type over struct{ result Result }

func (over) PID() int       { return 0 }
func (o over) Wait() Result { return o.result }
func (over) Kill()          {}

// newID makes a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: the program ends instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
