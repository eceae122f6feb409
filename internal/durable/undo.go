package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
)

// UndoReport is what an undo did.
type UndoReport struct {
	ID string
	// Before is the snapshot of the state that was left; undoing to it takes
	// the undo back.
	Before string
	// Ref keeps the files of the project as they were left, below files/; "" without git.
	Ref      string
	Restored []string
	Archived []string // things that had appeared since, with their new places
	Left     []Left   // what the snapshot did not hold and what was left alone
}

// UndoOptions are what an undo needs to know of the runs of its snapshot.
type UndoOptions struct {
	// Runs are the runs of the snapshot as they stand now.
	Runs []RunState
	// Checkouts makes sure that each run has its branch and its checkout
	// where the snapshot has them, and neither where it has none; what is in
	// a checkout is brought back afterwards. It is called once all that is
	// there now is kept, without the store's lock.
	Checkouts func(*Snapshot) error
	// Keep are the files of the project that stay as they are, but for the state files
	// that Merged has another content of. KeepHead leaves its HEAD and index alone. All
	// says that nothing stays but what a person named.
	Keep     map[string]bool
	Merged   map[string][]byte
	KeepHead bool
	All      bool
	// New are files of the state that the snapshot says nothing of and that have appeared
	// since. They are archived; a snapshot of the tree finds them by itself.
	New []string
	// As is how a person asked for it behind the snapshot, as it is typed: an undo that
	// was cut off is to be ended in the same way.
	As string
}

// UndoRuns brings back a snapshot: the content, mode and kind of every file it
// holds, and HEAD and index of git if it has a tree; the same for the checkouts of
// its runs. What has appeared since is archived, never deleted; what the snapshot
// left out stays as it is, and so does what the options keep. A snapshot of the
// present state is taken first.
//
// If the process dies here, Take reports PendingUndo; the same undo again
// comes to the same end.
func (s *Store) UndoRuns(ctx context.Context, id string, o UndoOptions) (*UndoReport, error) {
	snap, before, rep, err := s.beginUndo(ctx, id, o)
	if err != nil {
		return rep, err
	}
	// crash: undo-begun
	if o.Checkouts != nil && snap.Tree != nil {
		if err := o.Checkouts(snap); err != nil {
			return rep, err
		}
	}
	// crash: undo-checkouts
	return rep, s.endUndo(ctx, snap, before, o, rep)
}

func (s *Store) beginUndo(ctx context.Context, id string, o UndoOptions) (snap, before *Snapshot, rep *UndoReport, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes.Add(1)
	if err := s.writable(); err != nil {
		return nil, nil, nil, err
	}
	snap, err = s.loadSnapshot(id)
	if err != nil {
		return nil, nil, nil, err
	}
	now := SnapshotOptions{Tree: snap.Tree != nil, Ignored: snap.Ignored, MaxFile: snap.MaxFile, Note: "before undo to " + id, Runs: o.Runs, To: id}
	for _, f := range snap.Files {
		now.Files = append(now.Files, f.Path)
	}
	for _, name := range o.New {
		if !slices.Contains(now.Files, name) {
			now.Files = append(now.Files, name)
		}
	}
	for name, content := range o.Merged {
		now.Writes = append(now.Writes, FileState{Path: name, Hash: reprise.HashOf(content)})
	}
	if before, err = s.snapshot(ctx, now); err != nil {
		return nil, nil, nil, err
	}
	rep = &UndoReport{ID: id, Before: before.ID, Left: snap.Left}
	if before.Tree != nil {
		rep.Ref = before.Tree.Ref
	}
	return snap, before, rep, s.install(undoFile, []byte(strings.TrimSpace(id+" "+o.As)), nil)
}

func (s *Store) endUndo(ctx context.Context, snap, before *Snapshot, o UndoOptions, rep *UndoReport) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes.Add(1)
	if err := s.writable(); err != nil {
		return err
	}
	if snap.Tree != nil {
		if err := s.restoreTrees(ctx, snap, before, o, rep); err != nil {
			return err
		}
	}
	if err := s.restoreFiles(snap, o, rep); err != nil {
		return err
	}
	if err := s.archiveNew(o.New, rep); err != nil {
		return err
	}
	// crash: undo-done
	return s.remove("end the undo", undoFile)
}

