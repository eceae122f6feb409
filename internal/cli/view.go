package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
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

// shownIdle is how many runs that were never begun, and how many that were stopped
// on purpose, are listed without --all: a backlog of a hundred stories must not bury
// the one that was interrupted.
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
func (v *view) status(res *project.Judgement) {
	shown, hidden := v.choose(res)
	v.line("%s", fit(v.headline(res), v.columns))
	if len(shown) > 0 {
		v.line("")
		v.table(shown, res)
	}
	v.findings(shown, reprise.Names(res.Runs), res.Findings)
	if len(shown) > 0 {
		v.line("")
		for _, l := range wrap("The verdicts come from a quick look; `reprise check RUN` looks at git, processes and files.", v.columns) {
			v.line("%s", l)
		}
	}
	if hidden != "" {
		v.line("%s", fit("Not shown: "+hidden+". `reprise status --all` shows them.", v.columns))
	}
}

// choose leaves closed runs out, and a long backlog. A run that was stopped is
// listed where it can be gone on with: its state was kept for that.
func (v *view) choose(res *project.Judgement) (shown []*reprise.Run, hidden string) {
	if v.all {
		return res.Runs, ""
	}
	left, listed := map[reprise.State]int{}, map[reprise.State]int{}
	for _, r := range res.Runs {
		d := res.Decisions[r]
		kept := d.State == reprise.Stopped && slices.ContainsFunc(d.Options(r), func(o reprise.Option) bool { return goesOn(o.Key) })
		switch idle := kept || d.State == reprise.NotStarted; {
		case !d.State.Open() && !kept, idle && listed[d.State] >= shownIdle:
			left[d.State]++
		default:
			listed[d.State]++
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

func (v *view) headline(res *project.Judgement) string {
	counts := map[reprise.State]int{}
	for _, r := range res.Runs {
		counts[res.Decisions[r].State]++
	}
	return fmt.Sprintf("%s in %s: %s", count(len(res.Runs), "run"), plain(filepath.Base(res.Root)), tally(counts))
}

// row is one line of the table; the last cell takes what room is left.
type row [7]string

const (
	colState = iota
	colName
	colLayout
	colDone
	colAge
	colVerdict
	colNext
)

var header = row{"STATE", "RUN", "LAYOUT", "DONE", "AGE", "VERDICT", "NEXT"}

func (v *view) table(runs []*reprise.Run, res *project.Judgement) {
	names := reprise.Names(res.Runs)
	rows := make([]row, len(runs))
	var widths [colNext]int
	for c := range widths {
		widths[c] = width(header[c])
	}
	widths[colState] += 2
	for i, r := range runs {
		d := res.Decisions[r]
		rows[i] = row{
			colState: symbols[d.State] + " " + words(d.State), colName: fit(plain(names[r]), max(12, v.columns/4)), colLayout: r.Layout,
			colAge: v.age(r), colVerdict: verdictWord(d.Verdict), colNext: nextWords(r, d),
		}
		if p := r.Progress(); p.Total > 0 {
			rows[i][colDone] = fmt.Sprintf("%d/%d", p.Done, p.Total)
		}
		for c := range widths {
			widths[c] = max(widths[c], width(rows[i][c]))
		}
	}
	// On a narrow terminal the layout's name is what can be missed first.
	if v.columns < 100 {
		widths[colLayout] = 0
	}
	head := header
	head[colState] = "  " + head[colState]
	v.line("%s", v.paint("1", v.row(head, widths)))
	for i, r := range runs {
		state := res.Decisions[r].State
		mark := symbols[state]
		v.line("%s%s", v.paint(colours[state], mark), strings.TrimPrefix(v.row(rows[i], widths), mark))
	}
}

func verdictWord(d reprise.Verdict) string {
	if d == 0 || d == reprise.VerdictNone {
		return "-"
	}
	return d.String()
}

func (v *view) row(r row, widths [colNext]int) string {
	var cells []string
	for c, w := range widths {
		if w > 0 {
			cells = append(cells, pad(r[c], w))
		}
	}
	text := strings.Join(cells, "  ")
	return strings.TrimRight(text+"  "+fit(r[colNext], v.columns-width(text)-2), " ")
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
func nextWords(r *reprise.Run, d reprise.Decision) string {
	if qs := r.PendingQuestions(); d.State == reprise.Waiting && len(qs) > 0 {
		return "answer: " + plain(qs[0].Text)
	}
	if d.Action == reprise.Wait && len(d.Reasons) > 0 {
		return plain(d.Reasons[0])
	}
	if len(d.Units) == 0 {
		if d.State.Open() && len(d.Reasons) > 0 {
			return plain(d.Reasons[0])
		}
		return "-"
	}
	text := unitLabel(d.Units[0])
	if n := len(d.Units) - 1; n > 0 {
		text += fmt.Sprintf(" +%d", n)
	}
	return text
}

// unitLabel names a unit: id, title and who does it.
func unitLabel(u reprise.Unit) string {
	text := plain(u.ID)
	if title := plain(u.Title); strings.Contains(title, text) {
		text = title // many titles name the id themselves
	} else if title != "" {
		text += " " + title
	}
	if u.Role != "" {
		text += " (" + plain(u.Role) + ")"
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
// nothingCode is the exit code where no run is meant: there is nothing, or nobody
// can tell, since there is no run and a place where one can be is not readable.
func nothingCode(res *project.Result) int {
	hidden := func(f reprise.Finding) bool {
		return f.Code == reprise.CodePermission || f.Code == reprise.CodeUnreadable
	}
	if len(res.Runs) == 0 && slices.ContainsFunc(res.Findings, hidden) {
		return exitUnreadable
	}
	return exitNothing
}

func (v *view) nothing(res *project.Result) {
	if nothingCode(res) == exitUnreadable {
		v.line("No workflow state found in what can be read of %s.", plain(res.Root))
	} else {
		v.line("No workflow state found in %s.", plain(res.Root))
	}
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
		if activity[0] >= '0' && activity[0] <= '9' { // "3 days", not "just now"
			activity += " ago"
		}
		activity += " (" + r.LastActivity.UTC().Format(time.RFC3339) + ", " + plain(r.LastActivitySource.String()) + ")"
	}
	v.field("activity", activity)
	if o := r.Owner; o != nil {
		v.field("owner", fmt.Sprintf("%s says %s (a marker proves nothing)", plain(o.Source.String()), plain(orUnknown(o.Agent))))
	}
	v.resume(d.ResumeState)
	for i, u := range r.Next {
		label := "next"
		if i > 0 {
			label = "or"
		}
		v.field(label, unitLabel(u)+reasonWords(u))
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
