// Package tree opens a project folder for reading only.
//
// A tree.FS never writes, never follows a link out of the folder or into those
// of git and of our own, never opens anything but regular files and folders (so
// that a FIFO cannot stall a reader), and lists each folder once: what was listed
// stays as it was seen. A link is read, and listed, as the file it leads to; one
// to a folder is listed as that one in hidden folders, where tools keep state.
// What holds no state — git's folders, vendored packages, what git ignores, other
// checkouts of the same repository, and files of programs and media — is left
// out of listings; it can still be opened by name.
package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"reprise/internal/doc"
	"reprise/internal/link"
)

// Options say what a listing leaves out.
type Options struct {
	// Marks are folder names that may hold state. They are listed even where
	// git ignores them: people ignore the state folders of their agents.
	Marks []string
	// All lists everything but git's folders and our own.
	All bool
	// Within, if set, narrows listings to folders that bear a mark, what is
	// below them, and the way to these paths. It keeps the second and third
	// checkout of a large repository cheap.
	Within []string
	// Time, if set, does something in the time that a reader has, or that a search through the whole
	// tree has, and reports whether it ended. It does not wait for what did not.
	Time func(search bool, do func()) (ended bool)
}

// Problem is a folder that could not be listed, or a link that was not followed.
type Problem struct {
	Path string
	Err  error
}

// FS is a guarded, read-only view of one folder. It is safe for concurrent use.
type FS struct {
	root root
	opts Options

	busy atomic.Int64 // readers that have not ended
	gone atomic.Bool  // Close was called

	mu       sync.Mutex
	dirs     map[string]*listing
	listed   int // entries of folders below a mark
	problems []Problem
	skipped  []string
	linked   []string
	index    func() map[string][]string
}

type listing struct {
	entries []fs.DirEntry
	err     error
	rules   *ignoreRules // in force for the entries of this folder
	kept    bool         // ignored by git, listed because of its name
}

// Open opens the folder. The caller closes it.
func Open(dir string, opts Options) (*FS, error) {
	r, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	t := &FS{root: r, opts: opts, dirs: map[string]*listing{}}
	t.index = sync.OnceValue(func() map[string][]string { return doc.Walk(t) })
	return t, nil
}

// Index is what doc.Walk gives; the tree is walked once.
func (t *FS) Index() map[string][]string { return t.index() }

// Close releases the folder, once the readers have ended that nobody waits for.
func (t *FS) Close() error {
	if t.gone.Store(true); t.busy.Load() > 0 {
		return nil
	}
	return t.root.close()
}

// InTime implements what reprise.InTime asks for, Search the same for a search through all of the
// tree.
func (t *FS) InTime(do func()) (ended bool) { return t.within(false, do) }

// Search is InTime for a search through all of the tree.
func (t *FS) Search(do func()) (ended bool) { return t.within(true, do) }

func (t *FS) within(search bool, do func()) bool {
	if t.opts.Time == nil {
		do()
		return true
	}
	return t.opts.Time(search, func() {
		t.busy.Add(1)
		defer func() {
			if t.busy.Add(-1) == 0 && t.gone.Load() {
				_ = t.root.close() // nobody reads it any more
			}
		}()
		do()
	})
}

// Problems returns what could not be listed or followed so far, by path.
func (t *FS) Problems() []Problem {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.problems)
	slices.SortStableFunc(out, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	// Two readers may have listed a folder at the same time.
	return slices.CompactFunc(out, func(a, b Problem) bool { return a.Path == b.Path })
}

// Skipped returns the folders that listings left out so far because git ignores
// them, sorted.
func (t *FS) Skipped() []string { return t.sorted(&t.skipped) }

// Checkouts returns the other checkouts of a repository met inside the folder
// (linked worktrees), sorted.
func (t *FS) Checkouts() []string { return t.sorted(&t.linked) }

func (t *FS) sorted(list *[]string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(*list)
	slices.Sort(out)
	return slices.Compact(out)
}

// Open opens a regular file or a folder.
func (t *FS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, info, err := t.root.open(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &dir{File: f, fsys: t, name: name}, nil
	}
	return f, nil
}

// OpenRegular opens a regular file and tells what it is, in one go: nothing
// else gets past the root, so that no look before the leap is needed.
func (t *FS) OpenRegular(name string) (fs.File, fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, info, err := t.root.open(name)
	if err == nil && info.IsDir() {
		f.Close()
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: doc.ErrNotRegular}
	}
	return f, info, err
}

