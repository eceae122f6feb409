//go:build unix

package world

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise/core"
)

// LargeFile is from what size on a file stands in a world by its size and time. Its
// content is not kept, and reprise never commits it.
const LargeFile = 50 << 20

// What a world may take of files that git does not know yet. Beyond it they stand in it by
// size and time, as large ones do: a project of a million files is looked at, not copied.
const (
	newFiles = 20_000
	newBytes = 200 << 20
)

const largeMark = "1a49ef11e0" // the ids of large files begin so

// Take gives the world as it is now. The user's index and repository are not touched. A
// file that cannot be read is as it was when it could. If the process dies in here, our
// store has objects that nothing names, and our index is what it was or what it shall be.
//
// Who only looks takes the project once: for him all runs of a checkout are at one moment.
func (r *Repo) Take(ctx context.Context) (core.World, error) {
	if r.looking {
		return r.takeOnce(ctx)
	}
	return r.takeAnew(ctx)
}

func (r *Repo) takeAnew(ctx context.Context) (core.World, error) {
	w, err := r.take(ctx)
	if err != nil && ctx.Err() == nil && os.Remove(r.index()) == nil {
		// Our index may be damaged, or name objects that a power cut took. It is made anew.
		r.last = ""
		return r.take(ctx)
	}
	return w, err
}

// takeOnce gives the world of the first look, with the files of this run's convention that git
// ignores.
func (r *Repo) takeOnce(ctx context.Context) (w core.World, err error) {
	if r.seen == "" {
		plain := *r
		plain.Always = nil
		if r.seen, err = plain.takeAnew(ctx); err != nil {
			return "", err
		}
	}
	var missing strings.Builder
	for _, p := range r.Always {
		for _, name := range r.filesOf(p) {
			e, err := r.Entry(r.seen, name)
			if err != nil {
				return "", err
			}
			if e.none() || strings.HasPrefix(e.ID, largeMark) {
				missing.WriteString(name + "\x00")
			}
		}
	}
	if missing.Len() == 0 {
		return r.seen, nil
	}
	own := *r
	own.indexName = r.indexName + ".run"
	data, err := os.ReadFile(r.index())
	if err == nil {
		err = os.WriteFile(own.index(), data, 0o600)
	}
	if err == nil {
		_, err = own.git(ctx, ours, []byte(missing.String()), "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
	}
	if err != nil {
		return "", err
	}
	out, err := own.git(ctx, ours, nil, "write-tree")
	return core.World(strings.TrimSpace(string(out))), err
}

func (r *Repo) take(ctx context.Context) (core.World, error) {
	if _, err := os.Lstat(r.index()); err != nil { // the user's knows what need not be read again
		if data, err := os.ReadFile(filepath.Join(r.gitDir, "index")); err == nil {
			os.WriteFile(r.index(), data, 0o600)
		}
	}
	out, err := r.git(ctx, ours, nil, "ls-files", "-z", "-t", "--others", "--modified", "--deleted", "--exclude-standard")
	if err != nil {
		return "", err
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for _, p := range r.Always {
		for _, name := range r.filesOf(p) {
			names = append(names, "C "+name)
		}
	}
	// By path, so that what a folder replaced goes before its files come.
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(strings.Compare(a[min(len(a), 2):], b[min(len(b), 2):]), strings.Compare(a, b))
	})
	var plain, large strings.Builder
	count, bytes := 0, int64(0)
	for _, name := range slices.Compact(names) {
		tag, p, _ := strings.Cut(name, " ")
		unknown := tag == "?"
		path := filepath.Join(r.Top, p)
		info, err := os.Lstat(path)
		switch {
		case p == "" || strings.HasPrefix(p, Folder+"/") || strings.Contains(p, "/"+Folder+"/") || strings.HasSuffix(p, "/"): // ours, or a project of its own
		case unknown && r.always(p): // it is there as one that is known
		case unknown && dependency(p):
		case err != nil || !info.Mode().IsRegular():
			plain.WriteString(p + "\x00")
		case info.Size() >= LargeFile || unknown && (count > newFiles || bytes > newBytes):
			fmt.Fprintf(&large, "%s %s\t%s\x00", repoMode, r.largeID(info), p)
		case readable(path):
			plain.WriteString(p + "\x00")
			if unknown {
				count, bytes = count+1, bytes+info.Size()
			}
		}
	}
	if plain.Len()+large.Len() == 0 && r.last != "" {
		return r.last, nil
	}
	r.last = ""
	if plain.Len() > 0 {
		if _, err := r.git(ctx, ours, []byte(plain.String()), "update-index", "-z", "--add", "--remove", "--replace", "--stdin"); err != nil {
			return "", err
		}
	}
	if large.Len() > 0 {
		if _, err := r.git(ctx, ours, []byte(large.String()), "update-index", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	out, err = r.git(ctx, ours, nil, "write-tree")
	r.last = core.World(strings.TrimSpace(string(out)))
	return r.last, err
}

// filesOf gives the files of a convention, which lie in a folder or are one, whether or not git
// ignores them. Links are not followed, and what is a repository of its own is not looked into.
func (r *Repo) filesOf(p string) (names []string) {
	filepath.WalkDir(filepath.Join(r.Top, p), func(name string, d fs.DirEntry, err error) error { //nolint:errcheck // what cannot be read is as git finds it
		rel, relErr := filepath.Rel(r.Top, name)
		switch {
		case err != nil || relErr != nil:
			return fs.SkipDir
		case d.IsDir():
			if _, err := os.Lstat(filepath.Join(name, ".git")); err == nil && name != r.Top {
				return fs.SkipDir
			}
		case len(names) > newFiles:
			return fs.SkipAll
		case d.Type().IsRegular() || rel == p:
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	return names
}

func (r *Repo) largeID(info fs.FileInfo) string {
	id := fmt.Sprintf("%s%012x%016x", largeMark, info.Size(), info.ModTime().UnixNano())
	return id + strings.Repeat("0", r.idLen-len(id))
}

// dependency reports whether a file that git does not know lies in a folder that a package
// manager makes, whether or not the project ignores it: it is no part of a world.
func dependency(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "node_modules", "bower_components", ".venv", "venv", "__pycache__", ".tox", ".gradle", ".terraform", "Pods":
			return true
		}
	}
	return false
}

func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
