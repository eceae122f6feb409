package temporal

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"reprise/engine"
)

// Asking is the only run that asks something, "" if none does. The error is an
// *UntoldError if a run does not tell.
func (f *Fleet) Asking(ctx context.Context) (run string, err error) {
	list, err := f.list(ctx, 30*time.Second)
	if err != nil {
		return "", err
	}
	var names []string
	for _, r := range list.Runs {
		switch {
		case r.State != "open":
		case r.Problem != "":
			return "", &UntoldError{r.ID, r.Problem}
		case len(r.Questions) > 0:
			names = append(names, r.ID)
		}
	}
	if len(names) > 1 {
		return "", &SeveralError{names}
	}
	return strings.Join(names, ""), nil
}

// UntoldError says that a run does not tell whether it asks something.
type UntoldError struct{ Run, Problem string }

func (e *UntoldError) Error() string {
	return "whether " + e.Run + " asks something is not known: " + e.Problem
}

// Hint says what a person can do.
func (e *UntoldError) Hint() string { return "name the run that you answer, or try again" }

// SeveralError says that several runs could be meant.
type SeveralError struct{ Names []string }

func (e *SeveralError) Error() string {
	return "several runs could be meant, name one: " + strings.Join(e.Names, ", ")
}

// Answer answers a question of a run. It returns once the answer is on the branch. The
// same answer given twice is given once. The error is an *engine.AnsweredError if another
// answer came first.
func (f *Fleet) Answer(ctx context.Context, name, question, text string) error {
	s, err := f.State(ctx, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Questions, func(q Question) bool { return q.ID == question })
	if i < 0 {
		return &engine.UnknownQuestionError{Run: name, Question: question}
	}
	h, err := f.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: f.ID(name), UpdateID: s.Questions[i].id(), UpdateName: AnswerUpdate,
		Args: []any{question, text}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	var kept string
	if err := h.Get(ctx, &kept); err != nil {
		return err
	}
	return s.Questions[i].first(text, kept)
}
