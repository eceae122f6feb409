package run_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// traced runs a command and gives to disk every system call of it, and of all processes that it
// starts, that changes files below the disk's folder. It is a small strace: the kernel lets
// everybody trace his own children.
func traced(t *testing.T, cmd *exec.Cmd, d *disk) (status int) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		t.Skipf("this system lets nobody trace: %v", err)
	}
	root := cmd.Process.Pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(root, &ws, syscall.WALL, nil); err != nil {
		t.Fatal(err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(root, options); err != nil {
		t.Fatal(err)
	}
	at := map[int]*call{} // by thread, between entry and exit
	signal := 0
	for tid := root; ; {
		syscall.PtraceSyscall(tid, signal)
		var err error
		for signal = 0; ; {
			if tid, err = syscall.Wait4(-1, &ws, syscall.WALL|unix.WNOTHREAD, nil); err != syscall.EINTR {
				break
			}
		}
		if err == syscall.ECHILD {
			return status
		}
		if err != nil {
			t.Fatal(err)
		}
		if !ws.Stopped() {
			if delete(at, tid); tid == root {
				status = ws.ExitStatus()
			}
			tid = 0 // nothing to continue
			continue
		}
		switch sig := ws.StopSignal(); {
		case sig == syscall.SIGTRAP|0x80:
			info, ok := syscallInfo(tid)
			switch {
			case ok && info.op == unix.PTRACE_SYSCALL_INFO_ENTRY:
				at[tid] = entered(tid, info, d)
			case ok && info.op == unix.PTRACE_SYSCALL_INFO_EXIT && at[tid] != nil:
				if ret := int64(info.nr); ret >= 0 { // in an exit the result stands there
					at[tid].done(d, ret)
				}
				delete(at, tid)
			}
		case sig == syscall.SIGTRAP && ws.TrapCause() > 0, sig == syscall.SIGSTOP: // a new process, or another program
		default:
			signal = int(sig)
		}
	}
}

type ptraceInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	ip   uint64
	sp   uint64
	nr   uint64
	args [6]uint64
}

func syscallInfo(tid int) (info ptraceInfo, ok bool) {
	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return info, e == 0
}

// call is a system call that has been entered.
type call struct{ done func(d *disk, ret int64) }

