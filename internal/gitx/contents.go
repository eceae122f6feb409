package gitx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// At names a file as it stood in a commit. Path is relative to the folder the
// repository was opened from.
type At struct {
	Commit string // Index for what is staged
	Path   string
}

// Index stands for git's index in place of a commit.
const Index = "index"

// maxContent bounds one file, MaxContents how many are fetched in one call.
const (
	maxContent  = 8 << 20
	MaxContents = 64
)

// Contents fetches files as they stood in commits, in one call. What does not
// exist there, is no file, or is too large to be a document that we read, is left
// out of the answer, and so is what goes beyond MaxContents.
func (r *Repo) Contents(ctx context.Context, want []At) (map[At][]byte, error) {
	var asked []At
	for _, at := range want {
		if len(asked) < MaxContents && r.nameOf(at, "") != "" {
			asked = append(asked, at)
		}
	}
	out := make(map[At][]byte, len(asked))
	contents, err := r.Stood(ctx, asked, false)
	for i, content := range contents {
		if content != nil {
			out[asked[i]] = content
		}
	}
	return out, err
}

// Stood fetches any number of files as they stood in commits, or before them. The content is nil
// for what was no file there, or none of bearable size; the list ends early where the answer did.
func (r *Repo) Stood(ctx context.Context, want []At, before bool) ([][]byte, error) {
	turn := ""
	if before {
		turn = "^"
	}
	names := make([]string, len(want))
	for i, at := range want {
		names[i] = r.nameOf(at, turn)
	}
	return r.objects(ctx, "blob", names)
}

// nameOf is what git calls a file in a commit, or by the turn from it; "" if it cannot be asked
// for.
func (r *Repo) nameOf(at At, turn string) string {
	name, commit := path.Clean(r.prefix+at.Path), at.Commit+turn
	if at.Commit == Index {
		commit = ""
	}
	if commit != "" && !objectName(at.Commit) || at.Commit == "" || strings.HasPrefix(name, "../") || strings.ContainsAny(name, "\n\x00") {
		return ""
	}
	return commit + ":" + name
}

// objects fetches files, "blob", or folders, "tree", by what git calls them, in one call. The
// content is nil for what is not that, or of no bearable size; the list ends early where the
// answer did.
func (r *Repo) objects(ctx context.Context, typed string, names []string) (out [][]byte, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	ask := r.git.history
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, ":") }) {
		ask = r.git.stream // what is staged changes without a reference
	}
	err = ask(ctx, lines(names), func(in *bufio.Reader) error {
		for range names {
			content, err := readObject(in, typed)
			if err != nil {
				return err
			}
			out = append(out, content)
		}
		return errEnough
	}, "cat-file", "--batch")
	return out, err
}

// readObject reads one answer of cat-file --batch: `OID TYPE SIZE`, the content
// and a newline, or a line that ends in a word such as missing. The content is
// nil for anything but an object of this type and of bearable size.
func readObject(in *bufio.Reader, typed string) ([]byte, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, errors.Join(errors.New("the answer ends too early"), err)
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || !objectName(fields[0]) {
		return nil, nil
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return nil, fmt.Errorf("the answer %q has no size", line)
	}
	if fields[1] != typed || size > maxContent {
		_, err := in.Discard(int(size) + 1)
		return nil, err
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(in, content); err != nil {
		return nil, err
	}
	_, err = in.Discard(1)
	return content, err
}

// CloneTo makes a checkout of the head in a new folder that shares the objects
// of this repository. Nothing is written to the repository itself; nothing of
// its settings, hooks or filters comes along, and no transport is used.
func (r *Repo) CloneTo(ctx context.Context, dir string) error {
	if r.bare || r.top == "" {
		return errors.New("a bare repository has no checkout to copy")
	}
	if r.head == "" {
		return errors.New("there is no commit yet")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// It is a repository of its own, which has nothing of the user's settings but line ends.
	git := r.git.theirs()
	git.dir, git.env = dir, append(environment(git.environ, append(slices.Clip(profile), slices.DeleteFunc(slices.Clone(r.git.ours.settings), func(s setting) bool {
		return s.section != "core" || s.name != "autocrlf" && s.name != "eol"
	})...)), alone...)
	if _, err := git.output(ctx, 4096, "init", "--quiet", "--template=", "."); err != nil {
		return err
	}
	info := filepath.Join(dir, ".git", "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	shared := filepath.Join(r.commonDir, "objects") + "\n"
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(shared), 0o600); err != nil {
		return err
	}
	_, err := git.output(ctx, 4096, "checkout", "--quiet", "--detach", r.head, "--")
	return err
}

// Head is the commit that is checked out, "" if there is none yet.
func (r *Repo) Head() string { return r.head }

// Prefix is the folder the repository was opened from, below the top of the
// checkout.
func (r *Repo) Prefix() string { return r.prefix }
