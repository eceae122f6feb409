package eventrun

import (
	"math"
	"path"
	"strings"
	"time"

	"reprise/internal/doc"
)

// instant is a point in time that compares at machine speed and, unlike nanoseconds in
// one word, covers every year a file may name.
type instant struct {
	sec  int64
	nsec int32
}

// never is before every instant: the time of an event without one.
var never = instant{sec: math.MinInt64}

// instantOf returns never for the zero time.
func instantOf(t time.Time) instant {
	if t.IsZero() {
		return never
	}
	return instant{t.Unix(), int32(t.Nanosecond())}
}

func (i instant) time() time.Time {
	if i == never {
		return time.Time{}
	}
	return time.Unix(i.sec, int64(i.nsec)).UTC()
}

// parseInstant parses a time in any format found in real files.
func parseInstant(text []byte) (at instant, ok bool) {
	var t time.Time
	if t.UnmarshalText(text) != nil {
		if t, ok = doc.ParseTime(string(text)); !ok {
			return never, false
		}
	}
	return instant{t.Unix(), int32(t.Nanosecond())}, true
}

// nameTime parses the time in the name of a log file or run: 20260115-1030…,
// 20260115-103000…, 2024-01-15T10-00-00Z….
func nameTime(name string) instant {
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	if len(base) >= 19 && base[10] == 'T' {
		iso := base[:13] + ":" + base[14:16] + ":" + base[17:19] + "Z"
		if t, ok := doc.ParseTime(iso); ok {
			return instantOf(t)
		}
	}
	for _, n := range []int{15, 13} {
		if len(base) >= n && (len(base) == n || base[n] == '-') {
			if t, ok := doc.ParseTime(base[:n]); ok {
				return instantOf(t)
			}
		}
	}
	return never
}
