package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reprise"
)

// SnapshotOptions say what a snapshot holds.
type SnapshotOptions struct {
	// Files are state files that are copied whatever git thinks of them. One
	// that does not exist is recorded as such.
	Files []string
	// Tree keeps the working tree as well, if the project is in a git
	// repository: tracked, changed and untracked files, and of the ignored
	// ones those in Ignored (files or folders).
	Tree    bool
	Ignored []string
	// MaxFile is the largest file of the tree that is kept; larger ones are
	// listed in Left. Zero stands for 50 MiB.
	MaxFile int64
	Note    string
	// Runs are the runs it is about, with the branch and the checkout of each
	// as they are; the files of the checkouts are kept with the tree.
	Runs []RunState
	// Writes is what the operation it is taken for is about to write, where that is
	// known; To is the snapshot that is brought back next.
	Writes []FileState
	To     string
}

// RunState is one run that a snapshot is about.
type RunState struct {
	Layout string `json:"layout"`
	ID     string `json:"id"`
	Path   string `json:"path"`
	// Checkout is nil for a run that is worked on in the project itself.
	Checkout *CheckoutState `json:"checkout,omitempty"`
	// Unknown is why the branch and the checkout could not be looked at.
	Unknown string `json:"unknown,omitempty"`
}

// CheckoutState is the branch and the checkout that a run has for itself.
type CheckoutState struct {
	Branch string `json:"branch"` // its short name
	Commit string `json:"commit"` // "" if there was no such branch
	Path   string `json:"path"`   // in the project, "" if there was no checkout
	// State is the folder in the checkout that holds the run's state; it is
	// kept though git may ignore it.
	State string     `json:"state,omitempty"`
	Tree  *TreeState `json:"tree,omitempty"`
}

// Snapshot is a state that can be brought back.
type Snapshot struct {
	ID    string      `json:"id"`
	At    time.Time   `json:"at"`
	Gen   uint64      `json:"gen"`
	Note  string      `json:"note,omitempty"`
	Files []FileState `json:"files,omitempty"`
	Tree  *TreeState  `json:"tree,omitempty"`
	// Runs is nil in a snapshot of an earlier version: it knows nothing of
	// branches and checkouts of runs.
	Runs []RunState `json:"runs"`
	// Writes and To are what it was taken for: see SnapshotOptions.
	Writes []FileState `json:"writes,omitempty"`
	To     string      `json:"to,omitempty"`
	// Left is what the snapshot does not hold and why. It is never silent.
	Left    []Left   `json:"left,omitempty"`
	Ignored []string `json:"ignored,omitempty"`
	MaxFile int64    `json:"max_file,omitempty"`
}

// FileState is one state file; a zero Hash stands for a file that did not exist.
type FileState struct {
	Path string       `json:"path"`
	Hash reprise.Hash `json:"hash"`
}

// TreeState is a working tree.
type TreeState struct {
	Ref     string       `json:"ref"`    // the private ref that keeps the contents
	Head    string       `json:"head"`   // the commit, "" before the first
	Branch  string       `json:"branch"` // the full name of the ref, "" if detached
	Index   reprise.Hash `json:"index"`  // git's index, zero if there was none
	Entries []TreeEntry  `json:"entries"`
}

// TreeEntry is one file or link of a working tree.
type TreeEntry struct {
	Path GitPath     `json:"path"`
	Mode fs.FileMode `json:"mode"`
	Blob string      `json:"blob"` // the name of its content in git
}

// GitPath is a path that may hold any bytes. In JSON it is a text, or a list
// with one text in base64 if it is none.
type GitPath string

// MarshalJSON writes it so that no byte is lost.
func (p GitPath) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(p)) {
		return json.Marshal(string(p))
	}
	return json.Marshal([][]byte{[]byte(p)})
}

// UnmarshalJSON reads both forms.
func (p *GitPath) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var raw [][]byte
		if err := json.Unmarshal(b, &raw); err != nil || len(raw) != 1 {
			return fmt.Errorf("parse path: %s is none", b)
		}
		*p = GitPath(raw[0])
		return nil
	}
	return json.Unmarshal(b, (*string)(p))
}

