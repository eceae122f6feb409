package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"reprise"
	"reprise/project"
	"reprise/report"
)

// view prints for a person. Everything is plain text in a fixed order; colour
// only repeats what symbols and words say already.
type view struct {
	w       io.Writer
	columns int
	colour  bool
	now     time.Time
	all     bool
}

// shownIdle is how many runs that were never begun are listed without --all: a
// backlog of a hundred stories must not bury the one that was interrupted.
const shownIdle = 5

// shownFindings is how many findings of one run are listed without --all.
const shownFindings = 2

var symbols = map[reprise.State]string{
	reprise.NotStarted: "○", reprise.Running: "●", reprise.Interrupted: "◐", reprise.Waiting: "◇",
	reprise.Stopped: "■", reprise.Complete: "✓", reprise.Unreadable: "✗",
}

var colours = map[reprise.State]string{
	reprise.Running: "32", reprise.Interrupted: "33", reprise.Waiting: "36", reprise.Complete: "2",
	reprise.Stopped: "2", reprise.NotStarted: "2", reprise.Unreadable: "31",
}

func words(s reprise.State) string { return strings.ReplaceAll(s.String(), "_", " ") }

func (v *view) paint(code, s string) string {
	if !v.colour || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (v *view) line(format string, args ...any) { fmt.Fprintf(v.w, format+"\n", args...) }

// status prints the runs of a project as a table, the most urgent first.
func (v *view) status(res *project.Result) {
	shown, hidden := v.choose(res.Runs)
	v.line("%s", fit(v.headline(res), v.columns))
	if len(shown) > 0 {
		v.line("")
		v.table(shown, reprise.Names(res.Runs))
	}
	v.findings(shown, reprise.Names(res.Runs), res.Findings)
	if hidden != "" {
		v.line("")
		v.line("%s", fit("Not shown: "+hidden+". `reprise status --all` shows them.", v.columns))
	}
}

// choose leaves closed runs out, and a long backlog.
func (v *view) choose(runs []*reprise.Run) (shown []*reprise.Run, hidden string) {
	if v.all {
		return runs, ""
	}
	left := map[reprise.State]int{}
	idle := 0
	for _, r := range runs {
		switch {
		case !r.State.Open():
			left[r.State]++
		case r.State == reprise.NotStarted && idle >= shownIdle:
			left[r.State]++
		default:
			if r.State == reprise.NotStarted {
				idle++
			}
			shown = append(shown, r)
		}
	}
	return shown, tally(left)
}

// tally gives "2 interrupted, 1 waiting" in the order of urgency.
func tally(counts map[reprise.State]int) string {
	var parts []string
	for s := reprise.NotStarted; s <= reprise.Unreadable; s++ {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words(s)))
		}
	}
	return strings.Join(parts, ", ")
}

func (v *view) headline(res *project.Result) string {
	counts := map[reprise.State]int{}
	for _, r := range res.Runs {
		counts[r.State]++
	}
	return fmt.Sprintf("%s in %s: %s", count(len(res.Runs), "run"), plain(filepath.Base(res.Root)), tally(counts))
}

type row struct{ state, name, layout, done, age, next string }

func (v *view) table(runs []*reprise.Run, names map[*reprise.Run]string) {
	rows := make([]row, len(runs))
	head := row{"STATE", "RUN", "LAYOUT", "DONE", "LAST ACTIVITY", "NEXT"}
	wide := row{}
	widths := [5]int{width(head.state) + 2, width(head.name), width(head.layout), width(head.done), 0}
	for i, r := range runs {
		p := r.Progress()
		rows[i] = row{
			state: symbols[r.State] + " " + words(r.State), name: fit(plain(names[r]), max(12, v.columns/4)), layout: r.Layout,
			age: v.age(r), next: nextWords(r),
		}
		if p.Total > 0 {
			rows[i].done = fmt.Sprintf("%d/%d", p.Done, p.Total)
		}
		for c, cell := range [4]string{rows[i].state, rows[i].name, rows[i].layout, rows[i].done} {
			widths[c] = max(widths[c], width(cell))
		}
		if width(rows[i].age) > width(wide.age) {
			wide.age = rows[i].age
		}
	}
	widths[4] = max(width(wide.age), width("AGE"))
	head.age = "AGE"
	// On a narrow terminal the layout's name is what can be missed first.
	layout := v.columns >= 80
	v.line("%s", v.paint("1", v.row(head, widths, layout, "  ")))
	for i, r := range runs {
		text := v.row(rows[i], widths, layout, "")
		mark := symbols[r.State]
		v.line("%s%s", v.paint(colours[r.State], mark), strings.TrimPrefix(text, mark))
	}
}

