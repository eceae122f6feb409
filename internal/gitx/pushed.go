package gitx

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Push is what a `git push` names: "" stands for what git takes by itself. From is the branch
// here, To the one there. Alone says that nothing before it could change the branch.
type Push struct {
	Remote, From, To string
	Alone            bool
}

// Pushed tells what in git's own files shows that a branch arrived at its remote: git writes
// down that a push moved its copy of the remote's branch once the remote has taken it, and that
// copy may have been at the commit that was the branch's when the push began. "" means that they do
// not show it, which is no sign that it did not arrive. No program is started.
func Pushed(dir string, p Push, began time.Time) (sign string) {
	at, err := findGitDir(dir)
	if err != nil || at.kind != placeNormal || began.IsZero() {
		return ""
	}
	current, _ := headFile(at.gitDir)
	if p.From == "" || p.From == "HEAD" {
		p.From = current
	}
	if p.To == "" {
		p.To = p.From
	}
	if p.Remote == "" {
		p.Remote = "*"
	}
	if !validBranch(p.From) || !validBranch(p.To) || strings.ContainsAny(p.Remote, "/\\[?") {
		return ""
	}
	logs := filepath.Join(at.commonDir, "logs", "refs")
	tip := ""
	for _, m := range movesIn(filepath.Join(logs, "heads", filepath.FromSlash(p.From))) {
		if !m.at.After(began) {
			tip = m.to
		}
	}
	there, err := filepath.Glob(filepath.Join(globQuote(logs), "remotes", p.Remote, globQuote(filepath.FromSlash(p.To))))
	if err != nil {
		return ""
	}
	for _, log := range there {
		name, _ := filepath.Rel(filepath.Join(logs, "remotes"), log)
		name = filepath.ToSlash(name)
		all := movesIn(log)
		for _, m := range slices.Backward(all) {
			if m.why == "update by push" && !m.at.Before(began.Truncate(time.Second)) {
				return fmt.Sprintf("git noted at %s that a push moved %s to commit %s", m.at.UTC().Format("2006-01-02 15:04:05 MST"), name, m.to[:8])
			}
		}
		if p.Alone && tip != "" && slices.ContainsFunc(all, func(m move) bool { return m.to == tip }) {
			return fmt.Sprintf("%s has had commit %s, which was that of the branch when it began", name, tip[:8])
		}
	}
	return ""
}

// move is one line of the log of a reference.
type move struct {
	to, why string
	at      time.Time
}

// movesIn lists what the end of the log of a reference tells, oldest first.
func movesIn(log string) (out []move) {
	text, err := readEnd(log, maxReflog)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		who, why, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		f := strings.Fields(who)
		if len(f) < 4 || !objectName(f[0]) || !objectName(f[1]) {
			continue
		}
		if sec, err := strconv.ParseInt(f[len(f)-2], 10, 64); err == nil {
			out = append(out, move{f[1], why, time.Unix(sec, 0)})
		}
	}
	return out
}
