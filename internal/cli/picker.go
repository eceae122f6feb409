package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"reprise/internal/tui"
	"reprise/project"
)

// alone is `reprise` without a command: on a terminal, a list of interrupted runs to pick
// from and resume; elsewhere, or if nothing was interrupted, the status. The Escape key
// returns to the list.
func (a *app) alone(ctx context.Context, dir string) error {
	in, ok := a.in.(*os.File)
	out, is := a.out.(*os.File)
	if a.json || !ok || !is || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) || a.env("TERM") == "dumb" {
		return a.status(ctx, []string{dir}, statusFlags{})
	}
	for {
		a.escaped = false
		if err := a.pickOne(ctx, dir, in, out); err != nil || !a.escaped {
			return err
		}
		a.code = exitOK // the list again, as if nothing had been picked
	}
}

// pickOne lets a person pick a run and resumes it.
func (a *app) pickOne(ctx context.Context, dir string, in, out *os.File) error {
	found, err := a.judge(ctx, dir, project.JudgeOptions{Full: true})
	if err != nil {
		return err
	}
	list, err := candidates(found, "")
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return a.showStatus(found, statusFlags{})
	}
	i, picked, err := tui.Pick(ctx, in, out, os.Environ(), a.picker(ctx, found, list))
	if errors.Is(err, tui.ErrInterrupted) {
		a.code = exitInterrupt
		return nil
	}
	if err != nil || !picked {
		return err
	}
	flags := resumeFlags{workFlags: workFlags{upkeepFlags: upkeepFlags{dir: dir}}}
	return a.called(ctx, &flags.dir, list[i].run.Layout+":"+list[i].run.Path, func(name string) error { return a.resume(ctx, flags, name) })
}

// picker shows the runs to choose from.
func (a *app) picker(ctx context.Context, found *project.Judgement, list []judged) tui.List {
	v := a.page(a.out)
	v.ahead = a.looks(ctx, found.Root).ahead()
	names, verdicts, projects := 0, 0, 0
	for _, j := range list {
		names = max(names, min(32, width(plain(j.name))))
		verdicts = max(verdicts, width(standingWord(j.d)))
		projects = max(projects, min(20, width(plain(j.run.Project))))
	}
	shows := func(j judged) (text, title string) {
		text = pad(fit(plain(j.name), names), names) + "  "
		if projects > 0 {
			text += pad(clip(j.run.Project, projects), projects) + "  "
		}
		text += pad(j.run.Progress().Words("/"), 7) + pad(standingWord(j.d), verdicts) + "  " + cmp.Or(nextWords(j.run, j.d), "-")
		title = formOf(j.run.Kind).name + ", " + v.since(j)
		if own := ownTitle(j.run); own != "" {
			title += ": " + own
		}
		return text, title
	}
	return tui.List{
		Rows: len(list),
		Head: func(typed string, shown, columns int) []string {
			text := fmt.Sprintf("Resume which run? %d open in %s", len(list), plain(filepath.Base(found.Root)))
			if typed != "" {
				text = fmt.Sprintf("Resume which run? %d of %d match: %s", shown, len(list), plain(typed))
			}
			return []string{v.paint(bold, fit(text, columns)), ""}
		},
		Foot: func(typed string, _, columns int) []string {
			keys := "Space look · Enter choose · Esc leave"
			if typed != "" { // a space is part of the filter then
				keys = "→ look · Enter choose · Esc all of them"
			}
			return []string{"", v.paint(faint, fit("↑ ↓ move · type to filter · "+keys, columns))}
		},
		Matches: func(i int, typed string) int {
			text, title := shows(list[i])
			return fitsTyped(list[i], text+" "+title, typed)
		},
		Below: func(n, columns int) string {
			return v.paint(faint, fit(fmt.Sprintf("    … %d more below", n), columns))
		},
		Row: func(i int, chosen bool, columns int) []string {
			j := list[i]
			mark, colour := "  ", ""
			if chosen {
				mark, colour = "› ", bold
			}
			text, title := shows(j)
			return []string{
				v.paint(cyan, mark) + v.paint(colours[j.d.State], symbols[j.d.State]) + " " + v.paint(colour, fit(text, max(1, columns-4))),
				"    " + v.paint(faint, fit(title, max(1, columns-4))),
			}
		},
		Look: func(i, columns int) []string {
			var out bytes.Buffer
			look := *v
			look.w, look.columns, look.site.run = &out, columns, list[i].name
			look.decision(list[i])
			return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		},
		Leave: func(columns int) string {
			return v.paint(faint, fit("↑ ↓ scroll · Enter choose · Esc back", columns))
		},
	}
}

// fitsTyped says how well a run matches what was typed, 0 if not at all: its name counts
// more than what the list shows of it, and the whole name more than a part.
func fitsTyped(j judged, shown, typed string) int {
	name, typed := strings.ToLower(plain(j.name)), strings.ToLower(typed)
	about := strings.Join([]string{j.run.Project, j.run.Layout, j.run.Title, words(j.d.State), strings.Join(strings.Fields(shown), " ")}, " ")
	switch {
	case name == strings.TrimSpace(typed):
		return 4
	case strings.HasPrefix(name, typed):
		return 3
	case strings.Contains(name, typed):
		return 2
	case strings.Contains(name+" "+strings.ToLower(plain(about)), typed):
		return 1
	}
	return 0
}
