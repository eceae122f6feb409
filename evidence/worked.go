package evidence

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"reprise"
	"reprise/internal/gitx"
)

// What is activity of a run is a change that changed what its files say of it: its state, steps,
// ticks and questions. Any commit can touch files, and a checkout writes them all.

// Bounds of how far back the past of a run is followed, and by how many files in one turn.
const (
	maxTurns     = 8
	maxTurnFiles = 200
)

// past is a run that is followed back, from change to change of its files.
type past struct {
	run   *reprise.Run
	turns []turn            // newest first
	names []string          // of its files, as they are called today
	files map[string][]byte // those that are not as on disk now; nil if they were not there
	says  string            // what they say of the run
}

// turn is a commit that changed files of a run.
type turn struct {
	commit *reprise.Commit
	files  map[string]string // what they were called before it, by their names today
}

// worked tells when what the files of runs say was last changed. It goes back in turns, all runs
// together, each as far as it takes: two processes where no file was only touched.
func worked(ctx context.Context, repo *gitx.Repo, dir string, git *reprise.Git, runs []*reprise.Run, says func(*reprise.Run, map[string][]byte) string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	git.Worked = map[reprise.Ref]reprise.Worked{}
	open := turnsOf(git, runs)
	err = uncommitted(ctx, repo, root, git, open, says)
	for at := 0; len(open) > 0 && err == nil; at++ {
		var want []gitx.At
		open = slices.DeleteFunc(open, func(p *past) bool {
			if _, known := git.Worked[p.run.Ref]; known || at == len(p.turns) {
				return true
			}
			t := p.turns[at]
			git.Worked[p.run.Ref] = reprise.Worked{At: t.commit.Made(), Added: true}
			if t.commit.Edge {
				git.Worked[p.run.Ref] = reprise.Worked{Added: true}
				return true
			}
			if len(t.files) > maxTurnFiles || !p.run.State.Open() {
				return true
			}
			for _, name := range p.names {
				if was, changed := t.files[name]; changed {
					want = append(want, gitx.At{Commit: t.commit.Hash, Path: was})
				}
			}
			return false
		})
		var were [][]byte
		if were, err = repo.Stood(ctx, want, true); err != nil || len(were) < len(want) {
			break
		}
		for _, p := range open {
			added, ticked := true, false // added: none of its files was there
			for _, name := range p.names {
				if _, changed := p.turns[at].files[name]; changed {
					ticked = ticked || boxes(p.content(root, name)) != boxes(were[0])
					p.files[name], were = were[0], were[1:]
				}
				was, known := p.files[name]
				added = added && known && was == nil
			}
			switch {
			case added || ticked || says(p.run, p.files) != p.says:
				git.Worked[p.run.Ref] = reprise.Worked{At: p.turns[at].commit.Made(), Added: added}
			case at+1 < len(p.turns):
				delete(git.Worked, p.run.Ref)
			}
		}
	}
	return err
}

// turnsOf lists the commits on the head that changed files of the runs whose own dates do not
// say when they were last active. Nobody waits for one that is over: its last change counts.
func turnsOf(git *reprise.Git, runs []*reprise.Run) (out []*past) {
	owners := map[string][]*past{} // by what the run is in, and what is known to be its own
	for _, r := range runs {
		if !undated(r) {
			continue
		}
		p := &past{run: r, files: map[string][]byte{}}
		for _, name := range ownFiles(r) {
			owners[name] = append(owners[name], p)
		}
		out = append(out, p)
	}
	each := func(name string, see func(*past)) {
		for ; name != "." && name != "/" && name != ".."; name = path.Dir(name) {
			for _, p := range owners[name] {
				see(p)
			}
		}
	}
	for _, c := range git.Changed {
		each(c.Path, func(p *past) {
			if c.Worktree == "" {
				p.note(c.Path)
			}
		})
	}
	today := map[string]string{}
	for i := range git.Commits {
		c := &git.Commits[i]
		if c.Merge || !c.OnHead {
			continue
		}
		for _, f := range c.Files {
			name, was := cmp.Or(today[f.Path], f.Path), cmp.Or(f.From, f.Path)
			if f.From != "" && !f.Added {
				today[f.From] = name
			}
			if f.Same {
				continue
			}
			each(name, func(p *past) {
				n := len(p.turns)
				if n == 0 || p.turns[n-1].commit != c {
					if n == maxTurns || n == 1 && !p.run.State.Open() {
						return
					}
					p.turns = append(p.turns, turn{c, map[string]string{}})
					n++
				}
				p.note(name)
				p.turns[n-1].files[name] = was
			})
		}
	}
	return out
}

