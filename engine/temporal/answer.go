package temporal

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"reprise"
	"reprise/engine"
	"reprise/project"
	"reprise/report"
)

// Asking is the only run that asks something, "" if none does. The error is an
// *UntoldError if a run does not tell.
func (f *Fleet) Asking(ctx context.Context) (run string, err error) {
	list, err := f.list(ctx, "", 30*time.Second)
	if err != nil {
		return "", err
	}
	var names []string
	for _, r := range list.Runs {
		switch {
		case r.State == report.FleetOpen && r.Problem != "":
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

// Asks is where a run stands that may ask something, and whether it is open. That of one that
// is not, such as a run that was stopped, is on its branch.
func (f *Fleet) Asks(ctx context.Context, name string) (s State, open bool, err error) {
	if open, err = f.Open(ctx, name); err != nil {
		return s, open, err
	}
	if open {
		s, err = f.State(ctx, name)
		return s, open, err
	}
	there, err := f.onBranch(ctx, name, func(at *Checkout, _ turned) error {
		r, err := f.judged(ctx, at, name)
		if err == nil {
			s.Questions = newQuestions(r.PendingQuestions(), nil)
		}
		return err
	})
	if err == nil && !there {
		err = f.unknown(ctx, name, false)
	}
	return s, open, err
}

// judged is a run as a checkout of its branch has it.
func (f *Fleet) judged(ctx context.Context, at *Checkout, name string) (*reprise.Run, error) {
	root := filepath.Join(at.Dir, filepath.FromSlash(f.Folder))
	found, err := project.Judge(ctx, root, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true, Adopt: true})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(found.Runs, func(r *reprise.Run) bool { return r.ID == name }); i >= 0 {
		return found.Runs[i], nil
	}
	return &reprise.Run{}, nil
}

// Answered is a question of a run that is answered, and with what, as its branch says; nil if there
// is none.
func (f *Fleet) Answered(ctx context.Context, name, question string) (q *Question, kept string, err error) {
	_, err = f.onBranch(ctx, name, func(at *Checkout, _ turned) error {
		r, err := f.judged(ctx, at, name)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(r.Questions, func(q reprise.Question) bool { return q.ID == question && q.Answered }); i >= 0 {
			q, kept = &newQuestions(r.Questions[i:i+1], nil)[0], r.Questions[i].Answer
		}
		return nil
	})
	return q, kept, err
}

// answerLeft answers a question of a run that no workflow has open, on its branch: the run
// goes on with it once it is resumed. A person may change an answer that nothing used, but not
// one that came meanwhile, which this person has not seen.
func (f *Fleet) answerLeft(ctx context.Context, name, question, text string) error {
	var seen *reprise.Question
	_, err := f.onBranch(ctx, name, func(at *Checkout, _ turned) error {
		ref, err := f.findIn(ctx, at.Dir, name)
		if err != nil {
			return err
		}
		r, err := f.judged(ctx, at, name)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(r.Questions, func(q reprise.Question) bool { return q.ID == question }); i >= 0 {
			q := &r.Questions[i]
			if seen != nil && q.Answered && q.Answer != seen.Answer {
				return newQuestions([]reprise.Question{*q}, nil)[0].first(text, q.Answer)
			}
			seen = q
		}
		root := filepath.Join(at.Dir, filepath.FromSlash(f.Folder))
		e, err := deciderFor(root, time.Now)
		if err != nil {
			return err
		}
		kept, marked, err := unmark(root) // one that was not stopped has them
		if err == nil {
			err = e.Answer(ctx, ref, map[string]string{question: text})
		}
		if err == nil && marked {
			err = mark(root, ref, kept)
		}
		if err != nil {
			return err
		}
		message, err := withNote("reprise: "+name+" was answered", turned{Turn: "answer " + question})
		if err != nil {
			return err
		}
		commit, _, err := at.Commit(ctx, message, CommitOptions{Parents: []string{at.Base}, Folder: f.Folder, Journal: true, Ignored: true})
		if err != nil {
			return err
		}
		return at.Push(ctx, commit, "refs/heads/"+at.branch, at.Base)
	})
	return err
}

// Answer answers a question of a run. It returns once the answer is on the branch. The
// same answer given twice is given once. The error is an *engine.AnsweredError if another
// answer came first.
func (f *Fleet) Answer(ctx context.Context, name, question, text string) error {
	s, open, err := f.Asks(ctx, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Questions, func(q Question) bool { return q.ID == question })
	if i < 0 {
		q, kept, err := f.Answered(ctx, name, question)
		switch {
		case err != nil:
			return err
		case q == nil:
			return &engine.UnknownQuestionError{Run: name, Question: question}
		}
		if err := q.first(text, kept); err == nil || open {
			return err
		}
	}
	if !open {
		return f.answerLeft(ctx, name, question, text)
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
