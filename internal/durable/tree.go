package durable

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
)

// keepTrees keeps the working tree and those of the runs' checkouts.
func (s *Store) keepTrees(ctx context.Context, snap *Snapshot, o SnapshotOptions) error {
	g, err := openGit(ctx, s.dir)
	if errors.Is(err, errNoGit) {
		snap.Left = append(snap.Left, Left{Path: ".", Why: "the project is not in a git repository: only the state files are kept"})
		return nil
	}
	if err != nil {
		return err
	}
	// The generation makes it a name that no git of a dead process can have
	// locked, or be about to write.
	ref := fmt.Sprintf("%s%s-%d", snapshotRefs, snap.ID, snap.Gen)
	snap.Tree = &TreeState{Ref: ref}
	if err := s.keepTree(ctx, g, snap, snap.Tree, o.Ignored); err != nil {
		return err
	}
	for i := range snap.Runs {
		if snap.Runs[i].Checkout == nil {
			continue
		}
		c := *snap.Runs[i].Checkout // the caller's stays as it is
		snap.Runs[i].Checkout = &c
		at := fmt.Sprintf("%s-%d", ref, i+1)
		if c.Path == "" {
			if c.Commit != "" {
				if _, err := g.run(ctx, nil, "update-ref", at, c.Commit); err != nil {
					return err
				}
			}
			continue
		}
		in, err := s.gitAt(ctx, c.Path)
		if err != nil {
			return err
		}
		c.Tree = &TreeState{Ref: at}
		if err := s.keepTree(ctx, in, snap, c.Tree, []string{c.State}); err != nil {
			return err
		}
		snap.Left = slices.DeleteFunc(snap.Left, func(l Left) bool { return string(l.Path) == c.Path+"/" })
		if c.Tree.Branch != "refs/heads/"+c.Branch || c.Tree.Head != c.Commit {
			return fmt.Errorf("snapshot: %s was changed meanwhile", c.Path)
		}
	}
	// git does not sync the folders of its refs.
	return s.fail("flush", s.fs.Flush())
}

// gitAt opens the checkout in a folder of the project.
func (s *Store) gitAt(ctx context.Context, place string) (*git, error) {
	if err := checkPath(place); err != nil {
		return nil, err
	}
	g, err := openGit(ctx, filepath.Join(s.dir, filepath.FromSlash(place)))
	if err == nil && g.prefix != "" {
		err = fmt.Errorf("open checkout %s: there is none", place)
	}
	if err != nil {
		return nil, err
	}
	g.at = place + "/"
	return g, nil
}

// keepTree keeps one working tree under a private ref. The contents go to git
// as they are on the disk, byte by byte, past every filter and line end rule.
func (s *Store) keepTree(ctx context.Context, g *git, snap *Snapshot, tree *TreeState, ignored []string) error {
	tree.Head, tree.Branch = g.head, g.on
	if err := s.keepIndex(g, tree, snap); err != nil {
		return err
	}
	names, staged, err := s.treeFiles(ctx, g, ignored, snap)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := s.writeImport(w, g, snap, tree, names, staged)
		w.CloseWithError(err)
		written <- err
	}()
	_, err = g.run(ctx, r, "fast-import", "--quiet", "--done", "--force", "--date-format=raw")
	r.CloseWithError(io.ErrClosedPipe) // a writer that git no longer reads must end
	if failed := <-written; err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	kept, err := g.holds(ctx, tree.Ref)
	if err == nil && !kept {
		err = fmt.Errorf("snapshot: git did not keep %s", tree.Ref)
	}
	return err
}