func (p *past) note(name string) {
	if !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
}

// undated reports whether what the files of a run record does not say when it was last active:
// they record nothing, or the day of a run that is open.
func undated(r *reprise.Run) bool {
	at := r.LastActivity
	return r.LastActivitySource.File != "" && !at.IsZero() && (r.LastActivitySource.Line == 0 || r.State.Open() && at.Equal(at.Truncate(24*time.Hour)))
}

// ownFiles lists the files of a run, or the folders they are in.
func ownFiles(r *reprise.Run) []string {
	own := []string{r.Path}
	if r.LastActivitySource.Line == 0 {
		own = append(own, r.LastActivitySource.File)
	}
	for i := range r.Steps {
		if r.Kind == reprise.KindTasks {
			own = append(own, r.Steps[i].Path)
		}
	}
	return inProject(own)
}

// content is a file as far back as the run was followed.
func (p *past) content(root *os.Root, name string) []byte {
	content, known := p.files[name]
	if !known {
		content = readFile(root, name)
	}
	return content
}

// readFile reads a regular file of the project as far as a document is read, nil if it cannot.
func readFile(root *os.Root, name string) []byte {
	name = filepath.FromSlash(name)
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	in, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer in.Close()
	content, _ := io.ReadAll(io.LimitReader(in, maxRead)) // what it says is read elsewhere
	return content
}

// maxRead is how much of a file is searched for boxes.
const maxRead = 8 << 20

// boxes counts the ticked boxes of a document and the others, steps or not.
func boxes(content []byte) (out [2]int) {
	for _, mark := range []string{"[x] ", "[X] "} {
		out[0] += bytes.Count(content, []byte(mark))
	}
	return [2]int{out[0], bytes.Count(content, []byte("[ ] "))}
}

// uncommitted takes the files of the runs back to the head, and tells of those that say
// something else there.
func uncommitted(ctx context.Context, repo *gitx.Repo, root *os.Root, git *reprise.Git, open []*past, says func(*reprise.Run, map[string][]byte) string) error {
	head := git.Head
	for i := 0; head == "" && i < len(git.Commits); i++ {
		head = git.Commits[i].Hash
	}
	type written struct {
		by   *past
		name string
		at   time.Time
	}
	var changed []written
	var want []gitx.At
	for _, p := range open {
		own := slices.Concat(p.names, ownFiles(p.run))
		slices.Sort(own)
		for _, name := range slices.Compact(own) {
			info, err := root.Lstat(filepath.FromSlash(name))
			if err == nil && info.Mode().IsRegular() && !git.Unchanged(name, info.ModTime()) {
				changed, want = append(changed, written{p, name, info.ModTime()}), append(want, gitx.At{Commit: head, Path: name})
			}
		}
	}
	had, err := repo.Stood(ctx, want, false)
	last, ticked := map[*past]time.Time{}, map[*past]bool{}
	for i, content := range had {
		w := changed[i]
		if now := w.by.content(root, w.name); content == nil || !bytes.Equal(now, content) {
			ticked[w.by] = ticked[w.by] || boxes(now) != boxes(content)
			w.by.files[w.name] = content
			w.by.note(w.name)
			if w.at.After(last[w.by]) {
				last[w.by] = w.at
			}
		}
	}
	for _, p := range open {
		p.says = says(p.run, nil)
		if at := last[p]; !at.IsZero() {
			now := says(p.run, p.files)
			if ticked[p] || now != p.says {
				git.Worked[p.run.Ref] = reprise.Worked{At: at}
			}
			p.says = now
		}
	}
	return err
}
