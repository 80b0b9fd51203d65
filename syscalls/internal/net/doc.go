// Package net is the guest's network: sockets of AF_UNIX, TCP and UDP over a loopback inside this kernel, and as much
// of netlink as programs need to ask for interfaces and routes. With NetworkHost, sockets that connect to other
// machines have a socket of the host each (hostconn.go).
//
// On the loopback, bytes arrive the moment they are sent, and none are lost. What takes time in a real network, such as
// a connection that nobody answers, takes virtual time. The methods of a Socket, but for Connect, never wait: they
// return EAGAIN, and Transmit, Receive and Accept do the waiting, with the timeouts that the socket has.
package net
