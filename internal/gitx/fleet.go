package gitx

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
)

// onFleet adds which runs are worked on elsewhere, as the branches of ask.Fleet say. A branch
// whose commit the head has says nothing: the files here do. It starts three processes at most.
func (r *Repo) onFleet(ctx context.Context, git *reprise.Git, ask Ask, refs []ref) {
	var trees []string
	dir, pattern := path.Split(ask.Mark)
	at := fleetBranches(git, ask, refs)
	for _, branch := range at {
		trees = append(trees, branch.hash+":"+path.Clean(r.prefix+dir))
	}
	problem := func(err error) { r.missed("whether the fleet has a run was not looked at", r.refusal(err)) }
	found, err := r.objectsOf(ctx, "tree", trees)
	if err != nil {
		problem(err)
		return
	}
	var marks, left []reprise.FleetMark
	var texts []string
	for i, tree := range found {
		before := len(marks)
		eachEntry(tree, len(at[i].hash)/2, func(name, object string) {
			if is, _ := path.Match(pattern, name); is {
				marks = append(marks, reprise.FleetMark{File: dir + name, Branch: at[i].name, Commit: at[i].hash})
				texts = append(texts, object)
			}
		})
		if len(marks) == before {
			left = append(left, reprise.FleetMark{Branch: at[i].name, Commit: at[i].hash})
		}
	}
	if len(at) == 0 {
		return
	}
	merged := map[string]bool{}
	err = r.git.stream(ctx, nil, func(in *bufio.Reader) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			merged[lines.Text()] = true
		}
		return lines.Err()
	}, "for-each-ref", "--merged="+git.Head, "--format=%(objectname)", "refs/heads/"+ask.Fleet+"*", "refs/remotes/*/"+ask.Fleet+"*")
	if err != nil {
		problem(err)
	}
	said, err := r.objects(ctx, texts)
	if err != nil {
		problem(err)
	}
	for i, m := range append(marks, left...) {
		if merged[m.Commit] {
			continue
		}
		if i < len(said) {
			m.Run = reprise.MarkedFor(said[i])
		}
		git.Fleet = append(git.Fleet, m)
	}
}

// fleetBranches are the branches of ask.Fleet, but for the one whose commit is checked out.
func fleetBranches(git *reprise.Git, ask Ask, refs []ref) (out []ref) {
	if ask.Fleet == "" || git.Head == "" {
		return nil
	}
	have := branchesOf(refs)
	for _, name := range slices.Sorted(maps.Keys(have)) {
		for _, branch := range have[name] {
			if strings.HasPrefix(name, ask.Fleet) && branch.hash != git.Head {
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
		if names[branch.hash] == "" {
			names[branch.hash], tips = branch.name, append(tips, branch.hash)
		}
	}
	paths := merge(slices.Clone(ask.Unmerged))
	if len(tips) == 1 || len(paths) == 0 {
		return nil
	}
	// What a turn of the fleet records, it records in the commit that merges an attempt.
	args := logArgs("--stdin", "--first-parent", "--diff-merges=first-parent", "--name-status", "--no-renames", "--max-count="+strconv.Itoa(ask.MaxFileCommits))
	err := r.git.stream(ctx, []byte(strings.Join(tips, "\n")+"\n"), func(in *bufio.Reader) error {
		return readLog(in, func(e entry) {
			e.Branch = names[e.source]
			out = append(out, e)
		})
	}, append(append(args, "--"), paths...)...)
	if err != nil {
		r.missed("what the fleet has done was not fully looked at", r.refusal(err))
	}
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
