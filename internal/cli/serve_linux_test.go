package cli_test

import (
	"bufio"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"reprise"
	"reprise/internal/sample"
	"reprise/report"
)

// servedProgram is the program's server.
type servedProgram struct{ address, host string }

// servedAt starts it with some arguments.
func servedAt(t *testing.T, env []string, args ...string) servedProgram {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"serve", "--no-browser"}, args...)...)
	if cmd.Env = env; env == nil {
		cmd.Env = append(os.Environ(), append(fixedNow, "REPRISE_TEST_PROGRAM=1")...)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	return servedProgram{at.String(), at.Host}
}

// browsed lets a client in that asks for pages.
func browsed(t *testing.T, s servedProgram) func(path string) string {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	place := ""
	get := func(address string) string {
		t.Helper()
		answer, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		place = "/" + strings.Split(answer.Request.URL.Path, "/")[1]
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v %.200s", address, answer.StatusCode, err, text)
		}
		return html.UnescapeString(string(text))
	}
	get(s.address)
	return func(path string) string { return get("http://" + s.host + place + path) }
}

func TestThe_pages_say_what_the_commands_say(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	dir := examplesCopy(t)
	get := browsed(t, servedAt(t, nil, dir))
	said := func(doc any, args ...string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], append(args, "--json")...)
		cmd.Env = append(os.Environ(), append(fixedNow, "REPRISE_TEST_PROGRAM=1")...)
		out, _ := cmd.Output()
		if err := json.Unmarshal(out, doc); err != nil {
			t.Fatal(err)
		}
	}
	var status report.Status
	said(&status, "status", dir)
	list := get("/?state=all")
	for _, r := range status.Runs {
		var check report.Check
		said(&check, "check", "-C", dir, r.Layout+":"+r.Path)
		page := get("/run?project=0&run=" + url.QueryEscape(r.Layout+":"+r.Path))
		want := append([]string{check.Says, check.Next, check.Starts, check.With, check.Digest}, check.Decision.Reasons...)
		for _, s := range check.Steps {
			want = append(want, s.ID, s.Title)
		}
		for _, f := range check.Findings {
			want = append(want, f.Message, f.Source)
		}
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("the page of %s does not say %q", r.ID, text)
			}
		}
		for _, text := range []string{r.Title, r.Says, reprise.Progress(r.Progress).Words("/")} {
			if !strings.Contains(list, text) {
				t.Errorf("the list does not say %q of %s", text, r.ID)
			}
		}
	}
}
