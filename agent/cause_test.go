package agent

import (
	"testing"
	"time"

	"reprise"
	"reprise/internal/transcript"
)

func TestWords_of_errors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		text   string
		want   Outcome
	}{
		{0, "Codex ran out of room in the model's context window. Start a new thread.", OutOfContext},
		{400, "prompt is too long: 213456 tokens > 200000 maximum", OutOfContext},
		{400, "The input token count (1213456) exceeds the maximum number of tokens allowed (1048576).", OutOfContext},
		{413, "", OutOfContext},
		{0, "No conversation found with session ID: 0", SessionNotFound},
		{0, "thread/resume failed: no rollout found for thread id 0", SessionNotFound},
		{0, "exceeded retry limit, last status: 429 Too Many Requests", Limited},
		{0, "You've hit your usage limit. Try again at 3:05 PM.", Limited},
		{0, "Credit balance is too low", Limited},
		{429, "Server is temporarily limiting requests", Limited},
		{401, "", NeedsSetup},
		{403, "forbidden", NeedsSetup},
		{0, "Invalid API key · Please run /login", NeedsSetup},
		{0, "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons", NeedsSetup},
		// An outage is waited for, and costs no attempt.
		{529, "Overloaded", Limited},
		{0, "We’re currently experiencing high demand, which may cause temporary errors.", Limited}, // codex, for a 500
		{0, "unexpected status 529 <unknown status code>: Unknown error, url: http://127.0.0.1:45037/v1/responses", Limited},
		{0, "unexpected status 501 Not Implemented: Unknown error, url: http://127.0.0.1:1/v1/responses", Limited},
		{0, "unexpected status 422 Unprocessable Entity: Unknown error, url: http://127.0.0.1:529/v1/responses", Failed},
		{0, "unexpected status 401 Unauthorized: Incorrect key, url: http://127.0.0.1:1/v1/responses", NeedsSetup},
		{0, "[API Error: 502 no body]", Limited},                                                 // qwen
		{0, "Attempt 3 failed with status 500. Retrying with backoff... _ApiError: {}", Limited}, // gemini
		{503, "", Limited},
		{0, "connect ECONNREFUSED 203.0.113.7:443", Limited},
		{0, "getaddrinfo ENOTFOUND api.example.org", Limited},
		{0, "stream disconnected before completion", Limited},
		{0, "Selected model is at capacity", Limited},
		{0, "write made.txt: disk quota exceeded", Failed},
		{0, "connection refused to 127.0.0.1", Limited},
		{0, "thread 0 already has an active writer", Failed},
		{0, "", Failed},
	} {
		if got := explain(tc.status, tc.text, noon); got.outcome != tc.want {
			t.Errorf("%d %q is %s, want %s", tc.status, tc.text, got.outcome, tc.want)
		}
	}
}

// What a run waits for is on record in a few words, and whether it is a limit or an outage.
func TestWhat_is_waited_for_is_said_in_short(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status             int
		text, awaits, want string
	}{
		{0, "Credit balance is too low", reprise.AwaitsLimit, "Credit balance is too low"},
		{0, "You've hit your session limit · resets 7pm (Europe/Berlin)", reprise.AwaitsLimit, "You've hit your session limit"},
		{0, "Claude AI usage limit reached|1767366000", reprise.AwaitsLimit, "Claude AI usage limit reached"},
		{0, "Quota exceeded. Check your plan and billing details.", reprise.AwaitsLimit, "Quota exceeded"},
		{0, "exceeded retry limit, last status: 429 Too Many Requests", reprise.AwaitsLimit, "429 Too Many Requests"},
		{429, "Slow down.", reprise.AwaitsLimit, "status 429"},
		{0, `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`, reprise.AwaitsLimit, "Resource has been exhausted"},
		{529, "API Error: 529 status code (no body). This is a server-side issue, usually temporary — try again in a moment.", reprise.AwaitsOutage, "status 529"},
		{500, "API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment.", reprise.AwaitsOutage, "500 Internal server error"},
		{0, "We’re currently experiencing high demand, which may cause temporary errors.", reprise.AwaitsOutage, "We’re currently experiencing high demand"},
		{0, "unexpected status 529 <unknown status code>: Unknown error, url: http://127.0.0.1:45037/v1/responses", reprise.AwaitsOutage, "status 529"},
		{0, "unexpected status 503 Service Unavailable: Unknown error, url: http://127.0.0.1:1/v1/responses", reprise.AwaitsOutage, "unexpected status 503 Service Unavailable"},
		{0, "Reconnecting... 1/1 (Connection failed: error sending request)", reprise.AwaitsOutage, "Connection failed"},
		{0, "API Error: Unable to connect to API (ConnectionRefused)", reprise.AwaitsOutage, "Unable to connect to API"},
		{0, "connect ECONNREFUSED 203.0.113.7:443", reprise.AwaitsOutage, "connect ECONNREFUSED 203.0.113.7"},
		{0, "Attempt 3 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request", reprise.AwaitsOutage, "fetch failed sending request"},
	} {
		if got := explain(tc.status, tc.text, noon); got.outcome != Limited || got.awaits != tc.awaits || got.reason != tc.want {
			t.Errorf("%q: %s, %s %q, want %s %q", tc.text, got.outcome, got.awaits, got.reason, tc.awaits, tc.want)
		}
	}
}

func TestReset_times_in_prose(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	local := noon.In(time.Local)
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1767366000":                        time.Unix(1767366000, 0),
		"Claude AI usage limit reached|1767366000000":                     time.Unix(1767366000, 0),
		"You've hit your session limit · resets 7pm (Europe/Berlin)":      time.Date(2026, 1, 2, 19, 0, 0, 0, berlin),
		"You've hit your session limit · resets 7:30am (Europe/Berlin)":   time.Date(2026, 1, 3, 7, 30, 0, 0, berlin),
		"You've hit your weekly limit · resets Jan 9, 10am (UTC)":         time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC),
		"You've hit your weekly limit · resets Jan 9 at 10:30am (UTC)":    time.Date(2026, 1, 9, 10, 30, 0, 0, time.UTC),
		"You've hit your usage limit. Try again at Jan 4th, 2026 1:02 AM": time.Date(2026, 1, 4, 1, 2, 0, 0, time.Local),
		"Try again at 12:00 AM.":                                          time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, time.Local),
		"Try again in 2 days 3 hours 5 minutes.":                          noon.Add(51*time.Hour + 5*time.Minute),
		"Please try again in 1.5s.":                                       noon.Add(1500 * time.Millisecond),
		"Your quota will reset after 3h20m10s.":                           noon.Add(3*time.Hour + 20*time.Minute + 10*time.Second),
		"Please retry in 250ms":                                           noon.Add(250 * time.Millisecond),
		"quota resets 2026-01-05T00:00:00Z":                               time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC),
		"Quota exceeded. Check your plan and billing details.":            {},
		"resets 7pm (Nowhere/Land)":                                       {},
		"resets 13pm (UTC)":                                               {},
		"Try again in 900 days":                                           {},
		"Claude AI usage limit reached|1000000000":                        {},
	} {
		if got := transcript.ResetTime(text, noon); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", text, got, want.UTC())
		}
	}
}
