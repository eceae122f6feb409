package durable

import (
	"bytes"
	"errors"

	"reprise"
)

const excludePath = ".git/info/exclude"

// excludeLines keep the state folder and a temporary file that a crash left out
// of `git status` and `git add`.
var excludeLines = []string{"/" + StateDir + "/", tempPrefix + "*" + tempSuffix}

// exclude keeps the state folder out of git. Where the repository's own list is
// out of reach (a linked worktree, a folder below its top), the state folder
// ignores itself.
func (s *Store) exclude(rep *Report) error {
	if info, err := s.fs.Stat(".git"); err == nil && info.Mode.IsDir() {
		err := s.extendExclude()
		if err == nil || errors.Is(err, ErrPoisoned) {
			return err
		}
		rep.note(excludePath, "it cannot be extended: %v", err)
	}
	if s.dir == "" {
		return nil
	}
	const ignore = StateDir + "/.gitignore"
	if _, err := s.fs.Stat(ignore); err == nil {
		return nil
	}
	return s.install(ignore, []byte("*\n"), nil)
}

func (s *Store) extendExclude() error {
	have, _, err := s.readFile(excludePath)
	if err != nil && !missing(err) {
		return err
	}
	var add []byte
	for _, line := range excludeLines {
		found := false
		for old := range bytes.Lines(have) {
			found = found || string(bytes.TrimSpace(old)) == line
		}
		if !found {
			add = append(add, line+"\n"...)
		}
	}
	if add == nil {
		return nil
	}
	edit := reprise.Edit{Path: excludePath, Append: true, Content: add}
	if err == nil {
		edit.Base = reprise.HashOf(have)
	}
	if len(have) > 0 && have[len(have)-1] != '\n' {
		edit.Content = append([]byte("\n"), add...)
	}
	return s.apply([]reprise.Edit{edit})
}
