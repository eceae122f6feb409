package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"reprise/internal/tui"
	"reprise/project"
)

// alone is `reprise` without a word: on a terminal, a list of what was
// interrupted to pick from and resume; elsewhere, and where nothing was
// interrupted, the status.
func (a *app) alone(cmd *cobra.Command) error {
	in, ok := a.in.(*os.File)
	out, is := a.out.(*os.File)
	if a.json || !ok || !is || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) || a.env("TERM") == "dumb" {
		return a.status(cmd.Context(), []string{"."}, statusFlags{})
	}
	found, err := a.judge(cmd.Context(), ".", project.JudgeOptions{})
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
	i, picked, err := tui.Pick(cmd.Context(), in, out, os.Environ(), a.picker(found, list))
	if errors.Is(err, tui.ErrInterrupted) {
		a.code = exitInterrupt
		return nil
	}
	if err != nil || !picked {
		return err
	}
	return a.resume(cmd.Context(), resumeFlags{workFlags: workFlags{upkeepFlags: upkeepFlags{dir: "."}}}, list[i].run.Layout+":"+list[i].run.Path)
}

// picker shows the runs of which one is to be chosen.
func (a *app) picker(found *project.Judgement, list []judged) tui.List {
	v := a.page(a.out)
	wide, words := 0, 0
	for _, j := range list {
		wide = max(wide, min(32, width(plain(j.name))))
		words = max(words, width(v.age(j.run)))
	}
	return tui.List{
		Rows: len(list),
		Head: func(columns int) []string {
			return []string{v.paint(bold, fit(fmt.Sprintf("Resume which run? %d open in %s", len(list), plain(filepath.Base(found.Root))), columns)), ""}
		},
		Foot: func(columns int) []string {
			return []string{"", v.paint(faint, fit("↑ ↓ choose · Enter resume · q leave", columns))}
		},
		Row: func(i int, chosen bool, columns int) []string {
			j := list[i]
			mark, colour := "  ", ""
			if chosen {
				mark, colour = "› ", bold
			}
			p := j.run.Progress()
			text := pad(fit(plain(j.name), wide), wide) + "  " + pad(p.Words("/"), 7) + pad(v.age(j.run), words) + "  " + nextWords(j.run, j.d)
			state := symbols[j.d.State]
			title := formOf(j.run.Kind).name
			if own := ownTitle(j.run); own != "" {
				title += ": " + own
			}
			return []string{
				v.paint(cyan, mark) + v.paint(colours[j.d.State], state) + " " + v.paint(colour, fit(text, max(1, columns-4))),
				"    " + v.paint(faint, fit(title, max(1, columns-4))),
			}
		},
	}
}
