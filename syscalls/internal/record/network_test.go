package record_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/record"
	"github.com/cgemu/cgemu/syscalls/internal/vfs/vfstest"
)

// A fakeNetwork answers at random.
type fakeNetwork struct{ *rand.Rand }

func (f fakeNetwork) errno() linux.Errno {
	return []linux.Errno{0, 0, 0, linux.EAGAIN, linux.ECONNREFUSED}[f.IntN(5)]
}

func (f fakeNetwork) Socket(int) (host.Socket, linux.Errno) {
	if e := f.errno(); e != 0 {
		return nil, e
	}
	return fakeSocket{f}, 0
}

// Wait sees the sockets below those that the guest has.
func (f fakeNetwork) Wait(fds []host.PollFD, _ int64) bool {
	for _, x := range fds {
		_ = x.On.(fakeSocket)
	}
	return f.IntN(4) == 0
}

func (f fakeNetwork) Close() {}

type fakeSocket struct{ f fakeNetwork }

func (s fakeSocket) Poll(events uint32) uint32          { return events & uint32(s.f.IntN(2)*5) }
func (s fakeSocket) Connect(netip.AddrPort) linux.Errno { return s.f.errno() }
func (s fakeSocket) SocketError() linux.Errno           { return s.f.errno() }
func (s fakeSocket) PendingBytes() int                  { return s.f.IntN(3) * 1000 }
func (s fakeSocket) Shutdown(int) linux.Errno           { return s.f.errno() }
func (s fakeSocket) Close() linux.Errno                 { return 0 }
func (s fakeSocket) SendTo(b []byte, _ netip.AddrPort) (int, linux.Errno) {
	if e := s.f.errno(); e != 0 {
		return 0, e
	}
	return s.f.IntN(len(b) + 1), 0
}

func (s fakeSocket) ReceiveFrom(b []byte, flags uint32) (int, netip.AddrPort, linux.Errno) {
	if e := s.f.errno(); e != 0 {
		return 0, netip.AddrPort{}, e
	}
	n := s.f.IntN(len(b) + 1)
	for i := range n {
		b[i] = byte(s.f.Uint32())
	}
	if flags&linux.MSG_TRUNC != 0 {
		n = len(b) + s.f.IntN(100)
	}
	return n, netip.MustParseAddrPort("192.0.2.7:53"), 0
}

// converse is a guest of which everything depends on what the network has said. It returns what that was.
func converse(n host.Network, seed uint64, steps int) string {
	var said strings.Builder
	r := rand.New(rand.NewPCG(seed, 1))
	var sockets []host.Socket
	buf := make([]byte, 5000)
	for range steps {
		if len(sockets) == 0 || r.IntN(100) == 0 {
			s, e := n.Socket(1 + r.IntN(2))
			fmt.Fprintln(&said, "socket", e)
			if e == 0 {
				sockets = append(sockets, s)
			}
			continue
		}
		s := sockets[r.IntN(len(sockets))]
		switch r.IntN(9) {
		case 0:
			fmt.Fprintln(&said, s.Connect(netip.MustParseAddrPort("192.0.2.7:80")))
		case 1:
			got, e := s.SendTo(buf[:r.IntN(len(buf))], []netip.AddrPort{{}, netip.MustParseAddrPort("192.0.2.8:1")}[r.IntN(2)])
			fmt.Fprintln(&said, got, e)
		case 2:
			b := buf[:r.IntN(len(buf))]
			got, from, e := s.ReceiveFrom(b, []uint32{0, linux.MSG_TRUNC, linux.MSG_PEEK}[r.IntN(3)])
			fmt.Fprintf(&said, "%d %v %v %x\n", got, from, e, b)
		case 3:
			fmt.Fprintln(&said, s.SocketError())
		case 4:
			fmt.Fprintln(&said, s.PendingBytes())
		case 5:
			fmt.Fprintln(&said, s.Shutdown(r.IntN(3)))
		case 6:
			fmt.Fprintln(&said, n.Wait([]host.PollFD{{On: s}}, 1000))
		default:
			fmt.Fprintln(&said, s.Poll([]uint32{4, 5}[r.IntN(2)]))
		}
	}
	return said.String()
}