// restoreFiles brings the state files back, all at once.
func (s *Store) restoreFiles(snap *Snapshot, o UndoOptions, rep *UndoReport) error {
	var edits []reprise.Edit
	for _, f := range snap.Files {
		now, err := s.stateOf(f.Path)
		switch {
		case err != nil:
			return err
		case o.Merged[f.Path] != nil:
			edits = append(edits, reprise.Edit{Path: f.Path, Base: now, Content: o.Merged[f.Path], Why: "undo"})
			rep.Restored = append(rep.Restored, f.Path)
			continue
		case now == f.Hash || o.Keep[f.Path]:
			continue
		case f.Hash.IsZero():
			to, err := s.archive(f.Path)
			if err != nil {
				return err
			}
			rep.Archived = append(rep.Archived, to)
			s.dropEmpty(f.Path)
			continue
		}
		content, err := s.getObject(f.Hash)
		if err != nil {
			return err
		}
		edits = append(edits, reprise.Edit{Path: f.Path, Base: now, Content: content, Why: "undo"})
		rep.Restored = append(rep.Restored, f.Path)
	}
	return s.apply(edits)
}

// stateOf is the hash of a file as it is now, zero if there is none.
func (s *Store) stateOf(name string) (reprise.Hash, error) {
	b, _, err := s.readFile(name)
	if missing(err) {
		return reprise.Hash{}, nil
	}
	return reprise.HashOf(b), err
}