// entered reads what a call is about to do; nil if it changes nothing of the disk. A call counts
// when it returns, but for a sync: that is for what came before it was entered.
func entered(tid int, in ptraceInfo, d *disk) *call {
	a := in.args
	proc := fmt.Sprintf("/proc/%d", tid)
	open := func(fd uint64) (string, bool) {
		path, err := os.Readlink(fmt.Sprintf("%s/fd/%d", proc, int32(fd)))
		return d.rel(path, err == nil)
	}
	at := func(fd, ptr uint64) (string, bool) {
		name := memory(tid, ptr)
		if !filepath.IsAbs(name) {
			at := proc + "/cwd"
			if int32(fd) != unix.AT_FDCWD {
				at = fmt.Sprintf("%s/fd/%d", proc, int32(fd))
			}
			base, _ := os.Readlink(at)
			name = filepath.Join(base, name)
		}
		return d.rel(filepath.Clean(name), true)
	}
	cwd := int32(unix.AT_FDCWD)
	here := uint64(uint32(cwd))
	two := func(fd1, p1, fd2, p2 uint64, do func(a, b string)) *call {
		from, in1 := at(fd1, p1)
		to, in2 := at(fd2, p2)
		if !in1 && !in2 {
			return nil
		}
		return &call{func(d *disk, _ int64) {
			if !in1 || !in2 {
				d.odd("a name comes or goes: %s %s", from, to)
				return
			}
			do(from, to)
		}}
	}
	one := func(fd, p uint64, do func(name string)) *call {
		name, in := at(fd, p)
		if !in {
			return nil
		}
		return &call{func(*disk, int64) { do(name) }}
	}
	opened := func(fd, p, flags uint64) *call {
		if flags&(unix.O_CREAT|unix.O_TRUNC) == 0 {
			return nil
		}
		return one(fd, p, func(name string) { d.open(name, flags&unix.O_TRUNC != 0) })
	}
	write := func(off int64) *call {
		name, in := open(a[0])
		if !in {
			return nil
		}
		if off < 0 {
			off = position(proc, a[0])
		}
		data := bytesAt(tid, a[1], int(a[2]))
		return &call{func(d *disk, n int64) { d.write(name, off, data[:min(int(n), len(data))]) }}
	}
	sync := func(do func(name string)) *call {
		name, in := open(a[0])
		if !in {
			return nil
		}
		do(name)
		return &call{func(d *disk, _ int64) { d.synced(name) }}
	}
	switch in.nr {
	case unix.SYS_EXECVE:
		if path.Base(memory(tid, a[0])) == "git" {
			return &call{func(d *disk, _ int64) { d.gits++ }}
		}
	case unix.SYS_OPEN:
		return opened(here, a[0], a[1])
	case unix.SYS_CREAT:
		return opened(here, a[0], unix.O_CREAT|unix.O_TRUNC)
	case unix.SYS_OPENAT:
		return opened(a[0], a[1], a[2])
	case unix.SYS_WRITE:
		return write(-1)
	case unix.SYS_PWRITE64:
		return write(int64(a[3]))
	case unix.SYS_FTRUNCATE:
		if name, in := open(a[0]); in {
			return &call{func(d *disk, _ int64) { d.truncate(name, int(a[1])) }}
		}
	case unix.SYS_RENAME:
		return two(here, a[0], here, a[1], d.rename)
	case unix.SYS_RENAMEAT:
		return two(a[0], a[1], a[2], a[3], d.rename)
	case unix.SYS_RENAMEAT2:
		if a[4]&unix.RENAME_EXCHANGE != 0 {
			return two(a[0], a[1], a[2], a[3], d.exchange)
		}
		return two(a[0], a[1], a[2], a[3], d.rename)
	case unix.SYS_LINK:
		return two(here, a[0], here, a[1], d.link)
	case unix.SYS_LINKAT:
		return two(a[0], a[1], a[2], a[3], d.link)
	case unix.SYS_UNLINK, unix.SYS_RMDIR:
		return one(here, a[0], d.remove)
	case unix.SYS_UNLINKAT:
		return one(a[0], a[1], d.remove)
	case unix.SYS_MKDIR:
		return one(here, a[0], d.mkdir)
	case unix.SYS_MKDIRAT:
		return one(a[0], a[1], d.mkdir)
	case unix.SYS_CHMOD:
		mode := uint32(a[1])
		return one(here, a[0], func(name string) { d.chmod(name, mode) })
	case unix.SYS_FCHMODAT:
		mode := uint32(a[2])
		return one(a[0], a[1], func(name string) { d.chmod(name, mode) })
	case unix.SYS_FCHMOD:
		if name, in := open(a[0]); in {
			return &call{func(d *disk, _ int64) { d.chmod(name, uint32(a[1])) }}
		}
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return sync(d.sync)
	case unix.SYS_SYNCFS:
		return sync(func(string) { d.syncAll() })
	case unix.SYS_SYMLINK, unix.SYS_SYMLINKAT, unix.SYS_TRUNCATE, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_FALLOCATE, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE, unix.SYS_SPLICE:
		nr, fds := in.nr, []uint64{a[0], a[2]}
		return &call{func(d *disk, _ int64) {
			for _, fd := range fds {
				if name, in := open(fd); in {
					d.odd("system call %d on %s is not modelled", nr, name)
				}
			}
		}}
	case unix.SYS_MMAP:
		if name, in := open(a[4]); in && a[3]&unix.MAP_SHARED != 0 && a[2]&unix.PROT_WRITE != 0 {
			d.odd("%s is written through memory, which is not modelled", name)
		}
	}
	return nil
}

func position(proc string, fd uint64) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("%s/fdinfo/%d", proc, int32(fd)))
	pos, flags := int64(0), int64(0)
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch value = strings.TrimSpace(value); key {
		case "pos":
			pos, _ = strconv.ParseInt(value, 10, 64)
		case "flags":
			flags, _ = strconv.ParseInt(value, 8, 64)
		}
	}
	if flags&unix.O_APPEND != 0 {
		return -1
	}
	return pos
}

// memory reads a text of a process that is stopped, bytesAt a number of bytes.
func memory(tid int, ptr uint64) string {
	data := bytesAt(tid, ptr, 4096)
	if i := bytes.IndexByte(data, 0); i >= 0 {
		data = data[:i]
	}
	return string(data)
}

func bytesAt(tid int, ptr uint64, n int) []byte {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return nil
	}
	defer f.Close()
	data := make([]byte, n)
	n, err = f.ReadAt(data, int64(ptr))
	for err != nil && err != io.EOF && n == 0 && len(data) > 64 { // the end of what is mapped
		data = data[:len(data)/2]
		n, err = f.ReadAt(data, int64(ptr))
	}
	return data[:n]
}