// conversation records converse, and returns the archive and what was said.
func conversation(t testing.TB, seed uint64, steps int) (name, said string) {
	r, _, name := recorder(t, "")
	said = converse(r.Network(fakeNetwork{rand.New(rand.NewPCG(seed, 2))}), seed, steps)
	require.NoError(t, r.Finish(nil))
	return name, said
}

// TestNetwork repeats conversations, of which long ones have several parts. Each can be repeated twice.
func TestNetwork(t *testing.T) {
	for seed, steps := range []int{0, 1, 10, 100, 1000, 1000, 20_000} {
		name, want := conversation(t, uint64(seed), steps)
		rec, err := record.Open(name)
		require.NoError(t, err)
		for range 2 {
			n := rec.Network(func() { t.Error("it was stopped") })
			require.Equal(t, want, converse(n, uint64(seed), steps))
			require.NoError(t, rec.NetworkError())
		}
		require.NoError(t, rec.Close())
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, steps == 20_000, bytes.Contains(b, []byte("network/000001.jsonl")))
	}
}

// TestSamePolls has a guest look at a socket a hundred thousand times: what it saw is there once, each time that it
// changed.
func TestSamePolls(t *testing.T) {
	r, _, name := recorder(t, "")
	own := &quietNetwork{}
	look := func(n host.Network, change func()) (sum uint32) {
		s, e := n.Socket(1)
		require.Zero(t, e)
		for i := range 100_000 {
			if i == 70_000 {
				change()
			}
			sum += s.Poll(5)
			require.False(t, n.Wait([]host.PollFD{{On: s}}, 1))
		}
		return sum
	}
	require.EqualValues(t, 30_000*4, look(r.Network(own), func() { own.events = 4 }))
	require.NoError(t, r.Finish(nil))
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(10_000))
	rec, err := record.Open(name)
	require.NoError(t, err)
	defer rec.Close()
	require.EqualValues(t, 30_000*4, look(rec.Network(func() {}), func() {}))
	require.NoError(t, rec.NetworkError())
}

// A quietNetwork says little.
type quietNetwork struct{ events uint32 }

func (n *quietNetwork) Socket(int) (host.Socket, linux.Errno) { return quietSocket{n}, 0 }
func (n *quietNetwork) Wait([]host.PollFD, int64) bool        { return false }
func (n *quietNetwork) Close()                                {}

type quietSocket struct{ n *quietNetwork }

func (s quietSocket) Poll(uint32) uint32                               { return s.n.events }
func (s quietSocket) Connect(netip.AddrPort) linux.Errno               { return linux.EBADF }
func (s quietSocket) SendTo([]byte, netip.AddrPort) (int, linux.Errno) { return 0, linux.EBADF }
func (s quietSocket) SocketError() linux.Errno                         { return linux.EBADF }
func (s quietSocket) PendingBytes() int                                { return 0 }
func (s quietSocket) Shutdown(int) linux.Errno                         { return linux.EBADF }
func (s quietSocket) Close() linux.Errno                               { return linux.EBADF }
func (s quietSocket) ReceiveFrom([]byte, uint32) (int, netip.AddrPort, linux.Errno) {
	return 0, netip.AddrPort{}, linux.EBADF
}

