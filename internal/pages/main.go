// Command pages writes what packages and the documents take from the command line itself:
//
//	go run ./internal/pages man DIR          a man page for each command
//	go run ./internal/pages completions DIR  the completions for each shell
//	go run ./internal/pages reference DIR    a Markdown page for each command
//
// and, from standard input to standard output,
//
//	go run ./internal/pages picture     an SVG of what a terminal got
//	go run ./internal/pages benchmarks  a page of what make bench printed
//	go run ./internal/pages chart       an SVG of its steps beside other engines
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"

	"reprise/internal/cli"
)

// drawn are the pages that are made of what is read.
var drawn = map[string]func(io.Reader, io.Writer) error{"picture": picture, "benchmarks": benchmarks, "chart": chart}

func main() {
	var err error
	switch make := drawn[strings.Join(os.Args[1:], " ")]; {
	case make != nil:
		err = make(os.Stdin, os.Stdout)
	case len(os.Args) == 3:
		err = write(os.Args[1], os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: pages man|completions|reference DIR, or pages picture|benchmarks|chart")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// write fills a folder that is there with pages of one kind. The same program writes the same bytes.
func write(kind, dir string) error {
	root := cli.Command()
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
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
	}
	return fmt.Errorf("there are no pages called %q", kind)
}
