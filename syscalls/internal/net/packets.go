package net

import (
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// A credential says who has sent something, or who is at the other end: SCM_CREDENTIALS, SO_PEERCRED.
type credential struct {
	pid, uid, gid uint32
}

// noPeer is what SO_PEERCRED tells of a socket without a peer.
var noPeer = credential{0, 1<<32 - 1, 1<<32 - 1}

// Credential is that of t's process.
func Credential(t *task.Thread) credential {
	return credential{uint32(t.Process.PID), t.Kernel.UID, t.Kernel.GID}
}

func (c credential) encode() []byte {
	var b linux.Pack
	b.U32(c.pid)
	b.U32(c.uid)
	b.U32(c.gid)
	return b
}

// packetCost is how much of a buffer a packet takes in addition to its bytes: as much as Linux's smallest.
const packetCost = 768

// A packet is a message, or a piece of a stream, in a receiver's queue.
type packet struct {
	data []byte
	// from is the sender's name. With AF_UNIX, origin is the sender instead, as it may get a name later.
	from   []byte
	origin *UnixSocket
	cred   credential
	files  []files.File
	// sender is the socket that has cost bytes less room to send until the packet is received. It is nil for TCP and
	// UDP, where the receiver's room counts.
	sender *sockBase
	cost   int
	// to is the address that a datagram of UDP was sent to.
	to     []byte
	header ipHeader
}

// name is the sender's name, nil if it has none.
func (p *packet) name() []byte {
	if p.origin != nil && p.origin.Path != nil {
		return p.origin.LocalName()
	}
	return p.from
}

// drop lets go of what a packet holds that will not be received.
func (p *packet) drop(k *task.Kernel) {
	p.received()
	for _, f := range p.files {
		files.Release(k, f)
	}
	p.files = nil
}

// received gives the sender back the room that the packet took.
func (p *packet) received() {
	if s := p.sender; s != nil {
		s.unread -= p.cost
		p.sender = nil
		if s.unixWritable() {
			s.writeSpace()
		}
	}
}

// unixWritable reports whether poll(2) says that a socket of AF_UNIX can be written (net/unix/af_unix.c,
// unix_writable).
func (s *sockBase) unixWritable() bool { return s.unread*4 <= s.Opts.sndBuf }

// A packetQueue has what a socket has received, in order of arrival. Bytes is the length of all packets together.
type packetQueue struct {
	Packets []*packet
	Bytes   int
}

func (q *packetQueue) empty() bool { return len(q.Packets) == 0 }

// put appends p.
func (q *packetQueue) put(p *packet) {
	q.Packets = append(q.Packets, p)
	q.Bytes += len(p.data)
}

// putBytes appends bytes of a stream. They join the last packet if it is small, since each packet costs memory.
func (q *packetQueue) putBytes(b []byte) {
	const few = 16 << 10
	if n := len(q.Packets); n > 0 && len(q.Packets[n-1].data)+len(b) <= few {
		q.Packets[n-1].data = append(q.Packets[n-1].data, b...)
		q.Bytes += len(b)
		return
	}
	q.put(&packet{data: b})
}

// first returns the oldest packet.
func (q *packetQueue) first() *packet { return q.Packets[0] }

// firstSize is the size of the oldest packet, 0 for none.
func (q *packetQueue) firstSize() int {
	if q.empty() {
		return 0
	}
	return len(q.first().data)
}

// pop removes the oldest packet.
func (q *packetQueue) pop() {
	p := q.Packets[0]
	q.Bytes -= len(p.data)
	q.Packets[0] = nil
	if q.Packets = q.Packets[1:]; len(q.Packets) == 0 {
		q.Packets = nil
	}
	p.received()
}

// take removes the first n bytes of the oldest packet, and the packet when it is empty.
func (q *packetQueue) take(n int) {
	p := q.Packets[0]
	if n == len(p.data) {
		q.pop()
		return
	}
	p.data = p.data[n:]
	q.Bytes -= n
}

// purge drops all packets.
func (q *packetQueue) purge(k *task.Kernel) {
	for !q.empty() {
		p := q.first()
		q.pop()
		p.drop(k)
	}
}
