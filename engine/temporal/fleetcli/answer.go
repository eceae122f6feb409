package fleetcli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/engine/temporal"
	"reprise/internal/cli"
	"reprise/report"
)

func (a *app) answer() *cobra.Command {
	var said cli.Said
	cmd := &cobra.Command{
		Use: "answer [RUN]", Short: "Answer what a run of the fleet asks", Args: cobra.MaximumNArgs(1),
		Long: "Answer what a run of the fleet asks, with the flags of `reprise answer`. The answer is on the\n" +
			"run's branch before this returns. Without an answer it lists what is asked; without RUN it\n" +
			"is about the only run that asks something.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := said.Check(cmd); err != nil {
				return err
			}
			fleet, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer fleet.Client.Close()
			run, err := fleet.Name(cmd.Context(), strings.Join(args, ""), false)
			if err != nil {
				return err
			}
			if run == "" {
				if run, err = fleet.Asking(cmd.Context()); err != nil {
					return err
				}
			}
			return a.give(cmd, fleet, run, said)
		},
	}
	said.Add(cmd)
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON (schema/answer.v1.json)")
	return cmd
}

// give answers questions, or lists what is asked. run is "" if no run asks anything.
func (a *app) give(cmd *cobra.Command, fleet *temporal.Fleet, run string, said cli.Said) (err error) {
	ctx, s, open := cmd.Context(), temporal.State{}, true
	if run != "" {
		if s, open, err = fleet.Asks(ctx, run); err != nil {
			return err
		}
	}
	doc := report.Answers{Schema: report.AnswerSchema, Root: fleet.Clone, ID: run, Answered: []string{}, Open: []report.Question{}}
	var asked []reprise.Question
	for i := range s.Questions {
		asked = append(asked, s.Questions[i].Asked())
	}
	is := func(q reprise.Question) bool { return q.ID == said.Question }
	if run != "" && said.Question != "" && !slices.ContainsFunc(asked, is) {
		q, _, err := fleet.Answered(ctx, run, said.Question)
		if err != nil {
			return err
		}
		if q != nil { // a moment ago, perhaps
			asked = append(asked, q.Asked())
		}
	}
	if len(asked) > 0 {
		answers, err := said.Answers(asked, cmd.InOrStdin())
		if err != nil {
			return err
		}
		for _, question := range slices.Sorted(maps.Keys(answers)) {
			if err := fleet.Answer(ctx, run, question, answers[question]); err != nil {
				return err
			}
			doc.Answered = append(doc.Answered, question)
		}
	}
	for _, q := range s.Questions {
		if !slices.Contains(doc.Answered, q.ID) {
			doc.Open = append(doc.Open, q.Question)
		}
	}
	switch {
	case len(asked) == 0:
		a.code = 3
	case len(doc.Open) > 0:
		a.code = 12
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(doc)
	}
	if len(asked) == 0 {
		fmt.Fprintln(a.out, "Nothing is asked.")
	}
	if len(doc.Answered) > 0 {
		fmt.Fprintln(a.out, cli.Plain("Kept: "+strings.Join(doc.Answered, ", ")+"."))
	}
	if !open {
		fmt.Fprintf(a.out, "%s is not at work: `reprise-fleet resume %s` continues it.\n", cli.Plain(run), reprise.Pasted(run, "RUN"))
	}
	for _, q := range doc.Open {
		fmt.Fprintln(a.out, cli.Plain(fmt.Sprintf("%s: %s %q", q.ID, q.Text, q.Options)))
	}
	return nil
}
