package reprise

import (
	"crypto/sha256"
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

// TrailerStep parses the value of our trailer, RUN/STEP#ATTEMPT@LIFE with or without
// TrailerAccepted. Run and step are in the form of TrailerWord. ok is false for anything
// else.
func TrailerStep(value string) (run, step, life string, accepted, ok bool) {
	value, accepted = strings.CutSuffix(value, TrailerAccepted)
	name, life, hasLife := strings.Cut(value, "@")
	name, attempt, hasAttempt := strings.Cut(name, "#")
	run, step, hasStep := strings.Cut(name, "/")
	ok = hasLife && hasAttempt && hasStep && run != "" && step != "" && !strings.Contains(step, "/") &&
		attempt != "" && strings.Trim(attempt, "0123456789") == "" && life != "" && strings.Trim(life, "0123456789abcdef") == ""
	return run, step, life, accepted, ok
}

// FleetBranch is the branch on which an earlier release had a run worked on by many machines.
func FleetBranch(id string) string { return "reprise/" + RefWord(id) }

// RefWord makes a name that can be a part of a ref. Different names stay different.
func RefWord(id string) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, TrailerWord(id))
	if word != id || word == "" {
		word += fmt.Sprintf("-%x", sha256.Sum256([]byte(id)))[:9]
	}
	return word
}
