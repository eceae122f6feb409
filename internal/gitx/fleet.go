package gitx

import (
	"bytes"
	"context"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
)

// onFleet adds which runs are worked on elsewhere, as the branches of ask.Fleet say. A branch
// whose commit the head has says only that the fleet has left it open: the files here say the
// rest. It starts five processes at most.
func (r *Repo) onFleet(ctx context.Context, git *reprise.Git, ask Ask, refs []ref) {
	var trees []string
	dir, pattern := path.Split(ask.Mark)
	at := fleetBranches(git, ask, refs)
	for _, branch := range at {
		trees = append(trees, branch.hash+":"+path.Clean(r.prefix+dir))
	}
	problem := func(err error) { r.missed("whether the fleet has a run was not looked at", r.refusal(err)) }
	found, err := r.objects(ctx, "tree", trees)
	if err != nil {
		problem(err)
		return
	}
	if len(at) == 0 {
		return
	}
	merged := map[string]bool{}
	heads, err := r.git.output(ctx, maxOutput, "for-each-ref", "--merged="+git.Head, "--format=%(objectname)", "refs/heads/"+ask.Fleet+"*", "refs/remotes/*/"+ask.Fleet+"*")
	problem(err)
	for head := range strings.FieldsSeq(string(heads)) {
		merged[head] = true
	}
	var marks, others []reprise.FleetMark
	var texts []string
	left := map[string]*reprise.FleetMark{} // open and without marks, by commit
	dirs := []string{path.Clean(dir)}       // where these have their records
	for i, tree := range found {
		m := reprise.FleetMark{Branch: at[i].name, Commit: at[i].hash, Merged: merged[at[i].hash]}
		has := false
		eachEntry(tree, len(at[i].hash)/2, func(name, object string) {
			if is, _ := path.Match(pattern, name); is {
				if m.File = dir + name; !m.Merged {
					marks, texts = append(marks, m), append(texts, object)
				}
				has = true
			}
		})
		switch {
		case has:
		case m.Merged && strings.HasPrefix(m.Branch, ask.Fleet): // no remote has said so
		case tree != nil: // what is recorded of a run stays until nothing is left to do
			m.Left = time.Unix(0, 0) // git says when
			left[m.Commit] = &m
		case !m.Merged:
			files, folder, err := r.recordedIn(ctx, m.Commit, ask.Mark)
			problem(err)
			for _, file := range files {
				m.File = file
				marks, texts = append(marks, m), append(texts, m.Commit+":"+r.prefix+file)
			}
			if len(files) == 0 && folder != "" {
				m.Left, dirs = time.Unix(0, 0), append(dirs, folder)
				left[m.Commit] = &m
			} else if len(files) == 0 && err == nil {
				others = append(others, m)
			}
		}
	}
	r.leftOpen(ctx, git, ask, left, dirs, func(m reprise.FleetMark, text string) {
		if m.File == "" {
			others = append(others, m)
		} else {
			marks, texts = append(marks, m), append(texts, text)
		}
	})
	said, err := r.objects(ctx, "blob", texts)
	problem(err)
	for i := range said {
		marks[i].Marked = reprise.ReadMarked(said[i])
	}
	git.Fleet = append(marks, others...)
}

