//go:build !linux

package tui

import "os"

// EndAtEscape changes nothing on this system: Enter has to follow.
func EndAtEscape(*os.File) (restore func()) { return func() {} }

// AfterEscape takes every Escape for the key itself on this system.
func AfterEscape(*os.File) (alone bool, typed []byte) { return true, nil }
