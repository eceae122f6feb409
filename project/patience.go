package project

import "time"

// A look ends, whatever is in a folder: `status` in 5 s and `check` in 20 s, of which these are for
// reading. What was not read by then is told, and is unknown.
const (
	quickly    = 3 * time.Second
	thoroughly = 12 * time.Second
)

// patience is the time that one look has for reading. On a busy machine it waits longer: a reader
// that others keep from working is not one that is too slow.
type patience struct {
	whole time.Duration
	since moment
}

// moment is a point in time, and what the processors had done for this process by then.
type moment struct {
	at   time.Time
	work time.Duration
}

func now() moment { return moment{time.Now(), processed()} }

const (
	// busyFor is how many times longer it waits for a reader that does not get to work.
	busyFor = 6
	// each of ten is what one reader has of the time: one that hangs leaves some for the others.
	each = 8
	// lookAgain is how often a reader is looked after.
	lookAgain = 50 * time.Millisecond
)

func newPatience(whole time.Duration) *patience { return &patience{whole, now()} }

// over reports whether a time is over.
func over(since moment, most time.Duration) bool {
	took := time.Since(since.at)
	return took >= most && (took >= busyFor*most || processed()-since.work >= most*9/10)
}

// within does something in the time that is left, and no longer than one reader may take; a search,
// which reads many files, may take all of it and a little more, so that it ends with what it has. It
// reports whether that ended, and does not wait for what did not.
func (p *patience) within(search bool, do func()) (ended bool) {
	if p == nil {
		do()
		return true
	}
	if over(p.since, p.whole) && !search {
		return false
	}
	since, most, whole := now(), p.whole*each/10, p.whole
	if search {
		most, whole = p.whole+p.whole/4, p.whole+p.whole/4
	}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		do()
	}()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		select {
		case oops := <-done:
			if oops != nil {
				panic(oops) // where it is expected
			}
			return true
		case <-again.C:
			if over(since, most) || over(p.since, whole) {
				return false
			}
		}
	}
}
