// Command pages writes what packages and the documents take from the command line itself:
//
//	go run ./internal/pages man DIR          a man page for each command
//	go run ./internal/pages completions DIR  the completions for each shell
//	go run ./internal/pages reference DIR    a Markdown page for each command
//	go run ./internal/pages benchmarks DIR   benchmarks.md and its chart, from what make bench printed on standard input
//	go run ./internal/pages picture          an SVG of what a terminal got, from standard input to standard output
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra/doc"

	"reprise/internal/cli"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "picture" {
		if err := picture(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "pages:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pages man|completions|reference|benchmarks DIR, or pages picture")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// write fills a folder that is there with pages of one kind. The same program writes the same bytes.
func write(kind, dir string) error {
	root := cli.Command()
	root.DisableAutoGenTag = true
	switch kind {
	case "man":
		never := time.Unix(0, 0) // a date would make two builds differ
		return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "reprise", Manual: "reprise", Date: &never}, dir)
	case "completions":
		return errors.Join(
			root.GenBashCompletionFileV2(filepath.Join(dir, "reprise.bash"), true),
			root.GenZshCompletionFile(filepath.Join(dir, "reprise.zsh")),
			root.GenFishCompletionFile(filepath.Join(dir, "reprise.fish"), true),
			root.GenPowerShellCompletionFileWithDesc(filepath.Join(dir, "reprise.ps1")),
		)
	case "reference":
		return doc.GenMarkdownTree(root, dir)
	case "benchmarks":
		return benchmarks(os.Stdin, dir, time.Now())
	}
	return fmt.Errorf("there are no pages called %q", kind)
}