// ReadFile implements fs.ReadFileFS. It reads a regular file that is no larger than
// what is read of a state file, whatever size it claims to have.
func (t *FS) ReadFile(name string) ([]byte, error) {
	in, info, err := t.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var data []byte
	if info.Size() <= doc.MaxSize {
		data, err = io.ReadAll(io.LimitReader(in, doc.MaxSize+1))
	}
	if info.Size() > doc.MaxSize || len(data) > doc.MaxSize {
		err = &fs.PathError{Op: "read", Path: name, Err: errTooLarge}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// maxListed bounds how much is listed in all folders that bear a mark: each file there
// can be a step of its own. Outside of them a file costs next to nothing.
const maxListed = 50_000

// errTooDeep is for what is deeper.
var errTooDeep = fmt.Errorf("it is more than %d folders deep", doc.MaxDeep)

// errTooMany is for folders that hold more.
var errTooMany = fmt.Errorf("there are more than %d files where state is kept", maxListed)

// errTooLarge is for files that no one reads whole.
var errTooLarge = fmt.Errorf("larger than %d MiB", doc.MaxSize>>20)

// dir lists through the FS, so that both ways of listing agree.
type dir struct {
	fs.File
	fsys *FS
	name string
	rest []fs.DirEntry
	read bool
}

// ReadDir implements fs.ReadDirFile.
func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		entries, err := d.fsys.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.rest, d.read = entries, true
	}
	if n <= 0 {
		out := d.rest
		d.rest = nil
		return out, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out, nil
}

// Stat follows links inside the tree and refuses those that leave it.
func (t *FS) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	info, _, err := t.root.stat(name)
	return info, err
}

// ReadDir lists a folder without what holds no state. The result is sorted by
// name and the same at every call.
func (t *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	l := t.list(name)
	return l.entries, l.err
}

func (t *FS) list(name string) *listing {
	t.mu.Lock()
	l := t.dirs[name]
	t.mu.Unlock()
	if l != nil {
		return l
	}
	var above *ignoreRules
	kept := false
	if name != "." {
		parent := t.list(path.Dir(name))
		above = parent.rules
		kept = parent.kept || t.ignored(parent, name)
	}
	if strings.Count(name, "/") >= doc.MaxDeep {
		l = &listing{err: &fs.PathError{Op: "readdir", Path: name, Err: errTooDeep}}
	} else {
		l = t.scan(name, above, kept)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.dirs[name]; first != nil {
		return first
	}
	if l.err == nil && slices.ContainsFunc(strings.Split(name, "/"), t.mark) {
		if t.listed += len(l.entries); t.listed > maxListed {
			l.entries, l.err = nil, &fs.PathError{Op: "readdir", Path: name, Err: errTooMany}
		}
	}
	t.dirs[name] = l
	if l.err != nil && !errors.Is(l.err, fs.ErrNotExist) {
		t.problems = append(t.problems, Problem{Path: name, Err: l.err})
	}
	return l
}

func (t *FS) ignored(parent *listing, name string) bool {
	return !parent.kept && parent.rules.match(name, true)
}

func (t *FS) scan(name string, above *ignoreRules, kept bool) *listing {
	l := &listing{rules: above, kept: kept}
	all, real, err := t.root.list(name)
	if err != nil {
		l.err = err
	}
	slices.SortStableFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if name != "." && !t.opts.All && t.isLinkedCheckout(name, all) {
		t.note(func() { t.linked = append(t.linked, name) })
		return l
	}
	if !t.opts.All && isHusk(name) {
		return l
	}
	if !kept && !t.opts.All {
		l.rules = t.readRules(name, all, above)
	}
	for _, e := range all {
		if e.Type()&fs.ModeSymlink != 0 {
			e = t.through(name, real, e)
		}
		if t.show(name, e, l) {
			l.entries = append(l.entries, e)
		}
	}
	return l
}

func (t *FS) readRules(name string, entries []fs.DirEntry, above *ignoreRules) *ignoreRules {
	rules := above
	if name == "." {
		if data, err := fs.ReadFile(t, ".git/info/exclude"); err == nil {
			rules = rules.with(".", data)
		}
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" && e.Type().IsRegular() }) {
		if data, err := fs.ReadFile(t, path.Join(name, ".gitignore")); err == nil {
			rules = rules.with(name, data)
		}
	}
	return rules
}

// vendored are folders of packages and caches that never hold a project's own
// state but may hold thousands of files, or fixtures that look like state.
var vendored = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".jj": true,
	"node_modules": true, "bower_components": true, "jspm_packages": true,
	"vendor": true, "third_party": true, "Pods": true, "Carthage": true,
	".venv": true, "venv": true, "__pycache__": true, "site-packages": true, ".tox": true, ".nox": true,
	".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true,
	".gradle": true, ".m2": true, ".cargo": true, ".rustup": true, ".terraform": true,
	".next": true, ".nuxt": true, ".svelte-kit": true, ".turbo": true, ".parcel-cache": true, ".cache": true,
	".yarn": true, ".pnpm-store": true, ".npm": true, ".idea": true, ".vs": true,
	".reprise": true,
}

