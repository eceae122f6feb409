package journal

// Quick is the quick reading of an entry alone.
func Quick(b []byte) (e Entry, ok bool) {
	var r reader
	ok = r.quick(b, &e)
	return e, ok
}
