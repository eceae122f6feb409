package fleetcli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const program = "/usr/local/bin/reprise-fleet"

// accepts tells whether the program would take a command line.
func accepts(t *testing.T, line []string) {
	t.Helper()
	if len(line) == 0 || line[0] != program {
		t.Fatalf("%q does not start %s", line, program)
	}
	cmd, args, err := (&app{}).root(io.Discard, io.Discard).Find(line[1:])
	if err == nil {
		err = cmd.ParseFlags(args)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%q: %v", line, err)
	}
}

// The compose file is one that compose takes: its services depend on each other, their images
// are pinned, their volumes are declared, and the worker is started with flags that the
// program has. No container is started. (issue 19)
func TestDeploy_compose_file(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type service struct {
		Image       string            `yaml:"image"`
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		Ports       []string          `yaml:"ports"`
		DependsOn   []string          `yaml:"depends_on"`
		Command     []string          `yaml:"command"`
		Restart     string            `yaml:"restart"`
		WorkingDir  string            `yaml:"working_dir"`
		Grace       string            `yaml:"stop_grace_period"`
	}
	var file struct {
		Services map[string]service  `yaml:"services"`
		Volumes  map[string]struct{} `yaml:"volumes"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	for name, s := range file.Services {
		if !strings.Contains(s.Image, ":") {
			t.Errorf("%s: the image %q is not pinned", name, s.Image)
		}
		for _, other := range s.DependsOn {
			if _, ok := file.Services[other]; !ok {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
		for _, v := range s.Volumes {
			if from, _, mounted := strings.Cut(v, ":"); mounted && !strings.HasPrefix(from, "$") && !strings.HasPrefix(from, "/") {
				if _, ok := file.Volumes[from]; !ok {
					t.Errorf("%s: the volume %s is not declared", name, from)
				}
			}
		}
	}
	accepts(t, file.Services["worker"].Command)
	compose := composeProgram()
	if compose == nil {
		t.Skip("there is no docker compose here: compose was not asked")
	}
	// With everything that the head of the file asks for, and without any of it.
	given := []string{"PROJECT=" + t.TempDir(), "REPRISE_FLEET=/bin/true", "TEMPORAL_DB_PASSWORD=secret"}
	for i := range append(given, "") {
		cmd := exec.Command(compose[0], append(compose[1:], "-f", "../deploy/compose.yaml", "config", "-q")...)
		cmd.Env = append(os.Environ(), slices.Delete(slices.Clone(given), i, min(i+1, len(given)))...)
		out, err := cmd.CombinedOutput()
		if whole := i == len(given); whole != (err == nil) {
			t.Errorf("with %q: %v: %s", cmd.Env[len(os.Environ()):], err, out)
		}
	}
}

// composeProgram is the command that is compose; nil if there is none.
func composeProgram() []string {
	for _, cmd := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.Command(cmd[0], append(cmd[1:], "version")...).Run() == nil {
			return cmd
		}
	}
	return nil
}

// The unit is one that systemd takes, and starts the program with flags that it has.
// (issue 19)
func TestDeploy_unit(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/reprise-fleet@.service")
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(text)
	if start == nil {
		t.Fatal("it starts nothing")
	}
	accepts(t, strings.Fields(string(start[1])))
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here: systemd was not asked")
	}
	// The program is not installed here.
	unit := filepath.Join(t.TempDir(), "reprise-fleet@shop.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), program, "/bin/true")), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(unit)) {
		t.Errorf("%v: %s", err, out)
	}
}
