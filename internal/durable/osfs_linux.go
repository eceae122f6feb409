package durable

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// openWay opens the project for atOnce.
func openWay(root *os.Root) (*os.File, error) { return root.Open(".") }

// atOnce opens what stands at a name, with no link on the way, in one call of the
// kernel. It gives nil where it cannot be told at once: a link is on the way, or
// the kernel is too old.
func (d *osFS) atOnce(name string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   flags | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(int(d.at.Fd()), name, &how)
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), name), nil
	case unix.ENOENT:
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return nil, nil
}

// lookFlags open anything without reaching it.
const (
	lookFlags   = unix.O_PATH
	folderFlags = unix.O_PATH | unix.O_DIRECTORY
)

func syncFile(f *os.File) error {
	for {
		if err := unix.Fsync(int(f.Fd())); err != unix.EINTR {
			if err != nil {
				return &fs.PathError{Op: "fsync", Path: f.Name(), Err: err}
			}
			return nil
		}
	}
}

func syncFileSystem(f *os.File) error {
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &fs.PathError{Op: "syncfs", Path: f.Name(), Err: err}
	}
	return nil
}

// networks are the file systems whose locks, renames or fsync are another
// machine's or another program's word.
var networks = map[uint32]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "CIFS", unix.SMB2_SUPER_MAGIC: "SMB2",
	unix.FUSE_SUPER_MAGIC: "FUSE", unix.V9FS_MAGIC: "9p", unix.AFS_SUPER_MAGIC: "AFS", unix.AFS_FS_MAGIC: "AFS",
	unix.CODA_SUPER_MAGIC: "Coda", unix.CEPH_SUPER_MAGIC: "Ceph", unix.NCP_SUPER_MAGIC: "NCP",
	0x7461636f: "OCFS2", 0x01161970: "GFS2", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS", 0x786f4256: "VirtualBox shared folder",
	0xbacbacbc: "VMware shared folder", 0x6e667364: "nfsd", 0x19830326: "BeeGFS",
}

func fileSystemKind(dir string) (kind string, network bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if kind, ok := networks[uint32(st.Type)]; ok {
		return kind, true, nil
	}
	return fmt.Sprintf("type %#x", uint32(st.Type)), false, nil
}

// self says who we are, in a form that no later process can share.
var self = sync.OnceValue(func() Holder {
	h := Holder{PID: os.Getpid(), Command: strings.Join(os.Args, " ")}
	h.Host, _ = os.Hostname()
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		h.BootID = strings.TrimSpace(string(b))
	}
	h.StartTicks = startTicks("self")
	return h
})

// startTicks is field 22 of /proc/PID/stat; the name in field 2 may contain
// anything, also parentheses and spaces.
func startTicks(pid string) uint64 {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return n
}
