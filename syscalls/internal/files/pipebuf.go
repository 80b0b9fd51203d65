package files

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A pipeBuf is one buffer of a pipe, at most a page: what was written there and not read yet. A pipe's room is counted
// in them, however little is in each (pipe(7), fs/pipe.c).
type pipeBuf struct {
	// Off is where in its page the data begins.
	Off  int
	Data []byte
	// packet says that it is read by itself (O_DIRECT), merge that what is written next may be added to it.
	packet, merge bool
}

// slots is how many buffers p has room for.
func (p *Pipe) slots() int { return p.capacity / emu.PageSize }

// Full reports whether no buffer is free.
func (p *Pipe) Full() bool { return len(p.Bufs) >= p.slots() }

// size is how many bytes are in p.
func (p *Pipe) size() int {
	n := 0
	for i := range p.Bufs {
		n += len(p.Bufs[i].Data)
	}
	return n
}

// merged is how many bytes of n, which are to be written, go into the last buffer: what is more than whole pages, or
// nothing. That buffer decides, even if what is written is a packet.
func (p *Pipe) merged(n uint64) int {
	tail := int(n % emu.PageSize)
	if len(p.Bufs) == 0 {
		return 0
	}
	if last := &p.Bufs[len(p.Bufs)-1]; !last.merge || last.Off+len(last.Data)+tail > emu.PageSize {
		return 0
	}
	return tail
}

// room is how many bytes of n can be written now.
func (p *Pipe) room(n uint64) uint64 {
	first := p.merged(n)
	free := uint64(max(p.slots()-len(p.Bufs), 0)) * emu.PageSize
	return uint64(first) + min(n-uint64(first), free)
}

// put adds b, of which there is room for all; first goes into the last buffer.
func (p *Pipe) put(b []byte, first int, packets bool) {
	if first > 0 {
		last := &p.Bufs[len(p.Bufs)-1]
		last.Data = append(last.Data, b[:first]...)
		b = b[first:]
	}
	for len(b) > 0 {
		n := min(len(b), emu.PageSize)
		p.Bufs = append(p.Bufs, pipeBuf{Data: append([]byte(nil), b[:n]...), packet: packets, merge: !packets})
		b = b[n:]
	}
	p.Wake(linux.POLLIN)
}

// Lay adds b in buffers of its own, to which nothing is added, as splice(2) and its kin do. begins is where in a page
// it begins.
func (p *Pipe) Lay(b []byte, begins int) {
	for len(b) > 0 {
		n := min(len(b), emu.PageSize-begins)
		p.Bufs = append(p.Bufs, pipeBuf{Off: begins, Data: append([]byte(nil), b[:n]...)})
		b, begins = b[n:], 0
	}
	p.Wake(linux.POLLIN)
}

// Space is how many bytes can be laid into p if the first begins there in its page.
func (p *Pipe) Space(begins int) int { return max((p.slots()-len(p.Bufs))*emu.PageSize-begins, 0) }

// Move moves up to n bytes, but not more than there is room for, from one pipe to another: buffers as they are, and the
// beginning of the last one, to which nothing is added. It returns how many.
func (p *Pipe) Move(from *Pipe, n uint64) (done uint64) {
	for len(from.Bufs) > 0 && !p.Full() && done < n {
		buf := from.Bufs[0]
		if size := n - done; size < uint64(len(buf.Data)) {
			buf.Data, buf.merge = append([]byte(nil), buf.Data[:size]...), false
		}
		from.take(len(buf.Data), false)
		p.Bufs = append(p.Bufs, buf)
		done += uint64(len(buf.Data))
	}
	p.Wake(linux.POLLIN)
	return done
}

// Tee copies up to n bytes, but not more than there is room for, from one pipe to another, buffer by buffer, to which
// nothing is added. It returns how many.
func (p *Pipe) Tee(from *Pipe, n uint64) (done uint64) {
	for _, buf := range from.Bufs {
		if p.Full() || done == n {
			break
		}
		size := min(uint64(len(buf.Data)), n-done)
		buf.Data, buf.merge = append([]byte(nil), buf.Data[:size]...), false
		p.Bufs = append(p.Bufs, buf)
		done += size
	}
	p.Wake(linux.POLLIN)
	return done
}

// next is what reading n bytes gives, up to the end of a packet, and whether that is what it ends with.
func (p *Pipe) next(n uint64) (b []byte, packet bool) {
	for i := range p.Bufs {
		buf := &p.Bufs[i]
		size := min(uint64(len(buf.Data)), n-uint64(len(b)))
		b = append(b, buf.Data[:size]...)
		if buf.packet || uint64(len(b)) == n {
			return b, buf.packet
		}
	}
	return b, false
}

// whole returns how many of the first n bytes are those of whole buffers.
func (p *Pipe) whole(n int) int {
	sum := 0
	for i := range p.Bufs {
		if size := len(p.Bufs[i].Data); sum+size <= n {
			sum += size
		} else {
			break
		}
	}
	return sum
}

// take removes n bytes, and what is left of the packet that they are the beginning of.
func (p *Pipe) take(n int, packet bool) {
	i := 0
	for ; i < len(p.Bufs) && n >= len(p.Bufs[i].Data); i++ {
		n -= len(p.Bufs[i].Data)
	}
	if n > 0 {
		if buf := &p.Bufs[i]; packet {
			i++
		} else {
			buf.Off, buf.Data = buf.Off+n, buf.Data[n:]
		}
	}
	if p.Bufs = p.Bufs[i:]; len(p.Bufs) == 0 {
		p.Bufs = nil
	}
	p.Announce(linux.POLLOUT)
}
