package agent

import "reprise"

// The known CLIs, a row each. They differ in how they are called and in what
// they print; the readers of the latter are in files of their own.
var (
	claude = Preset{
		Name: "claude", Program: "claude", Tested: []string{"2.1.325", "2.1.197"}, Chooses: true, session: uuid, read: readClaude,
		Keys:     []string{"ANTHROPIC_*", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*"},
		args:     []string{"-p", "--output-format", "stream-json", "--verbose"},
		edits:    []string{"--permission-mode", "acceptEdits"},
		all:      []string{"--dangerously-skip-permissions"},
		approves: []string{"--dangerously-skip-permissions", "--permission-mode", "--allowedTools", "--allowed-tools"},
		model:    "--model", fresh: []string{"--session-id", "ID"}, resume: reprise.ResumeArgs("claude"),
		permits: permits{
			shell: "Bash", commands: "Bash", command: "Bash(%s:*)", exact: "Bash(%s)", whole: true, allow: []string{"--allowedTools", "GRANT"}, folder: []string{"--add-dir", "DIR"},
		},
	}

	codex = Preset{
		Name: "codex", Program: "codex", Tested: []string{"0.166.0"}, session: uuid, read: readCodex,
		Keys:     []string{"OPENAI_*", "CODEX_API_KEY"},
		args:     []string{"exec", "--json", "--skip-git-repo-check"},
		again:    []string{"exec", "resume", "--json", "--skip-git-repo-check"},
		edits:    []string{"-c", `sandbox_mode="workspace-write"`},
		all:      []string{"--dangerously-bypass-approvals-and-sandbox"},
		approves: []string{"--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto", "--sandbox", "-s"},
		model:    "-m", resume: []string{"ID"}, last: []string{"-"}, // the prompt is on standard input
		permits: permits{
			shell: "command_execution", commands: "sandbox_workspace_write.network_access=true", allow: []string{"-c", "GRANT"}, folders: []string{"-c", "sandbox_workspace_write.writable_roots=FOLDERS"}, git: true,
			outside: `sandbox_mode="danger-full-access"`, rejects: "you cannot ask for escalated permissions",
		},
		native: []string{"codex.js", "../node_modules/@openai/codex-*/vendor/*/bin/codex", "../../codex-*/vendor/*/bin/codex"},
	}

	// copilot names its session in the last event only; until then the id is the
	// one it was given.
	copilot = Preset{
		Name: "copilot", Program: "copilot", Tested: []string{"1.0.102"}, Chooses: true, session: uuid, read: readCopilot,
		Keys:     []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"},
		args:     []string{"--output-format", "json", "--no-auto-update", "--no-ask-user"},
		edits:    []string{"--allow-tool=write"},
		all:      []string{"--allow-all-tools", "--allow-all-paths"},
		approves: []string{"--allow-all-tools", "--allow-all", "--allow-tool", "--yolo"},
		model:    "--model", fresh: []string{"--session-id=ID"}, resume: reprise.ResumeArgs("copilot"),
		permits: permits{
			shell: "bash", commands: "shell", command: "shell(%s:*)", site: "url(%s)", known: []string{"git", "gh"},
			allow: []string{"--allow-tool=GRANT"}, folder: []string{"--add-dir=DIR"},
		},
		native: []string{"npm-loader.js", "../node_modules/@github/copilot-*/copilot", "node_modules/@github/copilot-*/copilot", "../copilot-*/copilot"},
	}

	gemini = Preset{
		Name: "gemini", Program: "gemini", Tested: []string{"0.61.0"}, Chooses: true, session: uuid, read: readGemini,
		Keys:     []string{"GEMINI_API_KEY", "GOOGLE_*"},
		args:     []string{"-o", "stream-json"},
		edits:    []string{"--approval-mode", "auto_edit"},
		all:      []string{"--approval-mode", "yolo"},
		approves: []string{"--approval-mode", "--yolo", "-y"},
		model:    "-m", fresh: []string{"--session-id", "ID"}, resume: reprise.ResumeArgs("gemini"),
		permits: permits{
			shell: "run_shell_command", commands: "run_shell_command", command: "run_shell_command(%s)", allow: []string{"--allowed-tools", "GRANT"}, folder: []string{"--include-directories", "DIR"},
		},
		// Otherwise it starts itself again as a child that outlives it and ignores
		// the request to stop.
		env: []string{"GEMINI_CLI_NO_RELAUNCH=true"},
	}

	// opencode prints no end: the last step that stopped ends a session only if the
	// process ends well after it. It shows a tool call when it is over, so a call
	// that was cut off is not among the open ones.
	opencode = Preset{
		Name: "opencode", Program: "opencode", Tested: []string{"1.18.33"}, session: `^ses_[0-9A-Za-z]{10,64}$`, read: readOpencode, soft: true,
		Keys:     []string{"ANTHROPIC_*", "OPENAI_*", "OPENCODE_*"},
		args:     []string{"run", "--format", "json", "--print-logs", "--log-level", "ERROR"}, // else it waits for a limit without a word
		all:      []string{"--auto"},
		approves: []string{"--auto"},
		model:    "-m", resume: reprise.ResumeArgs("opencode"),
		permits: permits{shell: "bash", commands: opencodeExact + "*", command: "%s *", exact: opencodeExact + "%s", tell: opencodePermission},
	}

	// qwen descends from gemini and prints what claude prints. Before 0.24 it calls an
	// error of the provider a success whose text begins with "[API Error".
	qwen = Preset{
		Name: "qwen", Program: "qwen", Tested: []string{"0.24.4", "0.15.10"}, Chooses: true, session: uuid, read: readClaude, mute: true,
		Keys:     []string{"OPENAI_*", "DASHSCOPE_API_KEY"},
		args:     []string{"-o", "stream-json"},
		edits:    []string{"--approval-mode", "auto-edit"},
		all:      []string{"--approval-mode", "yolo"},
		approves: []string{"--approval-mode", "--yolo", "-y"},
		model:    "-m", fresh: []string{"--session-id", "ID"}, resume: reprise.ResumeArgs("qwen"),
		permits: permits{
			shell: "run_shell_command", commands: "run_shell_command", command: "run_shell_command(%s)", allow: []string{"--allowed-tools", "GRANT"}, folder: []string{"--include-directories", "DIR"},
		},
		env: []string{"QWEN_CODE_NO_RELAUNCH=true"},
	}
)

// uuid is the form of most session ids.
const uuid = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
