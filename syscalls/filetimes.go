package syscalls

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// The times of files are the guest's. Files that it has not touched show the host's time of the last change three times: when they
// were read, or their inode was changed, differs from run to run. What the guest does to a file it finds again by its own clock,
// as on a file system mounted with relatime (mount(8)).

// timeAt is a time of ours, in nanoseconds since 1970.
func timeAt(ns int64) fileTime {
	sec, nsec := splitTime(ns)
	return fileTime{sec, int32(nsec), true}
}

func (x fileTime) after(y fileTime) bool { return x.sec > y.sec || x.sec == y.sec && x.nsec > y.nsec }

// with returns x with what y has set. What y does not tell of a file that was written is the time of that.
func (x fileTimes) with(y fileTimes) fileTimes {
	if y.mtime.set {
		x = fileTimes{y.mtime, y.mtime, y.mtime}
	}
	if y.atime.set {
		x.atime = y.atime
	}
	if y.ctime.set {
		x.ctime = y.ctime
	}
	return x
}

// touch makes now the time when file ino was changed.
func (k *Kernel) touch(ino uint64) {
	k.look()
	k.written(ino)
}

// created makes now all times of file ino.
func (k *Kernel) created(ino uint64) {
	k.touch(ino)
	if ts, ok := fsOf(k).inodes.times[ino]; ok {
		ts.atime = ts.mtime
		fsOf(k).inodes.times[ino] = ts
	}
}

// written is touch, with the time when the guest last looked at the clock or touched a file: to find out what time it is takes
// longer than to write a little. Linux's times of files are those of the last tick.
func (k *Kernel) written(ino uint64) {
	k.spaces.FileChanged(ino)
	if k.clock.real {
		return
	}
	ts := fsOf(k).inodes.times[ino]
	ts.mtime = timeAt(k.clock.seen)
	ts.ctime = ts.mtime
	fsOf(k).inodes.times[ino] = ts
}

// changedInode makes now the time when the inode of file ino was changed.
func (k *Kernel) changedInode(ino uint64) {
	if k.clock.real {
		return
	}
	ts := fsOf(k).inodes.times[ino]
	ts.ctime = timeAt(k.look())
	fsOf(k).inodes.times[ino] = ts
}

// accessed notes that f was read. That is remembered if it was changed since it was read before, or that is a day ago.
func (k *Kernel) accessed(f *hostFile) {
	const day = 24 * 3600
	if k.clock.real || f.flags&linux.O_NOATIME != 0 || !f.isRegular() && !f.isDir() {
		return
	}
	ts := fsOf(k).inodes.times[f.ino]
	now := timeAt(k.clock.seen)
	if a := ts.atime; a.set && (!ts.mtime.set || a.after(ts.mtime)) && (!ts.ctime.set || a.after(ts.ctime)) && now.sec-a.sec < day {
		return
	}
	ts.atime = now
	fsOf(k).inodes.times[f.ino] = ts
}

// keepAccess remembers when f was read last as long as nothing is known: before, its last change. What is written to it now is
// newer.
func (k *Kernel) keepAccess(f *hostFile, before hostStat) {
	if ts := fsOf(k).inodes.times[f.ino]; !k.clock.real && !ts.atime.set {
		ts.atime = k.statFromHost(before).atime
		fsOf(k).inodes.times[f.ino] = ts
	}
}

// timesSet notes that the guest set times of a file, which looks like h now: the host's file system may not go as far. An error
// says that the host has not set them.
func (k *Kernel) timesSet(h hostStat, e linux.Errno, at, mt fileTime) {
	switch {
	case e != 0:
		h.atime, h.mtime = at, mt
	case k.clock.real:
		return // the file has them
	}
	ino := fsOf(k).inodes.number(h.dev, h.ino)
	ts := fsOf(k).inodes.times[ino]
	if at.set {
		ts.atime = h.atime
	}
	if mt.set {
		ts.mtime = h.mtime
	}
	fsOf(k).inodes.times[ino] = ts
	k.changedInode(ino)
}
