package agent

// qwen prints what claude prints. An error of the provider it calls a success
// whose text begins with "[API Error", and it waits for a limit to end without a
// word.
var qwen = Preset{
	Name: "qwen", Program: "qwen", Tested: "0.15.10", Chooses: true, session: uuid,
	argv: qwenArgs, read: readClaude, approves: []string{"--approval-mode", "--yolo", "-y"},
	env: []string{"QWEN_CODE_NO_RELAUNCH=true"},
}

func qwenArgs(o Options, session string, resume bool) []string {
	return geminiLike(o, session, resume, "auto-edit", "--resume")
}
