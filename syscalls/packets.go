package syscalls

// A credential says who sent something: SCM_CREDENTIALS, SO_PEERCRED.
type credential struct {
	pid, uid, gid uint32
}

// noPeer is what SO_PEERCRED tells of a socket without a peer.
var noPeer = credential{0, 1<<32 - 1, 1<<32 - 1}

// credential is the one of t's process.
func (t *Thread) credential() credential {
	return credential{uint32(t.p.pid), t.k.uid, t.k.gid}
}

func (c credential) encode() []byte {
	var b pack
	b.u32(c.pid)
	b.u32(c.uid)
	b.u32(c.gid)
	return b
}

// packetCost is what a packet takes of a socket's buffer besides its bytes: what Linux's smallest takes.
const packetCost = 768

// A packet is what was sent at once, or what is left of it.
type packet struct {
	data []byte
	// from is the sender's name; of AF_UNIX that of origin, which may get one later.
	from   []byte
	origin *unixSocket
	cred   credential
	files  []file
	// sender has cost bytes less room until the packet is received; nil for the network, where that
	// is limited by the receiver.
	sender *sockBase
	cost   int
	// to is the address it was sent to (UDP).
	to     []byte
	header ipHeader
}

// name is the sender's name, nil if it has none.
func (p *packet) name() []byte {
	if p.origin != nil && p.origin.path != nil {
		return p.origin.localName()
	}
	return p.from
}

// drop lets go of what a packet holds that nobody will receive.
func (p *packet) drop(k *Kernel) {
	p.received()
	for _, f := range p.files {
		release(k, f)
	}
	p.files = nil
}

// received gives the sender its room back.
func (p *packet) received() {
	if s := p.sender; s != nil {
		s.unread -= p.cost
		p.sender = nil
		if s.roomy() {
			s.emptied()
		}
	}
}

// roomy reports whether a sender of AF_UNIX may send (net/unix/af_unix.c, unix_writable).
func (s *sockBase) roomy() bool { return s.unread*4 <= s.opts.sndBuf }

// A packetQueue has what a socket received, in order of arrival.
type packetQueue struct {
	packets []*packet
	bytes   int
}

func (q *packetQueue) empty() bool { return len(q.packets) == 0 }

func (q *packetQueue) put(p *packet) {
	q.packets = append(q.packets, p)
	q.bytes += len(p.data)
}

// putBytes puts bytes of a stream, with those in front of them if they are few: packets cost memory.
func (q *packetQueue) putBytes(b []byte) {
	const few = 16 << 10
	if n := len(q.packets); n > 0 && len(q.packets[n-1].data)+len(b) <= few {
		q.packets[n-1].data = append(q.packets[n-1].data, b...)
		q.bytes += len(b)
		return
	}
	q.put(&packet{data: b})
}

// first returns the oldest packet.
func (q *packetQueue) first() *packet { return q.packets[0] }

// firstSize is the size of the oldest packet, 0 for none.
func (q *packetQueue) firstSize() int {
	if q.empty() {
		return 0
	}
	return len(q.first().data)
}

// pop removes the oldest packet.
func (q *packetQueue) pop() {
	p := q.packets[0]
	q.bytes -= len(p.data)
	q.packets[0] = nil
	if q.packets = q.packets[1:]; len(q.packets) == 0 {
		q.packets = nil
	}
	p.received()
}

// take removes n bytes from the front of the oldest packet, and the packet if nothing is left of it.
func (q *packetQueue) take(n int) {
	p := q.packets[0]
	if n == len(p.data) {
		q.pop()
		return
	}
	p.data = p.data[n:]
	q.bytes -= n
}

// purge drops all.
func (q *packetQueue) purge(k *Kernel) {
	for !q.empty() {
		p := q.first()
		q.pop()
		p.drop(k)
	}
}
