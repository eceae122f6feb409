package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"reprise/internal/cli"
	"reprise/internal/demo"
	"reprise/internal/sample"
	"reprise/internal/shim"
)

func TestMain(m *testing.M) {
	cli.Frugal(func(string) string { return "" }) // as the program does; scripts start it without GOGC
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	if handled, code := demo.Main(os.Args[1:], os.Getenv); handled {
		os.Exit(code)
	}
	if os.Getenv("REPRISE_TEST_HURRY") == "" {
		cli.Patient() // a busy machine must not make hooks say less
	}
	if walk, err := time.ParseDuration(os.Getenv("REPRISE_TEST_GLANCE")); err == nil {
		cli.Glancing(walk)
	}
	program := func() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr, os.Getenv)) }
	if os.Getenv("REPRISE_TEST_PROGRAM") != "" {
		program()
	}
	if signal.Ignored(os.Interrupt) {
		// A shell starts what runs in its background like that. What the tests start
		// is to hear of an interrupt all the same.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	// Most of these tests wait for the processes that they start. A flag of the call is
	// read later, and wins.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"reprise": program})
}

// TestScripts runs the program as a user would. A bug is one more file. Those of a threat in
// SECURITY.md are always tried, of the others one in eight is drawn; make nightly runs all, and
// so does a -run that names one.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	files = slices.DeleteFunc(files, func(file string) bool {
		return !strings.HasPrefix(filepath.Base(file), "threat-") && !sample.Turn(t, file)
	})
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPRISE_NOW", "2026-03-01T12:00:00Z")
			env.Setenv("REPRISE_ENGINE", os.Getenv("REPRISE_ENGINE"))
			env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			env.Setenv("GIT_AUTHOR_NAME", "t")
			env.Setenv("GIT_AUTHOR_EMAIL", "t@example.org")
			env.Setenv("GIT_COMMITTER_NAME", "t")
			env.Setenv("GIT_COMMITTER_EMAIL", "t@example.org")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  exits,
			"schema": matchesSchema,
			"lines":  linesMatch,
			"fits":   fits,
			"printf": printf,
		},
	})
}

// exits CODE CMD…: the command must end with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if e, ok := err.(*exec.ExitError); ok {
		exit = e
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// schema NAME FILE: the JSON of the last command must match the schema.
func matchesSchema(ts *testscript.TestScript, neg bool, args []string) {
	if err := validate(args[0], []byte(ts.ReadFile(args[1]))); err != nil {
		ts.Fatalf("%v", err)
	}
}

// lines EACH LAST FILE: every line is JSON of the one schema, the last of the
// other.
func linesMatch(ts *testscript.TestScript, neg bool, args []string) {
	list := strings.Split(strings.TrimSpace(ts.ReadFile(args[2])), "\n")
	for i, line := range list {
		name := args[0]
		if i == len(list)-1 {
			name = args[1]
		}
		if err := validate(name, []byte(line)); err != nil {
			ts.Fatalf("line %d: %v: %s", i+1, err, line)
		}
	}
}

func validate(name string, document []byte) error {
	raw, err := os.ReadFile(filepath.Join("..", "..", "schema", name))
	if err != nil {
		return err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	var doc any
	if err := json.Unmarshal(document, &doc); err != nil {
		return err
	}
	return resolved.Validate(doc)
}

// fits COLUMNS: no line of the last command is wider.
func fits(ts *testscript.TestScript, neg bool, args []string) {
	var columns int
	fmt.Sscan(args[0], &columns)
	for _, line := range strings.Split(ts.ReadFile("stdout"), "\n") {
		if n := cli.Width(line); n > columns && !cli.OneCommand(line) {
			ts.Fatalf("%d columns: %q", n, line)
		}
		if strings.ContainsAny(line, "\x1b\x07\u202e") {
			ts.Fatalf("raw control text: %q", line)
		}
	}
}

// printf FILE TEXT: writes bytes that a text archive cannot hold.
func printf(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.NewReplacer(`\x1b`, "\x1b", `\x07`, "\x07", `\u202e`, "\u202e", `\n`, "\n", `\0`, "\x00").Replace(args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// run starts the program in this process.
func run(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = cli.Main(args, &out, &errOut, func(k string) string { return env[k] })
	return out.String(), errOut.String(), code
}
