package evidence

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"reprise"
	"reprise/internal/gitx"
)

// Bounds of how many commits are looked at for work on lists that nobody ticked, and of how many
// source files that a list names show it.
const (
	maxUnticked = 2_000
	fewestFiles = 3
)

// quotedSubject finds the first lines of the messages that a plan gives for its commits.
var quotedSubject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`git commit[^\n]*?\s-[a-zA-Z]*m[ =]*(?:"\$\(cat <<-?\s*\S+\s*\n\s*([^\n]+)|"([^"\n]+)|'([^'\n]+))`)
})

// unticked tells of runs in which nothing is done by their files that git shows work on them all the
// same: half of the messages that a list quotes are those of commits, or source files that it names
// were changed by the commit that added it, or by later ones. One log serves all of them.
func unticked(ctx context.Context, repo *gitx.Repo, dir string, runs []*reprise.Run) (map[reprise.Ref]string, error) {
	idle := func(r *reprise.Run) bool {
		return r != nil && r.State == reprise.NotStarted && len(r.Steps) > 0 && !strings.HasPrefix(r.Path, "../")
	}
	if !slices.ContainsFunc(runs, idle) {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	subjects, changed, imported, added := map[string]int{}, map[string]int{}, map[string]bool{}, map[string]int{}
	paths, n := files{}, 0
	err = repo.Latest(ctx, maxUnticked, func(c gitx.Told) {
		if _, later := subjects[c.Subject]; !later {
			subjects[c.Subject] = n
		}
		for _, name := range c.Files {
			if _, later := changed[name]; !later {
				changed[name], imported[name] = n, c.First
				paths.add(name)
			}
			for _, r := range runs {
				if idle(r) && reprise.Within(name, r.Path) {
					added[r.Path] = n
				}
			}
		}
		n++
	})
	out := map[reprise.Ref]string{}
	for _, r := range runs {
		if !idle(r) {
			continue
		}
		since, known := added[r.Path]
		if !known && n == maxUnticked {
			since, known = n, true // it is older than all of them
		}
		text := string(readFile(root, r.Path))
		quoted, made := map[string]bool{}, 0
		for _, m := range quotedSubject().FindAllStringSubmatch(text, -1) {
			subject := strings.TrimSpace(cmp.Or(m[1], m[2], m[3]))
			if subject == "" || quoted[subject] {
				continue
			}
			quoted[subject] = true
			for have, at := range subjects {
				if (have == subject || strings.HasPrefix(have, subject+" (#")) && (!known || at <= since) {
					made++
					break
				}
			}
		}
		if made > 0 && 2*made >= len(quoted) {
			out[r.Ref] = fmt.Sprintf("%d of the %d commits that it asks for were made", made, len(quoted))
			continue
		}
		creates := map[string]bool{}
		names := reprise.NamesIn(text)
		for i := range r.Steps {
			names = slices.Concat(names, r.Steps[i].Leaves(), reprise.NamesIn(r.Steps[i].Title))
			for _, name := range r.Steps[i].Made {
				creates[name] = true
			}
		}
		slices.Sort(names)
		var worked []string
		for _, name := range slices.Compact(names) {
			ext := path.Ext(name)
			if !known || !strings.Contains(name, "/") || ext == "" || ext == ".md" || reprise.Within(name, r.Path) || reprise.Within(name, path.Dir(r.Path)) && path.Dir(r.Path) != "." {
				continue
			}
			if at := slices.IndexFunc(paths[strings.ToLower(path.Base(name))], func(have string) bool {
				return is(name, have) && changed[have] <= since && (!imported[have] || creates[name])
			}); at >= 0 {
				worked = append(worked, name)
			}
		}
		if len(worked) >= fewestFiles {
			out[r.Ref] = fmt.Sprintf("%d of the source files that it names were changed since it was added, %s for one", len(worked), worked[0])
		}
	}
	return out, err
}
