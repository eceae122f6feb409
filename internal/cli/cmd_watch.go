package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/tui"
	"reprise/internal/watch"
	"reprise/project"
	"reprise/report"
)

func (a *app) newWatch() *cobra.Command {
	known := false
	cmd := &cobra.Command{
		Use:   "watch [PATH...]",
		Short: "Watch the runs of one or more projects, live",
		Long: "Show the open runs of one or more projects and what changes: on a terminal as a\n" +
			"live table, in a pipe as one line for each open run and then one for each change.\n" +
			"It looks whenever files change, and every two seconds. Ends with Ctrl-C. Changes\n" +
			"nothing.",
		Example: "  reprise watch\n  reprise watch ~/projects/*\n  reprise watch --known --json",
		Args:    args(cobra.ArbitraryArgs),
		RunE: a.guarded(func(cmd *cobra.Command, args []string) (err error) {
			switch {
			case known && len(args) > 0:
				return misuse("--known watches the projects you work in; it takes no folder")
			case known:
				args, _, err = a.known(false)
			case len(args) == 0:
				args = []string{"."}
			}
			if err != nil {
				return err
			}
			return a.watch(cmd.Context(), args)
		}),
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON, one object on each line (schema/watch.v1.json)")
	cmd.Flags().BoolVar(&known, "known", false, "watch the projects you work in, if you keep a list of them")
	return cmd
}

// watcher is the state of watched projects.
type watcher struct {
	*app
	mu      sync.Mutex
	found   *project.Judgement
	apart   bool
	problem string            // why the last look failed, or part of it; else ""
	said    map[string]string // by run: its status when last reported
	docs    map[string]report.Run
	recent  []string // the latest lines, for the screen
	live    bool     // there is a screen
}

// watch reports the status of runs and its changes until the context ends. The first look
// must succeed; later failures are reported.
func (a *app) watch(ctx context.Context, dirs []string) error {
	w := &watcher{app: a, said: map[string]string{}, docs: map[string]report.Run{}}
	found, apart, bad, err := together(dirs, func(dir string) (*project.Judgement, error) {
		return a.look(ctx, dir, project.JudgeOptions{})
	})
	if err != nil {
		return err
	}
	a.leftOut(bad)
	w.problem = problemWords(bad)
	screen := w.screen()
	if screen != nil {
		defer screen.Close()
	}
	folders := watch.Open(rescanEvery)
	defer folders.Close()
	for {
		if err := w.take(found, apart, problemWords(append(bad, err))); err != nil {
			return err
		}
		if screen != nil {
			screen.Refresh()
		}
		folders.Add(w.folders(dirs)...)
		if !folders.Wait(ctx) {
			return nil
		}
		found, apart, bad, err = together(dirs, func(dir string) (*project.Judgement, error) {
			root, _ := project.Locate(dir)
			return a.judgeAgain(ctx, root, project.JudgeOptions{})
		})
		if ctx.Err() != nil {
			return nil
		}
	}
}

// folders lists those that change while a run is worked on.
func (w *watcher) folders(projects []string) (dirs []string) {
	for _, dir := range projects {
		root, _ := project.Locate(dir)
		state := filepath.Join(root, durable.StateDir)
		dirs = append(dirs, root, state, filepath.Join(state, "journal"))
	}
	for _, r := range w.found.Runs {
		if w.found.Decisions[r].State.Open() {
			at, root := filepath.Join(w.found.Root, filepath.FromSlash(r.Path)), filepath.Join(w.found.Root, filepath.FromSlash(r.Project))
			dirs = append(dirs, at, filepath.Dir(at), root, filepath.Join(root, durable.StateDir, "journal"))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// problemWords says why some folders cannot be read, "" if all can.
func problemWords(list []error) string {
	var texts []string
	for _, err := range list {
		if err != nil && !has[*noFolderError](err) {
			texts = append(texts, plain(err.Error()))
		}
	}
	return strings.Join(texts, "; ")
}

// take processes the result of a look, nil if it failed, and reports what is new. The
// error is from writing.
func (w *watcher) take(found *project.Judgement, apart bool, problem string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if problem != "" && problem != w.problem && !w.live {
		fmt.Fprintf(w.err, "reprise: %s\n", problem)
	}
	w.problem = problem
	if found == nil {
		return nil
	}
	first := w.found == nil
	w.found, w.apart = found, apart
	names, here := reprise.Names(found.Runs), map[string]bool{}
	for _, r := range byState(found) {
		d := found.Decisions[r]
		key, text := r.Layout+"\x00"+r.Path, stands(r, d)
		here[key] = true
		known := w.said[key] == text
		w.said[key], w.docs[key] = text, report.NewJudged(r, d)
		if known || first && (w.live || !d.State.Open()) { // a screen shows them in the table
			continue
		}
		if err := w.tell(w.docs[key], names[r], text, false); err != nil {
			return err
		}
	}
	for key := range w.said {
		if here[key] {
			continue
		}
		delete(w.said, key)
		if err := w.tell(w.docs[key], w.docs[key].ID, "is no longer there", true); err != nil {
			return err
		}
	}
	return nil
}

// stands describes a run's status on one line.
func stands(r *reprise.Run, d reprise.Decision) string {
	text := symbols[d.State] + " " + words(d.State)
	if p := r.Progress(); p.Total > 0 {
		text += ", " + doneWords(p)
	}
	var active []string
	for _, s := range r.Steps {
		if s.Status == reprise.InProgress && d.State == reprise.Running {
			active = append(active, clip(s.ID, 40))
		}
	}
	switch next := nextWords(r, d); {
	case len(active) > 0:
		text += "; at work: " + strings.Join(active, ", ")
	case d.State == reprise.Waiting:
		text += "; " + next
	case d.State.Open() && d.State != reprise.Running && next != "":
		text += "; next: " + next
	}
	return text
}

// tell writes a change as a line, or keeps it for the screen.
func (w *watcher) tell(doc report.Run, name, text string, gone bool) error {
	if w.json {
		return w.writeLine(report.Watched{Schema: report.WatchSchema, At: w.now().UTC(), Root: w.found.Root, Run: doc, Gone: gone})
	}
	if w.apart {
		name = doc.Project + "  " + name
	}
	line := w.now().UTC().Format(time.TimeOnly) + "  " + plain(name) + "  " + text
	if w.live {
		w.recent = append(w.recent[max(0, len(w.recent)-recentLines):], line)
		return nil
	}
	_, err := fmt.Fprintln(w.out, fit(line, longest))
	return err
}

// recentLines is how many changes are kept for the screen.
const recentLines = 200

// screen shows the runs on a terminal, nil if there is none.
func (w *watcher) screen() *tui.Screen {
	keys, out, ok := w.screenFiles()
	if w.live = ok; !ok {
		return nil
	}
	return tui.Open(keys, out, os.Environ(), w.frame)
}

// frame draws the runs, with the latest changes below.
func (w *watcher) frame(columns, rows int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.found == nil {
		return nil
	}
	var text bytes.Buffer
	p := w.page(w.out)
	p.w, p.columns, p.apart = &text, columns, w.apart
	shown, hidden := p.choose(w.found)
	what := plain(filepath.Base(w.found.Root))
	if w.apart {
		what = count(len(projectsOf(w.found)), "project")
	}
	p.line("%s", p.paint(bold, fit("Watching "+what+": "+cmp.Or(tally(states(w.found, w.found.Runs)), "no run yet"), columns)))
	if room := max(1, rows-8); len(shown) > room {
		hidden = strings.TrimPrefix(hidden+"; "+count(len(shown)-room, "run")+" more", "; ")
		shown = shown[:room]
	}
	if len(shown) > 0 {
		p.runs(shown, w.found)
	}
	if hidden != "" {
		p.line("%s", p.paint(faint, fit("  not shown: "+hidden, columns)))
	}
	if w.problem != "" {
		p.line("%s", p.paint(red, fit("✗ "+w.problem, columns)))
	}
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	if room := rows - len(lines) - 4; room > 0 && len(w.recent) > 0 {
		lines = append(lines, "")
		for _, line := range w.recent[max(0, len(w.recent)-room):] {
			lines = append(lines, p.paint(faint, fit(line, columns)))
		}
	}
	return append(lines, p.paint(faint, fit("Ctrl-C leaves", columns)))
}
