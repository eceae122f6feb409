package gitx

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reprise"
)

// maxMessage bounds a commit message.
const maxMessage = 16 << 10

// message makes a text fit for a commit: no control characters, bounded.
func message(text string) string {
	text = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || !unicode.IsControl(c) && c != unicode.ReplacementChar {
			return c
		}
		return -1
	}, text)
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "")
	}
	if text = strings.TrimSpace(text); text == "" {
		text = "work of a step"
	}
	return text
}

// Commit commits everything that is changed in the checkout and not ignored, but
// nothing that Kept names, and gives the commit, "" if there was nothing to
// commit. look tells what that is: where a git wrote the index or moved the head since,
// or it is nil, the checkout is looked at anew. trailer is a whole line, KEY: VALUE, or "".
// What was staged outside of that stays staged.
//
// If the process dies here there is a commit or none; the changes are in the
// checkout in either case, and may be staged. The commit is durable after the next
// flush. With an error the index is what it was, as far as that could be done: the
// error tells where it could not.
func (r *Repo) Commit(ctx context.Context, look *Look, text, trailer string) (string, error) {
	return r.commit(ctx, look, nil, nil, text, trailer)
}

// CommitPaths is Commit for some files alone, as a Look names them. as is what the commit
// holds of files that git knows in place of what is on disk, which stays as it is; where
// something else is staged, it is left out.
func (r *Repo) CommitPaths(ctx context.Context, look *Look, paths []string, as map[string][]byte, text, trailer string) (string, error) {
	if len(paths)+len(as) == 0 {
		return "", nil
	}
	return r.commit(ctx, look, append([]string{}, paths...), as, text, trailer)
}

func (r *Repo) commit(ctx context.Context, look *Look, only []string, as map[string][]byte, text, trailer string) (string, error) {
	if strings.ContainsAny(trailer, "\r\n\x00") {
		return "", fmt.Errorf("commit in %s: the trailer is more than one line", r.top)
	}
	c, err := r.at(ctx, "commit in", r.top)
	if err != nil {
		return "", err
	}
	if err := c.quiet("commit in"); err != nil {
		return "", err
	}
	if !look.holds(c.location()) {
		if look, err = c.git.look(ctx, c.location()); err != nil {
			return "", err
		}
	}
	left := func(p string) bool { return Kept(p) || only != nil && !slices.Contains(only, p) }
	var paths, names []string
	for _, ch := range ours(look.st.changes) {
		if ch.Conflict {
			return "", &NotReadyError{Op: "commit in", Dir: AbsPath(r.top), Reason: "it has files with conflicts", Paths: []string{ch.Path}}
		}
		if !left(ch.Path) {
			paths = append(paths, ch.Path)
			if !look.st.never[ch.Path] { // staged and then removed, it is no longer known to git
				names = append(names, ch.Path)
			}
		}
	}
	put, err := c.stage(ctx, paths, as, left, &look.st)
	if err != nil {
		return "", c.met("commit in", err) // the index was not changed
	}
	commit := ""
	if len(names)+len(put) > 0 {
		if commit, err = c.commitStaged(ctx, names, len(put) > 0, text, trailer); err != nil {
			err = c.met("commit in", err)
			if back := c.restage(context.WithoutCancel(ctx), append(paths, put...), look.st); back != nil {
				err = fmt.Errorf("%w; what was staged for it is left staged: %w", err, back)
			}
		}
	}
	return commit, err
}

