// Package tty has pseudoterminals (pty.go) with Linux's line discipline (ldisc.go): canonical and raw mode, echo, signals from the
// keyboard, flow control. Job control, which a terminal of the host needs as well, is in package task; the host's terminal as a file
// is in package files.
package tty
