package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/internal/mcp"
	"reprise/project"
	"reprise/report"
)

func (a *app) newMCP() *cobra.Command {
	dir := "."
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve status, check, brief, log, preview and record to an agent (MCP on stdio)",
		Long: "Speak the Model Context Protocol on standard input and output, for the agent CLI\n" +
			"that starts it. All tools except record are read-only and are marked as such; record notes\n" +
			"what an agent reports about its own step. No tool answers a person's question,\n" +
			"trusts a file or starts an agent. Runs and logs are resources.",
		Example: "  claude mcp add reprise -- reprise mcp\n  codex mcp add reprise -- reprise mcp",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if info, err := os.Stat(dir); err != nil {
				return fmt.Errorf("serve %s: %w", dir, err)
			} else if !info.IsDir() {
				return misuse("serve %s: not a folder", dir)
			}
			run := func(ctx context.Context, args ...string) (string, string, int) { return a.within(ctx, dir, args...) }
			meant := func(ctx context.Context, name string) []string { return a.meant(ctx, dir, name) }
			err := mcp.Serve(cmd.Context(), os.Stdin, os.Stdout, ownVersion().Version, run, meant)
			if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
				return nil // the client left
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "the project folder")
	return cmd
}

// within runs one of our commands in a project, without a keyboard, and returns its
// output.
func (a *app) within(ctx context.Context, dir string, words ...string) (out, told string, code int) {
	if verb := words[0]; verb != "status" {
		words = append([]string{verb, "-C", dir}, words[1:]...)
	} else {
		words = append(slices.Clone(words), dir)
	}
	var said, beside bytes.Buffer
	b := &app{in: strings.NewReader(""), out: &said, err: &beside, env: a.env, args: words}
	root := b.newRoot()
	root.SetArgs(words)
	root.SetOut(&said)
	root.SetErr(&beside)
	if err := root.ExecuteContext(ctx); err != nil {
		b.code = b.printError(err)
	}
	return said.String(), beside.String(), b.code
}

// meant lists the runs that an ambiguous name can refer to. No name refers to every run
// that was begun and is open.
func (a *app) meant(ctx context.Context, dir, name string) []string {
	root, _ := project.Locate(dir)
	found, err := a.judgeAgain(ctx, root, project.JudgeOptions{})
	if err != nil {
		return nil // the command itself says so
	}
	list := judgedOf(found, reprise.Select(found.Runs, name)...)
	if name == "" {
		list, _ = candidates(found, "")
	}
	return report.Each(list, nameOf)
}
