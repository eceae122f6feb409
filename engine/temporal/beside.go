package temporal

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// One run of the fleet does what is inside it: no other run may have that at the same time.

// kindMemo is where the server keeps of which kind a run is.
const kindMemo = "reprise-kind"

// alone checks that no other run of the fleet has a run of a project, or one inside it, or is
// inside it. The error is a *BesideError.
func (f *Fleet) alone(ctx context.Context, m *Mirror, root string, ref reprise.Ref) error {
	inside, err := insideOf(root, ref)
	if err != nil {
		return err
	}
	does := append([]reprise.Ref{ref}, inside...)
	if r, err := reprise.Load(convention.Find(ref.Layout), os.DirFS(root), ref); err == nil {
		does = append(does, r.Also...) // a story that a loop is about
	}
	others, err := f.hosts(ctx)
	if err != nil {
		return err
	}
	for _, in := range inside {
		others = append(others, in.ID)
	}
	others = slices.DeleteFunc(others, func(name string) bool { return name == ref.ID })
	if len(others) == 0 {
		return nil
	}
	there, err := m.thereOf(ctx, others)
	if err != nil {
		return err
	}
	for _, name := range there {
		logs, err := f.markedOn(ctx, m, name)
		if err != nil {
			return err
		}
		for _, in := range does {
			if slices.ContainsFunc(logs, func(log string) bool { return journal.Placed(log, in) }) {
				return &BesideError{Run: ref.ID, Both: in.ID, Other: name}
			}
		}
	}
	return nil
}

// hosts are the runs at work that may have others inside.
func (f *Fleet) hosts(ctx context.Context) (names []string, err error) {
	if f.Client == nil {
		return nil, nil // no one to ask
	}
	var next []byte
	for {
		page, err := f.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query:         fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s' AND ExecutionStatus = 'Running'", RunWorkflow, strings.ReplaceAll(f.ID(""), "'", "")),
			NextPageToken: next,
		})
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			name := f.nameOf(e.GetExecution().GetWorkflowId())
			var kind reprise.Kind
			if p := e.GetMemo().GetFields()[kindMemo]; p == nil || converter.GetDefaultDataConverter().FromPayload(p, &kind) != nil {
				in, err := f.input(ctx, name) // it was started by an older program
				if err != nil && !isNotFound(err) {
					return nil, err
				}
				kind = in.Ref.Kind
			}
			if kind.Facts().Hosts && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			return names, nil
		}
	}
}

// thereOf are the runs of some names that have a branch on the remote.
func (m *Mirror) thereOf(ctx context.Context, names []string) (out []string, err error) {
	dir, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{"ls-remote", m.Remote}
	for _, name := range names {
		args = append(args, "refs/heads/"+Branch(name))
	}
	listed, err := git(ctx, dir, nil, args...)
	for _, name := range names {
		if strings.Contains(listed+"\n", "\trefs/heads/"+Branch(name)+"\n") && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, err
}

// markedOn are the journals that the branch of a run has marks for.
func (f *Fleet) markedOn(ctx context.Context, m *Mirror, name string) (logs []string, err error) {
	branch := "refs/heads/" + Branch(name)
	found, err := m.Fetch(ctx, branch)
	if err != nil || found[branch] == "" {
		return nil, err
	}
	files, err := f.journalFiles(ctx, m, found[branch])
	for _, log := range files {
		if path.Ext(log) == path.Ext(durable.FleetMark("")) {
			logs = append(logs, strings.TrimSuffix(log, path.Ext(log)))
		}
	}
	return logs, err
}

// journalFiles names what a commit of the mirror has in the folder of the journals.
func (f *Fleet) journalFiles(ctx context.Context, m *Mirror, commit string) (names []string, err error) {
	files, err := git(ctx, filepath.Join(m.Dir, "mirror.git"), nil, "ls-tree", "-z", "--name-only", commit, "--", filepath.ToSlash(filepath.Join(f.Folder, journalDir))+"/")
	for file := range strings.SplitSeq(strings.TrimRight(files, "\x00"), "\x00") {
		names = append(names, path.Base(file))
	}
	return names, err
}

// BesideError says that another run of the fleet does what a run would do.
type BesideError struct {
	Run, Both string // the run, and what both have: it, or a run inside it
	Other     string
}

func (e *BesideError) Error() string {
	switch {
	case e.Both == e.Other:
		return fmt.Sprintf("start %s: the fleet has %s, which is part of it, as a run of its own", e.Run, e.Other)
	case e.Both == e.Run:
		return fmt.Sprintf("start %s: the fleet has it as part of %s", e.Run, e.Other)
	}
	return fmt.Sprintf("start %s: the fleet has %s, which is part of it, as part of %s", e.Run, e.Both, e.Other)
}

// Hint says what a person can do.
func (e *BesideError) Hint() string {
	other := reprise.Pasted(e.Other, "RUN")
	return fmt.Sprintf("`reprise-fleet resume %s` follows it; once that is over, `%s` brings what was done; to have it before that: `reprise-fleet stop %s`, which names the commands that continue it", other, merging(e.Other), other)
}

// merging is the command that brings a clone what the fleet has done of a run.
func merging(run string) string {
	return "git fetch origin " + Branch(run) + " && git merge FETCH_HEAD"
}

// Outcome implements the rule that outcomes have exit codes.
func (e *BesideError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }
