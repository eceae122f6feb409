package cli

import (
	"fmt"

	"reprise"
)

// airPresentations show sessions of agents that left something open.
func airPresentations() map[string]func(*page) {
	began := fixtureNow.Add(-1)
	sessions := func(text string) []reprise.Session {
		return []reprise.Session{
			{
				CLI: "claude", ID: "94281cd5-0274-431a-bdca-ec3e3497d904", Version: "2.1.197" + text, Path: "/home/dev/.claude/projects/x/s.jsonl", Dir: ".", Last: began, Lost: 1,
				Owner: reprise.OwnerLife{Life: reprise.Dead, Reason: "there is no process 4711, which it was registered for, and no process of claude works in its folder" + text},
				Calls: []reprise.Call{
					{Tool: "Read", Text: "src/a.ts" + text, Effect: reprise.EffectNone, Landing: reprise.NotLanded, Signs: []string{"it only reads: there is nothing that could have landed"}},
					{Tool: "Write", Text: "src/b.ts", Effect: reprise.EffectFile, Landing: reprise.Landed, Signs: []string{`"src/b.ts" has exactly the content it should get`}},
					{Tool: "Bash", Text: "touch started; make; echo late > late.txt", Effect: reprise.EffectUnknown, Landing: reprise.LandedPartly, Signs: []string{`"started" is there`, `"late.txt" is not there` + text}},
					{Tool: "Bash" + text, Text: "git push", Effect: reprise.EffectRemoteGit, Landing: reprise.LandingUnknown, Passed: true},
					{Effect: reprise.EffectUnknown, Text: "a call whose record was cut off while it was written"},
				},
			},
			{CLI: "codex" + text, Dir: "packages/api" + text, Last: began, Owner: reprise.OwnerLife{Life: reprise.LifeUnknown, Reason: "nothing tells"}, Calls: []reprise.Call{{Tool: "exec_command", Text: "./deploy", Effect: reprise.EffectUnknown, Landing: reprise.LandingUnknown}}},
			{CLI: "gemini", Dir: ".", Last: began, Owner: reprise.OwnerLife{Life: reprise.Dead, Reason: "it is shown by preflight only"}},
		}
	}
	seen := func(text string) reprise.Observed {
		return reprise.Observed{Sessions: sessions(text), SessionsUnread: []reprise.UnreadSession{{CLI: "qwen", Why: "older sessions than the latest were not looked at" + text, Left: true}}}
	}
	burdened := epicRun()
	for i := range 6 {
		burdened.Report(reprise.Finding{Code: reprise.CodeUncommitted, Severity: reprise.Warning, Subject: fmt.Sprint("checkout ", i), Message: "files are changed and not committed", Hint: "commit them there"})
		burdened.Failures = append(burdened.Failures, reprise.Failure{
			Step: fmt.Sprint("3.", i), Attempt: 3, Reason: "the agent ended with exit code 1", Log: ".reprise/logs/x.log", Output: []string{"compiling", "linking", "FAIL", "exit 1"},
		})
	}
	return map[string]func(*page){
		"check-burdened":      func(f *page) { f.check(judgedRun(burdened, seen(""))) },
		"check-air":           func(f *page) { f.weighs(judgedRun(storyRun(), seen("")), 0) },
		"check-air-preflight": func(f *page) { f.full = true; f.sessions(judgedRun(storyRun(), seen(""))) },
		"check-air-caution":   func(f *page) { f.check(judgedRun(storyRun(), seen(""))) },
		"x9-hostile-air":      func(f *page) { f.full = true; f.sessions(judgedRun(storyRun(), seen(evil))) },
	}
}
