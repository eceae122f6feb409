package cli

import (
	"io"
	"regexp"
	"time"
)

// Width is exported for tests.
var Width = width

// WrapExact is for tests.
func WrapExact(s string, n int) []string { return wrapExact(s, n) }

// Fit and Wrap are for tests.
var Fit, Wrap = fit, wrap

// OneCommand tells whether a line is one command, which may be wider than the terminal.
var OneCommand = regexp.MustCompile(`^\W*(\w[\w ]*: +)?` + between.String() + `\S*$`).MatchString

// Patient gives hooks and the prompt all the time they need.
func Patient() { hookTime, promptTime, glanceTime = time.Minute, time.Minute, time.Minute }

// Glancing gives the prompt no time but for a glance, and to find out whether that saw
// everything only what it is given.
func Glancing(walk time.Duration) { promptTime, walkTime = 0, walk }

// Encode writes a document as every command does.
func Encode(w io.Writer, v any) error { return encode(w, v, "  ") }

// Plain is for tests.
var Plain = plain

// Quoted is for tests.
var Quoted = quoted
