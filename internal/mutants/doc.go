// Package mutants holds known faults, as changes of the source of this project, and
// the tests that must find them. A fault that no test finds shows a promise that
// nothing keeps.
//
// The tables in testdata/ are text:
//
//	== name of the mutant
//	The promise that it breaks, in one sentence.
//	killed by PACKAGE TEST [TEST...]
//	in FILE
//	-old text
//	+new text
//
// PACKAGE is a folder of the project, TEST the name of a test there, for a single one
// also TEST/SUBTEST. Each run of lines behind "-" occurs in the file exactly once and
// becomes the lines behind "+" that follow it; it need not be whole lines. The line
// "in FILE" is repeated before each run that has no "+". A mutant that no test finds
// has a line "survives because REASON" in place of the one that names the tests.
//
// `make mutants` builds the named tests with one mutant after the other, by go build's
// overlay: nothing in the project is changed. `make test` looks only whether every
// mutant still fits the source.
package mutants
