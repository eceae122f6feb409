package redact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"reprise/internal/redact"
)

// What people copy, and what a program goes on with, stays as it is.
//
// Requirement T13.
func TestWhat_is_no_secret_stays(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 1))
	image := "data:image/png;base64," + drawn(r, alnum+"+/", 40<<10)
	for _, text := range []string{
		"8c1f2ab40211d0e8c1f2ab40211d0e8c1f2ab402", "v1:0123456789abcdef0123456789abcdef", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"550e8400-e29b-41d4-a716-446655440000", "01J8ZQ6Y5V3N9T2K4M7P0R1S3W", "specs/004-token-refresh/tasks.md", "src/auth/password_reset_test.go:88",
		"reprise resume speckit:specs/004-token-refresh --if v1:0123456789abcdef0123456789abcdef", "sha512-" + drawn(r, alnum+"+/", 86) + "==",
		"Add the API key to the settings page", "Token: refresh it before it expires", "fix(auth): token expiry is checked twice",
		"--- PASS: TestToken (0.01s)", "https://example.org/a?page=2#key", image, "Key: value, secret: none",
	} {
		if got := redact.Text(text); got != text {
			t.Errorf("%.100q is shown as %.200q", text, got)
		}
	}
}

// A private key is found whole, cut off at either end, quoted, numbered and in a diff; what
// stands around it is shown.
//
// Requirement T13.
func TestPrivate_keys_are_found_however_they_are_cut(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 2))
	var lines []string
	for range 12 {
		lines = append(lines, drawn(r, alnum+"+/", 64))
	}
	head, end := "-----BEGIN RSA "+"PRIVATE KEY-----", "-----END RSA "+"PRIVATE KEY-----"
	whole := append(append([]string{head}, lines...), "abcd==", end)
	number := func(lines []string) (out []string) {
		for i, l := range lines {
			out = append(out, fmt.Sprintf("%6d→%s", i+1, l))
		}
		return out
	}
	for name, text := range map[string]string{
		"whole":        strings.Join(whole, "\n"),
		"windows":      strings.Join(whole, "\r\n"),
		"no end":       strings.Join(whole[:5], "\n"),
		"no beginning": strings.Join(whole[5:], "\n"),
		"diff":         "+" + strings.Join(whole, "\n+"),
		"quoted":       "> " + strings.Join(whole, "\n> "),
		"numbered":     strings.Join(number(whole), "\n"),
		"escaped":      `{"key":"` + strings.Join(whole, `\n`) + `"}`,
		"twice":        strings.Join(whole, "\n") + "\n" + strings.Join(whole[:4], "\n"),
	} {
		got := redact.Text("what was before\n" + text + "\nand the words after it\n")
		for _, l := range lines {
			if strings.Contains(got, l[:12]) {
				t.Errorf("%s: %q is left in %q", name, l, got)
				break
			}
		}
		if !strings.HasPrefix(got, "what was before\n") || !strings.HasSuffix(got, "and the words after it\n") {
			t.Errorf("%s: too much is gone: %q", name, got)
		}
	}
}

// A document stays one, with its names of fields, whatever its values hold.
//
// Requirement T13.
func TestA_document_stays_valid(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 3))
	secret := "ghp_" + drawn(r, alnum, 36)
	in := map[string]any{
		"API_TOKEN": "x", "a": secret, "quoted": `TOKEN="` + drawn(r, alnum, 30) + `" \ next`, "list": []string{"one", "Bearer " + drawn(r, alnum, 40), "\u2028 <b>"},
		"inner": `{"password":"` + drawn(r, alnum, 12) + `","n":1}`, "n": 12, "digest": "v1:0123456789abcdef0123456789abcdef",
	}
	doc, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(redact.JSON(string(doc))), &out); err != nil {
		t.Fatal(err)
	}
	if out["a"] != "[redacted: GitHub token]" || out["quoted"] != `TOKEN="[redacted: token]" \ next` || out["API_TOKEN"] != "x" || out["digest"] != in["digest"] ||
		out["inner"] != `{"password":"[redacted: password]","n":1}` || fmt.Sprint(out["list"]) != "[one Bearer [redacted: token] \u2028 <b>]" {
		t.Errorf("%q", out)
	}
}

// The time grows with the text and not faster, for texts that were made to be slow too.
//
// Requirement X2.
func TestTime_grows_with_the_text(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"--- PASS: TestToken/key=value (0.01s)\n", `password="`, "token=", "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n", "a://b:c", "SK", "MT", "-", "curl -u ",
		"Authorization: ", `"key":`, "--password \\\n", "eyJabcdefgh.", "${", "A", "\\n", " ",
	} {
		took := func(size int) time.Duration {
			text := strings.Repeat(unit, size/len(unit))
			began := time.Now()
			redact.Text(text)
			return time.Since(began)
		}
		// Eight times the text: a search that grows with its square takes 64 times as long.
		// A busy machine may spoil a measurement, and not three.
		var small, large time.Duration
		for range 3 {
			small, large = max(took(1<<14), 5*time.Millisecond), took(1<<17)
			if large < 30*small {
				break
			}
		}
		if large >= 30*small {
			t.Errorf("%q: %v for 16 kB, %v for 128 kB", unit, small, large)
		}
	}
}

func BenchmarkText(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 4))
	var log strings.Builder
	for i := 0; log.Len() < 1<<20; i++ {
		fmt.Fprintf(&log, "--- PASS: TestThe_token_of_%s (0.%02ds)\n    src/key_%d.go:%d: wrote https://example.org/%d password reset=%d key: %s\n", drawn(r, alnum, 8), i%100, i, i, i, i, drawn(r, alnum, 12))
	}
	b.Run("log", func(b *testing.B) {
		b.SetBytes(int64(log.Len()))
		for b.Loop() {
			redact.Text(log.String())
		}
	})
	b.Run("title", func(b *testing.B) {
		for b.Loop() {
			redact.Text("Add the token refresh to the settings page, with tests")
		}
	})
	doc, _ := json.Marshal(strings.Split(log.String(), "\n"))
	b.Run("json", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			redact.JSON(string(doc))
		}
	})
}
