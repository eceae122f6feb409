package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/durable"
	"reprise/journal"
)

func (a *app) newRecord() *cobra.Command {
	var evidence []string
	cmd := &cobra.Command{
		Use:   "record began|finished WHAT",
		Short: "For agents: note what you began or finished in your step",
		Long: "Note in the journal that the agent of an attempt began or finished part of its\n" +
			"step, so that more is known if it is cut off. For agents that reprise started,\n" +
			"while their attempt is open; REPRISE_TOKEN identifies it. Finished work needs\n" +
			"evidence: files in the folder the agent works in. A note is a claim: what the\n" +
			"attempt leaves behind decides how the step ends.",
		Example: "  reprise record began 'the migration'\n  reprise record finished 'the migration' --evidence db/004.sql",
		Args:    args(cobra.ExactArgs(2)),
		RunE:    func(_ *cobra.Command, args []string) error { return a.record(args[0], args[1], evidence) },
	}
	cmd.Flags().StringArrayVar(&evidence, "evidence", nil, "a file that shows that it is finished")
	cmd.Flags().StringP("dir", "C", ".", "") // as every tool of `reprise mcp` has it; the attempt itself knows its project
	_ = cmd.Flags().MarkHidden("dir")
	return cmd
}

// maxWhat limits the length of a note, which is shown in lists and passed to the next
// agent.
const maxWhat = 1000

// record stores an agent's report for the engine that started it.
func (a *app) record(outcome, what string, evidence []string) error {
	if outcome != "began" && outcome != "finished" {
		return misuse("record %s: it can be began or finished", outcome)
	}
	if err := reprise.CheckText(what); err != nil {
		return misuse("record %s: WHAT %w", outcome, err)
	}
	if n := utf8.RuneCountInString(what); n > maxWhat {
		return misuse("record %s: WHAT has %d characters, more than %d; name it in a sentence", outcome, n, maxWhat)
	}
	if outcome == "finished" && len(evidence) == 0 {
		return fail(exitUsage, "--evidence FILE names a file that shows it", "record finished: it needs evidence")
	}
	ref, open, err := a.ownAttempt()
	if err != nil {
		return err
	}
	r := reprise.Reported{Step: open.Step, Attempt: open.Attempt, Key: open.Key, Outcome: outcome, What: what}
	for _, name := range evidence {
		shown, err := seen(name)
		if err != nil {
			return err
		}
		r.Evidence = append(r.Evidence, shown)
	}
	if err := journal.Report(a.env("REPRISE_PROJECT"), ref, r, a.now().UTC()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "Noted for attempt %d at %s of %s: %s %s\n", r.Attempt, plain(r.Step), plain(ref.ID), outcome, plain(what))
	return err
}

// ownAttempt finds the attempt that this process belongs to, from the token in its
// environment. The attempt must be open: an agent whose attempt is over has nothing to
// report.
func (a *app) ownAttempt() (ref reprise.Ref, open reprise.Event, err error) {
	root, token := a.env("REPRISE_PROJECT"), a.env("REPRISE_TOKEN")
	if root == "" || token == "" {
		return ref, open, fail(exitBlocked, "your files and commits are record enough", "record: this is not an attempt that reprise started")
	}
	store, err := durable.Open(root, durable.Options{})
	if err != nil {
		return ref, open, err
	}
	defer store.Release()
	logs, err := journal.Logs(store)
	if err != nil {
		return ref, open, err
	}
	for _, name := range logs {
		entries, _, err := journal.Read(store, name)
		if err != nil {
			continue // another run; ours would not have been started
		}
		life := journal.LifeOf(entries)
		for _, ev := range journal.Fold(entries).Open() {
			if reprise.AttemptToken(store.Dir(), life.Run.Layout, ev.Key) == token {
				return life.Run, ev, nil
			}
		}
	}
	return ref, open, fail(exitBlocked, "stop: another agent may have taken over", "record: the attempt that this process belongs to is over")
}

// maxEvidence is the largest file accepted as evidence.
const maxEvidence = 64 << 20

// seen returns a file's current state.
func seen(name string) (reprise.Expected, error) {
	if !filepath.IsLocal(name) {
		return reprise.Expected{}, misuse("record: %s is not in the folder you work in", name)
	}
	at := filepath.ToSlash(filepath.Clean(name))
	data, err := doc.ReadRegular(os.DirFS("."), at, maxEvidence)
	if err != nil {
		return reprise.Expected{}, fmt.Errorf("record: read the evidence: %w", err)
	}
	return reprise.Expected{Path: at, Before: reprise.HashOf(data)}, nil
}
