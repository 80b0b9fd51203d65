// Package tty has pseudoterminals: the files of their two ends (pty.go), and between them a line discipline like
// Linux's (ldisc.go), with canonical and raw mode, echo, signals from the keyboard and flow control. Job control is in
// package task, since a terminal of the host needs it, too; the host's terminal as a file is in package files.
package tty
