//go:build unix

package world

import (
	"context"
	"strings"

	"reprise/core"
)

// History is what the commits below HEAD say of steps, for as many as were asked for.
type History struct {
	Steps    map[string]string // by RUN/STEP: the newest commit with its trailer that no later one takes back
	Reverted map[string]string // likewise: the commit that takes it back
	All      map[string]bool   // every commit that was read
	Whole    bool              // nothing is below the last one
}

// History reads the newest commits below HEAD, in one call of git, whatever the number of
// steps and lists that ask.
func (r *Repo) History(ctx context.Context, most string) (*History, error) {
	h := &History{Steps: map[string]string{}, Reverted: map[string]string{}, All: map[string]bool{}, Whole: true}
	if r.private {
		return h, nil
	}
	head, err := r.Head()
	if err != nil || head.Commit == "" {
		return h, err
	}
	out, err := r.git(ctx, users, nil, "log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--max-count="+most, "--format=%H %P%n%B", head.Commit, "--")
	if err != nil {
		return nil, err
	}
	reverts := map[string]string{} // by what is taken back
	parents := map[string]bool{}
	for text := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		first, message, _ := strings.Cut(text, "\n")
		ids := strings.Fields(first)
		if len(ids) == 0 {
			continue
		}
		id := ids[0]
		h.All[id] = true
		for _, p := range ids[1:] {
			parents[p] = true
		}
		by, gone := reverts[id]
		for line := range strings.Lines(message) {
			line = strings.TrimSpace(line)
			if of, ok := strings.CutPrefix(line, "This reverts commit "); ok && !gone { // a revert of a revert takes nothing back
				reverts[strings.TrimSuffix(of, ".")] = id
			}
			step, ok := strings.CutPrefix(line, StepTrailer)
			switch {
			case !ok || h.Steps[step] != "" || h.Reverted[step] != "":
			case gone:
				h.Reverted[step] = by
			default:
				h.Steps[step] = id
			}
		}
	}
	for p := range parents {
		h.Whole = h.Whole && h.All[p]
	}
	return h, nil
}

// Stands says whether the work of a step is in HEAD, and what shows it: its trailer below
// HEAD; the commit at which its work was in; or its files, as they were then. Amended,
// squashed and rebased work stands. It does not where a later commit takes it back by name.
func (r *Repo) Stands(h *History, head HeadNow, key string, past *core.Past) (stands bool, why string, err error) {
	if by := h.Reverted[key]; by != "" {
		return false, "commit " + short(by) + " takes it back", nil
	}
	if id := h.Steps[key]; id != "" {
		return true, "commit " + short(id), nil
	}
	if past.Commit != "" && h.All[past.Commit] {
		return true, "the branch has commit " + short(past.Commit), nil
	}
	changes, err := r.Diff(past.Before, past.After)
	if err != nil {
		return false, "", err
	}
	for _, c := range changes {
		now, err := r.Entry(core.World(head.Tree), c.Path)
		if err != nil {
			return false, "", err
		}
		if now != c.New {
			return false, c.Path + " is not as the step left it, and no commit below HEAD has it", nil
		}
	}
	return len(changes) > 0, "its files are as it left them", nil
}

func short(id string) string { return id[:min(len(id), 10)] }
