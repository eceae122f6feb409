package gitx

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
)

// maxReflog bounds how much is read of the end of a reflog.
const maxReflog = 1 << 20

// maxDropped bounds how many commits that are on no branch are listed: a person is told
// that there are some, and the latest of them.
const maxDropped = 64

// dropped gives the latest commits that were made in this checkout and that none of the
// listed ones is or replaced, the newest first. The reflog of the head tells of them, and
// no git is asked.
func (r *Repo) dropped(commits []reprise.Commit) (out []reprise.Commit) {
	text, err := readEnd(filepath.Join(r.gitDir, "logs", "HEAD"), maxReflog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.missed("commits that are on no branch were not looked for", err)
	}
	have := make(map[string]bool, 2*len(commits))
	for i := range commits {
		have[commits[i].Hash], have[commits[i].Subject] = true, true
	}
	for _, line := range slices.Backward(strings.Split(string(text), "\n")) {
		c, ok := madeIn(line)
		if !ok || have[c.Hash] || have[c.Subject] || len(out) == maxDropped {
			continue
		}
		have[c.Hash] = true
		out = append(out, c)
	}
	return out
}

// madeIn reads the line of a reflog that tells that a commit was made:
// OLD NEW NAME <MAIL> TIME ZONE, a tab, "commit: SUBJECT".
func madeIn(line string) (c reprise.Commit, ok bool) {
	head, what, _ := strings.Cut(line, "\t")
	kind, subject, _ := strings.Cut(what, ": ")
	words := strings.Fields(head)
	if kind != "commit" && kind != "commit (amend)" || len(words) < 5 || !objectName(words[1]) {
		return c, false
	}
	at, err := strconv.ParseInt(words[len(words)-2], 10, 64)
	return reprise.Commit{Hash: words[1], At: time.Unix(at, 0), Subject: subject}, err == nil
}
