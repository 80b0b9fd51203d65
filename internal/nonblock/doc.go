// Package nonblock has the flag with which files are opened that might be a FIFO: without it, opening waits until
// somebody opens the other end.
package nonblock
