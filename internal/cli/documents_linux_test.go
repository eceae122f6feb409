package cli_test

import (
	"html"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"reprise/flow"
	"reprise/internal/cli"
	"reprise/internal/sample"
	"reprise/settings"
)

// block is a block of code in a document.
type block struct{ file, language, text string }

var (
	fenced = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```$")
	inline = regexp.MustCompile("`(reprise [^`]+)`")
)

// documents are the pages that people read, by name. The reference is generated.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (name == "bin" || name == ".git" || name == "docs/reference/commands" || name == "docs/adr" || strings.Contains(name, "testdata") || name == "examples") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".md") && name != "CHANGELOG.md" {
			text, err := os.ReadFile(filepath.Join("../..", name))
			out[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil || len(out) < 20 {
		t.Fatalf("%d documents: %v", len(out), err)
	}
	return out
}

func blocks(t *testing.T) (out []block) {
	t.Helper()
	pages := documents(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, b := range fenced.FindAllStringSubmatch(pages[name], -1) {
			out = append(out, block{name, b[1], b[2]})
		}
	}
	return out
}

// A link of a document to a file of the project leads to one.
func TestDocuments_link_to_files_that_are_there(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}

// Every command that a document names is one, with the flags that it is given.
func TestDocuments_name_only_commands_and_flags_that_exist(t *testing.T) {
	t.Parallel()
	seen := 0
	check := func(file, line string) {
		line, _, _ = strings.Cut(line, "#")
		for _, part := range regexp.MustCompile(`\s(?:\||&&|;|2>)\s?`).Split(line, -1) {
			at := strings.Index(part, "reprise ")
			if at < 0 || at > 0 && !strings.ContainsAny(part[at-1:at], " (\"'") {
				continue
			}
			if words := strings.Fields(part[at:]); len(words) > 1 {
				seen++
				if why := unknown(words[1:]); why != "" {
					t.Errorf("%s: %s: %s", file, strings.TrimSpace(line), why)
				}
			}
		}
	}
	for name, text := range documents(t) {
		for _, m := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			check(name, m[1])
		}
	}
	for _, b := range blocks(t) {
		if b.language == "console" || b.language == "sh" || b.language == "" {
			for line := range strings.Lines(b.text) {
				if strings.HasPrefix(strings.TrimPrefix(line, "$ "), "reprise ") {
					command, _, _ := strings.Cut(line, "   ") // what it does stands beside it
					check(b.file, command)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands were found", seen)
	}
}

var aWord = regexp.MustCompile(`^[a-z][a-z-]*$`)

// unknown says what of a command line there is not, "" if all is there.
func unknown(words []string) string {
	root := cli.Command()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd := root
	for len(words) > 0 {
		at := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == words[0] })
		if at < 0 {
			break
		}
		cmd, words = cmd.Commands()[at], words[1:]
	}
	if cmd == root && len(words) > 0 && aWord.MatchString(words[0]) {
		return "there is no command " + words[0]
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	for _, word := range words {
		name, _, _ := strings.Cut(strings.Trim(word, "[]…,.)\"'"), "=")
		switch {
		case strings.HasPrefix(name, "--") && len(name) > 2:
			if cmd.Flags().Lookup(name[2:]) == nil && cmd.InheritedFlags().Lookup(name[2:]) == nil {
				return cmd.CommandPath() + " has no flag " + name
			}
		case strings.HasPrefix(name, "-") && len(name) == 2:
			if cmd.Flags().ShorthandLookup(name[1:]) == nil {
				return cmd.CommandPath() + " has no flag " + name
			}
		}
	}
	return ""
}

// What a document shows of a command is what the program prints; "…" stands for lines
// that are left out. A page is read from its top: a cd holds for what comes after it. The
// demo has a test of its own.
func TestDocuments_show_what_the_program_prints(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	top := filepath.Dir(examplesCopy(t))
	bin := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "reprise")); err != nil {
		t.Fatal(err)
	}
	shown := 0
	drawn, err := os.ReadFile("../../docs/img/terminal.svg") // make picture draws it anew
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, line := range regexp.MustCompile(`<text [^>]*>(.*)</text>`).FindAllStringSubmatch(string(drawn), -1) {
		lines.WriteString(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(line[1], "")) + "\n")
	}
	file, at := "", ""
	for _, b := range append(blocks(t), block{"docs/img/terminal.svg", "console", lines.String()}) {
		if b.file != file {
			file, at = b.file, top
		}
		if b.language != "console" || strings.HasPrefix(b.text, "$ reprise demo\n") {
			continue
		}
		for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			if dir, ok := strings.CutPrefix(command, "cd "); ok {
				at = filepath.Join(at, dir)
				continue
			}
			shown++
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = at, append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+bin, "COLUMNS=96")
			if !strings.HasPrefix(b.file, "docs/tutorials/") { // what happens there happens now
				cmd.Env = append(cmd.Env, "REPRISE_NOW=2026-03-20T12:00:00Z")
			}
			out, _ := cmd.Output()
			if got := strings.TrimSpace(string(out)); !sameLines(got, strings.TrimSpace(want)) {
				t.Errorf("%s: $ %s\nthe program prints\n%s", b.file, command, got)
			}
		}
	}
	if shown == 0 {
		t.Error("no document shows what the program prints")
	}
}

// sameLines compares line by line; "…" stands for any number of lines.
func sameLines(got, want string) bool {
	lines, at, skip := strings.Split(got, "\n"), 0, false
	for line := range strings.SplitSeq(want, "\n") {
		if line == "…" {
			skip = true
			continue
		}
		n := slices.Index(lines[at:], line)
		if n < 0 || n > 0 && !skip {
			return false
		}
		at, skip = at+n+1, false
	}
	return skip || at == len(lines)
}

// Every piece of YAML in the documents is a workflow file or settings, and taken as such.
func TestDocuments_have_YAML_that_is_read(t *testing.T) {
	t.Parallel()
	for _, b := range blocks(t) {
		if b.language != "yaml" {
			continue
		}
		var err error
		if strings.Contains(b.text, "\nsteps:") {
			_, err = flow.Parse("release.yaml", []byte(b.text))
		} else {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "reprise.yaml"), []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, _, err = settings.Load(settings.Options{User: filepath.Join(dir, "reprise.yaml")})
		}
		if err != nil {
			t.Errorf("%s: %v in\n%s", b.file, err, b.text)
		}
	}
}
