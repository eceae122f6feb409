package settings

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"reprise/internal/doc"
)

// The limits of a folder with prompt templates.
const (
	maxTemplates = 64
	maxTemplate  = 64 << 10
)

// readTemplates reads the Markdown files of a folder, by their names without .md. They
// are held in memory: what a person trusted must be what is used, whoever writes to the
// folder meanwhile.
func readTemplates(dir string) (map[string]string, error) {
	fsys := os.DirFS(dir)
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("the folder of prompts cannot be listed: %w", err)
	}
	out := map[string]string{}
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".md")
		if !is {
			continue
		}
		if len(out) == maxTemplates {
			return nil, fmt.Errorf("the folder of prompts has more than %d templates", maxTemplates)
		}
		b, err := doc.ReadRegular(fsys, e.Name(), maxTemplate+1)
		if err != nil {
			return nil, fmt.Errorf("the prompt template %s cannot be read: %w", e.Name(), err)
		}
		if len(b) > maxTemplate {
			return nil, fmt.Errorf("the prompt template %s is larger than %d KiB", e.Name(), maxTemplate>>10)
		}
		out[name] = string(b)
	}
	return out, nil
}