// TestLeftNetwork has guests that do something else than the recorded one: a message says what, and where in the
// recording.
func TestLeftNetwork(t *testing.T) {
	web, other := netip.MustParseAddrPort("192.0.2.7:80"), netip.MustParseAddrPort("192.0.2.8:80")
	r, _, name := recorder(t, "")
	s, _ := r.Network(&quietNetwork{}).Socket(1)
	s.Poll(5)
	s.Connect(web) // which no descriptor can
	s.SendTo([]byte("GET"), netip.AddrPort{})
	s.ReceiveFrom(make([]byte, 10), 0)
	require.NoError(t, r.Finish(nil))
	for want, do := range map[string]func(s host.Socket){
		"on the network it connected socket 1 to 192.0.2.8:80, and the recorded run connected socket 1 to 192.0.2.7:80 (network/000000.jsonl, line 3)": func(s host.Socket) {
			s.Connect(other)
		},
		"it sent 3 bytes to 192.0.2.8:80 by socket 1, with the digest 14e30cd163c7, and the recorded run sent 3 bytes by socket 1, with the digest 14e30cd163c7 (network/000000.jsonl, line 4)": func(s host.Socket) {
			s.Connect(web)
			s.SendTo([]byte("GET"), other)
		},
		"it sent 3 bytes by socket 1, with the digest ": func(s host.Socket) { s.Connect(web); s.SendTo([]byte("PUT"), netip.AddrPort{}) },
		"it asked socket 1 for 11 bytes, with flags 0x0, and the recorded run asked socket 1 for 10 bytes": func(s host.Socket) {
			s.Connect(web)
			s.SendTo([]byte("GET"), netip.AddrPort{})
			s.ReceiveFrom(make([]byte, 11), 0)
		},
		"it asked socket 1 for events 0x1, and": func(s host.Socket) { s.Poll(1) },
		"it asked socket 1 for its error, and the recorded run had ended (network/000000.jsonl, line 6)": func(s host.Socket) {
			s.Connect(web)
			s.SendTo([]byte("GET"), netip.AddrPort{})
			s.ReceiveFrom(make([]byte, 10), 0)
			s.SocketError()
		},
		"it shut down socket 1 (2), and":               func(s host.Socket) { s.Shutdown(2) },
		"it asked socket 1 how much has come, and":     func(s host.Socket) { s.PendingBytes() },
		"it asked socket 1 for events 0x5, and the re": func(s host.Socket) { s.Connect(web); s.Poll(5); s.Poll(5) },
	} {
		rec, err := record.Open(name)
		require.NoError(t, err)
		stops := 0
		s, e := rec.Network(func() { stops++ }).Socket(1)
		require.Zero(t, e)
		s.Poll(5)
		do(s)
		require.ErrorContains(t, rec.NetworkError(), "the run left its recording: on the network it ")
		require.ErrorContains(t, rec.NetworkError(), want)
		require.Equal(t, 1, stops, want)
		require.Equal(t, linux.EIO, s.Connect(web), "nothing is answered any more")
		require.Equal(t, 1, stops, want)
		require.NoError(t, rec.Close())
	}
}

// TestHostileNetwork has archives whose network no Recorder has written.
func TestHostileNetwork(t *testing.T) {
	with := func(lines, data string) []member {
		return []member{
			{name: "network/000000.jsonl", text: lines}, {name: "network/000000.data", text: data}, {name: "files.jsonl", text: goodRoot},
			{name: "manifest.json", text: goodManifest},
		}
	}
	const socket = `{"at":1,"op":"socket","type":1}` + "\n"
	const receive = `{"at":2,"op":"receive","socket":1,"size":10,`
	for name, c := range map[string]struct {
		members []member
		want    string
	}{
		"none":           {with("", "")[2:], "network/000000.jsonl is missing"},
		"no data":        {append(with(socket, "")[:1], with("", "")[2:]...), "network/000000.data is missing"},
		"no end":         {with(socket, ""), "network/000001.jsonl is missing"},
		"no JSON":        {with(socket+"x", ""), "network/000000.jsonl, line 2: invalid"},
		"a long line":    {with(socket+strings.Repeat(" ", 1<<20), ""), "network/000000.jsonl, line 1: bufio.Scanner: token too long"},
		"backwards":      {with(socket+`{"at":1,"op":"end"}`, ""), "line 2: exchange 1 cannot follow 1"},
		"missing data":   {with(socket+receive+`"n":3,"data":3}`, "ab"), "line 2: its data are missing"},
		"too much data":  {with(socket+receive+`"flags":32,"n":11,"data":11}`, "abcdefghijk"), "11 bytes of data cannot"},
		"received more":  {with(socket+receive+`"n":11}`, ""), "n is 11, and 10 at most"},
		"negative data":  {with(socket+receive+`"n":3,"data":-1}`, ""), "-1 bytes of data cannot"},
		"too long":       {with(socket+receive+`"flags":32,"n":70000}`, ""), "n is 70000, and 65536 at most"},
		"negative":       {with(socket+receive+`"n":-1}`, ""), "n is -1"},
		"our own error":  {with(socket+receive+`"error":600}`, ""), "there is no error 600"},
		"another family": {with(socket+receive+`"from":"[::1]:5"}`, ""), "an IPv4 address is expected"},
		"data of a send": {with(socket+`{"at":2,"op":"send","socket":1,"size":9,"n":9,"data":9}`, "123456789"), "9 bytes of data cannot"},
		"sent more":      {with(socket+`{"at":2,"op":"send","socket":1,"size":1,"n":2}`, ""), "n is 2, and 1 at most"},
		"events":         {with(socket+`{"at":2,"op":"poll","socket":1,"n":65536}`, ""), "65535 at most"},
		"something else": {with(socket+`{"at":2,"op":"listen"}`, ""), `the recorded run did "listen"`},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := open(t, packed(t, c.members))
			require.NoError(t, err)
			defer rec.Close()
			stopped := false
			if s, e := rec.Network(func() { stopped = true }).Socket(1); e == 0 {
				s.ReceiveFrom(make([]byte, 10), 0)
			}
			require.True(t, stopped)
			require.ErrorContains(t, rec.NetworkError(), c.want)
			if c.want[0] != 't' {
				require.ErrorContains(t, rec.NetworkError(), "run.tar: the recording is damaged: ")
			}
		})
	}
}

