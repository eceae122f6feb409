package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"reprise"
)

func look(o reprise.Owner, now time.Time) reprise.OwnerLife { return system().look(o, now) }

func alive(format string, a ...any) reprise.OwnerLife {
	return reprise.OwnerLife{Life: reprise.Alive, Reason: fmt.Sprintf(format, a...)}
}

func dead(format string, a ...any) reprise.OwnerLife {
	return reprise.OwnerLife{Life: reprise.Dead, Reason: fmt.Sprintf(format, a...)}
}

func unknown(format string, a ...any) reprise.OwnerLife {
	return reprise.OwnerLife{Life: reprise.LifeUnknown, Reason: fmt.Sprintf(format, a...)}
}

// look is the rule:
//
//  1. Another machine is unknown, always.
//  2. Another boot of this machine: dead, all its processes are gone.
//  3. A process with this pid that is provably the recorded one: alive, unless
//     it is a zombie.
//  4. No process with this pid, or another one: the record's process is not
//     here. That settles it if the record names this machine and we see all of
//     its processes. If it names no machine, a second fact must agree: the
//     record is older than this boot, or it has itself run out. From inside a
//     pid namespace it settles nothing.
//  5. Anything else is unknown.
func (t table) look(o reprise.Owner, now time.Time) reprise.OwnerLife {
	boot := t.bootID()
	named := namesHost(o.Host)
	here := named && sameHost(o.Host, t.host)
	sameBoot := o.BootID != "" && o.BootID == boot
	switch {
	case named && !here && sameBoot:
		return unknown("it was started under the host name %q on this same machine, perhaps in a container", o.Host)
	case named && !here:
		return unknown("it was started on another host, %q", o.Host)
	case o.BootID != "" && boot != "" && !sameBoot && here:
		return dead("this host was restarted since: no process of that boot is left")
	case o.BootID != "" && boot != "" && !sameBoot:
		return unknown("it belongs to another boot, and the record does not name the host")
	}
	here = here || sameBoot
	signs := t.signs(o, now)
	if o.PID <= 0 {
		if len(signs) >= 2 {
			return dead("the record names no process, but %s", strings.Join(signs, " and "))
		}
		return unknown("the record names no process%s", but(signs))
	}
	gone, life := t.process(o)
	if gone == "" {
		return life
	}
	switch {
	case !t.seesAll():
		return unknown("%s, but only the processes of our own pid namespace can be seen from here", gone)
	case here:
		return dead("%s", gone)
	case len(signs) > 0:
		return dead("%s, and %s", gone, strings.Join(signs, " and "))
	}
	return unknown("%s, but the record names no host", gone)
}

func but(signs []string) string {
	if len(signs) == 0 {
		return ""
	}
	return "; " + strings.Join(signs, " and ")
}

// signs are facts that count against an owner but prove nothing alone.
func (t table) signs(o reprise.Owner, now time.Time) []string {
	var out []string
	if boot := t.bootTime(); !boot.IsZero() && !o.StartedAt.IsZero() && o.StartedAt.Add(slackOther).Before(boot) {
		out = append(out, "the record is older than the start of this machine")
	}
	if !o.Expires.IsZero() && o.Expires.Before(now) {
		out = append(out, "the marker's own time has run out")
	}
	return out
}

// process looks at the recorded pid. It says why the recorded process is not
// here, or what is known of the one that is.
func (t table) process(o reprise.Owner) (gone string, life reprise.OwnerLife) {
	s, err := t.read(o.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if other, ok := t.inside(o); ok {
			return "", other
		}
		return fmt.Sprintf("there is no process %d", o.PID), life
	case errors.Is(err, fs.ErrPermission):
		return "", alive("process %d runs; it belongs to another user and cannot be examined", o.PID)
	case err != nil:
		return "", unknown("process %d cannot be examined: %v", o.PID, err)
	}
	who := fmt.Sprintf("process %d (%q)", o.PID, s.name)
	if o.StartTicks != 0 && s.ticks != o.StartTicks {
		if other, ok := t.inside(o); ok {
			return "", other
		}
		return fmt.Sprintf("%s is another one, the number was used again", who), life
	}
	running := "runs"
	if s.state == 'T' || s.state == 't' {
		running = "is stopped, which is not dead"
	}
	if o.StartTicks == 0 {
		gone, life = t.byClock(o, s, who, running)
	} else {
		life = alive("%s %s and has the recorded start time", who, running)
	}
	// A pid that only a zombie has is no one's, but only one that is provably
	// the recorded process settles it alone.
	if s.gone() && gone == "" {
		ended := who + " has ended and only waits to be collected"
		if life.Life == reprise.Alive {
			return "", dead("%s", ended)
		}
		return ended, reprise.OwnerLife{}
	}
	return gone, life
}

// byClock compares the wall clock where the record has no kernel time.
func (t table) byClock(o reprise.Owner, s stat, who, running string) (gone string, life reprise.OwnerLife) {
	boot := t.bootTime()
	if o.StartedAt.IsZero() || boot.IsZero() {
		return "", unknown("%s runs, but nothing tells whether it is the recorded one", who)
	}
	switch late := s.started(boot).Sub(o.StartedAt); {
	case late <= slackSame:
		return "", alive("%s %s and was there when the record was made", who, running)
	case late <= slackOther:
		return "", unknown("%s was started after the record was made, by no more than clocks and time zones can be wrong", who)
	}
	return fmt.Sprintf("%s was started after the record was made, the number was used again", who), life
}

// inside looks for the recorded process in the namespaces below ours: a
// container shares the boot and may share the name of the host.
func (t table) inside(o reprise.Owner) (reprise.OwnerLife, bool) {
	for _, pid := range t.pids() {
		inner, nested := t.innerPID(pid)
		if !nested || inner != o.PID {
			continue
		}
		s, err := t.read(pid)
		switch {
		case err != nil || s.gone():
		case o.StartTicks == 0:
			return unknown("process %d of this machine has this number in a pid namespace of its own", pid), true
		case s.ticks == o.StartTicks:
			return alive("process %d runs in a pid namespace of its own, as process %d of this machine", o.PID, pid), true
		}
	}
	return reprise.OwnerLife{}, false
}
