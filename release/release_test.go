// Package release tests what `make release-snapshot` makes: that each package holds the
// program of this commit, that it works when it is unpacked, and that two builds are the
// same. `make test-release` makes them twice and runs this.
package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const made, before = "../bin/release", "../bin/release.first"

// one is the only file of a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(made, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d files, %v; make release-snapshot makes them", pattern, len(found), err)
	}
	return found[0]
}

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, stderr.String())
	}
	return string(out)
}

// works runs the program of a package: it says which commit it is, and plays the demo.
func works(t *testing.T, program string) {
	t.Helper()
	var version struct {
		Revision string
		Modified bool
	}
	if err := json.Unmarshal([]byte(output(t, t.TempDir(), program, "version", "--json")), &version); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSpace(output(t, "..", "git", "rev-parse", "HEAD"))
	if version.Revision != head || version.Modified {
		t.Errorf("it says that it is %+v, built from %s", version, head)
	}
	if line := output(t, t.TempDir(), program, "--version"); !strings.Contains(line, head[:12]) {
		t.Errorf("--version says %q", line)
	}
	if told := output(t, t.TempDir(), program, "demo", "--pause", "20ms"); !strings.Contains(told, "The run is complete, and no process is left.") {
		t.Errorf("the demo says\n%s", told)
	}
}

func TestThe_deb_is_installed_in_a_clean_root_and_plays_the_demo(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("dpkg is not here")
	}
	root, deb := t.TempDir(), one(t, "*_"+runtime.GOARCH+".deb")
	deb, err := filepath.Abs(deb)
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
			if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		output(t, root, "dpkg", "--root="+root, "--force-script-chrootless", "--install", deb)
		if said := output(t, root, "dpkg", "--root="+root, "--status", "reprise"); !strings.Contains(said, "Status: install ok installed") {
			t.Errorf("dpkg says\n%s", said)
		} else if !strings.Contains(said, "\nVersion: "+next(t)+"~pre") || !strings.Contains(said, "\nHomepage: https://") {
			t.Errorf("its version or its homepage is not right:\n%s", said)
		}
		if said := output(t, root, "chroot", root, "/usr/bin/reprise", "version"); !strings.HasPrefix(said, "reprise ") {
			t.Errorf("in the root it says %q: it needs something that is not there", said)
		}
	} else {
		output(t, root, "dpkg-deb", "-x", deb, root)
	}
	for _, name := range []string{"usr/share/man/man1/reprise-resume.1", "usr/share/bash-completion/completions/reprise", "usr/share/doc/reprise/copyright"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	works(t, filepath.Join(root, "usr/bin/reprise"))
}

// Each distribution has its own place for what zsh completes.
func TestPackages_put_files_where_their_distribution_looks_for_them(t *testing.T) {
	for _, p := range []struct {
		pattern, completions string
		list                 []string
	}{
		{"*_amd64.deb", "/usr/share/zsh/vendor-completions/_reprise", []string{"dpkg-deb", "--contents"}},
		{"*.x86_64.rpm", "/usr/share/zsh/site-functions/_reprise", []string{"rpm", "--query", "--list", "--package"}},
		{"*_x86_64.apk", "/usr/share/zsh/site-functions/_reprise", []string{"tar", "--list", "--gzip", "--absolute-names", "--file"}},
	} {
		if _, err := exec.LookPath(p.list[0]); err != nil {
			t.Logf("%s is not here: %s is not looked at", p.list[0], p.pattern)
			continue
		}
		name, err := filepath.Abs(one(t, p.pattern))
		if err != nil {
			t.Fatal(err)
		}
		held := output(t, t.TempDir(), p.list[0], append(p.list[1:], name)...)
		if !strings.Contains(held, strings.TrimPrefix(p.completions, "/")) || strings.Count(held, "_reprise\n") != 1 {
			t.Errorf("%s has no %s, or another beside it:\n%s", name, p.completions, held)
		}
	}
}

// A link of a document in the tarball leads to a file in it.
func linked(t *testing.T, root string) {
	t.Helper()
	code, link := regexp.MustCompile("(?ms)^ *```.*?^ *```$"), regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	followed := 0
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			followed++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %v", name, err)
			}
		}
		return err
	})
	if err != nil || followed < 50 {
		t.Errorf("%d links followed: %v", followed, err)
	}
}

func TestThe_tarball_is_unpacked_and_plays_the_demo(t *testing.T) {
	root := t.TempDir()
	archive, err := filepath.Abs(one(t, "*_linux_"+runtime.GOARCH+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	output(t, root, "tar", "-xzf", archive, "--strip-components=1")
	for _, name := range []string{"README.md", "LICENSE", "man/reprise.1", "completions/reprise.zsh", "integrations/claude/.claude-plugin/marketplace.json"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	linked(t, root)
	works(t, filepath.Join(root, "reprise"))
}

func TestEvery_system_has_its_package_and_its_sum(t *testing.T) {
	sums, err := os.ReadFile(filepath.Join(made, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		"*_linux_amd64.tar.gz", "*_linux_arm64.tar.gz", "*_darwin_amd64.tar.gz", "*_darwin_arm64.tar.gz", "*_windows_amd64.zip", "*_windows_arm64.zip",
		"*_amd64.deb", "*_arm64.deb", "*.x86_64.rpm", "*.aarch64.rpm", "*_x86_64.apk", "*_aarch64.apk", "*_linux_amd64.cdx.json", "*_windows_arm64.cdx.json",
	} {
		name := one(t, pattern)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if want := hex.EncodeToString(sum[:]) + "  " + filepath.Base(name); !strings.Contains(string(sums), want) {
			t.Errorf("SHA256SUMS has no %s", want)
		}
	}
	parts, err := os.ReadFile(one(t, "*_linux_amd64.cdx.json"))
	if err != nil || !strings.Contains(string(parts), "github.com/spf13/cobra") {
		t.Errorf("the list of parts does not name cobra: %v", err)
	}
	formula, err := os.ReadFile(filepath.Join(made, "homebrew/Formula/reprise.rb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`desc "Find and finish`, `homepage "https://`, `version "` + next(t) + `-pre`, `license "Apache-2.0"`, `depends_on "git"`, "sha256"} {
		if !strings.Contains(string(formula), field) {
			t.Errorf("the formula has no %s:\n%s", field, formula)
		}
	}
}

// next is the release that CHANGELOG.md begins with: what a snapshot comes before.
func next(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../CHANGELOG.md")
	m := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindSubmatch(text)
	if err != nil || m == nil {
		t.Fatalf("CHANGELOG.md names no release: %v", err)
	}
	return string(m[1])
}

func TestTwo_builds_are_byte_for_byte_the_same(t *testing.T) {
	compared := 0
	err := fs.WalkDir(os.DirFS(made), ".", func(name string, d fs.DirEntry, err error) error {
		// What goreleaser notes of its own run is not published.
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".cdx.json") || name == "config.yaml" {
			return err
		}
		was, err := os.ReadFile(filepath.Join(before, name))
		if err != nil {
			return err
		}
		is, err := os.ReadFile(filepath.Join(made, name))
		if !bytes.Equal(was, is) {
			t.Errorf("%s differs", name)
		}
		compared++
		return err
	})
	if err != nil || compared < 15 {
		t.Errorf("%d files compared: %v", compared, err)
	}
}