// Left is something that a snapshot does not hold.
type Left struct {
	Path GitPath `json:"path"`
	Size int64   `json:"size,omitempty"`
	Why  string  `json:"why"`
}

const (
	snapshotVersion = "p1"
	snapshotRefs    = "refs/reprise/snap/"
	defaultMaxFile  = 50 << 20
)

func snapshotPath(id string) string { return path.Join(snapshotDir, id+".json") }

// Snapshot keeps a state so that Undo can bring it back. It changes nothing in
// the project: not the index, not the stash, not what git status says.
//
// When it returns nil all of it is durable. If the process dies here, there is
// no snapshot, only contents that no one names.
func (s *Store) Snapshot(ctx context.Context, o SnapshotOptions) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	return s.snapshot(ctx, o)
}

func (s *Store) snapshot(ctx context.Context, o SnapshotOptions) (*Snapshot, error) {
	if o.MaxFile <= 0 || o.MaxFile > maxFile {
		o.MaxFile = defaultMaxFile
	}
	id, err := s.nextSnapshot()
	if err != nil {
		return nil, err
	}
	snap := &Snapshot{ID: id, At: s.o.Now().UTC(), Gen: s.lease.holder.Generation, Note: o.Note, Ignored: o.Ignored, MaxFile: o.MaxFile, Writes: o.Writes, To: o.To}
	for _, name := range o.Files {
		if isTemp(path.Base(name)) {
			continue // left by a process that died; no part of any state
		}
		if err := checkPath(name); err != nil {
			return nil, err
		}
		state := FileState{Path: name}
		if b, _, err := s.readFile(name); err == nil {
			state.Hash = reprise.HashOf(b)
			if err := s.putObject(state.Hash, b); err != nil {
				return nil, err
			}
		} else if !missing(err) {
			return nil, err
		}
		snap.Files = append(snap.Files, state)
	}
	if o.Tree {
		snap.Runs = slices.Clone(o.Runs)
		if err := s.keepTrees(ctx, snap, o); err != nil {
			return nil, err
		}
	}
	// crash: snapshot-contents-durable
	return snap, s.installJSON(snapshotPath(id), snapshotVersion, snap)
}

// nextSnapshot numbers snapshots; the number of one that was never completed is
// used again.
func (s *Store) nextSnapshot() (string, error) {
	ids, err := s.snapshotIDs()
	if err != nil {
		return "", err
	}
	last := 0
	if len(ids) > 0 {
		last, _ = strconv.Atoi(ids[len(ids)-1])
	}
	return fmt.Sprintf("%06d", last+1), nil
}

func (s *Store) snapshotIDs() ([]string, error) {
	entries, err := s.fs.List(snapshotDir)
	if missing(err) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name, ".json")
		if ok && len(id) == 6 && strings.Trim(id, "0123456789") == "" {
			out = append(out, id)
		}
	}
	return out, s.explain(err)
}

// Snapshots lists all snapshots, oldest first. One that cannot be read is an
// error beside the others.
func (s *Store) Snapshots() ([]Snapshot, error) {
	ids, err := s.snapshotIDs()
	var out []Snapshot
	for _, id := range ids {
		snap, readErr := s.loadSnapshot(id)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		out = append(out, *snap)
	}
	return out, err
}

func (s *Store) loadSnapshot(id string) (*Snapshot, error) {
	if len(id) != 6 || strings.Trim(id, "0123456789") != "" {
		return nil, fmt.Errorf("read snapshot %q: not the number of one", id)
	}
	b, _, err := s.readFile(snapshotPath(id))
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", id, err)
	}
	var snap Snapshot
	return &snap, openJSON(snapshotPath(id), snapshotVersion, b, &snap)
}

// treeName gives the path of a file of the tree below the project, and whether
// it is one that may be touched.
func treeName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return !isState(name) && !isTemp(path.Base(name))
}

// Kept reads the content of a file that a snapshot holds, by its hash.
func (s *Store) Kept(h reprise.Hash) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.getObject(h)
}
