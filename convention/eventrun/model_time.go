package eventrun

import (
	"math"
	"path"
	"strings"
	"time"

	"reprise/internal/doc"
)

// instant is a point in time that can be compared at machine speed and holds
// every year a file may name, unlike nanoseconds in one word.
type instant struct {
	sec  int64
	nsec int32
}

// never is before every instant: the time of an event without one.
var never = instant{sec: math.MinInt64}

// instantOf is never for the zero time.
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

// parseInstant reads a time in any spelling that is met in real files.
func parseInstant(text []byte) (at instant, ok bool) {
	var t time.Time
	if t.UnmarshalText(text) != nil {
		if t, ok = doc.ParseTime(string(text)); !ok {
			return never, false
		}
	}
	return instant{t.Unix(), int32(t.Nanosecond())}, true
}

// nameTime reads the time a log file or a run carries in its name:
// 20260115-1030…, 20260115-103000…, 2024-01-15T10-00-00Z….
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
