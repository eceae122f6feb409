package engine

import (
	"context"
	"os"
	"path"
	"strings"

	"reprise"
	"reprise/convention/eventrun"
	"reprise/flow"
	"reprise/internal/gitx"
	"reprise/journal"
)

// FlowOnFleet finds a run of a workflow file that the fleet has, or has left open, as a branch
// says that was fetched and is not merged; nil if there is none. file is a slash path in the project.
func FlowOnFleet(ctx context.Context, root string, git *reprise.Git, file string, environ []string) (*reprise.FleetMark, error) {
	var repo *gitx.Repo
	for i := 0; git != nil && i < len(git.Fleet); i++ {
		m := &git.Fleet[i]
		ref, _, err := eventrun.Book{}.Begin(os.DirFS(root), reprise.Goal{ID: m.Run, Text: file})
		if log := strings.TrimSuffix(path.Base(m.File), path.Ext(m.File)); err != nil || m.Run == "" || !journal.Placed(log, ref) {
			continue // it is no run of a file
		}
		if repo == nil {
			if repo, err = gitx.Open(ctx, root, gitx.Options{Environ: environ}); err != nil {
				return nil, err
			}
		}
		at := gitx.At{Commit: m.Commit, Path: path.Join(ref.Path, "task-graph.json")}
		found, err := repo.Contents(ctx, []gitx.At{at})
		if err != nil {
			return nil, err
		}
		if of, _, _ := flow.Origin(found[at]); of == file {
			return m, nil
		}
	}
	return nil, nil
}
