// Package tui draws on a terminal: a frame of lines that is kept up to date in
// place, and a list to pick from. What the lines say is the caller's; they must
// be fit for a terminal already and no wider than they are asked to be.
package tui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Frame gives the lines to show on a terminal of this size.
type Frame func(columns, rows int) []string

// Screen shows a frame below what was printed before, not on a page of its own.
type Screen struct {
	program *tea.Program
	model   *screen
	out     *os.File
	ended   chan struct{}
	err     error
}

// tick is how often the frame is drawn again without news: clocks continue.
const tick = 250 * time.Millisecond

// Open begins to show a frame. frame is called from another goroutine. Keys from
// in, nil if there are none, are swallowed so that they do not garble the frame;
// Ctrl-C becomes the signal it usually is.
func Open(in, out *os.File, environ []string, frame Frame) *Screen {
	s := &Screen{model: &screen{frame: frame}, out: out, ended: make(chan struct{})}
	options := []tea.ProgramOption{tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(20)}
	if in != nil {
		options = append(options, tea.WithInput(in), tea.WithEnvironment(environ))
	} else {
		options = append(options, tea.WithInput(nil), tea.WithEnvironment(append([]string{"SSH_TTY=none"}, environ...)))
	}
	s.program = tea.NewProgram(s.model, options...)
	go func() {
		defer close(s.ended)
		_, s.err = s.program.Run()
		wipe(s.out, s.model.height)
	}()
	return s
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
	height        int // of the highest frame so far
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
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c":
			return m, func() tea.Msg { return interrupt() }
		case "ctrl+z":
			return m, tea.Suspend
		}
	case leave:
		m.gone = true
		return m, tea.Quit
	}
	return m, nil
}

// View implements tea.Model.
func (m *screen) View() tea.View {
	if m.gone || m.columns == 0 {
		return blank(m.height)
	}
	lines := m.frame(m.columns, m.rows)
	// The last row is left free: a line there would make the terminal scroll.
	lines = lines[:min(len(lines), max(1, m.rows-1))]
	// A frame that was higher before stays as high: each change of the height
	// has the terminal draw all of it anew.
	m.height = min(max(m.height, len(lines)), max(1, m.rows-1))
	for len(lines) < m.height {
		lines = append(lines, "")
	}
	return tea.NewView(strings.Join(lines, "\n"))
}

// blank is a frame with nothing in it, as high as the one before: with a lower one the
// renderer loses the line of the cursor, and lines of the old one stay.
func blank(height int) tea.View { return tea.NewView(" " + strings.Repeat("\n", max(0, height-1))) }

// wipe takes a blank frame away. The cursor is on its last line once the program is
// over; it ends up where the frame began.
func wipe(out io.Writer, height int) {
	up := ""
	if height > 1 {
		up = fmt.Sprintf("\x1b[%dA", height-1)
	}
	fmt.Fprint(out, "\r"+up+"\x1b[J")
}

// interrupt sends the signal that Ctrl-C stands for.
func interrupt() tea.Msg {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		return tea.QuitMsg{}
	}
	return nil
}
