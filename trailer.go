package reprise

import (
	"fmt"
	"strings"
	"time"
)

// TrailerAccepted stands behind the key in the trailer of a commit that the
// engine makes once everything an attempt must leave is there. Without it the
// commit is an agent's own, and may be one of several.
const TrailerAccepted = "+accepted"

// TrailerWord gives an id as it stands in a trailer, a file name and a sentence:
// unchanged where it is made of letters, digits, dots, dashes and underscores
// and is not long, else made so, with a sum that keeps different ids apart.
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

// Pasted gives a word as it stands in a command for a person to paste; the placeholder
// where a shell could take the word, which may come from a file, for something else.
func Pasted(word, placeholder string) string {
	plain := strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == ""
	if !plain || word == "" || len(word) > 200 || word[0] == '-' {
		return placeholder
	}
	return word
}

// TrailerLife tells a run from one of the same name that began at another time.
func TrailerLife(began time.Time) string {
	return fmt.Sprintf("%x", began.UnixMilli()&0xffffffffff)
}

// AttemptName names the files of an attempt at a step of a run that began at a time: a
// fresh start uses the numbers of attempts again, but not the names.
func (r Ref) AttemptName(began time.Time, step string, attempt int) string {
	return fmt.Sprintf("%s%s.%s.%d", r.LogPrefix(), TrailerLife(began), TrailerWord(step), attempt)
}

// LogPrefix is what the names of all attempts at steps of a run begin with.
func (r Ref) LogPrefix() string { return TrailerWord(r.Layout+"-"+r.ID) + "." }

// TrailerStep reads the value of a trailer of ours, RUN/STEP#ATTEMPT@LIFE with
// or without TrailerAccepted. Run and step are words of TrailerWord. ok is false
// for anything else.
func TrailerStep(value string) (run, step, life string, accepted, ok bool) {
	value, accepted = strings.CutSuffix(value, TrailerAccepted)
	name, life, hasLife := strings.Cut(value, "@")
	name, attempt, hasAttempt := strings.Cut(name, "#")
	run, step, hasStep := strings.Cut(name, "/")
	ok = hasLife && hasAttempt && hasStep && run != "" && step != "" && !strings.Contains(step, "/") &&
		attempt != "" && strings.Trim(attempt, "0123456789") == "" && life != "" && strings.Trim(life, "0123456789abcdef") == ""
	return run, step, life, accepted, ok
}