// FuzzNetwork has anything for the lines about the network, and asks for what they say.
func FuzzNetwork(f *testing.F) {
	for seed := range uint64(3) {
		name, _ := conversation(f, seed, 30)
		lines, data := part(f, name)
		f.Add(lines, data)
	}
	f.Add([]byte(`{"at":1,"op":"socket"}`+"\n"+`{"at":3,"op":"poll","socket":1,"flags":5,"n":4}`), []byte{})
	f.Fuzz(func(t *testing.T, lines, data []byte) {
		b := packed(t, []member{
			{name: "network/000000.jsonl", text: string(lines)}, {name: "network/000000.data", text: string(data)}, {name: "files.jsonl", text: goodRoot},
			{name: "manifest.json", text: goodManifest},
		})
		rec, err := record.Read(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		stops := 0
		n := rec.Network(func() { stops++ })
		follow(n, lines)
		converse(n, 1, 20)
		require.LessOrEqual(t, stops, 1)
		require.Equal(t, stops == 1, rec.NetworkError() != nil)
	})
}

// follow does what lines say, as far as it can be done.
func follow(n host.Network, lines []byte) {
	var sockets []host.Socket
	for line := range bytes.Lines(lines) {
		var x struct {
			Op           string
			Socket, Size int
			Type         int
			To           netip.AddrPort
			Flags        uint32
		}
		if json.Unmarshal(line, &x) != nil {
			return
		}
		if x.Op == "socket" {
			if s, e := n.Socket(x.Type); e == 0 {
				sockets = append(sockets, s)
			}
		}
		if x.Op == "wait" {
			n.Wait(nil, 1)
		}
		if x.Socket < 1 || x.Socket > len(sockets) || x.Size < 0 || x.Size > 1<<16 {
			continue
		}
		s := sockets[x.Socket-1]
		switch x.Op {
		case "connect":
			s.Connect(x.To)
		case "send":
			s.SendTo(make([]byte, x.Size), x.To)
		case "receive":
			s.ReceiveFrom(make([]byte, x.Size), x.Flags)
		case "error":
			s.SocketError()
		case "pending":
			s.PendingBytes()
		case "shutdown":
			s.Shutdown(int(x.Flags))
		case "poll":
			s.Poll(x.Flags)
		}
	}
}

// part is the first part of an archive's network.
func part(t testing.TB, name string) (lines, data []byte) {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	members := map[string][]byte{}
	for in := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := in.Next()
		if err == io.EOF {
			return members["network/000000.jsonl"], members["network/000000.data"]
		}
		require.NoError(t, err)
		members[h.Name], err = io.ReadAll(in)
		require.NoError(t, err)
	}
}

// TestEtcOnce changes what stands in for a file of /etc while it is recorded: the guest goes on with what it was.
func TestEtcOnce(t *testing.T) {
	r, fs, name := recorder(t, "")
	require.Equal(t, "one", string(r.Etc("hosts", []byte("one"))))
	require.Equal(t, "one", string(r.Etc("hosts", []byte("two"))))
	vfstest.Run(fs, "ls /")
	require.NoError(t, r.Finish(nil))
	rec, err := record.Open(name)
	require.NoError(t, err)
	defer rec.Close()
	require.Equal(t, "one", string(rec.Etc("hosts")))
}
