// Package net is the guest's network: sockets of AF_UNIX, TCP and UDP over a loopback of our own, and netlink as far as programs ask
// for interfaces and routes. With NetworkHost, sockets that leave the machine are sockets of the host (outside.go).
//
// The loopback moves bytes at once and loses none. What waits for time, as TIME_WAIT or a connection that nobody answers, waits for
// the virtual clock. A socket never waits in a File's methods; Transmit and Receive do, with the socket's own timeouts.
package net
