package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// partSize is how much of the network's exchanges, or of what was received, is kept in memory before it is written as a
// part.
const partSize = 1 << 20

// A network passes on what the guest asks of the host's network, and records what that answers. A run depends on
// nothing else of it: so the exchanges, in their order, are all that repeats it.
type network struct {
	r       *Recorder
	host    host.Network
	at      uint64 // how many questions there were
	sockets int    // that were made
	waits   memory
	// lines and data are the part that is not written yet, parts how many are.
	lines, data bytes.Buffer
	parts       int
}

// Network makes the recorder one of the host's network, too.
func (r *Recorder) Network(own host.Network) host.Network {
	r.network = &network{r: r, host: own, waits: memory{}}
	return r.network
}

// partNames are the names in the archive of a part's lines and data.
func partNames(n int) (lines, data string) {
	return fmt.Sprintf("network/%06d.jsonl", n), fmt.Sprintf("network/%06d.data", n)
}

// note records an answer, and what was received, unless it is known from the same question before.
func (n *network) note(m memory, q question, a answer, received []byte) {
	n.at++
	if q.repeats() {
		if last, ok := m[q]; ok && last == a {
			return
		}
		m[q] = a
	}
	n.write(exchange{n.at, q, a, len(received)})
	n.data.Write(received)
	if max(n.lines.Len(), n.data.Len()) >= partSize {
		n.flush()
	}
}

func (n *network) write(x exchange) {
	line, err := json.Marshal(x)
	n.r.fail(err)
	n.lines.Write(append(line, '\n'))
}

// flush writes a part into the archive.
func (n *network) flush() {
	lines, data := partNames(n.parts)
	n.parts++
	n.r.fail(n.r.out.bytes(lines, n.lines.Bytes()))
	n.r.fail(n.r.out.bytes(data, n.data.Bytes()))
	n.lines.Reset()
	n.data.Reset()
}

// finish writes the rest.
func (n *network) finish() {
	n.write(exchange{At: n.at + 1, question: question{Op: opEnd}})
	n.flush()
}

// Socket implements host.Network.
func (n *network) Socket(typ int) (host.Socket, linux.Errno) {
	s, e := n.host.Socket(typ)
	n.note(nil, question{Op: opSocket, Type: typ}, answer{Error: e}, nil)
	if e != 0 {
		return nil, e
	}
	n.sockets++
	return &socket{s, n, n.sockets, memory{}}, 0
}

// Wait implements host.Network.
func (n *network) Wait(fds []host.PollFD, d int64) bool {
	own := make([]host.PollFD, len(fds))
	for i, f := range fds {
		if s, ok := f.On.(*socket); ok {
			f.On = s.Socket
		}
		own[i] = f
	}
	a := answer{}
	if n.host.Wait(own, d) {
		a.N = 1
	}
	n.note(n.waits, question{Op: opWait}, a, nil)
	return a.N != 0
}

// Close implements host.Network.
func (n *network) Close() { n.host.Close() }

// A socket is one of a network.
type socket struct {
	host.Socket
	n    *network
	id   int
	last memory
}

// Poll implements host.Pollable.
func (s *socket) Poll(events uint32) uint32 {
	got := s.Socket.Poll(events)
	s.n.note(s.last, question{Op: opPoll, Socket: s.id, Flags: events}, answer{N: int(got)}, nil)
	return got
}

// Connect implements host.Socket.
func (s *socket) Connect(a netip.AddrPort) linux.Errno {
	e := s.Socket.Connect(a)
	s.n.note(nil, question{Op: opConnect, Socket: s.id, To: a}, answer{Error: e}, nil)
	return e
}

// sending is the question whether b can be sent.
func sending(id int, b []byte, to netip.AddrPort) question {
	sum := sha256.Sum256(b)
	return question{Op: opSend, Socket: id, To: to, Size: len(b), SHA256: hex.EncodeToString(sum[:])}
}

// SendTo implements host.Socket.
func (s *socket) SendTo(b []byte, to netip.AddrPort) (int, linux.Errno) {
	n, e := s.Socket.SendTo(b, to)
	s.n.note(nil, sending(s.id, b, to), answer{N: n, Error: e}, nil)
	return n, e
}

// ReceiveFrom implements host.Socket.
func (s *socket) ReceiveFrom(b []byte, flags uint32) (int, netip.AddrPort, linux.Errno) {
	n, from, e := s.Socket.ReceiveFrom(b, flags)
	if e != 0 {
		n, from = 0, netip.AddrPort{}
	}
	s.n.note(nil, question{Op: opReceive, Socket: s.id, Size: len(b), Flags: flags}, answer{n, from, e}, b[:min(n, len(b))])
	return n, from, e
}

// SocketError implements host.Socket.
func (s *socket) SocketError() linux.Errno {
	e := s.Socket.SocketError()
	s.n.note(nil, question{Op: opError, Socket: s.id}, answer{Error: e}, nil)
	return e
}

// PendingBytes implements host.Socket.
func (s *socket) PendingBytes() int {
	got := s.Socket.PendingBytes()
	s.n.note(s.last, question{Op: opPending, Socket: s.id}, answer{N: got}, nil)
	return got
}

// Shutdown implements host.Socket.
func (s *socket) Shutdown(how int) linux.Errno {
	e := s.Socket.Shutdown(how)
	s.n.note(nil, question{Op: opShutdown, Socket: s.id, Flags: uint32(how)}, answer{Error: e}, nil)
	return e
}
