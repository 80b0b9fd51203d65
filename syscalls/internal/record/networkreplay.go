package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// maxExchange bounds a line about the network.
const maxExchange = 4 << 10

// A replayedNetwork answers what the host's network has answered when the run was recorded. There is no host below it,
// and no time passes.
type replayedNetwork struct {
	r *Recording
	// stop ends the run: it is called when a question has no answer.
	stop    func()
	at      uint64 // how many questions there were
	sockets int    // that were made
	waits   memory
	// next is the exchange that comes next, nil before the first. It is in line number line of the last part that was
	// opened, one of parts.
	next        *exchange
	line, parts int
	lines       *bufio.Scanner
	data        io.Reader
}

// Network returns the network of the recorded run, from its beginning on. It calls stop, which is to end the run, when
// NetworkError becomes an error.
func (r *Recording) Network(stop func()) host.Network {
	r.networkError = nil
	return &replayedNetwork{r: r, stop: stop, waits: memory{}}
}

// NetworkError is why the network did not answer: the run is not the one that was recorded, or the archive is damaged.
// It is nil if it did.
func (r *Recording) NetworkError() error { return r.networkError }

// place is where next is.
func (n *replayedNetwork) place() string {
	name, _ := partNames(n.parts - 1)
	return fmt.Sprintf("%s, line %d", name, n.line)
}

// advance makes next the next exchange, unless the recording has no more.
func (n *replayedNetwork) advance() error {
	for n.lines == nil || !n.lines.Scan() {
		if n.lines != nil && n.lines.Err() != nil {
			return fmt.Errorf("%s: %w", n.place(), n.lines.Err())
		}
		if err := n.openPart(); err != nil {
			return err
		}
	}
	n.line++
	var x exchange
	err := json.Unmarshal(n.lines.Bytes(), &x)
	if err == nil {
		err = x.check()
	}
	if err == nil && x.At <= n.at {
		err = fmt.Errorf("exchange %d cannot follow %d", x.At, n.at)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.place(), err)
	}
	n.next = &x
	return nil
}

// openPart opens the next part.
func (n *replayedNetwork) openPart() error {
	names := make([]string, 2)
	names[0], names[1] = partNames(n.parts)
	var spans [2]span
	for i, name := range names {
		at, ok := n.r.members[name]
		if !ok {
			return fmt.Errorf("%s is missing", name)
		}
		spans[i] = at
	}
	n.parts++
	n.line = 0
	n.lines, n.data = bufio.NewScanner(n.r.at(spans[0])), bufio.NewReader(n.r.at(spans[1]))
	n.lines.Buffer(nil, maxExchange)
	return nil
}

// ask answers q, with what was received then in b.
func (n *replayedNetwork) ask(m memory, q question, b []byte) answer {
	if n.r.networkError == nil {
		a, err := n.find(m, q, b)
		if err == nil {
			return a
		}
		if !errors.Is(err, errLeft) {
			err = fmt.Errorf("%s: the recording is damaged: %w", n.r.name, err)
		}
		n.r.networkError = err
		n.stop()
	}
	return answer{Error: linux.EIO}
}

func (n *replayedNetwork) find(m memory, q question, b []byte) (answer, error) {
	if n.next == nil {
		if err := n.advance(); err != nil {
			return answer{}, err
		}
	}
	n.at++
	x := n.next
	if last, ok := m[q]; ok && x.At > n.at {
		return last, nil
	}
	if x.At != n.at || x.question != q {
		return answer{}, fmt.Errorf("%w: on the network it %s, and the recorded run %s (%s)", errLeft, q, x.question, n.place())
	}
	if _, err := io.ReadFull(n.data, b[:x.Data]); err != nil {
		return answer{}, fmt.Errorf("%s: its data are missing", n.place())
	}
	if q.repeats() {
		m[q] = x.answer
	}
	return x.answer, n.advance()
}

// errLeft is that a run is not the one that was recorded.
var errLeft = errors.New("the run left its recording")

// Socket implements host.Network.
func (n *replayedNetwork) Socket(typ int) (host.Socket, linux.Errno) {
	if a := n.ask(nil, question{Op: opSocket, Type: typ}, nil); a.Error != 0 {
		return nil, a.Error
	}
	n.sockets++
	return &replayedSocket{n, n.sockets, memory{}}, 0
}

// Wait implements host.Network.
func (n *replayedNetwork) Wait([]host.PollFD, int64) bool {
	return n.ask(n.waits, question{Op: opWait}, nil).N != 0
}

// Close implements host.Network.
func (n *replayedNetwork) Close() {}

// A replayedSocket is one of a replayedNetwork.
type replayedSocket struct {
	n    *replayedNetwork
	id   int
	last memory
}

// Poll implements host.Pollable.
func (s *replayedSocket) Poll(events uint32) uint32 {
	return uint32(s.n.ask(s.last, question{Op: opPoll, Socket: s.id, Flags: events}, nil).N)
}

// Connect implements host.Socket.
func (s *replayedSocket) Connect(a netip.AddrPort) linux.Errno {
	return s.n.ask(nil, question{Op: opConnect, Socket: s.id, To: a}, nil).Error
}

// SendTo implements host.Socket.
func (s *replayedSocket) SendTo(b []byte, to netip.AddrPort) (int, linux.Errno) {
	a := s.n.ask(nil, sending(s.id, b, to), nil)
	return a.N, a.Error
}

// ReceiveFrom implements host.Socket.
func (s *replayedSocket) ReceiveFrom(b []byte, flags uint32) (int, netip.AddrPort, linux.Errno) {
	a := s.n.ask(nil, question{Op: opReceive, Socket: s.id, Size: len(b), Flags: flags}, b)
	return a.N, a.From, a.Error
}

// SocketError implements host.Socket.
func (s *replayedSocket) SocketError() linux.Errno {
	return s.n.ask(nil, question{Op: opError, Socket: s.id}, nil).Error
}

// PendingBytes implements host.Socket.
func (s *replayedSocket) PendingBytes() int {
	return s.n.ask(s.last, question{Op: opPending, Socket: s.id}, nil).N
}

// Shutdown implements host.Socket.
func (s *replayedSocket) Shutdown(how int) linux.Errno {
	return s.n.ask(nil, question{Op: opShutdown, Socket: s.id, Flags: uint32(how)}, nil).Error
}

// Close implements host.Socket.
func (s *replayedSocket) Close() linux.Errno { return 0 }
