package tui

import (
	"context"
	"errors"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// List is something to pick from.
type List struct {
	// Head and Foot stand above and below the rows.
	Head, Foot func(columns int) []string
	Rows       int
	// Row gives the lines of one row, all rows the same number of lines.
	Row func(i int, chosen bool, columns int) []string
}

// Pick lets a person choose one row with the arrow keys, j and k, a digit, and
// Enter. ok is false if they left without choosing. The list is taken away
// afterwards.
func Pick(ctx context.Context, in, out *os.File, environ []string, l List) (row int, ok bool, err error) {
	m := &picker{list: l}
	// Signals stay ours: whoever called decides what they mean.
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithEnvironment(environ))
	if _, err := p.Run(); err != nil {
		if ctx.Err() != nil {
			return 0, false, ctx.Err()
		}
		return 0, false, err
	}
	wipe(out, min(m.height, max(1, m.rows)))
	if m.interrupted {
		return 0, false, ErrInterrupted
	}
	return m.at, m.chosen, nil
}

// ErrInterrupted is returned if a person pressed Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

type picker struct {
	list                      List
	at, top                   int
	columns, rows, height     int
	chosen, interrupted, gone bool
}

// Init implements tea.Model.
func (m *picker) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *picker) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.columns, m.rows = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m, nil
}

func (m *picker) key(key string) (tea.Model, tea.Cmd) {
	last := m.list.Rows - 1
	switch key {
	case "up", "k", "ctrl+p", "shift+tab":
		m.at = max(0, m.at-1)
	case "down", "j", "ctrl+n", "tab":
		m.at = min(last, m.at+1)
	case "home", "g":
		m.at = 0
	case "end", "G":
		m.at = last
	case "enter":
		m.chosen, m.gone = true, true
		return m, tea.Quit
	case "q", "esc", "ctrl+d":
		m.gone = true
		return m, tea.Quit
	case "ctrl+c":
		m.interrupted, m.gone = true, true
		return m, tea.Quit
	default:
		if n := strings.IndexAny("123456789", key); len(key) == 1 && n >= 0 && n <= last {
			m.at = n
		}
	}
	return m, nil
}

// View implements tea.Model.
func (m *picker) View() tea.View {
	if m.gone || m.columns == 0 {
		return blank(m.height)
	}
	head, foot := m.list.Head(m.columns), m.list.Foot(m.columns)
	each := max(1, len(m.list.Row(0, false, m.columns)))
	fit := max(1, (m.rows-1-len(head)-len(foot))/each)
	// The window follows the chosen row and never ends before it must.
	m.top = min(max(m.top, m.at-fit+1), m.at, max(0, m.list.Rows-fit))
	lines := head
	for i := m.top; i < min(m.list.Rows, m.top+fit); i++ {
		lines = append(lines, m.list.Row(i, i == m.at, m.columns)...)
	}
	lines = append(lines, foot...)
	m.height = len(lines)
	return tea.NewView(strings.Join(lines, "\n"))
}
