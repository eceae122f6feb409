package gitx

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Git opens what has the right name and waits for what a pipe or a device in its place gives,
// which may be for ever. So the files that it opens before anything else are looked at first;
// what lies deeper is looked for once a call takes long.

const (
	maxIncluded = 100
	maxWalked   = 200_000 // entries of folders
)

// irregular tells of a file in the place of one that git would read and that is none.
func irregular(file string) error {
	info, err := os.Stat(file)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return nil // git says what there is to say
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return nil
	}
	return fmt.Errorf("%s is not a regular file, and git would wait for what comes out of it", file)
}

// readable looks at the files that git reads in every call in a folder of a repository. The
// error is a *RefusedError.
func (g *runner) readable(dir string, p place) error {
	if p.kind != placeNormal && p.kind != placeBare {
		return nil
	}
	var files []string
	for _, name := range []string{"HEAD", "index", "commondir", "gitdir", "config.worktree", "info/sparse-checkout"} {
		files = append(files, filepath.Join(p.gitDir, filepath.FromSlash(name)))
	}
	for _, name := range []string{"config", "packed-refs", "shallow", "info/exclude", "info/attributes", "info/grafts", "objects/info/alternates"} {
		files = append(files, filepath.Join(p.commonDir, filepath.FromSlash(name)))
	}
	for at := dir; p.top != ""; at = filepath.Dir(at) {
		for _, name := range ofTree {
			files = append(files, filepath.Join(at, name))
		}
		if at == p.top || at == filepath.Dir(at) {
			break
		}
	}
	var odd error
	for _, file := range files {
		if odd == nil {
			odd = irregular(file)
		}
	}
	left := maxIncluded
	for _, name := range []string{"config", "config.worktree"} {
		if odd == nil {
			odd = g.included(filepath.Join(p.commonDir, name), &left)
		}
	}
	return notRead(dir, odd)
}

// ofTree are the files of a work tree that git takes for its own.
var ofTree = []string{".gitignore", ".gitattributes", ".gitmodules", ".mailmap"}

func notRead(dir string, odd error) error {
	if odd == nil {
		return nil
	}
	return &RefusedError{Dir: AbsPath(dir), Reason: odd.Error(), Todo: "remove it or move it away, then look again"}
}

// included looks at the files that a file of settings includes.
func (g *runner) included(file string, left *int) error {
	text, err := readBounded(file, maxSmall)
	if err != nil {
		return nil
	}
	for _, to := range includes(string(text)) {
		if *left--; *left < 0 {
			return nil // git itself gives up after ten in a row; the rest is a matter of time
		}
		to = g.expand(filepath.Dir(file), to)
		if err := irregular(to); err != nil {
			return err
		}
		if err := g.included(to, left); err != nil {
			return err
		}
	}
	return nil
}

// expand gives the file that a setting names.
func (g *runner) expand(dir, file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		home, _ := lookup(g.environ, "HOME")
		return filepath.Join(home, rest)
	}
	return absIn(dir, file)
}

// includes lists the values of path in the sections include and includeIf of a file of settings.
func includes(text string) (out []string) {
	inside := false
	for text != "" {
		switch c := text[0]; {
		case c == '#' || c == ';':
			_, text, _ = strings.Cut(text, "\n")
		case c == '[':
			var head string
			head, text = text[1:], ""
			quoted := false
			for i := 0; i < len(head); i++ {
				if head[i] == '\\' {
					i++
				} else if head[i] == '"' {
					quoted = !quoted
				} else if head[i] == ']' && !quoted || head[i] == '\n' {
					head, text = head[:i], head[i+1:]
				}
			}
			name := strings.ToLower(strings.TrimSpace(head))
			inside = name == "include" || strings.HasPrefix(name, "includeif")
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			end := strings.IndexFunc(text, func(c rune) bool { return c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') })
			if end < 0 {
				return out
			}
			key := strings.ToLower(text[:end])
			text = strings.TrimLeft(text[end:], " \t")
			if rest, ok := strings.CutPrefix(text, "="); ok {
				var value string
				if value, text = settingValue(rest); inside && key == "path" && value != "" {
					out = append(out, value)
				}
			}
		default:
			text = text[1:]
		}
	}
	return out
}

// settingValue reads a value up to the end of its line, and gives the rest.
func settingValue(text string) (string, string) {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case c == '"':
			quoted = !quoted
		case c == '\n':
			return strings.TrimSpace(b.String()), text[i+1:]
		case (c == '#' || c == ';') && !quoted:
			_, rest, _ := strings.Cut(text[i:], "\n")
			return strings.TrimSpace(b.String()), rest
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String()), ""
}

// long is how long a call takes before it is asked what it may be waiting for.
const long = time.Second

// held tells what a call that takes long waits for, as soon as that is found: a file of git's
// own below the repository or the work tree that is no regular file.
func (o *standIn) held(ctx context.Context) error {
	left := maxWalked
	look := func(root string, mine func(name string) bool) (odd error) {
		if root == "" {
			return nil
		}
		err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
			if left--; left < 0 || ctx.Err() != nil {
				return fs.SkipAll
			}
			if err != nil {
				return nil // git says that it cannot be read
			}
			if e.IsDir() && file != root && e.Name() == ".git" {
				return fs.SkipDir
			}
			if !e.IsDir() && !e.Type().IsRegular() && mine(e.Name()) {
				odd = irregular(file)
			}
			if odd != nil {
				return fs.SkipAll
			}
			return nil
		})
		return cmp.Or(odd, err)
	}
	all := func(name string) bool { return !strings.HasSuffix(name, ".ipc") } // a socket of git's own monitor
	for _, root := range []string{o.gitDir, o.commonDir} {
		if odd := look(root, all); odd != nil {
			return odd
		}
	}
	return look(o.top, func(name string) bool { return slices.Contains(ofTree, name) })
}