// keepIndex copies git's index, byte by byte.
func (s *Store) keepIndex(g *git, tree *TreeState, snap *Snapshot) error {
	b, err := os.ReadFile(filepath.Join(g.gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if shared, _ := filepath.Glob(filepath.Join(g.gitDir, "sharedindex.*")); len(shared) > 0 {
		snap.Left = append(snap.Left, Left{Path: GitPath(g.at + ".git/index"), Why: "git's index is split; only its upper part is kept"})
	}
	for _, busy := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG"} {
		if _, err := os.Lstat(filepath.Join(g.gitDir, busy)); err == nil {
			snap.Left = append(snap.Left, Left{Path: GitPath(g.at + ".git/" + busy), Why: "git is in the middle of an operation; its notes are not kept"})
		}
	}
	tree.Index = reprise.HashOf(b)
	return s.putObject(tree.Index, b)
}

// treeFiles lists the files of the tree: what git tracks, what is new, and what
// is ignored and asked for. staged is what the index has of them, as writeImport takes it.
func (s *Store) treeFiles(ctx context.Context, g *git, ignored []string, snap *Snapshot) (names, staged []string, err error) {
	list, err := g.list(ctx, "ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, nil, err
	}
	for _, line := range list { // "? PATH", or another letter and "MODE NAME STAGE\tPATH"
		tag, name, _ := strings.Cut(line, " ")
		if tag != "?" {
			entry, below, _ := strings.Cut(name, "\t")
			staged = append(staged, entry+"\t"+g.prefix+below)
			name = below
		}
		names = append(names, g.at+name)
	}
	for _, extra := range ignored {
		if err := s.addIgnored(extra, &names, snap); err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), staged, nil
}

func (s *Store) addIgnored(name string, names *[]string, snap *Snapshot) error {
	info, err := s.fs.Stat(name)
	var link *LinkError
	switch {
	case missing(err):
		return nil
	case err == nil && strings.HasPrefix(path.Base(name), ".env"):
		snap.Left = append(snap.Left, Left{Path: GitPath(name), Why: "it may hold secrets and stays as it is"})
		return nil
	case errors.As(err, &link):
		snap.Left = append(snap.Left, Left{Path: GitPath(name), Why: "it lies behind a link"})
		return nil
	case err != nil:
		return err
	case !info.Mode.IsDir():
		*names = append(*names, name)
		return nil
	}
	entries, err := s.fs.List(name)
	if err != nil {
		snap.Left = append(snap.Left, Left{Path: GitPath(name), Why: err.Error()})
		return nil
	}
	for _, e := range entries {
		if e.Name != ".git" {
			if err := s.addIgnored(path.Join(name, e.Name), names, snap); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeImport writes the stream for git fast-import and fills the entries.
func (s *Store) writeImport(w io.Writer, g *git, snap *Snapshot, tree *TreeState, names, staged []string) error {
	fmt.Fprintf(w, "feature done\n")
	for _, name := range names {
		entry, content, left := s.readEntry(name, snap.MaxFile)
		if left != nil {
			snap.Left = append(snap.Left, *left)
		}
		if content == nil {
			continue
		}
		entry.Blob = g.blobName(content)
		tree.Entries = append(tree.Entries, entry)
		if _, err := fmt.Fprintf(w, "blob\ndata %d\n%s\n", len(content), content); err != nil {
			return err
		}
	}
	message := "reprise snapshot " + snap.ID + "\n"
	fmt.Fprintf(w, "commit %s\ncommitter reprise <reprise@localhost> %d +0000\ndata %d\n%s", tree.Ref, snap.At.Unix(), len(message), message)
	if tree.Head != "" {
		fmt.Fprintf(w, "from %s\n", tree.Head)
	}
	fmt.Fprintf(w, "deleteall\n")
	for _, e := range tree.Entries {
		fmt.Fprintf(w, "M %s %s %s\n", gitMode(e.Mode), e.Blob, quoteGit("files/"+string(e.Path)))
	}
	for _, line := range staged { // "MODE NAME STAGE\tPATH"
		head, name, ok := strings.Cut(line, "\t")
		part := strings.Fields(head)
		if ok && len(part) == 3 && part[0] != "160000" {
			fmt.Fprintf(w, "M %s %s %s\n", part[0], part[1], quoteGit("index/"+part[2]+"/"+name))
		}
	}
	_, err := fmt.Fprintf(w, "done\n")
	return err
}

// readEntry reads one file of the tree. A nil content tells that it is not kept;
// left says why, if it is there at all.
func (s *Store) readEntry(name string, limit int64) (TreeEntry, []byte, *Left) {
	entry := TreeEntry{Path: GitPath(name)}
	leave := func(size int64, why string) (TreeEntry, []byte, *Left) {
		return entry, nil, &Left{Path: GitPath(name), Size: size, Why: why}
	}
	if strings.HasSuffix(name, "/") {
		return leave(0, "it is a repository of its own")
	}
	if !treeName(name) {
		if isState(name) || isTemp(path.Base(name)) {
			return entry, nil, nil
		}
		return leave(0, "its name is not one that can be brought back")
	}
	info, err := s.fs.Stat(name)
	var link *LinkError
	if missing(err) || errors.As(err, &link) {
		// Deleted, and recorded as such by its absence; also where a link stands
		// in the place of its folder, which is an entry of its own.
		return entry, nil, nil
	}
	if err != nil {
		return leave(0, err.Error())
	}
	entry.Mode = info.Mode
	switch {
	case info.Mode&fs.ModeSymlink != 0:
		target, err := s.fs.Readlink(name)
		if err != nil {
			return leave(0, err.Error())
		}
		return entry, append([]byte{}, target...), nil
	case info.Mode.IsDir():
		return leave(0, "it is a repository of its own")
	case info.Size > limit:
		return leave(info.Size, "it is larger than the limit")
	}
	content, _, err := s.readFile(name)
	if err != nil {
		return leave(info.Size, err.Error())
	}
	return entry, append([]byte{}, content...), nil
}

func gitMode(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "120000"
	case m&0o111 != 0:
		return "100755"
	}
	return "100644"
}

// blobName is the name git gives a content.
func (g *git) blobName(content []byte) string {
	if g.format == "sha256" {
		return blobName(content, 2*sha256.Size)
	}
	return blobName(content, 2*sha1.Size)
}

// blobName is the name git gives a content where its names are that long.
func blobName(content []byte, digits int) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "blob %d\x00", len(content))
	b.Write(content)
	if digits == 2*sha256.Size {
		sum := sha256.Sum256(b.Bytes())
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(b.Bytes())
	return hex.EncodeToString(sum[:])
}
