package settings

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/durable"
)

// trustVersion begins every line of the file.
const trustVersion = "v1"

// Trust is what a person trusted: this content at this absolute path. It is kept
// outside of every project, one line for each:
//
//	v1 SHA256 TIME "PATH"
//
// with the path quoted as in Go. A line that cannot be read trusts nothing, is
// reported, and stays where it is.
type Trust struct {
	file     string
	trusted  map[trusted]bool
	granted  []Granted // in the order of the file
	problems Problems
}

type trusted struct {
	path string
	hash reprise.Hash
}

// OpenTrust reads what is trusted. A file that does not exist trusts nothing,
// and so does "", where nothing can be kept.
func OpenTrust(file string) (*Trust, error) {
	t := &Trust{file: file, trusted: map[trusted]bool{}}
	if file == "" {
		return t, nil
	}
	data, err := durable.ReadPrivate(file)
	if err != nil {
		return nil, fmt.Errorf("read what is trusted: %w", err)
	}
	no := 0
	for line := range strings.Lines(string(data)) {
		no++
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		if entry, err := parseTrust(line); err != nil {
			t.problems = append(t.problems, Problem{File: file, Line: no, Column: 1, Message: "this line is damaged and trusts nothing: " + err.Error()})
		} else {
			t.trusted[trusted{entry.Path, entry.Hash}] = true
			t.granted = append(t.granted, entry)
		}
	}
	return t, nil
}

func parseTrust(line string) (Granted, error) {
	var e Granted
	parts := strings.SplitN(line, " ", 4)
	if len(parts) != 4 || parts[0] != trustVersion {
		return e, fmt.Errorf("it is not of the form %s SHA256 TIME \"PATH\"", trustVersion)
	}
	if err := e.Hash.UnmarshalText([]byte(parts[1])); err != nil || e.Hash.IsZero() {
		return e, fmt.Errorf("it has no hash")
	}
	var err error
	if e.At, err = time.Parse(time.RFC3339, parts[2]); err != nil {
		return e, fmt.Errorf("it has no time")
	}
	path, err := strconv.Unquote(parts[3])
	if err != nil || !filepath.IsAbs(path) {
		return e, fmt.Errorf("it has no absolute path: %q", doc.Clip(parts[3], 60))
	}
	e.Path = path
	return e, nil
}

// Trusted reports whether a person trusted this content at this place. A nil
// Trust trusts nothing.
func (t *Trust) Trusted(path string, hash reprise.Hash) bool {
	return t != nil && !hash.IsZero() && t.trusted[trusted{filepath.Clean(path), hash}]
}

// Assume lets content at a place count as trusted in this process. Nothing is kept.
func (t *Trust) Assume(path string, hash reprise.Hash) {
	t.trusted[trusted{filepath.Clean(path), hash}] = true
}

// Problems are the lines that could not be read.
func (t *Trust) Problems() Problems { return t.problems }

// Trust keeps that a person trusts this content at this place. Once it returns
// nil that is durable; another process that trusts something at the same time
// loses nothing.
func (t *Trust) Trust(path string, hash reprise.Hash, at time.Time) error {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) || hash.IsZero() {
		return fmt.Errorf("trust %s: it needs an absolute path and a content", path)
	}
	line := fmt.Sprintf("%s %s %s %s", trustVersion, hash, at.UTC().Format(time.RFC3339), strconv.Quote(path))
	want := trusted{path, hash}
	err := t.update(func(lines []string) []string {
		for _, l := range lines {
			if e, err := parseTrust(l); err == nil && e.Path == path && e.Hash == hash {
				return lines
			}
		}
		return append(lines, line)
	})
	if err != nil {
		return fmt.Errorf("trust %s: %w", path, err)
	}
	t.trusted[want] = true
	return nil
}

// update changes the lines of the file as they are on disk now.
func (t *Trust) update(change func(lines []string) []string) error {
	if t.file == "" {
		return errNoPlace{}
	}
	return durable.UpdatePrivate(t.file, func(old []byte) ([]byte, error) {
		var lines []string
		for l := range strings.Lines(string(old)) {
			lines = append(lines, strings.TrimSuffix(l, "\n"))
		}
		lines = change(lines)
		if len(lines) == 0 {
			return []byte{}, nil
		}
		return []byte(strings.Join(lines, "\n") + "\n"), nil
	})
}

// errNoPlace tells that what is trusted cannot be kept.
type errNoPlace struct{}

// Error implements error.
func (errNoPlace) Error() string {
	return "there is nowhere to store it: neither XDG_STATE_HOME nor HOME names a folder"
}

// Hint says what a person can do.
func (errNoPlace) Hint() string { return "set XDG_STATE_HOME to a folder of your own" }

// Granted is one content at one place that a person trusted, and when.
type Granted struct {
	Path string
	Hash reprise.Hash
	At   time.Time
}

// All is everything that is trusted, in the order in which that was said.
func (t *Trust) All() []Granted { return slices.Clone(t.granted) }

// Contents is how many contents are trusted at a place.
func (t *Trust) Contents(path string) (n int) {
	for _, g := range t.granted {
		if g.Path == filepath.Clean(path) {
			n++
		}
	}
	return n
}

// Only is the trust in this alone. Nothing is kept by it.
func (t *Trust) Only(g Granted) *Trust {
	return &Trust{trusted: map[trusted]bool{{g.Path, g.Hash}: true}}
}

// Revoke takes back all trust in a place, whatever its content. Once it returns nil that
// is durable. Lines that cannot be read stay.
func (t *Trust) Revoke(path string) error {
	path = filepath.Clean(path)
	err := t.update(func(lines []string) []string {
		return slices.DeleteFunc(lines, func(l string) bool {
			g, err := parseTrust(l)
			return err == nil && g.Path == path
		})
	})
	if err != nil {
		return fmt.Errorf("revoke trust in %s: %w", path, err)
	}
	t.granted = slices.DeleteFunc(t.granted, func(g Granted) bool { return g.Path == path })
	maps.DeleteFunc(t.trusted, func(e trusted, _ bool) bool { return e.path == path })
	return nil
}
