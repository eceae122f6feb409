package orchestrate_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/orchestrate"
	"reprise/convention/playtest"
)

func zzTree(t *testing.T, dir string) fstest.MapFS {
	out := fstest.MapFS{}
	fsys := os.DirFS(dir)
	fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, _ := fs.ReadFile(fsys, p)
			out[p] = &fstest.MapFile{Data: b, Mode: 0o644, ModTime: conventiontest.Epoch}
		}
		return nil
	})
	return out
}

func TestZZ(t *testing.T) {
	root := "/work/shared/corpus/"
	var dirs []string
	a, _ := filepath.Glob(root + "orchestrate/*")
	dirs = append(dirs, a...)
	for _, pat := range []string{"oracle/orchestrate/*.git", "second/oracle/orchestrate/*.git"} {
		gs, _ := filepath.Glob(root + pat)
		for _, g := range gs {
			refs, _ := exec.Command("git", "-C", g, "for-each-ref", "--format=%(refname)").Output()
			for i, ref := range strings.Fields(string(refs)) {
				if i > 1 {
					break
				}
				d := t.TempDir()
				exec.Command("sh", "-c", "git -C "+g+" archive "+ref+" | tar x -C "+d).Run()
				dirs = append(dirs, d)
			}
		}
	}
	l := orchestrate.New()
	books := orchestrate.Playbooks()
	for _, dir := range dirs {
		tree := zzTree(t, dir)
		refs, _ := l.Find(tree)
		seen := map[string]int{}
		for _, ref := range refs {
			r, err := reprise.Load(l, tree, ref)
			if err != nil {
				continue
			}
			if len(r.Findings) > 0 {
				l.Mend(tree, r)
			}
			k := string(r.Kind) + string(rune(r.State)) + r.Phase
			if seen[k]++; seen[k] > 2 {
				continue
			}
			for back := range 2 {
				t.Run(filepath.Base(dir)+"/"+ref.ID, func(t *testing.T) {
					p := playtest.Player{Layout: l, Book: books[r.Kind], Books: books, Ref: ref, Turns: 60, Attempts: 1, Agent: reviewer(back*7, team)}
					said := 0
					p.Answer = func(q reprise.Question) (string, bool) {
						said++
						if len(q.Options) > 0 {
							return q.Options[said%len(q.Options)], said < 8
						}
						return "accept", said < 8
					}
					defer func() { recover() }()
					p.Play(t, tree)
				})
			}
		}
	}
}
