package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A pipeBuf is one buffer of a pipe, at most a page: what was written there and not read yet. A pipe's room is counted in them,
// however little is in each (pipe(7), fs/pipe.c).
type pipeBuf struct {
	// off is where in its page the data begins.
	off  int
	data []byte
	// packet says that it is read by itself (O_DIRECT), merge that what is written next may be added to it.
	packet, merge bool
}

// slots is how many buffers p has room for.
func (p *pipe) slots() int { return p.capacity / emu.PageSize }

// full reports whether no buffer is free.
func (p *pipe) full() bool { return len(p.bufs) >= p.slots() }

// size is how many bytes are in p.
func (p *pipe) size() int {
	n := 0
	for i := range p.bufs {
		n += len(p.bufs[i].data)
	}
	return n
}

// merged is how many bytes of n, which are to be written, go into the last buffer: what is more than whole pages, or nothing.
func (p *pipe) merged(n uint64) int {
	tail := int(n % emu.PageSize)
	if len(p.bufs) == 0 {
		return 0
	}
	if last := &p.bufs[len(p.bufs)-1]; !last.merge || last.off+len(last.data)+tail > emu.PageSize {
		return 0
	}
	return tail
}

// room is how many bytes of n can be written now. Packets are never merged.
func (p *pipe) room(n uint64, packets bool) uint64 {
	first := 0
	if !packets {
		first = p.merged(n)
	}
	free := uint64(max(p.slots()-len(p.bufs), 0)) * emu.PageSize
	return uint64(first) + min(n-uint64(first), free)
}

// put adds b, of which there is room for all; first goes into the last buffer.
func (p *pipe) put(b []byte, first int, packets bool) {
	if first > 0 {
		last := &p.bufs[len(p.bufs)-1]
		last.data = append(last.data, b[:first]...)
		b = b[first:]
	}
	for len(b) > 0 {
		n := min(len(b), emu.PageSize)
		p.bufs = append(p.bufs, pipeBuf{data: append([]byte(nil), b[:n]...), packet: packets, merge: !packets})
		b = b[n:]
	}
	p.wake(linux.POLLIN)
}

// lay adds b in buffers of its own, to which nothing is added, as splice(2) and its kin do. begins is where in a page it
// begins.
func (p *pipe) lay(b []byte, begins int) {
	for len(b) > 0 {
		n := min(len(b), emu.PageSize-begins)
		p.bufs = append(p.bufs, pipeBuf{off: begins, data: append([]byte(nil), b[:n]...)})
		b, begins = b[n:], 0
	}
	p.wake(linux.POLLIN)
}

// next is what reading n bytes gives, up to the end of a packet, and whether that is what it ends with.
func (p *pipe) next(n uint64) (b []byte, packet bool) {
	for i := range p.bufs {
		buf := &p.bufs[i]
		size := min(uint64(len(buf.data)), n-uint64(len(b)))
		b = append(b, buf.data[:size]...)
		if buf.packet || uint64(len(b)) == n {
			return b, buf.packet
		}
	}
	return b, false
}

// whole returns how many of the first n bytes are those of whole buffers.
func (p *pipe) whole(n int) int {
	sum := 0
	for i := range p.bufs {
		if size := len(p.bufs[i].data); sum+size <= n {
			sum += size
		} else {
			break
		}
	}
	return sum
}

// take removes n bytes, and what is left of the packet that they are the beginning of.
func (p *pipe) take(n int, packet bool) {
	i := 0
	for ; i < len(p.bufs) && n >= len(p.bufs[i].data); i++ {
		n -= len(p.bufs[i].data)
	}
	if n > 0 {
		if buf := &p.bufs[i]; packet {
			i++
		} else {
			buf.off, buf.data = buf.off+n, buf.data[n:]
		}
	}
	if p.bufs = p.bufs[i:]; len(p.bufs) == 0 {
		p.bufs = nil
	}
	p.announce(linux.POLLOUT)
}
