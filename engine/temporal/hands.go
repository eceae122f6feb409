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

	"reprise"
	"reprise/agent"
	"reprise/engine"
)

// hands carry out the rules on the files of a branch and start nothing: what is to be
// started is noted for the workflow, and what an attempt left is brought from the ref that
// it pushed. Each run and child run of a turn has its own.
type hands struct {
	engine.Hands // those of this machine
	*turn
	child reprise.Ref // zero for the run itself
	ends  []engine.End
}

// brought is what an attempt left on its ref.
type brought struct {
	engine.Elsewhere
	commit    string // "" if it pushed nothing
	end       attemptEnd
	changed   []string // what it changes in the branch
	conflicts []string // the files that keep it from being merged
	landed    bool
}

// Keep implements engine.Hands: the branch is what can be gone back to.
func (h *hands) Keep(context.Context, *reprise.Run, string, bool) (string, error) { return "", nil }

// Prepare implements engine.Hands. What an attempt of another process left is brought.
func (h *hands) Prepare(ctx context.Context, f *engine.Attempt) error {
	again := f.Recalled
	if err := h.Hands.Prepare(ctx, f); err != nil || !again || h.brought[f.Key] != nil {
		return err
	}
	b := &brought{Elsewhere: h.elsewhere(f)}
	h.brought[f.Key] = b
	ref := AttemptRef(h.run.Ref.ID, b.Elsewhere)
	if !slices.Contains(h.asked, ref) {
		found, err := h.mirror.Fetch(ctx, ref)
		if err != nil {
			return err
		}
		h.found[ref] = found[ref]
	}
	if b.commit = h.found[ref]; b.commit == "" {
		return nil
	}
	f.Ref = ref
	read, err := h.mirror.about(ctx, b.commit)
	if err != nil {
		return err
	}
	says := read[b.commit]
	if b.end, err = readEnd(says.message); err != nil || b.end.Key != f.Key {
		return &ForeignError{h.run.Ref.ID, f.Step, f.Number, ref}
	}
	if f.Ended = h.end == nil && h.lands(&b.end); f.Ended {
		delete(h.brought, f.Key)
		return nil
	}
	if b.changed, b.conflicts, err = h.checkout.Bring(ctx, b.commit, says); err != nil {
		return err
	}
	if b.end.Result.Reply == nil || len(b.conflicts) > 0 {
		return nil
	}
	// Where its end is not given, its reply is looked for.
	reply, err := json.Marshal(b.end.Result.Reply)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.ReplyFile), 0o700); err != nil {
		return err
	}
	return os.WriteFile(f.ReplyFile, reply, 0o600)
}

// ForeignError says that the ref of an attempt has a commit that this attempt did not leave.
type ForeignError struct {
	Run, Step string
	Number    int
	Ref       string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("read what attempt %d of %s left: %s is not of this run", e.Number, e.Step, e.Ref)
}

// Hint says what a person can do.
func (e *ForeignError) Hint() string {
	return fmt.Sprintf("see it: `git fetch origin %[1]s && git show FETCH_HEAD`; if it is not needed, `git push origin :%[1]s && reprise-fleet resume %[2]s`", e.Ref, reprise.Pasted(e.Run, "RUN"))
}