// isHusk reports whether a folder is where Claude Code makes checkouts. What is there and is
// none is what one left.
func isHusk(name string) bool {
	in := path.Dir(name)
	return path.Base(in) == "worktrees" && path.Base(path.Dir(in)) == ".claude"
}

// Archive is the folder of our own state. It is never listed.
const Archive = link.StateDir

// program are endings of files that no workflow keeps its state in. Most files
// of a project have one of them, and five layouts walk the listing.
var program = map[string]bool{
	".go": true, ".rs": true, ".c": true, ".h": true, ".cc": true, ".cpp": true, ".hpp": true, ".m": true, ".mm": true, ".swift": true, ".zig": true,
	".java": true, ".kt": true, ".kts": true, ".scala": true, ".groovy": true, ".cs": true, ".fs": true, ".vb": true, ".dart": true,
	".py": true, ".pyc": true, ".rb": true, ".php": true, ".pl": true, ".lua": true, ".r": true, ".jl": true, ".ex": true, ".exs": true, ".erl": true, ".hs": true, ".ml": true, ".clj": true,
	".js": true, ".mjs": true, ".cjs": true, ".jsx": true, ".ts": true, ".tsx": true, ".vue": true, ".svelte": true, ".astro": true, ".map": true,
	".css": true, ".scss": true, ".sass": true, ".less": true, ".html": true, ".htm": true, ".sql": true, ".proto": true, ".graphql": true,
	".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true, ".svg": true, ".ico": true, ".pdf": true, ".woff": true, ".woff2": true, ".ttf": true, ".mp4": true, ".mp3": true, ".wav": true,
	".o": true, ".a": true, ".so": true, ".dll": true, ".exe": true, ".class": true, ".jar": true, ".wasm": true, ".zip": true, ".gz": true,
}

func (t *FS) show(in string, e fs.DirEntry, l *listing) bool {
	if e.Type().IsRegular() {
		return t.opts.All || !program[path.Ext(e.Name())]
	}
	name := path.Join(in, e.Name())
	if !e.IsDir() {
		return true
	}
	if e.Name() == ".git" || e.Name() == Archive {
		return false
	}
	if t.opts.All {
		return true
	}
	if vendored[e.Name()] {
		return false
	}
	if t.opts.Within != nil && !t.wanted(name) {
		return false
	}
	if !l.kept && l.rules.match(name, true) && !t.mark(e.Name()) {
		t.note(func() { t.skipped = append(t.skipped, name) })
		return false
	}
	return true
}

// wanted reports whether a folder bears a mark, lies below one that does, or is
// on the way to one of the paths asked for.
func (t *FS) wanted(name string) bool {
	return t.marked(name) || slices.ContainsFunc(t.opts.Within, func(want string) bool {
		return want == name || strings.HasPrefix(want, name+"/") || strings.HasPrefix(name, want+"/")
	})
}

// mark reports whether a folder of this name may hold state.
func (t *FS) mark(base string) bool { return slices.Contains(t.opts.Marks, base) }

// marked reports whether a name bears a mark or lies below a folder that does.
func (t *FS) marked(name string) bool {
	for p := name; p != "."; p = path.Dir(p) {
		if t.mark(path.Base(p)) {
			return true
		}
	}
	return false
}

func (t *FS) note(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// isLinkedCheckout reports whether a folder is a git worktree of some
// repository: its .git is a file that points into a worktrees folder. A
// submodule's points into modules and is part of this tree. Such a folder is
// listed as empty.
func (t *FS) isLinkedCheckout(name string, entries []fs.DirEntry) bool {
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" && e.Type().IsRegular() }) {
		return false
	}
	data, err := fs.ReadFile(t, path.Join(name, ".git"))
	return err == nil && IsWorktreePointer(data)
}
