package project

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/examine"
	"reprise/internal/doc"
	"reprise/journal"
)

// A story itself defines what its work is measured by, and a person can change that
// between attempts. Each event of an attempt records a fingerprint, so that a later
// change shows.

// Measure returns a fingerprint of the acceptance criteria and the scope in a run's
// story, and how many criteria there are, or "" for a run of another kind or an unreadable
// story. Ticked boxes are progress, not a change, and whitespace is ignored.
func Measure(fsys fs.FS, r *reprise.Run) string {
	if !r.Kind.Facts().Document {
		return ""
	}
	text, n := measured(fsys, r.Path)
	if text == nil {
		return ""
	}
	sum := func(part examine.Part) string { return reprise.HashOf([]byte(text[part])).String()[:12] }
	return fmt.Sprint(sum(examine.CriteriaPart), " ", sum(examine.ScopePart), " ", n)
}

// FewerThan reports whether a measure has fewer criteria than another one.
func FewerThan(now, was string) bool {
	after, before := strings.Fields(now), strings.Fields(was)
	if len(after) < 3 || len(before) < 3 {
		return false // an earlier version did not count them
	}
	n, err := strconv.Atoi(after[2])
	had, failed := strconv.Atoi(before[2])
	return err == nil && failed == nil && n < had
}

// measured returns the acceptance criteria and the scope of a document, and on how many
// lines the criteria begin; nil if it cannot be read.
func measured(fsys fs.FS, name string) (text map[examine.Part]string, criteria int) {
	if !strings.HasSuffix(strings.ToLower(name), ".md") {
		return nil, 0
	}
	f := doc.NewReader(fsys).Open(name)
	if !f.OK() {
		return nil, 0
	}
	text = map[examine.Part]string{}
	var within []examine.Part // the part of each enclosing heading, by level
	for _, s := range f.Markdown().Sections() {
		part := examine.PartOf(s.Title)
		if s.Level == 1 {
			part = "" // the title of the story
		}
		within = within[:min(len(within), s.Level-1)]
		if n := len(within); part == "" && n > 0 {
			part = within[n-1]
		}
		for len(within) < s.Level {
			within = append(within, part)
		}
		if part == examine.CriteriaPart || part == examine.ScopePart {
			text[part] += plainWords(s.Title + "\n" + s.Head().Text())
		}
		if part == examine.CriteriaPart {
			for line := range strings.Lines(s.Title + "\n" + s.Head().Text()) {
				if strings.TrimSpace(line) != "" && !doc.ItemOf(line).Indented {
					criteria++
				}
			}
		}
	}
	return text, criteria
}

func plainWords(text string) string {
	text = strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]").Replace(text)
	return strings.Join(strings.Fields(text), " ") + "\n"
}

// Remeasured says that what a run's work is measured by has changed.
type Remeasured struct {
	What    []string // the acceptance criteria, the scope
	Since   string   // what they were compared with
	Measure string   // what it is now
	// Asks says that a person must decide what follows; otherwise it is only worth
	// knowing.
	Asks bool
	Why  string // why no person is asked
}

// ChangedPrefix begins the ids of questions about a changed story.
const ChangedPrefix = "changed-"

// Question returns the id of the question, a different one for each content.
func (m *Remeasured) Question() string {
	return ChangedPrefix + reprise.HashOf([]byte(m.Measure)).String()[:8]
}

// Text is the question.
func (m *Remeasured) Text() string {
	return fmt.Sprintf("%s changed since %s. Keep what was built, or build it again?", upperFirst(m.subject()), m.Since)
}

// The answers to that question.
const (
	ChangedContinue = "continue with what was built"
	ChangedAgain    = "build it again"
)

// Asked returns the question as put to a person.
func (m *Remeasured) Asked() reprise.Asked {
	return reprise.Asked{ID: m.Question(), Text: m.Text(), Options: []string{ChangedContinue, ChangedAgain}, Closed: true}
}

