//go:build unix

package world

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

	"reprise/core"
)

// Beside gives the project as a run has it that works on a branch of its own: a pair of the checkout
// at a path in the project, and of the convention's files here. In its worlds both stand where they
// are in the project, and nothing else of the project does. Its branch, its index and its commits are
// those of the checkout; files that lie outside of it are moved, and never committed. The error is
// fs.ErrNotExist if no checkout of this repository is there.
func (r *Repo) Beside(ctx context.Context, at string) (*Repo, error) {
	at = path.Clean(at)
	if !fs.ValidPath(at) || at == "." {
		return nil, fmt.Errorf("a checkout in %q: %w", at, fs.ErrInvalid)
	}
	s, err := r.checkout(ctx, "branch."+strings.ReplaceAll(at, "/", "."), filepath.Join(r.Top, filepath.FromSlash(at)))
	if err != nil {
		return nil, err
	}
	pair := *r
	pair.beside, pair.at = s, at
	pair.Keep(r.Always)
	return &pair, nil
}

// Project gives the project itself; of a pair it is where the convention's files are.
func (r *Repo) Project() *Repo {
	if r.beside == nil {
		return r
	}
	plain := *r
	plain.beside, plain.at = nil, ""
	return &plain
}

// Keep sets the files that are in every world, whether or not git ignores them: those of the
// convention.
func (r *Repo) Keep(names []string) {
	r.Always = names
	if r.beside == nil {
		return
	}
	r.beside.Always = nil
	for _, name := range names {
		if below, ok := r.within(name); ok {
			r.beside.Always = append(r.beside.Always, below)
		}
	}
}

// Dir gives where an agent works that works in the project's folder of this name; in the checkout
// of a pair that is where it has the same folder.
func (r *Repo) Dir(below string) string {
	return filepath.Join(r.Top, filepath.FromSlash(r.at), filepath.FromSlash(below))
}

// within gives a path of a pair as its checkout has it.
func (r *Repo) within(name string) (string, bool) { return strings.CutPrefix(name, r.at+"/") }

// takePair is Take for a pair.
func (r *Repo) takePair(ctx context.Context) (core.World, error) {
	work, err := r.beside.Take(ctx)
	if err != nil {
		return "", err
	}
	files := map[string]Entry{}
	for _, of := range r.Always {
		if Below(of, r.at) {
			continue
		}
		for _, name := range r.filesOf(of) {
			if !Below(name, r.at) {
				if files[name], err = r.onDisk(ctx, name); err != nil {
					return "", err
				}
			}
		}
	}
	w, err := r.build(ours, "", files)
	if err != nil {
		return "", err
	}
	return r.put(core.World(w), work)
}

// put gives a world of a pair with another one in its checkout.
func (r *Repo) put(w, work core.World) (core.World, error) {
	if work == "" {
		return w, nil
	}
	id, err := r.build(ours, string(w), map[string]Entry{r.at: {dirMode, string(work)}})
	return core.World(id), err
}

// work gives the part of a world of a pair that is in its checkout.
func (r *Repo) work(w core.World) (core.World, error) {
	id := string(w)
	for name := range strings.SplitSeq(r.at, "/") {
		list, err := r.items(id)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(list, func(it item) bool { return it.name == name && it.Mode == dirMode })
		if i < 0 {
			return "", nil
		}
		id = list[i].ID
	}
	return core.World(id), nil
}

// inWork gives a move of a pair as the checkout sees it: what is committed of it.
func (r *Repo) inWork(m *core.Move) (_ *core.Move, err error) {
	out := *m
	for _, w := range []*core.World{&out.Base, &out.From, &out.To} {
		if *w, err = r.work(*w); err != nil {
			return nil, err
		}
	}
	out.Whole, out.Aside, out.Own = r.namesInWork(m.Whole), r.namesInWork(m.Aside), map[string]string{}
	for name, blob := range m.Own {
		if below, ok := r.within(name); ok {
			out.Own[below] = blob
		}
	}
	return &out, nil
}

func (r *Repo) namesInWork(names []string) (out []string) {
	for _, name := range names {
		if below, ok := r.within(name); ok {
			out = append(out, below)
		}
	}
	return out
}

// fromWork gives paths of the checkout as the pair has them.
func (r *Repo) fromWork(names []string) (out []string) {
	for _, name := range names {
		out = append(out, path.Join(r.at, name))
	}
	return out
}

// headOf gives where the branch of the checkout stands, with its tree as the pair has it.
func (r *Repo) headOf() (h HeadNow, err error) {
	if h, err = r.beside.Head(); err != nil || h.Tree == "" {
		return h, err
	}
	tree, err := r.put("", core.World(h.Tree))
	h.Tree = string(tree)
	return h, err
}

// checkout opens a checkout of this repository that lies in the project, by a name for its index.
func (r *Repo) checkout(ctx context.Context, name, top string) (*Repo, error) {
	if s := r.slots[name]; s != nil {
		return s, nil
	}
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		return nil, err
	}
	out, err := r.command(ctx, top, clean(r.environ), nil, "rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-path", "objects")
	if err != nil {
		return nil, err
	}
	f := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(f) != 2 || f[1] != r.objects {
		return nil, fmt.Errorf("%s is no checkout of this repository: %w", top, fs.ErrNotExist)
	}
	s := *r
	s.Top, s.indexName, s.gitDir = top, "index."+name, f[0]
	s.seen, s.last, s.staged, s.stamp, s.unread, s.slots, s.beside, s.at = "", "", "", "", false, nil, nil, ""
	if s.batch, err = startBatch(&s); err != nil {
		return nil, err
	}
	if !s.looking {
		s.dropLock()
	}
	if r.slots == nil {
		r.slots = map[string]*Repo{}
	}
	r.slots[name] = &s
	return &s, nil
}

// apartInWork is Apart for a pair.
func (r *Repo) apartInWork(ctx context.Context, m *core.Move) (files map[string]Entry, torn []string, err error) {
	m, err = r.inWork(m)
	if err != nil {
		return nil, nil, err
	}
	head, err := r.beside.Head()
	if err != nil {
		return nil, nil, err
	}
	work, torn, err := r.beside.Apart(ctx, m, head)
	files = map[string]Entry{}
	for name, e := range work {
		files[path.Join(r.at, name)] = e
	}
	return files, r.fromWork(torn), err
}

// Home puts the checkout of a pair back on its branch where somebody left it on another one, or on
// none, that goes on from it: the branch comes along, and the files stay. It reports whether it did.
func (r *Repo) Home(ctx context.Context, branch string) (done bool, err error) {
	head, err := r.beside.Head()
	if err != nil || head.Branch == branch || head.Commit == "" {
		return false, err
	}
	tip, _, _, err := r.beside.read(branch)
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	has := false
	if err == nil {
		has, err = r.beside.Has(ctx, head.Commit, tip)
	}
	if err != nil || !has {
		return false, err
	}
	const why = "reprise: back on the branch of the run"
	if tip != head.Commit {
		if _, err := r.beside.git(ctx, users, nil, "update-ref", "-m", why, branch, head.Commit, tip); err != nil {
			return false, err
		}
	}
	_, err = r.beside.git(ctx, users, nil, "symbolic-ref", "-m", why, "HEAD", branch)
	return err == nil, err
}
