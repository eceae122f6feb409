package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reprise"
	"reprise/internal/gitx"
	"reprise/internal/redact"
	"reprise/internal/transcript"
)

// answer is what one probe says.
type answer int

const (
	maybe answer = iota
	yes
	no
)

// clockSlack is how far the clock of a record and that of the file system may
// be apart.
const clockSlack = 2 * time.Second

// call tells what became of a call without a result. running says which process
// still carries it out, if one does.
func (a *air) call(s *transcript.Session, c transcript.Call, life reprise.Life) (out reprise.Call, running string) {
	wrote := reprise.HashOf([]byte(c.ID + "\x00" + c.Tool + "\x00" + summary(c)))
	text := redact.Shown(summary(c), 64<<10, a.hide)
	out = reprise.Call{
		ID: a.named(c.ID), Tool: a.named(c.Tool), Text: transcript.Brief(text, shownCall), Whole: transcript.Brief(text, toldText), Wrote: wrote,
		Started: c.Started, Effect: c.Effect(), Landing: reprise.LandingUnknown, Passed: c.Passed,
	}
	sign := func(format string, args ...any) {
		out.Signs = append(out.Signs, redact.Shown(fmt.Sprintf(format, args...), 2*shownText, a.hide))
	}
	running = a.running(s, c)
	switch {
	case c.Torn:
		out.Text = "a call whose record was cut off while it was written, or cannot be read"
		sign("the transcript ends in the middle of a record, or records at its end cannot be read, so what was begun is unknown")
	case c.Turn:
		out.Text = "a turn that has no end on record"
		sign("its transcript does not show that the turn ended, so something may have been under way")
	}
	if out.Whole = cmp.Or(out.Whole, out.Text); c.Nameless() {
		return out, running
	}
	if running != "" {
		sign("%s", running)
		return out, running
	}
	if out.Effect == reprise.EffectNone {
		out.Landing = reprise.NotLanded
		sign("it only reads: there is nothing that could have landed")
		return out, ""
	}
	if c.Started.IsZero() {
		sign("when it was begun is not on record, so nothing tells whether it was carried out")
		return out, ""
	}
	dir := workdir(s, c)
	var answers []answer
	for _, f := range c.Input.Files {
		got, text := a.file(dir, f, c.Started)
		answers = append(answers, got)
		sign("%s", text)
	}
	marks, whole := c.Marks()
	// Nothing before a push could change what it pushes.
	alone := whole && len(c.Input.Files) == 0 && !slices.ContainsFunc(marks, func(m transcript.Mark) bool { return m.Push == nil })
	for _, m := range marks {
		got, text := a.mark(dir, m, c.Started, alone)
		if got == yes && m.After { // it ran only because all before it had
			for i := range answers {
				answers[i] = yes
			}
		}
		answers = append(answers, got)
		sign("%s", text)
	}
	out.Landing = landing(answers, whole)
	if len(answers) == 0 {
		sign("nothing that could be looked at tells whether it was carried out")
	} else if !whole {
		sign("other parts of it leave no trace that could be looked at")
	}
	if out.Effect > reprise.EffectGit && out.Landing != reprise.LandedPartly && !(out.Landing == reprise.Landed && whole && len(marks) > 0) {
		out.Landing = reprise.LandingUnknown // it reaches beyond what was looked at
	}
	if life == reprise.Alive && out.Landing != reprise.Landed {
		out.Landing = reprise.LandingUnknown
		sign("the session is worked on, so that it may still be under way")
	}
	return out, ""
}

// landing sums up the answers. Only if every part that changes anything was
// looked at do they say that all of it is there, or none.
func landing(answers []answer, whole bool) reprise.Landing {
	count := map[answer]int{}
	for _, a := range answers {
		count[a]++
	}
	switch n := len(answers); {
	case count[yes] > 0 && count[no] > 0:
		return reprise.LandedPartly
	case n > 0 && whole && count[yes] == n:
		return reprise.Landed
	case n > 0 && whole && count[no] == n:
		return reprise.NotLanded
	}
	return reprise.LandingUnknown
}

// summary names a call. It is as the session wrote it.
func summary(c transcript.Call) string {
	text := c.Input.Command
	if text == "" {
		var names []string
		for _, f := range c.Input.Files {
			names = append(names, f.Path)
		}
		text = strings.Join(names, ", ")
	}
	return text
}

