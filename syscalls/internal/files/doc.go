// Package files has open files and how the guest finds them: descriptor tables, paths, working directories, mounts of
// our own trees (/proc, /sys, /dev, pieces of /etc) over those of the host or of an overlay, and the files that are
// made of nothing but the kernel: pipes, epoll, inotify, eventfd, timerfd, signalfd, pidfd.
//
// A File never waits: a call that would have to returns EAGAIN, and the file says what ends the wait (Waits) and what
// of the host has to be looked at meanwhile (HostWaits). ReadFile and WriteFile do the waiting for all kinds.
//
// A file's inode number, device and times are the same on every host: System.Inodes gives numbers in the order in which
// the guest meets files, and times that it did not set itself are the host's last change, three times.
package files