// recordedIn lists the marks that a commit has in folders of this one, which may be projects of their
// own, and names such a folder in which anything is recorded.
func (r *Repo) recordedIn(ctx context.Context, commit, mark string) (marks []string, folder string, err error) {
	names, err := r.git.names(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
	dir, pattern := path.Split(mark)
	for _, name := range names {
		in, base := path.Split(strings.TrimPrefix(name, r.prefix))
		if !strings.HasPrefix(name, r.prefix) || !strings.HasSuffix("/"+in, "/"+dir) {
			continue
		}
		folder = path.Clean(in)
		if is, _ := path.Match(pattern, base); is {
			marks = append(marks, in+base)
		}
	}
	return marks, folder, err
}

// leftOpen gives the marks that branches had until the fleet left their runs open, and the name
// of what each of them said. One whose marks are not found is given without a file.
func (r *Repo) leftOpen(ctx context.Context, git *reprise.Git, ask Ask, left map[string]*reprise.FleetMark, dirs []string, add func(m reprise.FleetMark, text string)) {
	if len(left) == 0 {
		return
	}
	tips := slices.Sorted(maps.Keys(left))
	err := r.log(ctx, r.git.stream, lines(tips), func(e entry) {
		if m := left[e.Hash]; m != nil {
			m.Left = e.At
		}
	}, "--stdin", "--no-walk")
	r.missed("what the fleet has left open was not fully looked at", r.refusal(err))
	told := map[string]bool{}
	pattern := path.Base(ask.Mark)
	err = r.log(ctx, r.git.stream, lines(append([]string{"^" + git.Head}, tips...)), func(e entry) {
		m := left[e.source]
		if m == nil || told[e.source] {
			return
		}
		for _, f := range e.Files {
			if is, _ := path.Match(pattern, path.Base(f.Path)); is {
				told[e.source] = true
				one := *m
				one.File = f.Path
				add(one, e.Hash+"^:"+path.Clean(r.prefix+f.Path))
			}
		}
	}, append([]string{"--stdin", "--first-parent", "--diff-merges=first-parent", "--diff-filter=D", "--name-status", "--no-renames", "--max-count=" + strconv.Itoa(ask.MaxFileCommits), "--"}, dirs...)...)
	r.missed("what the fleet has left open was not fully looked at", r.refusal(err))
	for _, commit := range tips {
		if m := left[commit]; !told[commit] {
			add(*m, "")
		}
	}
}

// fleetBranches are the branches of ask.Fleet, but for one of this repository whose commit is
// checked out.
func fleetBranches(git *reprise.Git, ask Ask, refs []ref) (out []ref) {
	if ask.Fleet == "" || git.Head == "" {
		return nil
	}
	have := branchesOf(refs)
	for _, name := range slices.Sorted(maps.Keys(have)) {
		for _, branch := range have[name] {
			if strings.HasPrefix(name, ask.Fleet) && (branch.hash != git.Head || branch.name != name) {
				out = append(out, branch)
			}
		}
	}
	return out
}

// fleetLog lists the commits of the branches of ask.Fleet that the head does not have and that
// changed what is looked for, the newest first. The source of each is the head of its branch.
func (r *Repo) fleetLog(ctx context.Context, git *reprise.Git, ask Ask, refs []ref) (out []entry) {
	names := map[string]string{}
	tips := []string{"^" + git.Head}
	for _, branch := range fleetBranches(git, ask, refs) {
		if names[branch.hash] == "" && branch.hash != git.Head {
			names[branch.hash], tips = branch.name, append(tips, branch.hash)
		}
	}
	paths := merge(slices.Clone(ask.Unmerged))
	if len(tips) == 1 || len(paths) == 0 {
		return nil
	}
	// What a turn of the fleet records, it records in the commit that merges an attempt.
	args := []string{"--stdin", "--first-parent", "--diff-merges=first-parent", "--name-status", "--no-renames", "--max-count=" + strconv.Itoa(ask.MaxFileCommits), "--"}
	err := r.log(ctx, r.git.stream, lines(tips), func(e entry) {
		e.Branch = names[e.source]
		out = append(out, e)
	}, append(args, paths...)...)
	r.missed("what the fleet has done was not fully looked at", r.refusal(err))
	return out
}

// eachEntry gives the entries of a tree, as git keeps it: a mode, a name and an object each.
func eachEntry(tree []byte, size int, do func(name, object string)) {
	for len(tree) > 0 {
		head, rest, ok := bytes.Cut(tree, []byte{0})
		_, name, is := strings.Cut(string(head), " ")
		if !ok || !is || len(rest) < size {
			return
		}
		do(name, hex.EncodeToString(rest[:size]))
		tree = rest[size:]
	}
}