func (m *Remeasured) subject() string { return strings.Join(m.What, " and ") + " of the story" }

// clock formats a moment.
func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 MST") }

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// RemeasuredBy reports whether something other than one of our attempts changed what an
// open run's work is measured by. It returns nil if not, if the earlier state is not
// recorded, or if a person has already answered for the current one. r must include what
// the journal says.
//
// The end of an attempt records what the attempt changed. An attempt that was cut off has
// no recorded end: a phase that writes the story may have changed it, and so may any
// other if the story is no newer than the attempt's last sign of life.
func RemeasuredBy(dir string, fsys fs.FS, r *reprise.Run, hist *journal.History) *Remeasured {
	if !r.State.Open() || hist.Measured == nil {
		return nil
	}
	now, was := Measure(fsys, r), hist.Measured
	before, after := strings.Fields(was.Measure), strings.Fields(now)
	if len(after) < 2 || len(before) > 1 && slices.Equal(after[:2], before[:2]) {
		return nil
	}
	m := &Remeasured{Measure: now, Since: fmt.Sprintf("attempt %d of %s (%s)", was.Attempt, was.Step, clock(was.At))}
	if was.Attempt == 0 {
		m.Since = clock(was.At)
	}
	for i, what := range []string{"the acceptance criteria", "the scope"} {
		if i >= len(before) || before[i] != after[i] {
			m.What = append(m.What, what)
		}
	}
	if slices.ContainsFunc(r.Questions, func(q reprise.Question) bool { return q.ID == m.Question() && q.Answered }) {
		return nil
	}
	for _, open := range hist.Open() {
		if WritesStory(open.Step) {
			return nil
		}
		if m.Why == "" && !younger(dir, fsys, r, hist.Began, &open) {
			m.Why = fmt.Sprintf("attempt %d of %s was cut off and may have done it", open.Attempt, open.Step)
		}
	}
	if m.Why == "" && !slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return !WritesStory(s.ID) && (s.Status != reprise.Pending || s.Ours) }) {
		m.Why = "nothing was built from them yet"
	}
	m.Asks = m.Why == ""
	return m
}

// WritesStory reports whether a phase may change what the others are measured by.
func WritesStory(step string) bool { return step == "create" || step == "validate" }

// younger reports whether the story changed after an attempt's last sign of life.
func younger(dir string, fsys fs.FS, r *reprise.Run, began time.Time, attempt *reprise.Event) bool {
	info, err := fs.Stat(fsys, r.Path)
	return err == nil && info.ModTime().After(lastHeard(dir, r.Ref, began, attempt))
}

// lastHeard returns when an attempt last wrote to its log, or when it was started.
func lastHeard(dir string, ref reprise.Ref, began time.Time, attempt *reprise.Event) time.Time {
	log, err := os.Stat(filepath.Join(dir, filepath.FromSlash(logOf(ref, began, attempt.Step, attempt.Attempt))))
	if err == nil && log.ModTime().After(attempt.At) {
		return log.ModTime()
	}
	return attempt.At // without a log there is no sign of life
}

// tellChanged reports whether the story of a run was changed.
func (v *View) tellChanged(s *Scope) {
	r := v.Run
	m := RemeasuredBy(s.Dir, s.Files, r, v.History)
	if v.Changed = m; m == nil {
		return
	}
	f := reprise.Finding{
		Code: reprise.CodeCriteriaChanged, Severity: reprise.Warning, Subject: r.Path, Source: reprise.Source{File: r.Path},
		Message: fmt.Sprintf("%s changed since %s", m.subject(), m.Since),
		Hint:    "compare them with what was built; `reprise resume` asks whether to keep it or build it again",
	}
	if len(m.What) == 1 && m.What[0] == "the scope" {
		f.Code = reprise.CodeScopeChanged
	}
	if !m.Asks {
		f.Message += ": " + m.Why
		f.Hint = "make sure that they are right; `--from validate` checks them again"
	}
	r.Report(f)
}