// quoted quotes a name from a transcript for use in a message.
func (a *air) quoted(name string) string { return fmt.Sprintf("%q", a.shown(name)) }

func workdir(s *transcript.Session, c transcript.Call) string {
	dir := s.Dir
	if filepath.IsAbs(c.Dir) {
		dir = c.Dir
	}
	if c.Input.Dir != "" {
		return resolve(dir, c.Input.Dir)
	}
	return dir
}

func resolve(dir, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// inside reports whether a path lies in the project or in a checkout of a run:
// others are not looked at on the word of a transcript.
func (a *air) inside(name string) bool {
	ours := transcript.Query{Dirs: a.dirs}
	if !ours.Wants(filepath.ToSlash(name)) {
		return false
	}
	// A link in the project may lead anywhere.
	real, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return ours.Wants(filepath.ToSlash(real))
}

// Of files that are compared.
const maxCompared = 8 << 20

// content reads a file that a call was to change.
func (a *air) content(name string) (text string, info fs.FileInfo, why string) {
	if !a.inside(name) {
		return "", nil, "lies outside of the project and is not looked at"
	}
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, ""
	case err != nil:
		return "", nil, "cannot be looked at: " + err.Error()
	case !info.Mode().IsRegular():
		return "", info, "is not a regular file"
	case info.Size() > maxCompared:
		return "", info, "is too large to be compared"
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", info, "cannot be read: " + err.Error()
	}
	return string(b), info, ""
}

// before reports whether a file was last changed before a call began.
func before(info fs.FileInfo, began time.Time) bool {
	return !began.IsZero() && info.ModTime().Add(clockSlack).Before(began)
}

// file tells whether a file is what a call was to make of it.
func (a *air) file(dir string, f transcript.File, began time.Time) (answer, string) {
	shown := a.quoted(f.Path)
	name := resolve(dir, f.Path)
	if f.MoveTo != "" {
		name = resolve(dir, f.MoveTo)
		shown = a.quoted(f.MoveTo)
	}
	text, info, why := a.content(name)
	switch {
	case why != "":
		return maybe, shown + " " + why
	case f.Delete && info == nil:
		return yes, shown + " is gone, as it should be"
	case f.Delete:
		return no, shown + " is still there"
	case info == nil:
		return no, shown + " is not there"
	case f.Write != nil:
		return written(shown, text, *f.Write, info, began)
	case len(f.Edits) > 0:
		return edited(shown, text, f.Edits)
	case before(info, began):
		return no, shown + " was last changed before the call"
	}
	return maybe, shown + " is there, and what it should be is not on record"
}

func written(shown, have, want string, info fs.FileInfo, began time.Time) (answer, string) {
	switch {
	case have == want:
		return yes, shown + " has exactly the content it should get"
	case before(info, began):
		return no, shown + " has another content and was last changed before the call"
	case strings.HasPrefix(want, have):
		return maybe, fmt.Sprintf("%s holds the first %d of the %d bytes it should get", shown, len(have), len(want))
	}
	return maybe, shown + " has another content and was changed after the call began"
}

func edited(shown, have string, edits []transcript.Edit) (answer, string) {
	done, open := 0, 0
	for _, e := range edits {
		switch was, is := contains(have, e.Old), contains(have, e.New); {
		case e.New != "" && is && (!was || strings.Contains(e.New, e.Old)):
			done++
		case was && !is, was && e.New == "":
			open++
		}
	}
	switch {
	case done == len(edits):
		return yes, shown + " has the changes"
	case open == len(edits):
		return no, shown + " does not have the changes"
	case done > 0 && open > 0:
		return maybe, fmt.Sprintf("%s has %d of %d changes", shown, done, len(edits))
	}
	return maybe, shown + " has neither what was to be replaced nor what should stand there"
}

func contains(have, part string) bool { return part != "" && strings.Contains(have, part) }