// Outcome implements the rule that outcomes have exit codes.
func (e *ForeignError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// lands reports whether an attempt that no workflow waits for is landed as it ended: one that
// ended by itself, in a run that is taken up as it stands.
func (h *hands) lands(end *attemptEnd) bool {
	c := h.run.Choice
	return !end.cut() && !h.left && c.Option == "" && c.From == "" && len(c.Skip) == 0
}

// Start implements engine.Hands. A child run is taken as far as it comes in this turn: it
// has hands of the same sort, and is at work for as long as something of it is.
func (h *hands) Start(ctx context.Context, f *engine.Attempt) error {
	if f.Child == nil {
		h.starts = append(h.starts, h.startOf(f))
		return nil
	}
	if err := h.Hands.Start(ctx, f); err != nil {
		return err
	}
	for {
		switch end, err := h.Hands.Await(ctx, time.Time{}); {
		case err != nil:
			return err
		case end == nil:
		case !errors.Is(end.Err, engine.ErrApart):
			h.ends = append(h.ends, *end)
			return nil
		default:
			return nil
		}
	}
}

func (h *hands) elsewhere(f *engine.Attempt) engine.Elsewhere {
	return engine.Elsewhere{Run: h.child, Step: f.Step, Number: f.Number}
}

func (h *hands) startOf(f *engine.Attempt) Start {
	s := Start{Elsewhere: h.elsewhere(f), Key: f.Key, Title: f.Unit.Title, Role: f.Role, Timeout: max(f.Timeout, h.longest) + time.Hour}
	switch {
	case len(f.Command) > 0:
		s.Queue = queue(h.run.Repo, commandQueue)
	case h.roles[f.Role]:
		s.Queue = queue(h.run.Repo, f.Role)
	default:
		s.Queue = queue(h.run.Repo, defaultQueue)
	}
	return s
}

// Verify implements engine.Hands.
func (h *hands) Verify(_ context.Context, f *engine.Attempt) error {
	if h.end != nil && h.end.Verify != nil && h.end.Start.Elsewhere == h.elsewhere(f) {
		end := engine.End{Step: f.Step}
		switch v := h.end.Verify; {
		case h.end.Lost != "" && !h.end.Failed:
			end.Err = engine.ErrCutShort // it told nothing
		case !v.Verified:
			end.Err = errors.New(cmp.Or(v.Refuted, h.end.Lost))
		}
		h.ends = append(h.ends, end)
		return nil
	}
	s := h.startOf(f)
	s.Verify = true
	if b := h.brought[f.Key]; b != nil {
		s.Commit = b.commit
	}
	h.starts = append(h.starts, s)
	return nil
}

// Land implements engine.Hands: the work is part of the next commit of the branch.
func (h *hands) Land(ctx context.Context, f *engine.Attempt) (engine.Landing, error) {
	b := h.brought[f.Key]
	switch {
	case b == nil || b.commit == "":
		return engine.Landing{}, nil
	case len(b.conflicts) > 0:
		return engine.Landing{Err: b.conflict(), Own: true}, nil
	}
	b.landed = true
	made := h.own(b)
	if len(made) == 0 {
		var err error
		if made, err = h.pushed(ctx, b); err != nil {
			return engine.Landing{}, err
		}
	}
	if len(made) == 0 {
		f.Dirty = &[]string{} // it began in a checkout of its own
		return engine.Landing{}, nil
	}
	return engine.Landing{Commit: b.commit}, nil
}

// pushed are the files that an attempt changed and has put on the branch itself.
func (h *hands) pushed(ctx context.Context, b *brought) ([]string, error) {
	// Where the branch is where it began, it pushed nothing there. A worker of an earlier
	// version does not tell.
	if b.end.Base == "" || b.end.Base == h.checkout.Base {
		return nil, nil
	}
	out, err := h.checkout.git(ctx, "diff", "--name-only", "-z", "--no-renames", b.end.Base, b.commit, "--", ".", ":(exclude,literal)"+filepath.Join(h.run.Folder, stateDir))
	if err != nil || out == "" {
		return nil, err
	}
	return h.own(&brought{Elsewhere: b.Elsewhere, changed: strings.Split(strings.TrimRight(out, "\x00"), "\x00")}), nil
}

func (b *brought) conflict() error {
	return fmt.Errorf("what it changed conflicts with what landed meanwhile: %s", strings.Join(b.conflicts[:min(len(b.conflicts), 5)], ", "))
}

// CommitRecord implements engine.Hands: it is part of the next commit of the branch, too.
func (h *hands) CommitRecord(context.Context, *reprise.Event) {}

// Await implements engine.Hands.
func (h *hands) Await(_ context.Context, until time.Time) (*engine.End, error) {
	if len(h.ends) > 0 {
		e := h.ends[0]
		h.ends = h.ends[1:]
		return &e, nil
	}
	if h.end == nil || h.given {
		if h.until.IsZero() || !until.IsZero() && until.Before(h.until) {
			h.until = until
		}
		return nil, engine.ErrApart
	}
	h.given = true
	e := &engine.End{Step: h.end.Start.Step}
	for _, b := range h.brought {
		if b.Elsewhere != h.end.Start.Elsewhere {
			continue
		}
		switch {
		case b.commit == "" && h.end.Lost == stoppedText:
			e.Result.Outcome = agent.Stopped
		case b.commit == "" && h.end.Final:
			e.AtStart = map[string]reprise.Hash{}
			e.Result = agent.Result{Outcome: agent.NotStarted, Reason: h.end.Lost}
		case b.commit == "" && h.end.Failed:
			e.Result = agent.Result{Outcome: agent.Failed, Reason: h.end.Lost}
		case b.commit == "":
			// No one saw its end: its policy decides.
		default:
			e.Result, e.AtStart = b.end.result(), b.end.AtStart
			if len(b.conflicts) > 0 && e.Result.Outcome == agent.Done {
				e.Result = agent.Result{Outcome: agent.Failed, Reason: b.conflict().Error(), Session: e.Result.Session, Spent: e.Result.Spent}
			}
		}
	}
	return e, nil
}

// lastWords are the last lines that the agent of an attempt printed, "" if it pushed none.
func (t *turn) lastWords(key string) string {
	b := t.brought[key]
	if b == nil {
		return ""
	}
	lines := strings.FieldsFunc(cmp.Or(b.end.Result.Stderr, b.end.Result.LastText), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.ToValidUTF8(tail(strings.Join(lines[max(len(lines)-3, 0):], "; "), 300), "")
}

// Stop implements engine.Hands.
func (h *hands) Stop(error) {}

// clean reports whether the files are those that the next commit will have: nothing was
// brought that it leaves out.
func (t *turn) clean() bool {
	for _, b := range t.brought {
		if !b.landed && len(b.changed) > 0 {
			return false
		}
	}
	return true
}

// own are the files that an attempt changed, but for those that hold the state of its run.
func (t *turn) own(b *brought) []string {
	return slices.DeleteFunc(slices.Clone(b.changed), func(name string) bool {
		return slices.ContainsFunc(t.run.state(b.Elsewhere), func(state string) bool { return name == state || strings.HasPrefix(name, state+"/") })
	})
}

// landed are the refs of the attempts whose work the next commit has. The branch keeps that
// work from then on, and git looks at every ref of the remote at every push.
func (t *turn) landed() (out []heldRef) {
	for _, b := range t.brought {
		if b.landed && b.commit != "" {
			out = append(out, heldRef{name: AttemptRef(t.run.Ref.ID, b.Elsewhere), at: b.commit})
		}
	}
	return out
}

// commit commits the state of the run, with the work that was accepted and without what
// was not.
func (t *turn) commit(ctx context.Context, subject string, result any) (string, commit, error) {
	o := CommitOptions{Parents: []string{t.checkout.Base}, Folder: t.run.Folder, Journal: true, Ignored: true}
	var trailers []string
	for key, b := range t.brought {
		if b.landed && b.commit != "" {
			o.Parents = append(o.Parents, b.commit)
			trailers = append(trailers, reprise.TrailerKey+": "+key+reprise.TrailerAccepted)
			continue
		}
		o.Without = append(o.Without, t.own(b)...)
	}
	message, err := withNote(subject, result)
	if err != nil {
		return "", commit{}, err
	}
	slices.Sort(trailers)
	if len(trailers) > 0 {
		message += "\n" + strings.Join(trailers, "\n") + "\n"
	}
	return t.checkout.Commit(ctx, message, o)
}

// attemptEnd is how an attempt ended, as its commit tells.
type attemptEnd struct {
	Key     string
	Result  agent.Result
	Asks    []asked `json:",omitempty"`
	AtStart map[string]reprise.Hash
	Base    string `json:",omitempty"` // the commit that it began with
	// Kept is set if the remote refused it: the attempt was taken back, and its worker pushes
	// it once that is allowed.
	Kept bool `json:",omitempty"`
}

// asked is reprise.Asked with all of its fields.
type asked struct {
	ID, Text, Subject string
	Options           []string
	Closed            bool
	About             []string `json:",omitempty"`
	Own               string
	Grant             *reprise.Grant
	Denied            bool
}

// maxSaid bounds what is kept of the words of an agent.
const maxSaid = 16 << 10

func newEnd(key string, e *engine.End) attemptEnd {
	out := attemptEnd{Key: key, Result: e.Result, AtStart: e.AtStart}
	for _, q := range e.Result.Asks {
		out.Asks = append(out.Asks, asked(q))
	}
	out.Result.Asks = nil
	out.Result.LastText, out.Result.Stderr = tail(e.Result.LastText, maxSaid), tail(e.Result.Stderr, maxSaid)
	if out.AtStart == nil {
		out.AtStart = map[string]reprise.Hash{}
	}
	return out
}

func (e *attemptEnd) result() agent.Result {
	r := e.Result
	for _, q := range e.Asks {
		r.Asks = append(r.Asks, reprise.Asked(q))
	}
	return r
}

// readEnd reads how an attempt ended from the message of its commit.
func readEnd(message string) (e attemptEnd, err error) {
	return e, readNote(message, &e)
}

// withNote is a message with a note in JSON as its second paragraph.
func withNote(subject string, note any) (string, error) {
	text, err := json.Marshal(note)
	return subject + "\n\n" + string(text) + "\n", err
}

// readNote reads the JSON in the second paragraph of a message.
func readNote(message string, into any) error {
	parts := strings.SplitN(message, "\n\n", 3)
	if len(parts) < 2 {
		return errors.New("its message holds nothing")
	}
	return json.Unmarshal([]byte(parts[1]), into)
}
