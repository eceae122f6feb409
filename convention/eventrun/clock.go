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

func instantOf(t time.Time) instant { return instant{t.Unix(), int32(t.Nanosecond())} }

func (i instant) time() time.Time {
	if i == never {
		return time.Time{}
	}
	return time.Unix(i.sec, int64(i.nsec)).UTC()
}

// stampReader reads RFC 3339 times. Consecutive events are mostly of one day,
// whose number is kept.
type stampReader struct {
	date [10]byte
	days int64
}

// read parses the exact form 2006-01-02T15:04:05[.fraction](Z|±hh:mm). Anything
// else, valid or not, is left to doc.ParseTime.
func (c *stampReader) read(b []byte) (at instant, ok bool) {
	if len(b) < 20 || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return at, false
	}
	if [10]byte(b[:10]) != c.date {
		days, ok := daysOf(b)
		if !ok {
			return at, false
		}
		c.date, c.days = [10]byte(b[:10]), days
	}
	hour, ok1 := two(b[11], b[12])
	minute, ok2 := two(b[14], b[15])
	second, ok3 := two(b[17], b[18])
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return at, false
	}
	at.sec = c.days*86400 + int64(hour*3600+minute*60+second)
	if len(b) == 20 && b[19] == 'Z' {
		return at, true
	}
	return at, at.tail(b[19:])
}

// tail reads the fraction and the zone.
func (i *instant) tail(b []byte) bool {
	if b[0] == '.' {
		n, scale := 1, int32(100_000_000)
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			i.nsec += int32(b[n]-'0') * scale
			scale /= 10
			n++
		}
		if n == 1 || n > 10 {
			return false
		}
		b = b[n:]
	}
	if len(b) == 1 && b[0] == 'Z' {
		return true
	}
	if len(b) != 6 || (b[0] != '+' && b[0] != '-') || b[3] != ':' {
		return false
	}
	hour, ok1 := two(b[1], b[2])
	minute, ok2 := two(b[4], b[5])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return false
	}
	offset := int64(hour*3600 + minute*60)
	if b[0] == '+' {
		offset = -offset
	}
	i.sec += offset
	return true
}

// daysOf gives the days from 1970-01-01 to a date 2006-01-02 of 1970 or later.
func daysOf(b []byte) (days int64, ok bool) {
	century, ok1 := two(b[0], b[1])
	year, ok2 := two(b[2], b[3])
	month, ok3 := two(b[5], b[6])
	day, ok4 := two(b[8], b[9])
	y := century*100 + year
	if !ok1 || !ok2 || !ok3 || !ok4 || b[4] != '-' || b[7] != '-' || y < 1970 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	date := time.Date(y, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if date.Day() != day { // 30 February
		return 0, false
	}
	return date.Unix() / 86400, true
}

func two(a, b byte) (n int, ok bool) {
	a, b = a-'0', b-'0'
	return int(a)*10 + int(b), a <= 9 && b <= 9
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