// mark tells whether a part of a command line has left its trace.
func (a *air) mark(dir string, m transcript.Mark, began time.Time, alone bool) (answer, string) {
	if m.Dir != "" {
		dir = resolve(dir, m.Dir)
	}
	switch {
	case m.Commit != "":
		return a.commit(dir, m.Commit, began)
	case m.Branch != "":
		return a.branch(dir, m.Branch)
	case m.Push != nil:
		return a.push(dir, *m.Push, began, alone)
	}
	shown, name := a.quoted(m.Path), resolve(dir, m.Path)
	if !a.inside(name) {
		return maybe, shown + " lies outside of the project and is not looked at"
	}
	info, err := os.Lstat(name)
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return maybe, shown + " cannot be looked at: " + err.Error()
	case m.Gone && there:
		return no, shown + " is still there"
	case m.Gone:
		return yes, shown + " is gone, as it should be"
	case !there:
		return no, shown + " is not there"
	case m.Made && (info.IsDir() || !before(info, began)):
		return yes, shown + " is there"
	case m.Content != nil:
		text, info, why := a.content(name)
		if why != "" || info == nil {
			return maybe, shown + " " + why
		}
		return written(shown, text, *m.Content, info, began)
	case before(info, began):
		return no, shown + " was last changed before the call"
	}
	return maybe, shown + " was written to after the call began, whole or not"
}

// commit looks for a commit with this subject since the call began.
func (a *air) commit(dir, subject string, began time.Time) (answer, string) {
	if a.git == nil || !a.inside(filepath.Join(dir, "x")) {
		return maybe, "git was not asked whether there is a commit " + a.quoted(subject)
	}
	for _, c := range a.git.Commits {
		if c.Subject == subject && !c.At.Add(clockSlack).Before(began.Truncate(time.Second)) {
			return yes, fmt.Sprintf("commit %.10s has this message", c.Hash)
		}
	}
	if a.git.Detached || len(a.git.Commits) == 0 && a.git.Head != "" {
		return maybe, "no branch has a commit with this message, and the checkout is on none"
	}
	return no, "no branch has a commit with this message since the call began"
}

func (a *air) branch(dir, name string) (answer, string) {
	if a.git == nil || !a.inside(filepath.Join(dir, "x")) {
		return maybe, "git was not asked whether there is a branch " + a.quoted(name)
	}
	for _, b := range a.git.Branches {
		if b.Name == name {
			return yes, "there is a branch " + a.quoted(name)
		}
	}
	return no, "there is no branch " + a.quoted(name)
}

// push looks for what git itself notes of a branch that arrived at a remote. That it notes
// nothing proves nothing.
func (a *air) push(dir string, p transcript.Push, began time.Time, alone bool) (answer, string) {
	if a.inside(filepath.Join(dir, "x")) {
		if sign := gitx.Pushed(dir, gitx.Push{Remote: p.Remote, From: p.From, To: p.To, Alone: alone}, began); sign != "" {
			return yes, sign
		}
	}
	return maybe, "git has not noted that the push arrived: only the other repository can tell"
}

// running names a process that still carries a call out: one that works in the
// folder and whose command line holds that of the call, or is a part of it and
// was started after it began. Of a call without a name it is any command that was
// started in the way of agents since its session began. The program that looks is not
// among them.
func (a *air) running(s *transcript.Session, c transcript.Call) string {
	if c.Nameless() {
		for _, w := range a.workers.Found {
			if w.Detached && !w.Above && !c.Passed && !w.Started.Before(s.Started) && !isCLI(strings.Fields(w.Command), s.CLI) {
				return fmt.Sprintf("process %d (%q), which may be a command of it, still runs in its folder", w.PID, w.Name)
			}
		}
		return ""
	}
	want := strings.Join(strings.Fields(c.Input.Command), " ")
	if len(want) < 4 {
		return ""
	}
	for _, w := range a.workers.Found {
		have := strings.Join(strings.Fields(w.Command), " ")
		if w.Above || runsCLI(w.Command, s.CLI) {
			continue
		}
		switch {
		case strings.Contains(have, want):
			return fmt.Sprintf("process %d still carries it out", w.PID)
		case strings.Contains(have, " ") && holds(want, have) && !c.Started.IsZero() && !w.Started.Before(c.Started.Add(-clockSlack)):
			return fmt.Sprintf("process %d still carries out a part of it", w.PID)
		}
	}
	return ""
}

// holds reports whether a command line is part of another, and begins and ends in it where words do.
func holds(all, part string) bool {
	for from := 0; ; from++ {
		at := strings.Index(all[from:], part)
		if from += at; at < 0 || wordEnds(all[:from], true) && wordEnds(all[from+len(part):], false) {
			return at >= 0
		}
	}
}

// wordEnds reports whether what stands before a part, or behind it, does not go on with its word.
func wordEnds(text string, before bool) bool {
	r, _ := utf8.DecodeRuneInString(text)
	if before {
		r, _ = utf8.DecodeLastRuneInString(text)
	}
	return text == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./", r)
}
