// Package tui draws on a terminal: a frame of lines that is kept up to date in
// place, and a list to pick from. What the lines say is the caller's; they must
// be fit for a terminal already and no wider than they are asked to be.
package tui

import (
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Frame gives the lines to show on a terminal of this size.
type Frame func(columns, rows int) []string

// Screen shows a frame below what was printed before, not on a page of its own.
//
// The terminal stays in its usual mode: Ctrl-C is a signal as ever, and a
// process that is killed leaves nothing behind that has to be reset.
type Screen struct {
	program *tea.Program
	ended   chan struct{}
	err     error
}

// tick is how often the frame is drawn again without news: clocks go on.
const tick = 250 * time.Millisecond

// Open begins to show a frame. frame is called from another goroutine.
func Open(out *os.File, environ []string, frame Frame) *Screen {
	s := &Screen{ended: make(chan struct{})}
	s.program = tea.NewProgram(&screen{frame: frame},
		tea.WithInput(nil), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(20), tea.WithEnvironment(silent(environ)))
	go func() {
		defer close(s.ended)
		_, s.err = s.program.Run()
	}()
	return s
}

// silent makes an environment in which the terminal is asked nothing: nobody
// reads the answers, and they would appear as if somebody had typed them. Over
// a remote connection no question is asked, so that is what it says.
func silent(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "TERM":
			if strings.ContainsAny(v, "\x1b\n") {
				continue
			}
			// Some names mean that questions are asked all the same.
			for _, asks := range []string{"ghostty", "wezterm", "alacritty", "kitty", "rio"} {
				if strings.Contains(v, asks) {
					v = "TERM=xterm-256color"
				}
			}
			out = append(out, v)
		case "COLORTERM", "NO_COLOR", "CLICOLOR", "LANG", "LC_ALL", "LC_CTYPE":
			out = append(out, v)
		}
	}
	return append(out, "SSH_TTY=none")
}

// Refresh has the frame drawn again soon.
func (s *Screen) Refresh() {
	select {
	case <-s.ended:
	default:
		s.program.Send(refresh{})
	}
}

// Print puts lines above the frame, where they stay.
func (s *Screen) Print(lines ...string) {
	select {
	case <-s.ended:
	default:
		s.program.Println(strings.Join(lines, "\n"))
	}
}

// Close takes the frame away and gives the terminal back. It may be called
// twice.
func (s *Screen) Close() error {
	s.program.Send(leave{})
	<-s.ended
	return s.err
}

type (
	refresh struct{}
	leave   struct{}
)

// screen is the model behind a Screen.
type screen struct {
	frame         Frame
	columns, rows int
	gone          bool
}

// Init implements tea.Model.
func (m *screen) Init() tea.Cmd { return again() }

func again() tea.Cmd { return tea.Tick(tick, func(time.Time) tea.Msg { return time.Time{} }) }

// Update implements tea.Model.
func (m *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.columns, m.rows = msg.Width, msg.Height
	case time.Time:
		return m, again()
	case leave:
		m.gone = true
		return m, tea.Quit
	}
	return m, nil
}

// View implements tea.Model.
func (m *screen) View() tea.View {
	if m.gone || m.columns == 0 {
		return tea.NewView("")
	}
	lines := m.frame(m.columns, m.rows)
	// The last row is left free: a line there would make the terminal scroll.
	return tea.NewView(strings.Join(lines[:min(len(lines), max(1, m.rows-1))], "\n"))
}
