package orchestrate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
)

// logResumed adds the resumption to the orchestration log: the latest of the
// project, or a new one in its state folder. Without a state folder there is no
// place for one, and false is returned.
func (c *scribe) logResumed() bool {
	project := projectOf(c.run.Path)
	if shapeOf(c.run.Path) != noShape {
		project = (&loader{r: c.r, run: c.run}).project()
	}
	dirs := []string{project, path.Join(project, "docs")}
	home := ""
	for _, h := range homes {
		d := path.Join(project, h)
		if !c.r.Exists(d) {
			continue
		}
		// The run's own folder, else the latest.
		if !strings.HasPrefix(c.run.Path, home+"/") || home == "" {
			home = d
		}
		dirs = append(dirs, d, path.Join(d, "logs"))
	}
	var logs []string
	for _, d := range dirs {
		for _, e := range c.r.Dir(d) {
			if !e.IsDir() && strings.HasPrefix(e.Name(), "orchestration-log-") && strings.HasSuffix(e.Name(), ".md") {
				logs = append(logs, path.Join(d, e.Name()))
			}
		}
	}
	slices.SortFunc(logs, func(a, b string) int { return strings.Compare(path.Base(a)+"\x00"+a, path.Base(b)+"\x00"+b) })
	entry, head := c.logEntry()
	for _, name := range logs {
		if f := c.r.Open(name); f.OK() && strings.Contains(strings.ReplaceAll(string(f.Data), "\r\n", "\n"), head) {
			return true
		}
	}
	if n := len(logs); n > 0 {
		f := c.r.Open(logs[n-1])
		if !f.OK() {
			return false
		}
		nl := "\n"
		if strings.Contains(string(f.Data), "\r\n") {
			nl = "\r\n"
		}
		text := nl + strings.ReplaceAll(entry, "\n", nl)
		if len(f.Data) > 0 && f.Data[len(f.Data)-1] != '\n' {
			text = nl + text
		}
		c.keep(&paper{path: f.Path, base: f.Data, next: slices.Concat(f.Data, []byte(text)), why: "log the resumption of " + oneLine(c.run.ID, 60)})
		return true
	}
	if home == "" {
		return false
	}
	name := path.Join(home, "orchestration-log-"+c.ev.At.UTC().Format("20060102T150405Z")+".md")
	c.keep(&paper{path: name, next: []byte("# Orchestration log\n\n" + entry), made: true, why: "log the resumption of " + oneLine(c.run.ID, 60)})
	return true
}

// What of the reasons for a resumption is logged.
const (
	maxLogLines = 14
	maxLogLine  = 1000
)

// logEntry is the entry of a resumption; head, its first two lines, is what it
// is known by.
func (c *scribe) logEntry() (entry, head string) {
	r := c.run
	head = fmt.Sprintf("[%s] Workflow resumed: %s\nState source: %s\n", c.ev.At.UTC().Format("2006-01-02T15:04:05Z"), r.Kind, oneLine(r.Path, 200))
	point := r.Phase
	role := ""
	if len(r.Next) > 0 {
		point, role = r.Next[0].Phase, agent(r.Next[0].Role)
	}
	if c.ev.Phase != "" {
		point = c.ev.Phase
	}
	point = oneLine(point, 100)
	if point == "" {
		point = "not on record"
	}
	if role != "" {
		point += " -- " + role
	}
	gone := "not on record"
	if !r.LastActivity.IsZero() && c.ev.At.After(r.LastActivity) {
		gone = c.ev.At.Sub(r.LastActivity).Round(time.Second).String()
	}
	check := "clean"
	switch worst := r.Worst(); {
	case worst == reprise.Blocking:
		check = "conflicts"
	case worst == reprise.Warning:
		check = "warnings"
	}
	more := ""
	if _, looked, ok := strings.Cut(c.said, "Validation: "); ok {
		// Whoever resumed it has looked further than its files, and may say why.
		lines := strings.Split(looked, "\n")
		check = oneLine(lines[0], 100)
		for _, line := range lines[1:min(len(lines), maxLogLines)] {
			if line = oneLine(line, maxLogLine); line != "" {
				more += line + "\n"
			}
		}
	} else if c.ev.Text != "" {
		check += " (" + c.ev.Text + ")"
	}
	return head + fmt.Sprintf("Resume point: %s\nInterruption duration: %s\nValidation: %s\n", point, gone, check) + more, head
}