// PlanUndo lists the files of the project that an undo would write back, and those
// that have appeared since and would be archived; not those of checkouts of runs. It
// changes nothing.
func (s *Store) PlanUndo(ctx context.Context, snap *Snapshot) (back, appeared []string, err error) {
	for _, f := range snap.Files {
		now, err := s.stateOf(f.Path)
		switch {
		case err != nil:
			return nil, nil, err
		case now == f.Hash:
		case f.Hash.IsZero():
			appeared = append(appeared, f.Path)
		default:
			back = append(back, f.Path)
		}
	}
	if snap.Tree == nil {
		return back, appeared, nil
	}
	g, err := openGit(ctx, s.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range snap.Tree.Entries {
		if !s.entryIs(g, e) {
			back = append(back, string(e.Path))
		}
	}
	var none Snapshot
	names, _, err := s.treeFiles(ctx, g, snap.Ignored, &none)
	appeared = append(appeared, s.appeared(snap, snap.Tree, names)...)
	slices.Sort(back)
	slices.Sort(appeared)
	return slices.Compact(back), slices.Compact(appeared), err
}

// appeared are those of the files that are there and that a snapshot says nothing of.
func (s *Store) appeared(snap *Snapshot, tree *TreeState, names []string) []string {
	then := map[GitPath]bool{}
	for _, e := range tree.Entries {
		then[e.Path] = true
	}
	for _, l := range snap.Left {
		then[l.Path] = true
	}
	for _, f := range snap.Files {
		then[GitPath(f.Path)] = true
	}
	return slices.DeleteFunc(names, func(name string) bool {
		_, err := s.fs.Stat(name)
		return err != nil || then[GitPath(name)] || !treeName(name)
	})
}

// restoreTrees brings back the working tree and those of the runs' checkouts.
func (s *Store) restoreTrees(ctx context.Context, snap, before *Snapshot, o UndoOptions, rep *UndoReport) error {
	g, err := openGit(ctx, s.dir)
	if err != nil {
		return err
	}
	var now []string
	for _, e := range before.Tree.Entries {
		now = append(now, string(e.Path))
	}
	for _, l := range before.Left {
		now = append(now, string(l.Path))
	}
	if err := s.restoreTree(ctx, g, snap, snap.Tree, now, before.ID, o, rep); err != nil {
		return err
	}
	for i, r := range snap.Runs {
		if r.Checkout == nil {
			continue
		}
		if err := s.restoreCheckout(ctx, g, snap, r.Checkout, fmt.Sprintf("%s-%d", before.ID, i+1), rep); err != nil {
			return fmt.Errorf("undo %s: %w", r.ID, err)
		}
	}
	return s.fail("flush", s.fs.Flush())
}

// restoreCheckout brings back what a checkout held. Its folder is there, on its
// branch, wherever that points to.
func (s *Store) restoreCheckout(ctx context.Context, g *git, snap *Snapshot, c *CheckoutState, was string, rep *UndoReport) error {
	if c.Tree == nil {
		ref := "refs/heads/" + c.Branch
		there, err := g.commit(ctx, ref)
		if c.Commit == "" || there != "" || err != nil {
			return err
		}
		_, err = g.run(ctx, nil, "update-ref", "-m", undoMessage, "--create-reflog", ref, c.Commit, strings.Repeat("0", len(c.Commit)))
		return err
	}
	in, err := s.gitAt(ctx, c.Path)
	if err != nil {
		return err
	}
	var none Snapshot
	now, _, err := s.treeFiles(ctx, in, []string{c.State}, &none)
	if err != nil {
		return err
	}
	return s.restoreTree(ctx, in, snap, c.Tree, now, was, UndoOptions{All: true}, rep)
}

// restoreTree brings back one tree. now is what is there, was the name under which
// the commit is kept that its branch points to.
func (s *Store) restoreTree(ctx context.Context, g *git, snap *Snapshot, tree *TreeState, now []string, was string, o UndoOptions, rep *UndoReport) error {
	if _, err := os.Lstat(filepath.Join(g.gitDir, "index.lock")); err == nil {
		return errors.New("undo: git is at work here (index.lock exists)")
	}
	now = slices.DeleteFunc(now, func(name string) bool { return o.Keep[name] })
	if err := s.archiveNew(s.appeared(snap, tree, now), rep); err != nil {
		return err
	}
	if err := s.restoreEntries(ctx, g, snap.ID, tree, o, rep); err != nil || o.KeepHead {
		return err
	}
	staged, err := g.staged(ctx, tree, o)
	if err != nil {
		return err
	}
	if err := g.restoreHead(ctx, tree, was); err != nil {
		return err
	}
	if err := s.restoreIndex(g, tree); err != nil || len(staged) == 0 {
		return err
	}
	return g.stage(ctx, staged)
}

// archiveNew moves away what is there now and was not there then.
func (s *Store) archiveNew(names []string, rep *UndoReport) error {
	for _, name := range names {
		if _, err := s.fs.Stat(name); err != nil {
			continue // it was in a folder that has been moved
		}
		to, err := s.archiveAny(name)
		var secret *SecretError
		if errors.As(err, &secret) {
			rep.Left = append(rep.Left, Left{Path: GitPath(name), Why: "it holds secrets and stays"})
			continue
		}
		if err != nil {
			return err
		}
		rep.Archived = append(rep.Archived, to)
		s.dropEmpty(name)
	}
	return nil
}

// dropEmpty removes the folders that are empty without a file that was moved away, as git
// does. One that stays does no harm.
func (s *Store) dropEmpty(name string) {
	for _, dir := range parents(name) {
		info, err := s.fs.Stat(dir)
		if err != nil || dir == "." || !info.Mode.IsDir() || s.fs.Remove(dir) != nil { // an empty one alone can be removed
			return
		}
	}
}

// archiveAny archives a name of any bytes.
func (s *Store) archiveAny(name string) (string, error) {
	if fs.ValidPath(name) {
		return s.archive(name)
	}
	return s.archiveTo(name, "odd-name")
}

// restoreEntries writes back every file that is not what it was.
func (s *Store) restoreEntries(ctx context.Context, g *git, id string, tree *TreeState, o UndoOptions, rep *UndoReport) error {
	var todo []TreeEntry
	var blobs []string
	for _, e := range tree.Entries {
		if !treeName(string(e.Path)) {
			return &DamageError{Path: snapshotPath(id), Cause: fmt.Sprintf("%q is no path of the project", e.Path)}
		}
		if o.Keep[string(e.Path)] || s.entryIs(g, e) {
			continue
		}
		todo, blobs = append(todo, e), append(blobs, e.Blob)
	}
	return g.blobs(ctx, blobs, func(i int, content []byte) error {
		if g.blobName(content) != todo[i].Blob {
			return fmt.Errorf("undo %s: git gave another content", todo[i].Path)
		}
		rep.Restored = append(rep.Restored, string(todo[i].Path))
		return s.restoreEntry(todo[i], content, rep)
	})
}

// entryIs reports whether a file is what it was.
func (s *Store) entryIs(g *git, e TreeEntry) bool {
	if s.obstacle(string(e.Path)) != "" {
		return false
	}
	now, content, _ := s.readEntry(string(e.Path), maxFile)
	return content != nil && now.Mode == e.Mode && g.blobName(content) == e.Blob
}

// obstacle gives the first part of a path that is no folder though it must be.
func (s *Store) obstacle(name string) string {
	above := parents(name)
	for i := len(above) - 2; i >= 0; i-- {
		info, err := s.fs.Stat(above[i])
		if err == nil && !info.Mode.IsDir() {
			return above[i]
		}
	}
	return ""
}

func (s *Store) restoreEntry(e TreeEntry, content []byte, rep *UndoReport) error {
	name := string(e.Path)
	inWay := s.obstacle(name)
	if info, err := s.fs.Stat(name); inWay == "" && err == nil && info.Mode.Type() != e.Mode.Type() {
		inWay = name
	}
	if inWay != "" {
		to, err := s.archiveAny(inWay)
		if err != nil {
			return err
		}
		rep.Archived = append(rep.Archived, to)
	}
	if err := s.makeDirs(path.Dir(name), 0o755); err != nil {
		return err
	}
	if e.Mode&fs.ModeSymlink != 0 {
		return s.restoreLink(name, string(content))
	}
	like := Info{Mode: e.Mode, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	if now, err := s.fs.Stat(name); err == nil {
		like.UID, like.GID = now.UID, now.GID
	}
	temp, err := s.stage(name, content, &like)
	if err != nil {
		return err
	}
	return s.rename(temp, name)
}

func (s *Store) restoreLink(name, target string) error {
	token, err := s.token()
	if err != nil {
		return err
	}
	temp := path.Join(path.Dir(name), tempPrefix+token+tempSuffix)
	if err := s.fail("link "+name, s.fs.Symlink(target, temp)); err != nil {
		return err
	}
	return s.rename(temp, name)
}

// restoreIndex puts git's index back, byte by byte.
func (s *Store) restoreIndex(g *git, tree *TreeState) error {
	have, err := os.ReadFile(filepath.Join(g.gitDir, "index"))
	if (err == nil && reprise.HashOf(have) == tree.Index) || (missing(err) && tree.Index.IsZero()) {
		return nil
	}
	disk, err := OpenFS(g.gitDir) // a linked worktree has its index elsewhere
	if err != nil {
		return err
	}
	defer disk.(*osFS).close()
	side := &Store{fs: disk, o: s.o, lease: s.lease, swept: map[string]bool{}}
	if tree.Index.IsZero() {
		// The snapshot that was taken before this undo holds it.
		return s.fail("restore the index", errors.Join(disk.Remove("index"), disk.SyncDir(".")))
	}
	want, err := s.getObject(tree.Index)
	if err != nil {
		return err
	}
	var like *Info
	if info, err := disk.Stat("index"); err == nil {
		like = &info
	}
	return s.fail("restore the index", side.install("index", want, like))
}

const (
	undoMessage = "reprise: undo" // in git's reflogs
	wasRefs     = "refs/reprise/was/"
)

// restoreHead puts HEAD and its branch back. What the branch pointed to is kept
// by a private ref.
func (g *git) restoreHead(ctx context.Context, tree *TreeState, was string) error {
	const why = undoMessage
	on, err := g.branch(ctx)
	if err != nil {
		return err
	}
	if on != tree.Branch && tree.Branch != "" {
		if _, err := g.run(ctx, nil, "symbolic-ref", "-m", why, "HEAD", tree.Branch); err != nil {
			return err
		}
	}
	old, err := g.commit(ctx, "HEAD")
	if err != nil || old == tree.Head && (tree.Branch != "" || on == "") {
		return err
	}
	if old != "" {
		if _, err := g.run(ctx, nil, "update-ref", wasRefs+was, old); err != nil {
			return err
		}
	}
	switch {
	case tree.Branch == "":
		_, err = g.run(ctx, nil, "update-ref", "--no-deref", "-m", why, "HEAD", tree.Head)
	case tree.Head == "":
		_, err = g.run(ctx, nil, "update-ref", "-m", why, "-d", tree.Branch, old)
	default:
		_, err = g.run(ctx, nil, "update-ref", "-m", why, "--create-reflog", tree.Branch, tree.Head)
	}
	return err
}
