package reprise

import "strconv"

// ResumeState is the answer of seed 000, field for field. The first match decides Type;
// whatever else was found goes into Also, so that a pending question behind an active
// agent is not hidden.
type ResumeState struct {
	Interrupted    bool       `json:"interrupted"`
	Type           ResumeType `json:"type,omitempty"`
	AgentID        string     `json:"agent_id,omitempty"`
	Plan           string     `json:"plan,omitempty"`
	Status         string     `json:"status,omitempty"`
	Timestamp      string     `json:"timestamp,omitempty"`
	CompletedTasks *int       `json:"completed_tasks,omitempty"`
	TotalTasks     *int       `json:"total_tasks,omitempty"`
	LastCommit     string     `json:"last_commit,omitempty"`
	ResumeFrom     *int       `json:"resume_from,omitempty"`
	LastCompleted  *int       `json:"last_completed,omitempty"`
	TaskGroup      string     `json:"task_group,omitempty"`
	Question       string     `json:"question,omitempty"`
	CompletedPlans *int       `json:"completed_plans,omitempty"`
	TotalPlans     *int       `json:"total_plans,omitempty"`

	Also []ResumeState `json:"also,omitempty"`
}

// ResumeType says how a run was interrupted.
type ResumeType string

// The types defined by the seed.
const (
	ActiveAgent          ResumeType = "active_agent"
	PartialPlan          ResumeType = "partial_plan"
	BetweenPlans         ResumeType = "between_plans"
	PendingClarification ResumeType = "pending_clarification"
)

// Options lists the choices for a run in this state, the default first. A run that was
// not interrupted has none.
func (s ResumeState) Options() []Option {
	if !s.Interrupted {
		return nil
	}
	fresh := Option{OptionFresh, "Start fresh (the old state is archived)"}
	skip := Option{OptionSkip, "Skip to the next plan"}
	switch s.Type {
	case ActiveAgent:
		return []Option{
			{OptionResumeAgent, "Resume the agent, where its tool can do that"},
			{OptionRespawn, "Start a new agent with the checkpoint as context"},
			skip, fresh,
		}
	case PartialPlan:
		at := "Continue with the next task"
		if s.CompletedTasks != nil {
			at = "Continue at task " + strconv.Itoa(*s.CompletedTasks+1)
		}
		return []Option{{OptionContinue, at}, {OptionRestart, "Restart the plan from its beginning"}, skip, fresh}
	case PendingClarification:
		return []Option{{OptionAnswer, "Answer now"}, {OptionSkipGroup, "Skip this task group"}, fresh}
	case BetweenPlans:
		at := "Continue with the next plan"
		if s.ResumeFrom != nil {
			at = "Continue with plan " + strconv.Itoa(*s.ResumeFrom)
		}
		return []Option{{OptionContinue, at}, fresh}
	}
	return []Option{{OptionContinue, "Continue"}, fresh}
}

// ResumeAnswer returns the run's ResumeState: the layout's own if it has one, otherwise
// one derived from its steps and questions. The run is then a "plan" of the seed, and its
// steps are the tasks.
func (r *Run) ResumeAnswer() ResumeState {
	if r.Resume != nil {
		return *r.Resume
	}
	p := r.Progress()
	if !r.State.Open() || r.State == NotStarted {
		done := 0
		if r.State == Complete {
			done = 1
		}
		total := 1
		return ResumeState{CompletedPlans: &done, TotalPlans: &total}
	}
	partial := ResumeState{Interrupted: true, Type: PartialPlan, Plan: r.ID, CompletedTasks: &p.Done, TotalTasks: &p.Total}
	if open := r.PendingQuestions(); len(open) > 0 {
		return ResumeState{
			Interrupted: true, Type: PendingClarification,
			Plan: r.ID, TaskGroup: open[0].Subject, Question: open[0].Text,
			Also: []ResumeState{partial},
		}
	}
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Status == Done && len(s.Commits) > 0 {
			partial.LastCommit = s.Commits[len(s.Commits)-1]
		}
	}
	return partial
}

// ResumeOptions returns the ways to continue the run, the default first. Skipping a task
// group is offered only if its steps are known for certain.
func (r *Run) ResumeOptions() []Option {
	if len(r.Options) > 0 {
		return r.Options
	}
	var out []Option
	for _, o := range r.ResumeAnswer().Options() {
		if o.Key == OptionSkipGroup {
			out = append(out, r.skipGroupOption()...)
			continue
		}
		out = append(out, o)
	}
	return out
}
