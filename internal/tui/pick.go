package tui

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// List is something to pick from.
type List struct {
	// Head and Foot stand above and below the rows. typed is what a person has typed to
	// narrow the list down, shown how many rows are left.
	Head, Foot func(typed string, shown, columns int) []string
	Rows       int
	// Row gives the lines of one row, all rows the same number of lines.
	Row func(i int, chosen bool, columns int) []string
	// Matches says how well a row fits what was typed: those that fit best come first, and
	// 0 leaves it out.
	Matches func(i int, typed string) int
	// Below says that the list continues for n rows below the screen, in the first line of
	// Foot.
	Below func(n, columns int) string
	// Look gives what is to be seen of a row before it is chosen, and Leave how to get
	// back from there.
	Look  func(i, columns int) []string
	Leave func(columns int) string
}

// Pick lets a person choose one row: the arrow keys move, what is typed narrows the list
// down, the right arrow key and, while nothing is typed, the space bar show the row, Enter
// chooses it. ok is false if they left without
// choosing. The list is taken away afterwards.
func Pick(ctx context.Context, in, out *os.File, environ []string, l List) (row int, ok bool, err error) {
	m := &picker{list: l}
	m.narrow("")
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
	return m.row(), m.chosen, nil
}

// Escape is what the Escape key sends.
const Escape = 0x1b

// ErrInterrupted is returned if a person pressed Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

type picker struct {
	list                      List
	typed                     string
	shown                     []int    // the rows that are left
	at, top                   int      // in shown
	seen                      []string // what is looked at, nil where it is the list
	scroll                    int      // the first line of seen on the screen
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
		if m.seen != nil {
			m.seen = m.list.Look(m.row(), m.columns)
		}
	case tea.KeyPressMsg:
		key := msg.String()
		switch {
		case key == "ctrl+c":
			m.interrupted, m.gone = true, true
		case key == "enter" && len(m.shown) > 0:
			m.chosen, m.gone = true, true
		case m.seen != nil:
			m.looking(key)
		case (key == "right" || key == "space" && m.typed == "") && len(m.shown) > 0:
			m.seen, m.scroll = m.list.Look(m.row(), m.columns), 0
		default:
			m.listing(key, msg.Text)
		}
		if m.gone {
			return m, tea.Quit
		}
	}
	return m, nil
}

// row is the row that is marked.
func (m *picker) row() int {
	if len(m.shown) == 0 {
		return 0
	}
	return m.shown[m.at]
}

// narrow shows the rows that match what was typed.
func (m *picker) narrow(typed string) {
	m.typed, m.shown, m.at, m.top = typed, nil, 0, 0
	fits := make([]int, m.list.Rows)
	for i := range fits {
		if typed == "" {
			fits[i] = 1
		} else {
			fits[i] = m.list.Matches(i, typed)
		}
		if fits[i] > 0 {
			m.shown = append(m.shown, i)
		}
	}
	slices.SortStableFunc(m.shown, func(a, b int) int { return fits[b] - fits[a] })
}

func (m *picker) listing(key, text string) {
	last := max(0, len(m.shown)-1)
	switch key {
	case "up", "ctrl+p", "shift+tab":
		m.at = max(0, m.at-1)
	case "down", "ctrl+n", "tab":
		m.at = min(last, m.at+1)
	case "home":
		m.at = 0
	case "end":
		m.at = last
	case "backspace":
		if runes := []rune(m.typed); len(runes) > 0 {
			m.narrow(string(runes[:len(runes)-1]))
		}
	case "esc", "ctrl+d":
		if m.gone = m.typed == ""; !m.gone {
			m.narrow("")
		}
	default:
		if text != "" {
			m.narrow(m.typed + text)
		}
	}
}

func (m *picker) looking(key string) {
	switch key {
	case "up", "ctrl+p", "k":
		m.scroll--
	case "down", "ctrl+n", "j":
		m.scroll++
	case "pgup":
		m.scroll -= m.room()
	case "pgdown":
		m.scroll += m.room()
	case "esc", "left", "space", "q", "backspace":
		m.seen = nil
	}
	m.scroll = max(0, min(m.scroll, len(m.seen)-m.room()))
}

// room is how many lines can be looked at at once.
func (m *picker) room() int { return max(1, m.rows-3) }

// View implements tea.Model.
func (m *picker) View() tea.View {
	if m.gone || m.columns == 0 {
		return blank(m.height)
	}
	lines := m.listed()
	if m.seen != nil {
		lines = append([]string{}, m.seen[m.scroll:min(len(m.seen), m.scroll+m.room())]...)
		lines = append(lines, "", m.list.Leave(m.columns))
	}
	// A frame that shrinks leaves lines behind on a terminal that scrolled for it.
	for len(lines) < m.height {
		lines = append(lines, "")
	}
	m.height = len(lines)
	return tea.NewView(strings.Join(lines, "\n"))
}

func (m *picker) listed() []string {
	head, foot := m.list.Head(m.typed, len(m.shown), m.columns), m.list.Foot(m.typed, len(m.shown), m.columns)
	each := max(1, len(m.list.Row(0, false, m.columns)))
	fit := max(1, (m.rows-1-len(head)-len(foot))/each)
	// The window follows the chosen row and never ends before it must.
	m.top = max(0, min(max(m.top, m.at-fit+1), m.at, len(m.shown)-fit))
	lines := head
	for i := m.top; i < min(len(m.shown), m.top+fit); i++ {
		lines = append(lines, m.list.Row(m.shown[i], i == m.at, m.columns)...)
	}
	if below := len(m.shown) - m.top - fit; below > 0 && len(foot) > 0 && m.list.Below != nil {
		foot[0] = m.list.Below(below, m.columns)
	}
	return append(lines, foot...)
}
