// Package host is all that the kernel asks of the operating system below cgemu: files by descriptor and by name,
// directories as a vfs.FS, sockets, terminals, limits, and waiting for any of these.
//
// Modes, flags and errors are Linux's on x86-64 on both sides of it; each host translates: host_linux.go on Linux,
// portable.go and what is beside it on others. Names are never those of the guest: whoever calls has found out which
// file of the host is meant.
//
// A call that would wait returns EAGAIN, but for PollWait: the kernel has one thread of the host for all the guest's.
package host
