package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a program is told it may do: what our own prompt asks for and what a person
// granted, each in its own words. Nothing else is allowed by default.
func TestPrograms_are_told_what_the_prompt_demands_and_what_a_person_granted(t *testing.T) {
	t.Parallel()
	job := Job{Dir: "/p/tree", Result: "/p/.reprise/scratch/a/result.json", GitDir: "/p/.git"}
	for name, tc := range map[string]struct {
		preset  Preset
		approve Approval
		grant   string
		want    string
	}{
		"claude": {claude, ApproveEdits, "Bash(curl:*)", "--allowedTools Bash(git status:*) --allowedTools Bash(git log:*) --allowedTools Bash(git diff:*) " +
			"--allowedTools Bash(git add:*) --allowedTools Bash(git commit:*) --allowedTools Bash(curl:*) --add-dir /p/.reprise/scratch/a"},
		"claude, a folder": {claude, ApproveNone, "--add-dir /q", "--add-dir /q"},
		"codex": {codex, ApproveEdits, codex.permits.outside, `-c sandbox_mode="danger-full-access" ` +
			`-c sandbox_workspace_write.writable_roots=["/p/.reprise/scratch/a","/p/.git"]`},
		"copilot": {copilot, ApproveEdits, "url(http://a)", "--allow-tool=shell(git status:*) --allow-tool=shell(git log:*) --allow-tool=shell(git diff:*) " +
			"--allow-tool=shell(git add:*) --allow-tool=shell(git commit:*) --allow-tool=url(http://a) --add-dir=/p/.reprise/scratch/a"},
		"gemini": {gemini, ApproveEdits, "web_fetch", "--allowed-tools run_shell_command(git status) --allowed-tools run_shell_command(git log) " +
			"--allowed-tools run_shell_command(git diff) --allowed-tools run_shell_command(git add) --allowed-tools run_shell_command(git commit) " +
			"--allowed-tools web_fetch --include-directories /p/.reprise/scratch/a"},
		"opencode": {opencode, ApproveEdits, "webfetch", `OPENCODE_PERMISSION={"bash":{"*":"ask","git add *":"allow","git commit *":"allow","git diff *":"allow",` +
			`"git log *":"allow","git status *":"allow"},"edit":"allow","external_directory":{"/p/.reprise/scratch/a/*":"allow"},"webfetch":"allow"}`},
		// A person's own settings decide; an answer of theirs adds to it.
		"claude, as its settings say":   {claude, ApproveNone, "Bash(curl:*)", "--allowedTools Bash(curl:*)"},
		"opencode, as its settings say": {opencode, ApproveNone, "curl *", `OPENCODE_PERMISSION={"bash":{"curl *":"allow"}}`},
		"opencode, one command":         {opencode, ApproveNone, "bash: make", `OPENCODE_PERMISSION={"bash":{"make":"allow"}}`},
		"opencode, without a grant":     {opencode, ApproveNone, "", ""},
		// Commands, so that it can build and test.
		"claude, commands":   {claude, ApproveCommands, "", "--allowedTools Bash --add-dir /p/.reprise/scratch/a"},
		"codex, commands":    {codex, ApproveCommands, "", `-c sandbox_workspace_write.network_access=true -c sandbox_workspace_write.writable_roots=["/p/.reprise/scratch/a","/p/.git"]`},
		"copilot, commands":  {copilot, ApproveCommands, "", "--allow-tool=shell --add-dir=/p/.reprise/scratch/a"},
		"gemini, commands":   {gemini, ApproveCommands, "", "--allowed-tools run_shell_command --include-directories /p/.reprise/scratch/a"},
		"qwen, commands":     {qwen, ApproveCommands, "", "--allowed-tools run_shell_command --include-directories /p/.reprise/scratch/a"},
		"opencode, commands": {opencode, ApproveCommands, "", `OPENCODE_PERMISSION={"bash":{"*":"allow"},"edit":"allow","external_directory":{"/p/.reprise/scratch/a/*":"allow"}}`},
		"claude, everything": {claude, ApproveAll, "Bash(curl:*)", ""},
	} {
		job := job
		if tc.grant != "" {
			job.Grants = []string{tc.grant}
		}
		args, env := tc.preset.permitted(tc.approve, job)
		if diff := cmp.Diff(tc.want, strings.Join(append(args, env...), " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	job = Job{Dir: "/p", Result: "/p/.reprise/scratch/a/result.json"}
	if args, _ := codex.permitted(ApproveEdits, job); args != nil {
		t.Errorf("codex, not to commit, its result in its folder: %q", args)
	}
}

// What claude says of a call decides too: its folder is opened where it says that the path is
// outside, and nothing is offered where it says that nothing allows it.
func TestWords_of_a_denial_decide_what_is_offered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct{ kind, says, want string }{
		"a file":                         {"", "Output redirection to '" + dir + "/x.log' needs approval. The path is outside the working directories for this session ('/p').", "Bash(./tool > x) | --add-dir " + dir},
		"a folder that is not there yet": {"", "mkdir in '" + dir + "/d/e' needs approval. The path is outside the working directories for this session ('/p').", "Bash(./tool > x) | --add-dir " + dir},
		"a look":                         {"", "ls in '" + dir + "' was blocked. For security, Claude Code may only list files in the allowed working directories for this session: '/p'.", "Bash(./tool > x) | --add-dir " + dir},
		"the root":                       {"", "ls in '/' was blocked. For security, …", ""},
		"never":                          {"safetyCheck", "Claude requested permissions to edit /p/.git/config which is a sensitive file.", ""},
		"as usual":                       {"other", "This command requires approval", "Bash(./tool > x)"},
	} {
		s := claude.stream(nil)
		said, _ := json.Marshal(map[string]string{"type": "system", "subtype": "permission_denied", "tool_use_id": "t1", "decision_reason_type": tc.kind, "message": tc.says})
		for _, line := range []string{string(said), `{"type":"result","subtype":"success","is_error":false,"permission_denials":[{"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"./tool > x"}}]}`} {
			if _, err := s.line([]byte(line), claude.read, nil); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		if g := s.asks[0].Grant; g != nil {
			got = strings.Join(g.Once, " | ")
		}
		if got != tc.want || (got == "") != strings.Contains(s.asks[0].Text, "no answer can allow that") || !s.asks[0].Denied {
			t.Errorf("%s: %q, %s", name, got, s.asks[0].Text)
		}
	}
}

// What allows a refused call is offered in the words of its program: the call itself, and
// such calls. What cannot be named is not offered.
func TestRefused_calls_name_what_would_allow_them(t *testing.T) {
	t.Parallel()
	long := "echo " + strings.Repeat("x", maxGrant)
	for name, tc := range map[string]struct {
		preset      Preset
		tool, input string
		once, run   string // "+" behind once tells that it fits more than the call
	}{
		"a command":              {claude, "Bash", "npm test -- --all > log", "Bash(npm test -- --all > log)", "Bash(npm test:*)"},
		"several":                {claude, "Bash", "cd a && FOO=1 go vet ./... | tee out", "Bash(cd a) | Bash(FOO=1 go vet ./...) | Bash(tee out)", ""},
		"with a pattern":         {claude, "Bash", "ls *.go", "Bash(ls *.go)+", "Bash(ls:*)"},
		"one inside another":     {gemini, "run_shell_command", `kill "$(cat pid)"`, `run_shell_command(kill "$(cat pid)") | run_shell_command(cat pid)+`, "run_shell_command(kill) | run_shell_command(cat pid)"},
		"a program by a path":    {qwen, "run_shell_command", "./run.sh x", "run_shell_command(./run.sh x)+", "run_shell_command(./run.sh x)"},
		"a program by its value": {claude, "Bash", "$X 1", "Bash($X 1)", ""},
		"too long to be shown":   {claude, "Bash", long, "Bash(echo:*)+", "Bash(echo:*)"},
		"no command at all":      {claude, "Bash", "if then", "", ""},
		"a loop":                 {claude, "Bash", "for i in 1 2; do ./tool $i; done", "Bash(for i in 1 2; do ./tool $i; done)", ""},
		"a variable":             {claude, "Bash", "./tool $X", "Bash(./tool $X)", ""},
		"one after another":      {claude, "Bash", "cd a && ./tool x", "Bash(cd a && ./tool x)", "Bash(cd a:*) | Bash(./tool x:*)"},
		"on several lines":       {claude, "Bash", "cat > a <<'E'\nx\nE\nsh a", "Bash(cat) | Bash(sh a)", "Bash(cat:*) | Bash(sh a:*)"},
		"its text is read too":   {claude, "Bash", "cat <<E\na $(date)\nE", "", ""},
		"its text may be read":   {claude, "Bash", "cat <<E\nplain\nE", "", ""},
		"its text is not read":   {claude, "Bash", "cat <<\\E\nplain\nE", "Bash(cat)", "Bash(cat:*)"},
		"more behind its end":    {claude, "Bash", "cat <<'E' > a\nx\nE", "", ""},
		"a pipe behind its end":  {claude, "Bash", "cat <<'E' | sh\nx\nE", "", ""},
		"its end cut off":        {claude, "Bash", "cat <<'E'", "", ""},
		"a loop on several":      {claude, "Bash", "for i in 1 2; do\n./tool $i\ndone", "", ""},
		"a subshell":             {claude, "Bash", `./tool "(a) b" && (./tool x)`, "", ""},
		"in the background":      {claude, "Bash", "./tool &", "", ""},
		"a pipe in a loop":       {claude, "Bash", "for i in 1; do a | b; done", "", ""},
		"what a command says":    {claude, "Bash", "X=$(date); ./tool $X", "", ""},
		"another tool":           {claude, "WebFetch", "https://a/b", "WebFetch+", "WebFetch"},
		"opencode":               {opencode, "bash", "git push origin main", "bash: git push origin main", "git push *"},
		"copilot":                {copilot, "bash", "curl -d @a https://a.b/c && git push -f", "shell(curl:*) | shell(git push:*) | url(https://a.b)+", "shell(curl:*) | shell(git push:*) | url(https://a.b)"},
		"codex":                  {codex, "command_execution", "curl a", codex.permits.outside + "+", codex.permits.outside},
	} {
		s := tc.preset.stream(nil)
		s.denied(tc.tool, tc.input)
		ask := s.asks[0]
		if tc.once == "" {
			if ask.Grant != nil || ask.Closed {
				t.Errorf("%s: %+v", name, ask.Grant)
			}
			continue
		}
		got := strings.Join(ask.Grant.Once, " | ") + map[bool]string{true: "+"}[ask.Grant.Wide] + "\n" + strings.Join(ask.Grant.Run, " | ")
		if diff := cmp.Diff(tc.once+"\n"+tc.run, got); diff != "" || !ask.Closed || ask.Grant.Agent != tc.preset.Name {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
