package redact_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reprise/internal/redact"
)

// Places that stand on two lines, in short options put together, behind a here-string
// and in files of settings.
//
// Requirement S4.
func TestSecrets_in_less_usual_places_are_left_out(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 9))
	for _, line := range []string{
		"tool --password \\\n  %s --verbose",
		"tool --password=\\\n%s",
		"export FOO_TOKEN=\\\n  %s",
		`curl -su ada:%s https://example.org`,
		`curl -fsSLu "ada:%s" https://example.org`,
		`curl -U ada:%s https://example.org`,
		`tool --accessToken %s`,
		`tool --clientSecret %s`,
		`docker login -u ada --password-stdin <<< %s`,
		`gh auth login --with-token <<< "%s"`,
		"cat > ~/.netrc <<EOF\nmachine example.org login ada password %s\nEOF",
		"cat > ~/.aws/credentials <<EOF\n[default]\naws_secret_access_key = %s\nEOF",
		`python -c 'os.environ["API_KEY"] = "%s"'`,
	} {
		secret := drawn(r, alnum, 24)
		if got := redact.Shown(fmt.Sprintf(line, secret), long, nil); found(got, secret) || !strings.Contains(got, "[redacted: ") {
			t.Errorf("%q is shown as %q", line, got)
		}
	}
}

// What is said about secrets is what a person needs to know a commit or a search by.
//
// Requirement S4.
func TestWhat_is_said_about_secrets_is_shown(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`git commit -m "authorization: split the policy engine into two files"`,
		`git commit -m "authorization: use bearer tokens everywhere" -- src/a.go && git push origin main`,
		`git commit -m "set-cookie: header is kept"`,
		`git commit -m "api-key: rotate on a schedule"`,
		`grep -rn 'token=' src/auth`,
		`grep -n "password=" config.ini | head`,
		"cat > a.py <<'EOF'\ntoken = previous_token\nsecret = settings2.secret_of_the_shop\nEOF",
	} {
		if got := redact.Shown(line, long, nil); got != line {
			t.Errorf("%q is shown as %q", line, got)
		}
	}
}
