package examine

import (
	"slices"
	"strings"

	"reprise"
)

// Part is what a section of a story is for.
type Part string

// The parts of a story.
const (
	OtherPart      Part = ""
	CriteriaPart   Part = "criteria"     // what the work is measured by
	ScopePart      Part = "scope"        // what the work is
	TaskPart       Part = "tasks"        // how it is cut up
	DependencyPart Part = "dependencies" // what it waits for
	StatusPart     Part = "status"       // reported by the check on statuses
)

// partWords are the words, folded, English and Portuguese, that identify a title; the
// first match decides. Notes come before anything they might mention.
var partWords = []struct {
	part  Part
	words []string
}{
	{OtherPart, []string{
		"dev notes", "notas", "notes", "agent record", "registro do agente", "registro do dev", "agent model", "qa results", "qa result", "resultados",
		"change log", "changelog", "historico de", "registro de mudancas", "registro de alteracoes", "log de", "file list", "lista de arquivos",
		"debug log", "completion", "checklist", "review",
	}},
	{CriteriaPart, []string{"acceptance criteria", "acceptance criterion", "criterios de ace", "criterio de ace", "success criteria", "criterios de sucesso", "definition of done", "definicao de pronto", "definicao de feito"}},
	{ScopePart, []string{"scope", "escopo", "requirement", "requisito", "user story", "user stories", "historia de usuario", "goal", "objetivo"}},
	{DependencyPart, []string{"dependenc", "depends on", "depende de", "blocked by", "bloqueado por", "prerequisite", "pre requisito"}},
	{TaskPart, []string{"task", "subtask", "tarefa"}},
}

// wholeTitles are titles that count only as a whole.
var wholeTitles = map[string]Part{
	"story": ScopePart, "historia": ScopePart, "description": ScopePart, "descricao": ScopePart, "status": StatusPart,
	"ac": CriteriaPart, "acs": CriteriaPart,
}

// PartOf returns what a section of a story is for, from its title.
func PartOf(title string) Part {
	t := fold(title)
	t = strings.TrimLeft(t, "0123456789 ")
	if p, ok := wholeTitles[t]; ok {
		return p
	}
	// "pre requisito" contains "requisito", but means what it waits for, not what it is.
	if strings.Contains(t, "pre requisito") || strings.Contains(t, "prerequisito") || strings.Contains(t, "prerequisite") {
		return DependencyPart
	}
	for _, w := range partWords {
		if slices.ContainsFunc(w.words, func(s string) bool { return strings.Contains(" "+t, " "+s) }) {
			return w.part
		}
	}
	return OtherPart
}

// document is a file that the run rests on, and what is at stake if it changes.
type document struct {
	path string
	// stake is the highest severity of a change: blocking while work that rests on it is
	// in progress, a warning if that work is finished, info if it has not begun.
	stake reprise.Severity
}

// documents lists the files of a run whose sections are compared.
func documents(r *reprise.Run) []document {
	worst := map[string]reprise.Severity{}
	add := func(p string, s reprise.Severity) {
		if p != "" {
			worst[p] = max(worst[p], s)
		}
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.Path == r.Path:
			continue // a step in the run's own file is not a separate document
		case s.Status.Closed():
			add(s.Path, reprise.Warning)
		case s.Status == reprise.Pending:
			add(s.Path, reprise.Info)
		default:
			add(s.Path, reprise.Blocking)
		}
	}
	// What no step names belongs to the run as a whole.
	rest := []string{r.Path}
	for _, ref := range r.Also {
		rest = append(rest, ref.Path)
	}
	for i := range r.Artifacts {
		rest = append(rest, r.Artifacts[i].Path)
	}
	for _, p := range rest {
		if _, ok := worst[p]; !ok {
			add(p, reprise.Blocking)
		}
	}
	var out []document
	for p, s := range worst {
		out = append(out, document{p, s})
	}
	slices.SortStableFunc(out, func(a, b document) int { return strings.Compare(a.path, b.path) })
	return out
}

// sectionFindings returns one finding for each document in which sections of the given
// parts changed.
func sectionFindings(r *reprise.Run, o *World, usual stakes, hint string) []reprise.Finding {
	if !isBegun(r) || len(o.Sections) == 0 {
		return nil
	}
	var out []reprise.Finding
	for _, d := range documents(r) {
		var titles []string
		var worst reprise.Severity
		commit := ""
		for _, c := range o.Sections[d.path] {
			p := PartOf(c.Title)
			s := usual[p]
			if own := r.Kind.Facts().Document && d.path == r.Path; own && p != CriteriaPart && p != ScopePart {
				continue // the agent on a story writes the rest of it
			} else if own {
				s = min(s, reprise.Warning) // and may have written this too: who did is not recorded
			}
			if s == 0 {
				continue
			}
			worst = max(worst, min(s, d.stake))
			titles = append(titles, section(c))
			commit = c.Commit
		}
		if len(titles) == 0 {
			continue
		}
		since := " since the run was last active"
		if commit != "" {
			since += " (compared with " + short(commit) + ")"
		}
		out = append(out, reprise.Finding{
			Severity: worst, Subject: d.path, Message: strings.Join(titles, ", ") + since,
			Source: reprise.Source{File: d.path}, Hint: hint,
		})
	}
	return out
}

func section(c reprise.SectionChange) string {
	name := "text before the first section"
	if c.Title != "" {
		name = quote(c.Title) + " section"
	}
	switch {
	case c.Removed:
		return name + " removed"
	case c.Added:
		return name + " added"
	}
	return name + " updated"
}

// stakes are the default severities of changes, by part.
type stakes = map[Part]reprise.Severity

func criteriaChanged(r *reprise.Run, o *World) []reprise.Finding {
	return sectionFindings(r, o, stakes{CriteriaPart: reprise.Blocking},
		"compare the criteria with what was built; start the phase again if they no longer fit")
}

func scopeChanged(r *reprise.Run, o *World) []reprise.Finding {
	return sectionFindings(r, o, stakes{ScopePart: reprise.Blocking, TaskPart: reprise.Warning},
		"read the new requirements before you continue; start the phase again if it no longer fits")
}

func sectionChanged(r *reprise.Run, o *World) []reprise.Finding {
	return sectionFindings(r, o, stakes{OtherPart: reprise.Info}, "read it before you continue; it does not change the requirements")
}