// commitStaged commits what is staged, if all is wanted, else what files hold. It is ""
// where the head has all of that.
func (c *checkout) commitStaged(ctx context.Context, names []string, all bool, text, trailer string) (string, error) {
	args := []string{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--no-edit", "--cleanup=verbatim", "-m", message(text)}
	if trailer != "" {
		args = append(args, "-m", trailer)
	}
	if !all {
		args = append(args, "--only", "--pathspec-from-file=-", "--pathspec-file-nul")
	}
	err := c.git.feed(ctx, names, args...)
	if failed, ok := errors.AsType[*callError](err); ok && exitCode(err) == 1 && failed.stderr == "" {
		return "", nil // git says on the other stream that there is nothing to commit
	}
	if err != nil {
		return "", err
	}
	return c.head(ctx)
}

// stage lets the index have what files hold, and contents in place of what some hold; it
// gives the names of those. It takes none of these where something that left names is staged,
// and none that git does not know. st gets what the index had of them.
func (c *checkout) stage(ctx context.Context, paths []string, as map[string][]byte, left func(string) bool, st *status) (put []string, err error) {
	args := []string{"update-index", "--add", "--remove", "--replace", "-z"}
	entries, err := c.entries(ctx, paths, as, st)
	if err != nil {
		return nil, err
	}
	theirs := func(ch reprise.Change) bool {
		e, ok := entries[ch.Path]
		return ch.Staged && left(ch.Path) && (!ok || e != st.index[ch.Path])
	}
	if slices.ContainsFunc(st.changes, theirs) {
		entries = nil
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		mode, object, _ := strings.Cut(entries[name], " ")
		args = append(args, "--cacheinfo", mode+","+object+","+name)
		put = append(put, name)
	}
	paths = slices.DeleteFunc(slices.Clone(paths), func(name string) bool { return entries[name] != "" })
	if len(paths) > 0 {
		args = append(args, "--stdin")
	} else if len(put) == 0 {
		return nil, nil
	}
	return put, c.git.feed(ctx, paths, args...)
}

// entries gives what stage may put into the index of files, mode and object by name.
func (c *checkout) entries(ctx context.Context, paths []string, as map[string][]byte, st *status) (map[string]string, error) {
	out := map[string]string{}
	if len(as) == 0 {
		return out, nil
	}
	known, err := c.git.names(ctx, append([]string{"ls-files", "-z", "--cached", "--stage", "--"}, slices.Sorted(maps.Keys(as))...)...)
	if err != nil {
		return nil, err
	}
	for _, line := range known { // MODE OBJECT STAGE, a tab and the name
		entry, name, _ := strings.Cut(line, "\t")
		if had, plain := strings.CutSuffix(entry, " 0"); plain && strings.HasPrefix(had, "100") {
			st.index[name] = had
		}
	}
	for name, content := range as {
		mode, _, known := strings.Cut(st.index[name], " ")
		if !known && !slices.Contains(paths, name) {
			continue
		}
		object, err := c.blob(ctx, name, content)
		if err != nil {
			return nil, err
		}
		out[name] = cmp.Or(mode, "100644") + " " + object
	}
	return out, nil
}

// blob writes a content of a file into the repository and gives its name there.
func (c *checkout) blob(ctx context.Context, name string, content []byte) (object string, err error) {
	err = c.git.stream(ctx, content, func(in *bufio.Reader) error {
		line, err := in.ReadString('\n')
		object = strings.TrimSpace(line)
		return err
	}, "hash-object", "-w", "--stdin", "--path="+name)
	return object, err
}

// restage lets the index have of files what it had when the checkout was looked at,
// unless they were committed since; every other file is left alone.
func (c *checkout) restage(ctx context.Context, paths []string, was status) error {
	now, err := c.git.line(ctx, "rev-parse", "--quiet", "--verify", "--end-of-options", "HEAD^{commit}")
	if now != was.head {
		if now == "" {
			return err
		}
		return nil // git made the commit and did not come to say so
	}
	var had, added []string
	for _, name := range paths {
		if entry := was.index[name]; entry != "" {
			had = append(had, entry+"\t"+name)
		} else {
			added = append(added, name)
		}
	}
	if len(had) > 0 {
		if err := c.git.feed(ctx, had, "update-index", "-z", "--index-info"); err != nil {
			return err
		}
	}
	if len(added) > 0 {
		return c.git.feed(ctx, added, "update-index", "-z", "--force-remove", "--stdin")
	}
	return nil
}

// head is the commit that is checked out.
func (c *checkout) head(ctx context.Context) (string, error) {
	if commit, ok := plainCommit(c.location(), "HEAD"); ok {
		return commit, nil
	}
	return c.git.line(ctx, "rev-parse", "--verify", "--end-of-options", "HEAD^{commit}")
}

// FileStat is how much of a file changed.
type FileStat struct {
	Path           string
	Added, Removed int
	Binary         bool
}

// maxStats bounds how many files a comparison lists.
const maxStats = 20_000

// DiffStat compares two commits file by file.
func (r *Repo) DiffStat(ctx context.Context, base, branch string) ([]FileStat, error) {
	at, err := r.resolveAll(ctx, base, branch)
	if err != nil {
		return nil, err
	}
	var out []FileStat
	err = words(ctx, r.git.stream, nil, func(entry string, _ *fields) error {
		if len(out) == maxStats {
			return errEnough
		}
		parts := strings.SplitN(entry, "\t", 3)
		if len(parts) != 3 {
			return fmt.Errorf("the entry %q has no path", entry)
		}
		st := FileStat{Path: parts[2], Binary: parts[0] == "-"}
		if !st.Binary {
			var err1, err2 error
			st.Added, err1 = strconv.Atoi(parts[0])
			st.Removed, err2 = strconv.Atoi(parts[1])
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
		}
		out = append(out, st)
		return nil
	}, diffArgs("--numstat", "--no-renames", "--end-of-options", at[0], at[1], "--")...)
	return out, err
}

// diffArgs compares without anything that a repository's settings could change.
func diffArgs(more ...string) []string {
	return append([]string{"diff", "-z", "--no-ext-diff", "--no-textconv", "--no-relative"}, more...)
}

// Subjects lists the commits of a branch that are not in base, the latest
// first: hash, a blank and the subject.
func (r *Repo) Subjects(ctx context.Context, base, branch string, limit int) ([]string, error) {
	at, err := r.resolveAll(ctx, base, branch)
	if err != nil {
		return nil, err
	}
	return r.git.names(ctx, "log", "-z", "--no-show-signature", "--no-decorate", "--no-notes", "--no-mailmap", "--encoding=UTF-8",
		"--format=tformat:%H %s", "--max-count="+strconv.Itoa(limit), "--end-of-options", at[1], "^"+at[0], "--")
}
