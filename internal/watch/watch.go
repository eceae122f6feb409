// Package watch tells when files of a project may have changed. It gives hints alone: the
// system may lose some, and knows none on network drives, so a hint also comes after a
// time without one. Whoever waits looks for itself.
package watch

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a burst of changes is waited out.
const settle = 50 * time.Millisecond

// Folders waits for changes in folders. The zero value waits for the time alone.
type Folders struct {
	Every time.Duration // the longest wait
	// Rest is how many times as long as a look took is waited at least: a look at many
	// projects must not become the work of a whole core.
	Rest int

	notify *fsnotify.Watcher
	known  map[string]bool
	looked time.Time // when the last wait ended
}

// Open begins to watch. Where the system cannot tell of changes, only the time is waited
// for.
func Open(every time.Duration) *Folders {
	f := &Folders{Every: every, Rest: 10, known: map[string]bool{}}
	f.notify, _ = fsnotify.NewWatcher()
	return f
}

// Close ends the watching.
func (f *Folders) Close() {
	if f.notify != nil {
		f.notify.Close()
	}
}

// Add watches folders too, not what is below them. Those that are not there, or that the
// system has no room for, are tried again with the next call. It reports whether one is
// watched now that was not: what changed in it before gives no hint.
func (f *Folders) Add(folders ...string) (more bool) {
	for _, dir := range folders {
		if f.notify != nil && !f.known[dir] && f.notify.Add(dir) == nil {
			f.known[dir], more = true, true
		}
	}
	return more
}

// Wait waits for a hint, and reports false once the context is over. It waits at least
// Rest times as long as the caller took since the last one, up to the longest wait.
func (f *Folders) Wait(ctx context.Context) bool {
	if !f.looked.IsZero() {
		sleep(ctx, min(time.Duration(f.Rest)*time.Since(f.looked), f.Every))
	}
	if f.hint(ctx, f.Every) {
		for range 20 { // a burst without end is looked at, too
			if !f.hint(ctx, settle) {
				break
			}
		}
	}
	f.looked = time.Now()
	return ctx.Err() == nil
}

// hint waits for a change, and reports false where none came in time.
func (f *Folders) hint(ctx context.Context, most time.Duration) bool {
	if f.notify == nil {
		sleep(ctx, most)
		return false
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case ev := <-f.notify.Events:
		delete(f.known, ev.Name) // a folder that is made anew is another one
		return true
	case <-f.notify.Errors: // some were lost
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