func (v *view) row(r row, widths [5]int, layout bool, indent string) string {
	cells := []string{pad(indent+r.state, widths[0]), pad(r.name, widths[1])}
	if layout {
		cells = append(cells, pad(r.layout, widths[2]))
	}
	cells = append(cells, pad(r.done, widths[3]), pad(r.age, widths[4]))
	text := strings.Join(cells, "  ")
	room := v.columns - width(text) - 2
	return strings.TrimRight(text+"  "+fit(r.next, room), " ")
}

func (v *view) age(r *reprise.Run) string {
	if r.LastActivity.IsZero() {
		return "unknown"
	}
	d := v.now.Sub(r.LastActivity)
	// Recorded times without a zone may be some hours ahead; that is no future.
	if d < 0 && d > -15*time.Hour {
		d = 0
	}
	return age(d)
}

// nextWords tells what would come next, or what is waited for.
func nextWords(r *reprise.Run) string {
	if qs := r.PendingQuestions(); r.State == reprise.Waiting && len(qs) > 0 {
		return "answer: " + plain(qs[0].Text)
	}
	if len(r.Next) == 0 {
		if r.State.Open() {
			return plain(r.Reason)
		}
		return "-"
	}
	u := r.Next[0]
	text := plain(u.ID)
	if title := plain(u.Title); strings.Contains(title, text) {
		text = title // many titles name the id themselves
	} else if title != "" {
		text += " " + title
	}
	if u.Role != "" {
		text += " (" + plain(u.Role) + ")"
	}
	if n := len(r.Next) - 1; n > 0 {
		text += fmt.Sprintf(" +%d", n)
	}
	return text
}

// inTable are findings that the age column of the table tells already.
var inTable = map[string]bool{reprise.CodeStaleRun: true, reprise.CodeFutureTime: true}

var marks = map[reprise.Severity]string{reprise.Info: "·", reprise.Warning: "!", reprise.Blocking: "✗"}

// findings prints one line per finding worth a look: warnings and worse, a few
// for each run, everything with --all.
func (v *view) findings(runs []*reprise.Run, names map[*reprise.Run]string, general []reprise.Finding) {
	first := true
	show := func(name string, f reprise.Finding) {
		if first {
			v.line("")
			first = false
		}
		v.finding(name, f)
	}
	for _, f := range general {
		show("", f)
	}
	for _, r := range runs {
		told, left := 0, 0
		for _, f := range r.Findings {
			if !v.all && (f.Severity < reprise.Warning || inTable[f.Code]) {
				continue
			}
			if !v.all && told >= shownFindings {
				left++
				continue
			}
			told++
			if f.Subject == r.ID {
				f.Subject = "" // its name stands in front
			}
			show(names[r], f)
		}
		if left > 0 {
			v.line("%s", fit(fmt.Sprintf("  … %s: %d more, `reprise detect %s` shows them", plain(names[r]), left, plain(names[r])), v.columns))
		}
	}
}

func (v *view) finding(name string, f reprise.Finding) {
	text := plain(f.Message)
	if f.Subject != "" && f.Subject != name {
		text = plain(f.Subject) + ": " + text
	}
	if src := f.Source.String(); src != "" {
		text += " [" + plain(src) + "]"
	}
	if name != "" {
		text = plain(name) + ": " + text
	}
	mark := marks[f.Severity]
	colour := ""
	switch f.Severity {
	case reprise.Warning:
		colour = "33"
	case reprise.Blocking:
		colour = "31"
	}
	if !v.all {
		v.line("%s %s", v.paint(colour, mark), fit(text, v.columns-2))
		return
	}
	for i, l := range wrap(text, v.columns-2) {
		if i > 0 {
			mark = " "
		}
		v.line("%s %s", v.paint(colour, mark), l)
	}
}

