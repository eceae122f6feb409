package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/proc"
	"reprise/internal/web"
	"reprise/journal"
	"reprise/project"
)

// servedMemory is how much memory a server that shows thousands of runs should need.
const servedMemory = 150 << 20

type serveFlags struct {
	listen  string
	known   bool
	actions bool
	quiet   bool // no browser is opened
}

func (a *app) newServe() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve [PATH...]",
		Short: "Show the runs of one or many projects in a browser",
		Long: "Serve a page about the runs of these projects to this machine: the list, and for\n" +
			"each run the verdict, its evidence, its questions and its journal. It shows what\n" +
			"status, check and log say, and changes nothing. The address contains a token,\n" +
			"without which no browser is let in. From a terminal on a desktop, the browser opens\n" +
			"with it. With --allow-actions you can also answer and resume there, exactly as with\n" +
			"`answer` and `resume` and --if: refused if anything changed since.",
		Example: "  reprise serve\n  reprise serve ~/projects/*\n  reprise serve --known --listen 127.0.0.1:8080",
		Args:    args(cobra.ArbitraryArgs),
	}
	cmd.RunE = a.guarded(func(cmd *cobra.Command, dirs []string) error { return a.serve(cmd.Context(), dirs, flags) })
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "the `address` to listen on; port 0 picks a free one")
	f.BoolVar(&flags.known, "known", false, "show the projects you work in, if you keep a list of them")
	f.BoolVar(&flags.actions, "allow-actions", false, "take answers and resume runs from the page, as the commands do")
	f.BoolVar(&flags.quiet, "no-browser", false, "only print the address")
	return cmd
}

func (a *app) serve(ctx context.Context, dirs []string, flags serveFlags) error {
	var err error
	switch {
	case flags.known && len(dirs) > 0:
		return misuse("--known shows the projects you work in; it takes no folder")
	case flags.known:
		if dirs, _, err = a.known(false); err != nil {
			return err
		}
	case len(dirs) == 0:
		dirs = []string{"."}
	}
	for i, dir := range dirs {
		if dirs[i], err = filepath.Abs(dir); err != nil {
			return err
		}
		if _, err := os.Stat(dirs[i]); err != nil {
			return err
		}
	}
	debug.SetGCPercent(200) // a long-lived process that shares the machine
	debug.SetMemoryLimit(servedMemory)
	l, err := web.Listen(flags.listen)
	if has[*web.AddressError](err) {
		return misuse("--listen %w", err)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	server := web.New(web.Options{Dirs: dirs, Run: a.within, Work: a.apart, Actions: flags.actions, Now: a.now, State: durable.StateDir, Printed: a.printedPart, Complete: completed})
	fmt.Fprintln(a.out, server.Address(l))
	if _, is := a.terminal(a.out); is && !flags.quiet {
		fmt.Fprintln(a.err, "Ctrl-C stops it.")
		browse(server.Ticket(l), dirs)
	}
	return server.Serve(ctx, l)
}

// completed completes the commands in a text for a reader in another folder.
func completed(dir, run, text string) string { return site{run: run, dir: dir}.fill(text) }

// apart runs one of our commands in a separate process, so that others see that work is
// in progress. The end of the context interrupts it, and it stops in an orderly way.
func (a *app) apart(ctx context.Context, dir string, words ...string) (out, told string, code int) {
	self, err := os.Executable()
	if err != nil {
		return "", err.Error(), exitUnexpected
	}
	cmd := exec.CommandContext(ctx, self, append([]string{words[0], "-C", dir}, words[1:]...)...)
	proc.Group(cmd) // Ctrl-C reaches it only through us
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said, beside bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &beside
	if err := cmd.Run(); cmd.ProcessState == nil {
		return "", err.Error(), exitUnexpected
	}
	return said.String(), beside.String(), cmd.ProcessState.ExitCode()
}

// printedPart reads part of the output of an attempt's agent: whole lines, up to a
// position or to the end.
func (a *app) printedPart(ctx context.Context, dir, name, step string, attempt int, to int64) (out web.Output, err error) {
	found, err := a.judge(ctx, dir, project.JudgeOptions{})
	if err != nil {
		return out, err
	}
	run, err := pick(found.Runs, name)
	if err != nil || run == nil {
		return out, err
	}
	h, err := a.tender(upkeepFlags{dir: found.Root}).Log(run)
	if err != nil {
		return out, err
	}
	path, f, err := project.OpenOutput(found.Root, run.Ref, journal.Fold(h.Entries).Began, step, attempt)
	if err != nil {
		return out, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return out, err
	}
	out = web.Output{Size: info.Size(), Root: found.Root, Path: path, Working: found.Decisions[run].State == reprise.Running}
	if out.To = to; to < 0 || to > out.Size {
		out.To = out.Size
	}
	out.From = max(0, out.To-web.Window)
	data, err := io.ReadAll(io.NewSectionReader(f, out.From, out.To-out.From))
	if err != nil {
		return out, err
	}
	if at := bytes.IndexByte(data, '\n') + 1; out.From > 0 && at > 0 && at < len(data) {
		out.From, data = out.From+int64(at), data[at:]
	}
	out.Text = inWords(a.hide(found.Root)(strings.ToValidUTF8(string(data), "\uFFFD")))
	return out, nil
}

// browse opens an address in the desktop's browser, if there is one; the address is also
// on the terminal. The browser must not be a program inside a project.
func browse(address string, projects []string) {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	case "linux":
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return
		}
	}
	if at, err := proc.Find(name, os.Environ(), projects...); err == nil {
		_ = exec.Command(at, args...).Start()
	}
}
