package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
)

// Projects is the list of projects that a person works in, newest first. It is kept
// only where they asked for it once, outside of every project, one line for each:
//
//	v1 TIME "PATH"
type Projects struct {
	file string
	kept bool
	list []Seen
}

// Seen is a project, and when it was last worked in.
type Seen struct {
	Path string
	At   time.Time
}

// often is how far apart two notes about one project are at least.
const often = time.Hour

// ProjectsFile is where the list is kept, "" if nothing can be.
func ProjectsFile(getenv func(string) string) string {
	return under(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"), "projects")
}

// PlacesFile is where it is kept in which places of a project its runs are, "" if nothing
// can be. It is a cache: whoever reads it looks at these places first.
func PlacesFile(getenv func(string) string, root string) string {
	return under(getenv, "XDG_CACHE_HOME", ".cache", filepath.Join("places", reprise.HashOf([]byte(root)).String()[:16]))
}

// CallsFile is where it is kept which hooks have just been answered, "" if nothing can be.
func CallsFile(getenv func(string) string) string {
	return under(getenv, "XDG_CACHE_HOME", ".cache", "calls")
}

// OpenProjects reads the list. A line that cannot be read names no project.
func OpenProjects(file string) (*Projects, error) {
	p := &Projects{file: file}
	if file == "" {
		return p, nil
	}
	data, err := durable.ReadPrivate(file)
	if err != nil {
		return nil, fmt.Errorf("read the list of projects: %w", err)
	}
	p.kept, p.list = data != nil, seenIn(data)
	return p, nil
}

func seenIn(data []byte) (list []Seen) {
	for line := range strings.Lines(string(data)) {
		if s, ok := parseSeen(line); ok {
			list = append(list, s)
		}
	}
	slices.Reverse(list) // what was noted last stands last
	slices.SortStableFunc(list, func(a, b Seen) int { return b.At.Compare(a.At) })
	return list
}

func parseSeen(line string) (Seen, bool) {
	version, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	when, quoted, _ := strings.Cut(rest, " ")
	at, bad := time.Parse(time.RFC3339, when)
	path, err := strconv.Unquote(quoted)
	return Seen{path, at}, version == "v1" && bad == nil && err == nil && filepath.IsAbs(path)
}

// Kept reports whether the person asked for the list.
func (p *Projects) Kept() bool { return p.kept }

// List are the projects, the one worked in last first.
func (p *Projects) List() []Seen { return p.list }

// Note keeps that a project was worked in. Once it returns nil that is durable; of the one
// that was worked in last, nothing is noted again within an hour. Lines that cannot be read
// stay.
func (p *Projects) Note(path string, at time.Time) error {
	if len(p.list) > 0 && p.list[0].Path == path && at.Sub(p.list[0].At) < often {
		return nil
	}
	if p.file == "" {
		return fmt.Errorf("keep the list of projects: there is no home folder to keep it in")
	}
	return durable.UpdatePrivate(p.file, func(old []byte) ([]byte, error) {
		lines := slices.DeleteFunc(slices.Collect(strings.Lines(string(old))), func(line string) bool {
			s, ok := parseSeen(line)
			return ok && s.Path == path
		})
		if n := len(lines); n > 0 {
			lines[n-1] = strings.TrimSuffix(lines[n-1], "\n") + "\n"
		}
		return fmt.Appendf([]byte(strings.Join(lines, "")), "v1 %s %s\n", at.UTC().Format(time.RFC3339), strconv.Quote(path)), nil
	})
}
