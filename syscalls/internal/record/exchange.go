package record

import (
	"fmt"
	"net/netip"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// What the guest asks of the host's network.
const (
	opSocket   = "socket"
	opConnect  = "connect"
	opSend     = "send"
	opReceive  = "receive"
	opError    = "error"
	opPending  = "pending"
	opShutdown = "shutdown"
	opPoll     = "poll"
	opWait     = "wait"
	opEnd      = "end" // the run was over
)

// A question is what the guest asks of the host's network. Two questions are the same if they are equal.
type question struct {
	Op string `json:"op"`
	// Socket is which one, from 1 on in the order in which they were made.
	Socket int `json:"socket,omitempty"`
	// Type is that of a socket to be made, To where it connects or sends, Flags what else the call is given.
	Type  int            `json:"type,omitempty"`
	To    netip.AddrPort `json:"to,omitzero"`
	Flags uint32         `json:"flags,omitempty"`
	// Size is how much is sent, or received at most. SHA256 is of what is sent.
	Size   int    `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// An answer is what the host's network said.
type answer struct {
	N     int            `json:"n,omitempty"`
	From  netip.AddrPort `json:"from,omitzero"`
	Error linux.Errno    `json:"error,omitempty"`
}

// An exchange is a question and its answer: a line of a part of the archive's network.
type exchange struct {
	// At is how many questions there were, with this one. Those that are missing were answered like the same question
	// before.
	At uint64 `json:"at"`
	question
	answer
	// Data is how many bytes were received: they are the next ones of the part's data.
	Data int `json:"data,omitempty"`
}

// A memory has the last answers to questions that are asked again and again: mostly nothing has changed.
type memory map[question]answer

// repeats reports whether answers to q are remembered: it changes nothing, and nothing is received.
func (q question) repeats() bool { return q.Op == opPoll || q.Op == opPending || q.Op == opWait }

// Bounds of answers that the host gives. maxErrno is the last error of Linux: what is beyond has a meaning of its own
// inside a kernel. maxTransfer is how long a datagram may be, of which the guest takes less.
const (
	maxErrno    = 133
	maxTransfer = 64 << 10
	maxPending  = 1<<31 - 1
)

// check says what is wrong with an exchange that no host can have answered so.
func (x *exchange) check() error {
	most := 0
	switch x.Op {
	case opSend:
		most = x.Size
	case opReceive:
		if most = x.Size; x.Flags&linux.MSG_TRUNC != 0 {
			most = max(maxTransfer, x.Size)
		}
	case opPending:
		most = maxPending
	case opPoll:
		most = 0xffff
	case opWait:
		most = 1
	}
	switch {
	case x.N < 0 || x.N > most:
		return fmt.Errorf("n is %d, and %d at most is possible", x.N, most)
	case x.Error > maxErrno:
		return fmt.Errorf("there is no error %d", x.Error)
	case x.Data < 0 || x.Data > min(x.N, x.Size) || x.Data > 0 && x.Op != opReceive:
		return fmt.Errorf("%d bytes of data cannot have been received", x.Data)
	case x.From.IsValid() && !x.From.Addr().Is4():
		return fmt.Errorf("%s: an IPv4 address is expected", x.From)
	}
	return nil
}

// String says what the guest did, for the message that it left its recording.
func (q question) String() string {
	switch q.Op {
	case opSocket:
		return fmt.Sprintf("made a socket of type %d", q.Type)
	case opConnect:
		return fmt.Sprintf("connected socket %d to %s", q.Socket, q.To)
	case opSend:
		to := ""
		if q.To.IsValid() {
			to = " to " + q.To.String()
		}
		return fmt.Sprintf("sent %d bytes%s by socket %d, with the digest %.12s", q.Size, to, q.Socket, q.SHA256)
	case opReceive:
		return fmt.Sprintf("asked socket %d for %d bytes, with flags %#x", q.Socket, q.Size, q.Flags)
	case opError:
		return fmt.Sprintf("asked socket %d for its error", q.Socket)
	case opPending:
		return fmt.Sprintf("asked socket %d how much has come", q.Socket)
	case opShutdown:
		return fmt.Sprintf("shut down socket %d (%d)", q.Socket, q.Flags)
	case opPoll:
		return fmt.Sprintf("asked socket %d for events %#x", q.Socket, q.Flags)
	case opWait:
		return "waited"
	case opEnd:
		return "had ended"
	}
	return fmt.Sprintf("did %q", q.Op)
}
