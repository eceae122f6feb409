package temporal

import (
	"errors"
	"testing"

	"reprise"
)

// The account of a plain command is one of its repository, that of a CLI one of whoever is signed in.
// (issue 19)
func TestAccount_of_whom(t *testing.T) {
	t.Parallel()
	if accountID("one", "tests", true) == accountID("two", "tests", true) || accountID("one", "claude", false) != accountID("two", "claude", false) {
		t.Error("a limit is of the wrong account")
	}
}

// A second worker in a folder is told how it gets one of its own. (issue 19)
func TestHold_names_another_folder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release, err := hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	_, err = hold(dir)
	held, is := errors.AsType[*WorkHeldError](err)
	if !is || held.Dir != dir || reprise.HintOf(err) == "" {
		t.Errorf("%v: %s", err, reprise.HintOf(err))
	}
}
