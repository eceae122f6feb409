package settings_test

import (
	"slices"
	"testing"

	"reprise/settings"
)

// TestS4_known_secrets_are_values_that_nobody_would_miss lists what may not be
// shown of sessions, and what must be.
func TestS4_known_secrets_are_values_that_nobody_would_miss(t *testing.T) {
	t.Parallel()
	s := settings.Default()
	s.Secrets = []string{"DEPLOY_CODE"}
	s.Agents["coder"] = settings.Agent{Name: "coder", Env: map[string]string{"OWN_KEY": "of the agent", "MODE": "batch-mode"}}
	got := s.Known([]string{
		"GITHUB_TOKEN=long enough", "API_KEY=seven77", "DEPLOY_CODE=1234", "TOKENIZERS_PARALLELISM=false-false", "SSH_KEY=/home/ada/.ssh/id_rsa",
		"GPG_KEY=~/keys/one.asc", "KEYBOARD_LAYOUT=german-latin", "DB_PASSWORD=hunter2hunter2", "EMPTY_TOKEN=", "HOME=/home/ada", "PATH=/usr/bin:/bin", "odd",
	})
	want := []string{"hunter2hunter2", "of the agent", "long enough", "1234"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
