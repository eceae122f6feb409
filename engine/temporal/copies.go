package temporal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// localCopy is what a checkout of the clone has of a run, or only a commit.
type localCopy struct {
	dir    string // the checkout with the files, "" if there is only the commit
	place  string // where it is, in words
	base   string // the commit that it is at, "" for none
	branch string // the ref that is checked out, "" if none is
	alone  bool   // it is a branch that no checkout has

	ours   []journal.Entry // its journal, without the notes at the end that it was handed over
	files  bool            // it has files of the run, or something of it on record: it could be worked on
	said   bool            // it says that it was handed over, or that the fleet has the run
	last   string          // the last note at the end, "" for none
	loose  []string        // files of the run that are not committed in it, from the top of the repository
	hidden string          // the workflow file of the run, if it is in no commit and git ignores it
	store  *durable.Store  // whose lease is held, nil for none
}

// copies finds what the clone may have of a run: all of its checkouts, whatever they have
// checked out, the current one first, and the branch of the run where none has it. One that
// was deleted still has its commit. The error is an *UnseenError if one cannot be looked at.
func (f *Fleet) copies(ctx context.Context, run string) (out []*localCopy, err error) {
	list, err := git(ctx, f.Clone, nil, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	for one := range strings.SplitSeq(list, "\x00\x00") {
		c, bare := &localCopy{}, false
		for line := range strings.SplitSeq(one, "\x00") {
			switch key, value, _ := strings.Cut(line, " "); key {
			case "worktree":
				c.dir, c.place = value, value
			case "HEAD":
				c.base = strings.TrimLeft(value, "0") // all of it where nothing is committed
				if c.base != "" {
					c.base = value
				}
			case "branch":
				c.branch = value
			case "bare":
				bare = true
			}
		}
		if c.dir == "" || bare {
			continue
		}
		if err := c.there(run); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	here := slices.IndexFunc(out, func(c *localCopy) bool { return c.dir != "" && sameFolder(c.dir, f.Clone) })
	if here < 0 { // one that was moved, or whose git folder is elsewhere
		c := &localCopy{dir: f.Clone, place: f.Clone}
		c.base, _ = git(ctx, f.Clone, nil, "rev-parse", "-q", "--verify", "HEAD") // none is committed yet
		c.branch, _ = git(ctx, f.Clone, nil, "symbolic-ref", "-q", "HEAD")        // none is checked out
		here, out = len(out), append(out, c)
	}
	out = slices.Insert(slices.Delete(slices.Clone(out), here, here+1), 0, out[here])
	branch := "refs/heads/" + Branch(run)
	if slices.ContainsFunc(out, func(c *localCopy) bool { return c.branch == branch }) {
		return out, nil
	}
	at, err := git(ctx, f.Clone, nil, "for-each-ref", "--format=%(objectname)", branch)
	if err == nil && at != "" {
		out = append(out, &localCopy{place: "the branch " + Branch(run) + " of " + f.Clone, base: at, branch: branch, alone: true})
	}
	return out, err
}

// there looks whether the folder of a checkout is there. If it was deleted, the commit is all
// that is left of it; where the folder around it is missing as well, it may be on another disk.
func (c *localCopy) there(run string) error {
	_, err := os.Stat(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = os.Stat(filepath.Dir(c.dir)); err == nil {
			c.place, c.dir = "the commit of "+c.dir+", which was deleted", ""
		}
	}
	if err != nil {
		return &UnseenError{run, c.dir, err}
	}
	return nil
}

func sameFolder(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// UnseenError says that a checkout of the clone cannot be looked at: whether a run went on
// there is not known.
type UnseenError struct {
	Run, Dir string
	Cause    error
}

func (e *UnseenError) Error() string {
	return fmt.Sprintf("hand over %s: whether it went on in %s, a checkout of this clone, is not known: %v", e.Run, e.Dir, e.Cause)
}

// Unwrap gives why it cannot be looked at.
func (e *UnseenError) Unwrap() error { return e.Cause }

// Hint says what a person can do.
func (e *UnseenError) Hint() string {
	return "make it readable, or mount its drive; `git worktree prune` forgets a checkout that is gone for good"
}

// Outcome implements the rule that outcomes have exit codes.
func (e *UnseenError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// handing is a run that is handed to the fleet.
type handing struct {
	*Fleet
	mirror *Mirror
	ref    reprise.Ref
	was    string // where the branch is on the remote, "" if it is not there
	copies []*localCopy
	anew   bool // it was over, and the default branch has more to do since: the copies may say that they have come back
}

func (h *handing) branch() string { return "refs/heads/" + Branch(h.ref.ID) }

// remote names the branch of the run for a person.
func (h *handing) remote() string { return "its branch " + Branch(h.ref.ID) + " of the remote" }

// root is the project in a copy that has files.
func (h *handing) root(c *localCopy) string {
	return filepath.Join(c.dir, filepath.FromSlash(h.Folder))
}

// look finds the copies, and keeps everyone from working on those that do not say yet that
// the fleet has the run.
func (h *handing) look(ctx context.Context) error {
	found, err := h.mirror.fetchRun(ctx, h.ref.ID, "")
	if err != nil {
		return err
	}
	h.was = found[h.branch()]
	if h.copies, err = h.Fleet.copies(ctx, h.ref.ID); err != nil {
		return err
	}
	for _, c := range h.copies {
		if err := h.read(c); err != nil {
			return err
		}
		if !c.files || c.said {
			continue
		}
		if err := h.take(ctx, c); err != nil {
			return err
		}
		if err := h.read(c); err != nil { // whoever had it has left it as it is now
			return err
		}
	}
	for _, c := range h.copies {
		if c.loose, err = h.uncommitted(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// read reads what a copy has on record.
func (h *handing) read(c *localCopy) error {
	if c.dir == "" {
		return nil
	}
	ours, err := recorded(h.root(c), h.ref)
	if err != nil {
		return fmt.Errorf("hand over %s: read what %s has of it: %w", h.ref.ID, c.dir, err)
	}
	n := len(ours)
	for n > 0 && isNote(&ours[n-1].Event) {
		n--
	}
	_, err = os.Lstat(filepath.Join(h.root(c), filepath.FromSlash(durable.FleetMark(journal.Name(h.ref)))))
	c.ours, c.said, c.last = ours[:n], err == nil, ""
	if n < len(ours) {
		c.last = ours[len(ours)-1].Event.Outcome
		c.said = c.said || c.last == reprise.HandedOver
	}
	// A list of tasks is there before anyone begins it.
	_, err = os.Lstat(filepath.Join(h.root(c), filepath.FromSlash(h.ref.Path)))
	c.files = n > 0 || !errors.Is(err, fs.ErrNotExist)
	return nil
}

// take takes the lease of a copy.
func (h *handing) take(ctx context.Context, c *localCopy) error {
	store, err := durable.Open(h.root(c), durable.Options{Now: time.Now, Adopt: h.was != ""})
	if err != nil {
		return err
	}
	if _, err := store.Take(ctx); err != nil {
		if _, is := errors.AsType[*durable.CopiedError](err); is {
			return &copiedError{err, h.ref.ID}
		}
		return fmt.Errorf("hand over %s: in %s: %w", h.ref.ID, c.dir, err)
	}
	c.store = store
	return nil
}

func (h *handing) release() {
	for _, c := range h.copies {
		if c.store != nil {
			_ = c.store.Release()
		}
	}
}

// ahead is the copy that has all that any other has, and what the remote has not; nil if none
// has more than the remote.
func (h *handing) ahead(ctx context.Context) (*localCopy, error) {
	if h.was == "" {
		if err := h.never(ctx); err != nil {
			return nil, err
		}
		var begun []*localCopy
		for _, c := range h.copies {
			if len(c.ours) > 0 {
				begun = append(begun, c)
			}
		}
		if len(begun) == 0 {
			begun = h.copies[:1] // its files alone say that there is a run
		}
		return h.pick(ctx, begun, "")
	}
	at, theirs, err := h.onBranch(ctx)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	var more []*localCopy
	for _, c := range h.copies {
		is, err := h.more(ctx, c, theirs)
		if err != nil {
			return nil, err
		}
		if is {
			more = append(more, c)
		}
	}
	return h.pick(ctx, more, at.Dir)
}

// onBranch checks out the branch of the run and reads the journal that it has.
func (h *handing) onBranch(ctx context.Context) (at *Checkout, theirs []journal.Entry, err error) {
	if at, err = h.mirror.Checkout(ctx, h.was, Branch(h.ref.ID)); err != nil {
		return nil, nil, err
	}
	read, err := h.mirror.about(ctx, h.was)
	if err != nil {
		return nil, nil, err
	}
	var was turned
	if readNote(read[h.was].message, &was) == nil && was.Journal != "" {
		if err := at.restoreJournal(ctx, h.Folder, was.Journal); err != nil {
			return nil, nil, err
		}
	}
	theirs, err = recorded(filepath.Join(at.Dir, filepath.FromSlash(h.Folder)), h.ref)
	return at, theirs, err
}

// more reports whether a copy has what the branch on the remote has not. The error is a
// *DivergedError if the branch has what the copy has not, as well.
func (h *handing) more(ctx context.Context, c *localCopy, theirs []journal.Entry) (bool, error) {
	apart := &DivergedError{h.ref.ID, []string{c.place, h.remote()}, h.linked(c)}
	if c.dir == "" {
		if err := h.readCommit(ctx, c); err != nil {
			return false, err
		}
	}
	same, err := begins(c.ours, theirs)
	if err != nil {
		return false, err
	}
	if !same {
		return false, apart
	}
	recorded := len(c.ours) > len(theirs)
	// What is committed in a checkout of something else is no work for the run.
	if own := c.branch == h.branch() || c.branch == "" && len(c.ours) > 0; !own && !recorded {
		return false, nil
	}
	if c.base == "" {
		return false, apart
	}
	if err := h.fetch(ctx, c.base); err != nil {
		return false, err
	}
	follows, err := h.mirror.in(ctx, h.was, c.base)
	if err != nil {
		return false, err
	}
	behind, err := h.mirror.in(ctx, c.base, h.was)
	if err != nil {
		return false, err
	}
	if !follows && (recorded || !behind) {
		return false, apart
	}
	return follows && (recorded || c.base != h.was || len(c.loose) > 0), err
}

// readCommit reads what a copy without files has on record.
func (h *handing) readCommit(ctx context.Context, c *localCopy) error {
	if err := h.fetch(ctx, c.base); err != nil || c.base == "" {
		return err
	}
	at, err := h.mirror.Checkout(ctx, c.base, Branch(h.ref.ID))
	if err != nil {
		return err
	}
	defer at.Close()
	c.ours, err = recorded(filepath.Join(at.Dir, filepath.FromSlash(h.Folder)), h.ref)
	return err
}

// begins reports whether the shorter one of two journals is how the other begins.
func begins(a, b []journal.Entry) (bool, error) {
	for i := range min(len(a), len(b)) {
		one, err := json.Marshal(a[i])
		two, err2 := json.Marshal(b[i])
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(one, two) {
			return false, err
		}
	}
	return true, nil
}

// pick picks the one of some copies that has all that the others have. branch is a checkout
// of the branch on the remote, "" if there is none.
func (h *handing) pick(ctx context.Context, some []*localCopy, branch string) (best *localCopy, err error) {
	for _, c := range some {
		if h.was == "" {
			if err := h.fetch(ctx, c.base); err != nil {
				return nil, err
			}
		}
		all := true
		for _, other := range some {
			if all && other != c {
				if all, err = h.has(ctx, c, other); err != nil {
					return nil, err
				}
			}
		}
		if all {
			best = c
			break
		}
	}
	if best == nil && len(some) > 0 {
		e := &DivergedError{Run: h.ref.ID, linked: h.linked(some...)}
		for _, c := range some {
			e.Places = append(e.Places, c.place)
		}
		return nil, e
	}
	if best != nil && best.dir != "" {
		return best, h.settled(ctx, best, best.dir, best.dir)
	}
	return best, h.settled(ctx, best, branch, h.remote())
}

// linked are the folders of those copies that are checkouts beside the clone, which git can remove.
func (h *handing) linked(copies ...*localCopy) (dirs []string) {
	for _, c := range copies {
		if at, err := os.Lstat(filepath.Join(c.dir, ".git")); c.dir != "" && err == nil && !at.IsDir() && !sameFolder(c.dir, h.Clone) {
			dirs = append(dirs, c.dir)
		}
	}
	return dirs
}

// has reports whether a copy has all that another one has.
func (h *handing) has(ctx context.Context, c, other *localCopy) (bool, error) {
	same, err := begins(c.ours, other.ours)
	if err != nil || !same || len(other.loose) > 0 || len(other.ours) > len(c.ours) {
		return false, err
	}
	if h.was == "" || other.base == c.base {
		return true, nil
	}
	return h.mirror.in(ctx, other.base, c.base)
}

// settled checks that no copy beside the best one has changes of the run's state that are not
// committed and that dir, which is at place, has not.
func (h *handing) settled(ctx context.Context, best *localCopy, dir, place string) error {
	for _, c := range h.copies {
		if c == best || c.dir == "" || c.base == "" || c.said || len(c.ours) == 0 {
			continue
		}
		changed, err := git(ctx, c.dir, nil, "diff", "--name-only", "-z", "--no-renames", "HEAD", "--", filepath.Join(h.Folder, filepath.FromSlash(h.ref.Path)))
		if err != nil {
			return err
		}
		for name := range strings.SplitSeq(strings.TrimRight(changed, "\x00"), "\x00") {
			here, err := os.ReadFile(filepath.Join(c.dir, name))
			there, err2 := os.ReadFile(filepath.Join(dir, name))
			if name != "" && ((err == nil) != (err2 == nil) || !bytes.Equal(here, there)) {
				return &DivergedError{h.ref.ID, []string{c.dir + " (" + name + " is not committed there)", place}, h.linked(c)}
			}
		}
	}
	return nil
}

// within are the other checkouts of the clone in the folder of one.
func (h *handing) within(c *localCopy) (out []string) {
	for _, other := range h.copies {
		if in, err := filepath.Rel(c.dir, other.dir); err == nil && other != c && other.dir != "" && filepath.IsLocal(in) {
			out = append(out, filepath.ToSlash(in))
		}
	}
	return out
}

// fetch brings a commit of the clone to the mirror.
func (h *handing) fetch(ctx context.Context, commit string) error {
	in, err := h.mirror.open(ctx)
	if err == nil && commit != "" {
		err = h.fetchHere(ctx, in, "+"+commit+":refs/kept/begin/"+commit)
	}
	return err
}
