package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise/internal/doc"
	"reprise/internal/link"
)

func lay(t *testing.T, dir string, files, links map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(target, at)); err != nil {
			t.Fatal(err)
		}
	}
}

// X9: a link is listed as what it leads to where state is kept, once, and what is
// not followed there is said.
func TestX9_listings_show_what_links_lead_to(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{
		"shared/phases/01-a/PLAN.md": "plan", "shared/STATE.md": "state", "store/f": "", ".aiox/f": "", "src/f": "", ".git/config": "", ".reprise/f": "",
		".planning/own/f": "", "pack/.planning/f": "", "docs/f": "",
	}, map[string]string{
		".planning/STATE.md": "../shared/STATE.md", // a file
		".planning/phases":   "../shared/phases",   // a folder
		".planning/latest":   "own",                // another name of its neighbour
		".planning/up":       "..",                 // a folder above
		".planning/dead":     "nowhere",
		".planning/out":      "../../elsewhere",
		".planning/abs":      dir,
		".planning/loop":     "loop",
		".planning/git":      "../.git",
		".planning/ours":     "../.reprise/f",
		".long-run":          "store", // a state folder itself
		".aios":              ".aiox", // one that is another
		"agent-os":           "store",
		"link":               "src",          // a folder of its own
		"docs/api":           "../src",       // the same
		"docs/broken":        "nowhere",      // where stories are looked for
		"src/broken":         "nowhere",      // where none are
		"shared/again":       "../.planning", // behind a link that is followed
		"shared/phases/more": "../../pack",
	})
	fsys, err := Open(dir, Options{Marks: []string{".planning", ".long-run", ".aios", ".aiox", "agent-os", "docs"}})
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	var files []string
	if err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimSuffix(name+" "+d.Type().String()[:1], " -"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		".aios L", ".aiox/f", ".long-run/f", ".planning/STATE.md", ".planning/abs L", ".planning/dead L", ".planning/git L", ".planning/latest L", ".planning/loop L",
		".planning/ours L", ".planning/out L", ".planning/own/f", ".planning/phases/01-a/PLAN.md", ".planning/phases/more L", ".planning/up L",
		"agent-os L", "docs/api L", "docs/broken L", "docs/f", "link L", "pack/.planning/f", "shared/STATE.md", "shared/again L",
		"shared/phases/01-a/PLAN.md", "shared/phases/more L", "src/broken L", "src/f", "store/f",
	}
	if !slices.Equal(files, want) {
		t.Errorf("listed\n%q, want\n%q", files, want)
	}
	said := map[string]error{}
	for _, p := range fsys.Problems() {
		said[p.Path] = p.Err
	}
	for name, want := range map[string]error{
		".planning/dead": link.ErrNowhere, ".planning/out": doc.ErrOutside, ".planning/abs": doc.ErrOutside, ".planning/git": doc.ErrOutside, ".planning/ours": doc.ErrOutside,
		".planning/up": errLinkedFolder, ".planning/phases/more": errLinkedFolder, "agent-os": errLinkedFolder, "docs/broken": link.ErrNowhere,
	} {
		if !errors.Is(said[name], want) {
			t.Errorf("%s: said %v, want %v", name, said[name], want)
		}
		delete(said, name)
	}
	if said[".planning/loop"] == nil {
		t.Error("nobody told of a loop")
	}
	delete(said, ".planning/loop")
	if len(said) > 0 {
		t.Errorf("said, too: %v", said)
	}
}

