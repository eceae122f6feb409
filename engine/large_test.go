package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"reprise"
	"reprise/internal/sample"
)

// X8: what a step leaves may be an archive, an image or a model. No size keeps a step
// from being finished, nor one whose output is there already, from an attempt before
// it or from a person, from being started.
func TestX8_outputs_may_be_large(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for name, there := range map[string]bool{"made": false, "there before": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			put(t, dir, ".gitignore", "*.bin\n")
			put(t, dir, "flow.yaml", `name: large
steps:
  - {id: a, attempts: 2, backoff: 1ms, command: [sh, -c, 'echo >> launched; truncate -s 70000000 model.bin; printf end >> model.bin; test -e again || { touch again; exit 1; }'], outputs: [model.bin]}
  - {id: b, needs: [a], command: [sh, -c, 'echo b > b.txt'], outputs: [b.txt]}
`)
			if there {
				put(t, dir, "model.bin", "")
				if err := os.Truncate(filepath.Join(dir, "model.bin"), 80_000_000); err != nil {
					t.Fatal(err)
				}
			}
			sum := begin(t, newEngine(dir), "large", "flow.yaml")
			if sum.State != reprise.Complete || sum.Launches != 3 || len(sum.Failed) != 1 {
				t.Fatalf("%+v", sum)
			}
		})
	}
}
