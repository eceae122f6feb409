package cli

// Width is exported for tests.
var Width = width

// Plain is exported for tests.
var Plain = plain