// nothing is the friendly answer for a folder without runs.
func (v *view) nothing(res *project.Result) {
	v.line("No workflow state found in %s.", plain(res.Root))
	v.line("")
	for _, l := range wrap("Looked for .long-run/ and .planning/, .aios/ .aiox/ .nexos/ and docs/stories/, .agent-memory/runs/, .auto-claude/specs/, and specs/*/.workflow/, here and in subfolders.", v.columns) {
		v.line("%s", l)
	}
	if n := len(res.Skipped); n > 0 {
		v.line("%s", fit(fmt.Sprintf("%s left out because git ignores them: `reprise status --ignored` looks there too.", count(n, "folder")), v.columns))
	}
	v.findings(nil, nil, res.Findings)
	v.line("")
	v.line("Is the work somewhere else? `reprise status PATH`")
}

// detect prints how one run was interrupted.
func (v *view) detect(r *reprise.Run, name string, d report.Detect) {
	title := ""
	if r.Title != "" {
		title = ": " + plain(r.Title)
	}
	v.line("%s", fit(fmt.Sprintf("%s (%s, %s)%s", plain(name), r.Layout, r.Kind, title), v.columns))
	v.field("state", symbols[r.State]+" "+words(r.State)+", "+plain(r.Reason))
	v.field("where", plain(r.Path))
	if r.Phase != "" {
		v.field("phase", plain(r.Phase))
	}
	if p := r.Progress(); p.Total > 0 {
		v.field("done", fmt.Sprintf("%d of %d", p.Done, p.Total))
	}
	activity := v.age(r)
	if !r.LastActivity.IsZero() {
		activity += " ago (" + r.LastActivity.UTC().Format(time.RFC3339) + ", " + plain(r.LastActivitySource.String()) + ")"
	}
	v.field("activity", strings.Replace(activity, "just now ago", "just now", 1))
	if o := r.Owner; o != nil {
		v.field("owner", fmt.Sprintf("%s says %s (a marker proves nothing)", plain(o.Source.String()), plain(orUnknown(o.Agent))))
	}
	v.resume(d.ResumeState)
	for i, u := range r.Next {
		label := "next"
		if i > 0 {
			label = "or"
		}
		v.field(label, nextWords(&reprise.Run{State: r.State, Next: []reprise.Unit{u}})+reasonWords(u))
	}
	for _, q := range r.PendingQuestions() {
		v.field("question", plain(q.ID)+" "+plain(q.Text)+" ["+plain(q.Source.String())+"]")
	}
	if len(d.Options) > 0 {
		v.line("")
		v.line("Ways to go on:")
		for i, o := range d.Options {
			v.line("  %d. %s (%s)", i+1, plain(o.Label), plain(o.Key))
		}
	}
	v.findings([]*reprise.Run{r}, map[*reprise.Run]string{r: name}, nil)
}

func orUnknown(s string) string {
	if s == "" {
		return "somebody unknown"
	}
	return s
}

func reasonWords(u reprise.Unit) string {
	if u.Reason == "" {
		return ""
	}
	return ": " + plain(u.Reason)
}

func (v *view) resume(s reprise.ResumeState) {
	if !s.Interrupted {
		return
	}
	text := strings.ReplaceAll(string(s.Type), "_", " ")
	if s.Plan != "" {
		text += ", plan " + plain(s.Plan)
	}
	if s.CompletedTasks != nil && s.TotalTasks != nil {
		text += fmt.Sprintf(", %d of %d tasks", *s.CompletedTasks, *s.TotalTasks)
	}
	if s.AgentID != "" {
		text += ", agent " + plain(s.AgentID)
	}
	if s.LastCommit != "" {
		text += ", last commit " + plain(s.LastCommit)
	}
	v.field("type", text)
	for _, also := range s.Also {
		v.field("also", strings.ReplaceAll(string(also.Type), "_", " ")+" "+plain(also.Plan+" "+also.Question))
	}
}

// field prints a name and a value that may take several lines.
func (v *view) field(name, value string) {
	for i, l := range wrap(value, v.columns-12) {
		if i > 0 {
			name = ""
		}
		v.line("  %s %s", pad(name, 9), l)
	}
}
