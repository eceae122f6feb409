package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Git is the shared disk of the fleet. A worker has one bare mirror of the remote. An attempt
// works in a checkout of its own that can read the mirror's objects and is thrown away
// afterwards. A turn, in which no agent works, has one that writes its objects to the mirror
// and is kept for the next turn.

// Mirror is a worker's copy of the remote.
type Mirror struct {
	Remote string // address
	Dir    string // the worker's own folder
	Keep   int    // how many checkouts of turns are kept

	mu      sync.Mutex
	kept    []*Checkout // of turns that are over, the last used first
	fetches int         // since its objects were packed
}

// open makes the mirror, if it is not there.
func (m *Mirror) open(ctx context.Context) (string, error) {
	return m.initial(ctx, "mirror.git", "--bare")
}

// initial makes a new repository in the worker's folder, if it is not there.
func (m *Mirror) initial(ctx context.Context, name string, options ...string) (string, error) {
	dir := filepath.Join(m.Dir, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(m.Dir, "work-")
	if err != nil {
		return "", err
	}
	if _, err := git(ctx, half, nil, append(append([]string{"init", "-q", "--template="}, options...), half)...); err != nil {
		return "", errors.Join(err, os.RemoveAll(half))
	}
	return dir, os.Rename(half, dir)
}

// Fetch brings refs of the remote to the mirror and returns their commits; a ref that is
// not there is left out. Git looks at what is here by the refs of the mirror, so that a fetch
// that was killed leaves nothing that counts.
func (m *Mirror) Fetch(ctx context.Context, refs ...string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	m.pack(ctx, dir)
	found, err := m.fetch(ctx, dir, refs)
	if err == nil || !strings.Contains(err.Error(), "couldn't find remote ref") {
		return found, err
	}
	// To list refs costs more than to fetch some: a remote lists all that it has.
	listed, err := git(ctx, dir, nil, append([]string{"ls-remote", m.Remote}, refs...)...)
	if err != nil {
		return nil, err
	}
	var there []string
	for line := range strings.Lines(listed) {
		if _, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasSuffix(ref, "^{}") {
			there = append(there, ref)
		}
	}
	if len(there) == 0 {
		return map[string]string{}, nil
	}
	return m.fetch(ctx, dir, there)
}

// packEvery is after how many fetches at the earliest, and manyLoose from how many single
// objects on, the mirror is packed. Git lists the folders of single objects and opens each by
// itself: with 36,000 of them a push took 90 ms of CPU, and 22 ms with one pack.
const (
	packEvery = 100
	manyLoose = 2000
)

// pack packs the single objects of the mirror, and small packs with them. It loses nothing,
// whether a ref has it or not, and git that reads meanwhile finds each object in the old place
// or in the new one. Where it fails the mirror is as good as before, only slower.
func (m *Mirror) pack(ctx context.Context, dir string) {
	if m.fetches++; m.fetches < packEvery {
		return
	}
	m.fetches = 0
	// Names are evenly spread over 256 folders.
	if some, err := os.ReadDir(filepath.Join(dir, "objects", "17")); err == nil && len(some)*256 > manyLoose {
		_, _ = git(ctx, dir, nil, "repack", "-d", "-q", "--geometric=2")
	}
}

// keptBranches bounds how many branches the mirror has refs of: at each fetch, git looks at
// all that its refs reach. Objects stay without a ref, too: the mirror is never collected.
const keptBranches = 16

// fetched is a line of what git notes of a fetch: a commit, and which ref that was.
var fetched = regexp.MustCompile(`(?m)^([0-9a-f]+)\t[a-z-]*\t(?:(branch |tag |)'([^']+)' of )?`)

func (m *Mirror) fetch(ctx context.Context, dir string, refs []string) (map[string]string, error) {
	args := []string{"fetch", "-q", "--no-tags", m.Remote}
	for _, ref := range refs {
		// Attempts come to be part of their branch: a ref of each would only be in the way.
		if branch, is := strings.CutPrefix(ref, "refs/heads/"); is {
			ref = fmt.Sprintf("+%s:refs/kept/branch/%d", ref, sha256.Sum256([]byte(branch))[0]%keptBranches)
		} else if strings.HasSuffix(ref, "*") { // git wants a place for them
			ref = "+" + ref + ":refs/kept/last/*"
		}
		args = append(args, ref)
	}
	if _, err := git(ctx, dir, nil, args...); err != nil {
		return nil, err
	}
	noted, err := os.ReadFile(filepath.Join(dir, "FETCH_HEAD"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, line := range fetched.FindAllStringSubmatch(string(noted), -1) {
		ref := map[string]string{"branch ": "refs/heads/", "tag ": "refs/tags/"}[line[2]] + line[3]
		found[cmp.Or(ref, "HEAD")] = line[1]
	}
	return found, nil
}

// commit is what a commit says.
type commit struct{ tree, parents, message string }

// about reads commits of the mirror.
func (m *Mirror) about(ctx context.Context, names ...string) (map[string]commit, error) {
	out, err := git(ctx, filepath.Join(m.Dir, "mirror.git"), nil, append([]string{"log", "--no-walk=unsorted", "--format=%H%n%T%n%P%n%B%x00"}, names...)...)
	if err != nil {
		return nil, err
	}
	read := map[string]commit{}
	for one := range strings.SplitSeq(out, "\x00") {
		if parts := strings.SplitN(strings.TrimPrefix(one, "\n"), "\n", 4); len(parts) == 4 {
			read[parts[0]] = commit{parts[1], parts[2], parts[3]}
		}
	}
	return read, nil
}

func (m *Mirror) objects() string { return filepath.Join(m.Dir, "mirror.git", "objects") }
