package transcript

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise"

	"reprise/internal/loose"
)

func TestThe_worst_part_of_a_command_line_counts(t *testing.T) {
	t.Parallel()
	none, file, git, process, network, remote, unknown := reprise.EffectNone, reprise.EffectFile, reprise.EffectGit, reprise.EffectProcess,
		reprise.EffectNetwork, reprise.EffectRemoteGit, reprise.EffectUnknown
	for line, want := range map[string]reprise.Effect{
		"ls -la && cat x | head -3": none,
		"cd sub; pwd":               none,
		"echo hi":                   none,
		"echo hi > out.txt":         file,
		"echo hi 2>/dev/null":       none,
		"echo hi >&2":               none,
		"cmd 2>&1":                  unknown,
		"echo hi >> $OUT":           file,
		"touch started; sleep 8; echo late > late.txt": file,
		"git status --short":                           none,
		"git log --oneline -5 | cat":                   none,
		"git diff --output=x":                          file,
		"git add -A && git commit -m 'one; two'":       git,
		"git -C sub commit -m x":                       git,
		"git -c core.editor=x status":                  unknown,
		"git yolo":                                     unknown,
		"git push origin main":                         remote,
		"git commit -m x && git push":                  remote,
		"curl -s https://example.org | jq .":           network,
		"gh pr create --fill":                          network,
		"make test":                                    unknown,
		"ls; ./deploy.sh":                              unknown,
		"echo $(rm x)":                                 file,
		"echo `curl x`":                                network,
		`echo "$(./x)"`:                                unknown,
		"echo '$(./x)'":                                none,
		"bash -c 'rm x'":                               file,
		"bash script.sh":                               unknown,
		"$CMD x":                                       unknown,
		"sudo rm x":                                    unknown,
		"FOO=1 touch x":                                file,
		"for f in *; do rm $f; done":                   file,
		"if test -f x; then git pull; fi":              remote,
		"sleep 100 &":                                  process,
		"find . -name '*.go'":                          none,
		"find . -delete":                               unknown,
		"sed -n 1,5p x":                                none,
		"sed -i s/a/b/ x":                              file,
		"awk '{system(\"x\")}' f":                      unknown,
		"cat <<'EOF' > x\nrm -rf /\nEOF":               file,
		"cat <<EOF\n$(./x)\nEOF":                       unknown,
		"cat <<EOF\nno end":                            unknown,
		"f() { rm x; }; f":                             unknown,
		"diff <(ls) x":                                 unknown,
		"echo 'open":                                   unknown,
		"git commit -m \"$(cat <<'EOF'\nIt's done\n\nbody\nEOF\n)\"": git,
		"ls | sort -u": none,
		"sort -uo x y": file,
		"kill 12":      process,
	} {
		c := Call{Tool: "Bash", Input: Input{Command: line}}
		if got := c.Effect(); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
	for tool, want := range map[string]reprise.Effect{
		"Read": none, "write_file": file, "apply_patch": file, "WebFetch": network, "mcp__db__query": unknown, "Task": unknown, "": unknown, "Bash": unknown,
	} {
		if got := (Call{Tool: tool}).Effect(); got != want {
			t.Errorf("tool %q: %s, want %s", tool, got, want)
		}
	}
}

func TestThe_traces_of_a_command_line(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for line, want := range map[string]struct {
		Marks []Mark
		Whole bool
	}{
		"touch a b && sleep 2":                         {[]Mark{{Path: "a", Made: true, After: true}, {Path: "b", Made: true, After: true}}, true},
		"touch started; sleep 8; echo late > late.txt": {[]Mark{{Path: "started", Made: true, After: true}, {Path: "late.txt", Content: text("late\n")}}, true},
		"cd sub && mkdir -p x/y && rm z":               {[]Mark{{Path: "x/y", Dir: "sub", Made: true, After: true}, {Path: "z", Dir: "sub", Gone: true, After: true}}, true},
		"echo a >> log":                                {[]Mark{{Path: "log", Begun: true, After: true}}, true},
		"date > now":                                   {[]Mark{{Path: "now", Begun: true, After: true}}, true},
		"make; touch ok":                               {[]Mark{{Path: "ok", Made: true}}, false},
		"touch $X":                                     {nil, false},
		"git add -A && git commit -am 'Add: x'":        {[]Mark{{Commit: "Add: x", After: true}}, true},
		"git add x":                                    {nil, false},
		"git commit --amend -m x":                      {nil, false},
		"git commit -m \"$(cat <<'EOF'\nIt's done\n\nbody\nEOF\n)\"": {[]Mark{{Commit: "It's done", After: true}}, true},
		"git checkout -b topic && touch x":                           {[]Mark{{Branch: "topic", After: true}, {Path: "x", Made: true, After: true}}, true},
		"test -f x || touch x":                                       {[]Mark{{Path: "x", Made: true}}, false},
		"if test -f x; then touch y; fi":                             {[]Mark{{Path: "y", Made: true}}, false},
		"touch a $(./x)":                                             {nil, false},
		"cp a b":                                                     {nil, false},
	} {
		marks, whole := Call{Tool: "Bash", Input: Input{Command: line}}.Marks()
		if diff := cmp.Diff(want.Marks, marks); diff != "" || whole != want.Whole {
			t.Errorf("%q: whole %t (-want +got):\n%s", line, whole, diff)
		}
	}
}

func TestInputs_of_all_tools(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	patch := "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Update File: a.go\n@@ func\n keep\n-old\n+now\n*** Delete File: gone.txt\n*** End Patch\n"
	quoted, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	files := []File{
		{Path: "new.txt", Write: text("one\ntwo\n")}, {Path: "a.go", Edits: []Edit{{"keep\nold", "keep\nnow"}}}, {Path: "gone.txt", Delete: true},
	}
	for raw, want := range map[string]Input{
		`{"command":"ls","description":"d"}`:                                 {Command: "ls"},
		`{"command":["bash","-lc","ls | wc"],"workdir":"sub"}`:               {Command: "ls | wc", Dir: "sub"},
		`{"command":["git","commit","-m","a b"]}`:                            {Command: "git commit -m 'a b'"},
		`"{\"cmd\":\"ls\"}"`:                                                 {Command: "ls"},
		`{"file_path":"/x","content":"c"}`:                                   {Files: []File{{Path: "/x", Write: text("c")}}},
		`{"filePath":"/x","oldString":"a","newString":""}`:                   {Files: []File{{Path: "/x", Edits: []Edit{{"a", ""}}}}},
		`{"file_path":"/x","edits":[{"old_string":"a","new_string":"b"},7]}`: {Files: []File{{Path: "/x", Edits: []Edit{{"a", "b"}}}}},
		`{"path":"/x","file_text":"c"}`:                                      {Files: []File{{Path: "/x", Write: text("c")}}},
		string(quoted):                                                       {Files: files},
		`{"input":` + string(quoted) + `}`:                                   {Files: files},
		`{"patchText":"*** Begin Patch\n*** Add File: n\n+cut short"}`:       {Files: []File{{Path: "n"}}},
		`{"command":7,"file_path":[]}`:                                       {},
		`null`:                                                               {},
		`[1,2]`:                                                              {},
	} {
		v, ok := loose.Object([]byte(`{"input":` + raw + `}`))
		if !ok {
			t.Fatal(raw)
		}
		if diff := cmp.Diff(want, parseInput(v.At("input"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}
