package proc

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// WhoUses looks through all processes for those that have file open, and for
// those named program that work in one of the folders: a program may hold a
// lock without keeping its file open. One that cannot be examined counts only if it could
// have made the file: if it runs as the file's owner, and has not ended meanwhile. It reads
// the whole process table; call it only if the file is there.
func WhoUses(file, program string, dirs ...string) Users {
	return system().whoUses(file, program, dirs)
}

func (t table) whoUses(file, program string, dirs []string) Users {
	var u Users
	target, err := os.Stat(file)
	if err != nil {
		target = nil
	}
	if !t.seesAll() {
		u.Blind = unseen
	}
	base := filepath.Base(file)
	for _, pid := range t.pids() {
		if pid == os.Getpid() {
			continue
		}
		s, err := t.read(pid)
		if err != nil || s.gone() {
			continue
		}
		p := Process{PID: pid, Name: s.name, StartTicks: s.ticks}
		open := false
		err = t.descriptors(pid, base, target, func(string) { open = true })
		if open {
			u.Open = append(u.Open, p)
			continue
		}
		if s.name != program && !strings.HasPrefix(s.name, program+"-") {
			continue
		}
		cwd, cwdErr := os.Readlink(t.file(pid, "cwd"))
		switch {
		case err != nil || cwdErr != nil:
			if now, err := t.read(pid); errors.Is(err, os.ErrNotExist) || err == nil && (now.gone() || now.ticks != s.ticks) || !t.mayOwn(pid, target) {
				continue
			}
			u.Blind = "a " + program + " process of another user cannot be examined"
		case inAny(cwd, dirs):
			u.Near = append(u.Near, p)
		}
	}
	return u
}

// mayOwn reports whether a process could have made a file: its owner is the user as whom
// the process reaches files. It is true if that is unknown.
func (t table) mayOwn(pid int, file os.FileInfo) bool {
	if file == nil {
		return true
	}
	made, ok := file.Sys().(*syscall.Stat_t)
	status, err := os.ReadFile(t.file(pid, "status"))
	_, after, found := strings.Cut(string(status), "\nUid:")
	line, _, _ := strings.Cut(after, "\n")
	ids := strings.Fields(line) // real, effective, saved, of the file system
	return !ok || err != nil || !found || len(ids) != 4 || ids[3] == strconv.FormatUint(uint64(made.Uid), 10)
}

// descriptors names those by which a process has the file open. The name of the
// file is compared first: most of what is open is no file at all.
func (t table) descriptors(pid int, base string, target os.FileInfo, each func(fd string)) error {
	dir := t.file(pid, "fd")
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		fd := filepath.Join(dir, name)
		link, err := os.Readlink(fd)
		if err != nil || filepath.Base(link) != base || target == nil {
			continue
		}
		if info, err := os.Stat(fd); err == nil && os.SameFile(info, target) {
			each(name)
		}
	}
	return err
}

// Holders finds what keeps a project busy: the processes that an attempt in the project
// started (REPRISE_PROJECT in their environment), those that hold a flock on its lock
// file, because they took it or inherited it, and all below them. One that only has the
// file open, to look at it or to try, is not among them, nor are our own process and
// those above it. No one holds a file that is not there: file "" asks for attempts alone.
func Holders(file, project string) []Process {
	t := system()
	lock, _ := os.Stat(file)
	folder, _ := os.Stat(project)
	took := map[int]int{}
	found := t.below(func(pid int, s stat) bool {
		at, err := os.Stat(t.variable(pid, "REPRISE_PROJECT"))
		if err == nil && folder != nil && os.SameFile(at, folder) {
			return true
		}
		holds := false
		if lock != nil {
			_ = t.descriptors(pid, filepath.Base(file), lock, func(fd string) {
				info, err := os.ReadFile(t.file(pid, "fdinfo", fd))
				if m := flocked.FindSubmatch(info); err == nil && m != nil {
					holds = true
					took[pid], _ = strconv.Atoi(string(m[1])) // of another pid namespace: not known
				}
			}) // of another user, or gone: nothing that we could signal
		}
		return holds
	})
	for i := range found {
		found[i].Took = took[found[i].PID]
	}
	return found
}

// flocked matches a lock in what the kernel says of a descriptor, with who took it.
var flocked = regexp.MustCompile(`FLOCK\s+\S+\s+\S+\s+(\S+)`)

func inAny(p string, dirs []string) bool {
	for _, dir := range dirs {
		if p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}
