package main

import (
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// How a terminal looks, in pixels.
const (
	glyphWide, lineHigh = 8.4, 19
	border, titleHigh   = 18, 34
)

// colours are those of a dark terminal, by the numbers that programs print.
var colours = map[string]string{"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#76e3ea", "2": "#8b949e"}

var sequence = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// picture draws what was printed on a terminal as SVG: plain text that can be read by
// whoever cannot see it, and found by a search.
func picture(in io.Reader, out io.Writer) error {
	raw, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(raw), "\r", "")), "\n")
	wide := 0
	for _, line := range lines {
		wide = max(wide, utf8.RuneCountInString(sequence.ReplaceAllString(line, "")))
	}
	width, height := 2*border+glyphWide*float64(wide), titleHigh+lineHigh*len(lines)+border
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" aria-label="reprise in a terminal">`+"\n", width, height, width, height)
	b.WriteString(`<rect width="100%" height="100%" rx="10" fill="#0d1117"/><style>text{white-space:pre}</style>` + "\n")
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="17" r="5.5" fill="%s"/>`, border+6+i*20, colour)
	}
	b.WriteString("\n" + `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e6edf3">` + "\n")
	for i, line := range lines {
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", border, titleHigh+lineHigh*i+14, spans(line))
	}
	b.WriteString("</g>\n</svg>\n")
	_, err = io.WriteString(out, b.String())
	return err
}

// spans writes a line with its colours.
func spans(line string) string {
	var b strings.Builder
	style := ""
	write := func(text string) {
		switch {
		case text == "":
		case style == "":
			b.WriteString(html.EscapeString(text))
		default:
			fmt.Fprintf(&b, "<tspan%s>%s</tspan>", style, html.EscapeString(text))
		}
	}
	for line != "" {
		at := sequence.FindStringSubmatchIndex(line)
		if at == nil {
			break
		}
		write(line[:at[0]])
		style = ""
		for code := range strings.SplitSeq(line[at[2]:at[3]], ";") {
			if code == "1" {
				style += ` font-weight="bold"`
			} else if colour := colours[code]; colour != "" {
				style += ` fill="` + colour + `"`
			}
		}
		line = line[at[1]:]
	}
	write(line)
	return b.String()
}
