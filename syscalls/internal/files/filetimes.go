package files

import (
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// The times of files are the guest's. Files that it has not touched show the host's time of the last change three
// times: when they were read, or their inode was changed, differs from run to run. What the guest does to a file it
// finds again by its own clock, as on a file system mounted with relatime (mount(8)).

// TimeAt is a time of ours, in nanoseconds since 1970.
func TimeAt(ns int64) host.Time {
	sec, nsec := task.SplitTime(ns)
	return host.Time{Sec: sec, Nsec: int32(nsec), Set: true}
}

func after(x host.Time, y host.Time) bool { return x.Sec > y.Sec || x.Sec == y.Sec && x.Nsec > y.Nsec }

// with returns x with what y has set. What y does not tell of a file that was written is the time of that.
func with(x host.Times, y host.Times) host.Times {
	if y.Mtime.Set {
		x = host.Times{Atime: y.Mtime, Mtime: y.Mtime, Ctime: y.Mtime}
	}
	if y.Atime.Set {
		x.Atime = y.Atime
	}
	if y.Ctime.Set {
		x.Ctime = y.Ctime
	}
	return x
}

// Touch makes now the time when file ino was changed.
func Touch(k *task.Kernel, ino uint64) {
	k.ReadWall()
	written(k, ino)
}

// noteCreated makes now all times of file ino.
func noteCreated(k *task.Kernel, ino uint64) {
	Touch(k, ino)
	if ts, ok := SystemOf(k).Inodes.Times[ino]; ok {
		ts.Atime = ts.Mtime
		SystemOf(k).Inodes.Times[ino] = ts
	}
}

// written is Touch with the time when the guest last looked at the clock or touched a file: to find out what time it is
// takes longer than to write a little. Linux's times of files are those of the last tick.
func written(k *task.Kernel, ino uint64) {
	k.Spaces.FileChanged(ino)
	if k.Clock.Real {
		return
	}
	ts := SystemOf(k).Inodes.Times[ino]
	ts.Mtime = TimeAt(k.Clock.LastRead)
	ts.Ctime = ts.Mtime
	SystemOf(k).Inodes.Times[ino] = ts
}

// Cut notes that file ino may have become shorter: engines have to ask again whether it reaches the pages that show it.
// Its pages from offset from on are not what they were.
func Cut(k *task.Kernel, ino uint64, from int64) { k.Spaces.FileCut(ino, uint64(from)) }

// ChangedInode makes now the time when the inode of file ino was changed.
func ChangedInode(k *task.Kernel, ino uint64) {
	if k.Clock.Real {
		return
	}
	ts := SystemOf(k).Inodes.Times[ino]
	ts.Ctime = TimeAt(k.ReadWall())
	SystemOf(k).Inodes.Times[ino] = ts
}

// Accessed notes that f was read. That is remembered if it was changed since it was read before, or that is a day ago.
func Accessed(k *task.Kernel, f *HostFile) {
	const day = 24 * 3600
	if k.Clock.Real || f.Flags&linux.O_NOATIME != 0 || !f.IsRegular() && !f.IsDir() {
		return
	}
	ts := SystemOf(k).Inodes.Times[f.Ino]
	now := TimeAt(k.Clock.LastRead)
	if a := ts.Atime; a.Set && (!ts.Mtime.Set || after(a, ts.Mtime)) && (!ts.Ctime.Set || after(a, ts.Ctime)) && now.Sec-a.Sec < day {
		return
	}
	ts.Atime = now
	SystemOf(k).Inodes.Times[f.Ino] = ts
}

// keepAccess remembers when f was read last as long as nothing is known: before, its last change. What is written to it
// now is newer.
func keepAccess(k *task.Kernel, f *HostFile, before host.Stat) {
	if ts := SystemOf(k).Inodes.Times[f.Ino]; !k.Clock.Real && !ts.Atime.Set {
		ts.Atime = statFromHost(k, before).Atime
		SystemOf(k).Inodes.Times[f.Ino] = ts
	}
}
