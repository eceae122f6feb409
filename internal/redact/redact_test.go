package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// formsOf are ways in which a program prints a value without meaning harm.
func formsOf(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(quoted))
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
	return map[string]string{
		"plain": secret, "json": string(quoted), "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": fmt.Sprintf("%X", secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"basic": basic, "json in json": string(twice),
		"shifted by 1": base64.StdEncoding.EncodeToString([]byte("x" + secret + "yz")),
		"shifted by 2": base64.StdEncoding.EncodeToString([]byte("xx" + secret + "y")),
	}
}

// Requirement T13.
func TestEvery_form_in_pieces_of_every_size(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"hunter2-and-more", `a"b\c/d+e f&g<h>é`, "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz"} {
		r := New([]string{secret})
		for name, form := range formsOf(secret) {
			text := "before " + form + " after\n"
			for size := 1; size <= len(text); size++ {
				var out bytes.Buffer
				w := r.Writer(&out)
				for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
					if _, err := w.Write(rest[:min(size, len(rest))]); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				got := out.String()
				if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after\n") || strings.Count(got, mask) != 1 || got != r.String(text) {
					t.Fatalf("%s in pieces of %d: %q became %q", name, size, text, got)
				}
				// Of an encoded form the ends may show bits of neighbours, not more.
				if rest := strings.Replace(got, mask, "", 1); len(rest) > len("before  after\n")+16 {
					t.Fatalf("%s: too much is left: %q", name, got)
				}
			}
		}
	}
}

// Requirement T13.
func TestText_without_secrets_is_not_touched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Letters that the secret has too, so that beginnings of it are common.
		pieces := rapid.SliceOf(rapid.StringMatching(`[abc]{0,9}`)).Draw(t, "pieces")
		r := New([]string{"abcabd", "abcabcabe"})
		var out bytes.Buffer
		w := r.Writer(&out)
		for _, p := range pieces {
			if _, err := w.Write([]byte(p)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want := strings.Join(pieces, "")
		// An end that is most of a secret counts as one.
		if strings.HasSuffix(want, "abcabcab") {
			want = strings.TrimSuffix(want, "abcabcab") + mask
		}
		if out.String() != want {
			t.Fatalf("%q became %q", want, out.String())
		}
	})
}

// Requirement T13.
func TestWhich_values_are_looked_for(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n-----END KEY-----\n"
	r := New([]string{"", "abc", "four", "overlap-one", "overlap-one-two", key, "trailing-newline\n", `a"<b>-title [x]`, "<none>"})
	for in, want := range map[string]string{
		"abc":                            "abc",
		"four score":                     mask + " score",
		"overlap-one-two overlap-one":    mask + " " + mask,
		"> MIIEvQIBADANBgkqhkiG9w0 <":    "> " + mask + " <",
		"short":                          "short",
		`"T a\"  b -title x"`:            `"T a\"  b -title x"`,
		`"T a\" b -title x"`:             `"T ` + mask + `"`,
		"none":                           "none",
		"trailing-newline.":              mask + ".",
		"a" + key + "b":                  "a" + mask + "b",
		"overlap-on":                     mask,
		"nothing here, over and over, f": "nothing here, over and over, f",
	} {
		if got := r.String(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	if got := New(nil).String("x"); got != "x" {
		t.Errorf("%q", got)
	}
}