// X9: the way through the kernel and the portable one lead to the same.
func TestX9_every_root_follows_links_alike(t *testing.T) {
	t.Parallel()
	for seed := range 120 {
		rnd := rand.New(rand.NewPCG(3, uint64(seed)))
		dir := filepath.Join(t.TempDir(), "p")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		names, folders := []string{"."}, []string{"."}
		part := func() string { return []string{"a", "b", "c", ".git", ".s", "f"}[rnd.IntN(6)] }
		for range 20 {
			at := path.Join(folders[rnd.IntN(len(folders))], part())
			if _, err := os.Lstat(filepath.Join(dir, at)); err == nil {
				continue
			}
			to := strings.Repeat("../", strings.Count(at, "/")) + names[rnd.IntN(len(names))]
			names = append(names, at)
			var err error
			switch rnd.IntN(6) {
			case 0, 1:
				folders = append(folders, at)
				err = os.Mkdir(filepath.Join(dir, at), 0o755)
			case 2:
				err = os.WriteFile(filepath.Join(dir, at), []byte(at), 0o644)
			case 3:
				err = os.Symlink(to+"/"+part(), filepath.Join(dir, at))
			case 4:
				err = os.Symlink(to, filepath.Join(dir, at))
			case 5:
				err = os.Symlink([]string{"../" + to, dir, "..", part()}[rnd.IntN(4)], filepath.Join(dir, at))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 40 {
			names = append(names, path.Join(names[rnd.IntN(len(names))], part()))
		}
		told := map[string]string{}
		for how, open := range map[string]func(string) (root, error){"kernel": openRoot, "portable": openPortable} {
			r, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				told[how] += tells(r, name)
			}
			r.close()
		}
		if told["kernel"] != told["portable"] {
			a, b := strings.Split(told["kernel"], "\n"), strings.Split(told["portable"], "\n")
			for i := range a {
				if a[i] != b[min(i, len(b)-1)] {
					t.Fatalf("seed %d:\nkernel   %s\nportable %s", seed, a[i], b[min(i, len(b)-1)])
				}
			}
		}
	}
}

func tells(r root, name string) string {
	cause := func(err error) string {
		var at *fs.PathError
		if errors.As(err, &at) {
			return at.Err.Error()
		}
		return fmt.Sprint(err)
	}
	info, real, err := r.stat(name)
	out := fmt.Sprintf("stat %s: %s %s", name, real, cause(err))
	if err == nil {
		out += fmt.Sprint(" ", info.Name(), info.Mode())
	}
	f, _, err := r.open(name)
	out += fmt.Sprintf(" open %s", cause(err))
	if err == nil {
		if data, err := io.ReadAll(f); err == nil {
			out += fmt.Sprintf(" %q", data)
		}
		f.Close()
	}
	if err == nil && info.IsDir() {
		list, real, err := r.list(name)
		var in []string
		for _, e := range list {
			in = append(in, e.Name())
		}
		slices.Sort(in)
		out += fmt.Sprintf(" list %s %q %s", real, in, cause(err))
	}
	return out + "\n"
}

// X9: a link that is put in the place of a folder or a file while it is read leads
// no one out, and into nothing private.
func TestX9_a_link_that_is_swapped_leads_nobody_out(t *testing.T) {
	t.Parallel()
	for how, open := range map[string]func(string) (root, error){"kernel": openRoot, "portable": openPortable} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			dir := filepath.Join(base, "in")
			lay(t, base, map[string]string{"secret/f": "secret", "in/sub/f": "plain", "in/f": "plain"}, nil)
			r, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				at := func(name string) string { return filepath.Join(dir, name) }
				for {
					select {
					case <-stop:
						return
					default:
					}
					for name, target := range map[string]string{"sub": "../secret", "f": "../secret/f"} {
						_ = os.Rename(at(name), at(name+".was"))
						_ = os.Symlink(target, at(name))
						_ = os.Remove(at(name))
						_ = os.Rename(at(name+".was"), at(name))
					}
				}
			}()
			read := 0
			for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
				for _, name := range []string{"f", "sub/f"} {
					f, _, err := r.open(name)
					if err != nil {
						continue
					}
					data, err := io.ReadAll(f)
					f.Close()
					if err == nil {
						read++
					}
					if strings.Contains(string(data), "secret") {
						t.Errorf("%s was read from outside", name)
					}
				}
			}
			close(stop)
			<-stopped
			if read == 0 {
				t.Error("nothing was read")
			}
		})
	}
}
