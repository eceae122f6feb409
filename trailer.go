package reprise

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TrailerAccepted follows the key in the trailer of a commit that the engine makes once
// everything an attempt must leave is there. Without it the commit is an agent's own and
// may be one of several.
const TrailerAccepted = "+accepted"

// CommitSubject returns the first line of a commit that the engine makes for a step,
// without characters that are invisible or change how others look.
func CommitSubject(step, title string) string {
	subject := step
	if title != "" && title != step {
		subject += ": " + title
	}
	subject = strings.Join(strings.Fields(strings.Map(printable, subject)), " ")
	if r := []rune(subject); len(r) > 100 {
		subject = string(r[:99]) + "…"
	}
	return subject
}

func printable(r rune) rune {
	if !unicode.IsGraphic(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == unicode.ReplacementChar {
		return ' '
	}
	return r
}

// TrailerWord returns an id in the form used in trailers, file names and sentences:
// unchanged if it is short and consists of letters, digits, dots, dashes and underscores,
// otherwise converted, with a checksum that keeps different ids apart.
func TrailerWord(id string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, id)
	if safe == id && len(id) <= 60 && id != "" && id[0] != '.' {
		return id
	}
	sum := HashOf([]byte(id))
	return strings.TrimLeft(safe[:min(len(safe), 40)], ".-") + "-" + sum.String()[:8]
}

// AttemptFolder is that of an attempt at a step, in the folder of its run. No two attempts share one.
func AttemptFolder(step string, attempt int) string {
	return fmt.Sprintf("attempts/%s.%d", TrailerWord(step), attempt)
}

// Pasted returns a word for use in a command that a person will paste, in single quotes where
// a shell could take it for something else. It returns the placeholder if the word, which may
// come from a file, would not come through a terminal as it is, or could mean something else
// to the command itself.
func Pasted(word, placeholder string) string {
	if word == "" || len(word) > 200 || strings.ContainsRune("-:~@+", rune(word[0])) || strings.ContainsAny(word, "`\\*?[") || strings.Contains(word, "  ") ||
		!utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return r != ' ' && (printable(r) != r || unicode.IsSpace(r)) }) {
		return placeholder
	}
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-:~@+") == "" { // in the middle these mean themselves in every shell
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// TrailerLife distinguishes a run from one of the same name that began at another time.
func TrailerLife(began time.Time) string {
	return fmt.Sprintf("%x", began.UnixMilli()&0xffffffffff)
}

// AttemptName names the files of an attempt at a step of a run that began at the given
// time. A fresh start reuses the numbers of attempts, but not the names.
func (r Ref) AttemptName(began time.Time, step string, attempt int) string {
	return fmt.Sprintf("%s%s.%s.%d", r.LogPrefix(), TrailerLife(began), TrailerWord(step), attempt)
}

// LogPrefix is the common prefix of the names of all attempts of a run.
func (r Ref) LogPrefix() string { return TrailerWord(r.Layout+"-"+r.ID) + "." }

// LogName is the name of the run's journal: readable, unambiguous, and a file name whatever the run
// is called. Two runs of one name have different ones.
func (r Ref) LogName() string {
	sum := HashOf([]byte(r.Layout + "\x00" + r.Path))
	return r.LogStem() + sum.String()[:8]
}

// LogStem is LogName without what tells two runs of one name apart.
func (r Ref) LogStem() string {
	var b strings.Builder
	for _, c := range strings.ToLower(r.ID) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		default:
			b.WriteByte('-')
		}
		if b.Len() == 32 {
			break
		}
	}
	slug := strings.Trim(b.String(), "-")
	if slug == "" {
		slug = "run"
	}
	return r.Layout + "-" + slug + "-"
}

// Trails reports whether the run in a trailer is this one: older builds wrote its id, which another
// one may have too.
func (r *Run) Trails(run string) bool {
	return run == TrailerWord(r.ID) || run == r.LogName()
}

// TrailerStep parses the value of our trailer: RUN/STEP, where RUN is a Ref.LogName and the commit
// holds the accepted work of the step, or RUN/STEP#ATTEMPT@LIFE of an older build, with or without
// TrailerAccepted and with RUN in the form of TrailerWord. Step is in that form, and life is "" in the
// first. ok is false for anything else.
func TrailerStep(value string) (run, step, life string, accepted, ok bool) {
	value, accepted = strings.CutSuffix(value, TrailerAccepted)
	name, life, hasLife := strings.Cut(value, "@")
	name, attempt, hasAttempt := strings.Cut(name, "#")
	run, step, hasStep := strings.Cut(name, "/")
	ok = hasLife && hasAttempt && hasStep && run != "" && step != "" && !strings.Contains(step, "/") &&
		attempt != "" && strings.Trim(attempt, "0123456789") == "" && life != "" && strings.Trim(life, "0123456789abcdef") == ""
	if ok || accepted {
		return run, step, life, accepted, ok
	}
	run, step, ok = strings.Cut(value, "/")
	mark := run[strings.LastIndexByte(run, '-')+1:]
	if !ok || step == "" || len(mark) != 8 || strings.Trim(mark, "0123456789abcdef") != "" {
		return run, step, "", false, false
	}
	return run, TrailerWord(step), "", true, true
}
