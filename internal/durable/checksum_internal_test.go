package durable

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"testing"
)

// D5: a checksum is read as eight hexadecimal digits without capitals, and as
// nothing else.
func TestD5_checksums_are_read_as_they_are_written(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	const digits = "0123456789abcdefABCDEFgG/:`@_ +-x"
	for range 200_000 {
		b := make([]byte, 8)
		for i := range b {
			b[i] = digits[rnd.IntN(16)]
		}
		for range rnd.IntN(2) {
			b[rnd.IntN(8)] = digits[rnd.IntN(len(digits))]
		}
		want, err := strconv.ParseUint(string(b), 16, 32)
		fine := err == nil && !bytes.ContainsAny(b, "ABCDEF")
		got, ok := checksum(b)
		if ok != fine || ok && uint64(got) != want {
			t.Fatalf("%q: %x %t, want %x %t", b, got, ok, want, fine)
		}
	}
}
