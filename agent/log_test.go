package agent

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLog_keeps_the_beginning_and_the_end(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(1, 64).Draw(t, "most")
		pieces := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,40}`)).Draw(t, "pieces")
		var out bytes.Buffer
		k := newKeep(&out, most)
		for _, p := range pieces {
			if n, err := k.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		dropped, err := k.Close()
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(pieces, "")
		want := all
		if over := int64(len(all)) - most; over > 0 {
			head, tail := most-most/4, most/4
			want = fmt.Sprintf("%s\n[%d bytes of output were left out here]\n%s", all[:head], over, all[int64(len(all))-tail:])
		}
		if out.String() != want || dropped != max(0, int64(len(all))-most) {
			t.Fatalf("most %d, %d dropped, %q became %q", most, dropped, all, out.String())
		}
	})
}
