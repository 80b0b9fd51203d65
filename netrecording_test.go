//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// servers are outside of the guest, at an address of the host's that is not the guest's. env says where.
type servers struct {
	ip   net.IP
	env  []string
	ends []func() error
}

// startServers starts them: ECHO sends back what comes, by UDP too; HTTP has pages; CUT cuts connections; SILENT says
// nothing; NOBODY is a port where nobody listens.
func startServers(t *testing.T) *servers {
	s := &servers{env: []string{"PATH=/usr/bin:/bin", "HOME=/"}}
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			s.ip = n.IP
		}
	}
	if s.ip == nil {
		t.Skip("the host has no other IPv4 address than 127.0.0.1")
	}
	t.Cleanup(s.close)
	s.env = append(s.env, "IP="+s.ip.String())
	s.accept(t, "ECHO", func(c *net.TCPConn) {
		_, _ = io.Copy(c, c)
		c.Close()
	})
	s.accept(t, "CUT", func(c *net.TCPConn) {
		_, _ = c.Write([]byte("not all"))
		_, _ = c.Read(make([]byte, 1)) // the guest has it
		_ = c.SetLinger(0)
		c.Close()
	})
	s.listen(t, "SILENT")
	s.listen(t, "NOBODY").Close()
	web := &http.Server{Handler: http.HandlerFunc(page)}
	l := s.listen(t, "HTTP")
	s.ends = append(s.ends, web.Close)
	go web.Serve(l)
	s.answer(t, "UDP", 0, func(b []byte) []byte {
		if string(b) == "quiet" {
			return nil
		}
		return b
	})
	return s
}

// close ends all servers.
func (s *servers) close() {
	for _, end := range s.ends {
		_ = end()
	}
	s.ends = nil
}

func (s *servers) listen(t *testing.T, name string) *net.TCPListener {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: s.ip})
	require.NoError(t, err)
	s.env = append(s.env, fmt.Sprintf("%s=%d", name, l.Addr().(*net.TCPAddr).Port))
	s.ends = append(s.ends, l.Close)
	return l
}

// accept serves connections.
func (s *servers) accept(t *testing.T, name string, serve func(c *net.TCPConn)) {
	l := s.listen(t, name)
	go func() {
		for c, err := l.AcceptTCP(); err == nil; c, err = l.AcceptTCP() {
			go serve(c)
		}
	}()
}

// answer answers datagrams, unless the answer is nil. Port 0 is any.
func (s *servers) answer(t *testing.T, name string, port int, reply func([]byte) []byte) {
	u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: s.ip, Port: port})
	require.NoError(t, err)
	s.env = append(s.env, fmt.Sprintf("%s=%d", name, u.LocalAddr().(*net.UDPAddr).Port))
	s.ends = append(s.ends, u.Close)
	go func() {
		b := make([]byte, 2000)
		for n, from, err := u.ReadFrom(b); err == nil; n, from, err = u.ReadFrom(b) {
			if out := reply(b[:n]); out != nil {
				_, _ = u.WriteTo(out, from)
			}
		}
	}()
}

// page answers a request: /slow comes in pieces, /big has half a megabyte, /echo has what was sent.
func page(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/slow":
		for i := range 5 {
			fmt.Fprintf(w, "piece %d\n", i)
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	case "/big":
		_, _ = w.Write(bytes.Repeat([]byte("0123456789abcde\n"), 32<<10))
	case "/echo":
		_, _ = io.Copy(w, r.Body)
	default:
		fmt.Fprintf(w, "%s %s\n", r.Method, r.URL.Path)
	}
}

// perlClient talks to all servers, and to itself.
const perlClient = `
use strict; use IO::Socket::INET; use IO::Select; use Socket; use Errno;
my $ip = $ENV{IP};
sub tcp { IO::Socket::INET->new(PeerAddr => "$ip:$ENV{$_[0]}", @_[1..$#_]) }
my $b;
my $s = tcp("ECHO"); print $s "x" x 300000; $s->shutdown(1); my $n = 0; while (sysread $s, $b, 65536) { $n += length $b } print "$n\n";
my $d = IO::Socket::INET->new(Proto => "udp", PeerAddr => $ip, PeerPort => $ENV{UDP}); $d->send("one"); $d->recv($b, 100); print "$b\n";
$d->send("quiet"); print IO::Select->new($d)->can_read(0.3) ? "an answer" : "no answer", "\n";
my $e = IO::Socket::INET->new(Proto => "udp"); $e->send("two", 0, pack_sockaddr_in($ENV{UDP}, inet_aton($ip)));
my $from = $e->recv($b, 2); print "$b of ", inet_ntoa((sockaddr_in($from))[1]) eq $ip ? "there" : "elsewhere", "\n";
print tcp("NOBODY") ? "connected" : $!, "\n";
my $c = tcp("CUT"); sysread $c, $b, 100; print "$b\n"; print $c "x"; $c->flush; print defined(sysread $c, $b, 100) ? "the end" : $!, "\n";
my $q = tcp("SILENT"); setsockopt $q, SOL_SOCKET, SO_RCVTIMEO, pack("q2", 0, 200000); print defined(sysread $q, $b, 1) ? "something" : $!, "\n";
my @many = map { tcp("ECHO", Blocking => 0) } 1..8; my $w = IO::Select->new(@many); my $r = IO::Select->new(@many);
for (my $left = 8; $left;) { for ($w->can_write) { print $_ "from " . $_->fileno . "\n"; $_->flush; $w->remove($_); $left-- } }
for (my $left = 8; $left;) { for ($r->can_read) { sysread $_, $b, 100; print $b; $r->remove($_); $left-- } }
my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1");
if (!fork) { my $o = tcp("ECHO"); print $o "by a child\n"; $o->flush; my $i = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $l->sockport); print $i scalar <$o>; exit 3 }
my $a = $l->accept; print scalar <$a>; wait; print $? >> 8, "\n", time > 1.7e9 ? "today" : "long ago", "\n";`

// TestRecordedNetwork records a program that talks to servers, and repeats it twice when these are gone.
func TestRecordedNetwork(t *testing.T) {
	perl, err := exec.LookPath("perl")
	if err != nil {
		require.False(t, oracles, "%v", err)
		t.Skip(err)
	}
	s := startServers(t)
	name := filepath.Join(t.TempDir(), "run.tar")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	var want bytes.Buffer
	res, err := cgemu.Run(context.Background(), cgemu.Config{
		Path: perl, Args: []string{"perl", "-e", perlClient}, Env: s.env, Network: "host", Start: time.Now(), TraceChildren: true,
		Stdout: &want, Stderr: &want, Record: &cgemu.Recorder{File: f},
	})
	require.NoError(t, err)
	require.Zero(t, res.Exit.Status(), "%s", want.String())
	for _, line := range []string{
		"300000", "one", "no answer", "tw of there", "Connection refused", "not all", "Connection reset by peer", "Resource temporarily unavailable", "by a child", "3", "today",
	} {
		require.Contains(t, strings.Split(want.String(), "\n"), line)
	}
	require.Equal(t, 8, strings.Count(want.String(), "from "))
	s.close()
	r, err := cgemu.OpenRecording(name)
	require.NoError(t, err)
	defer r.Close()
	for _, engine := range []string{"", "interp"} {
		cfg := r.Config()
		require.Equal(t, "host", cfg.Network)
		var out bytes.Buffer
		cfg.Stdout, cfg.Stderr, cfg.TraceChildren, cfg.Engine = &out, &out, true, engine
		got, err := cgemu.Run(context.Background(), cfg)
		require.NoError(t, err)
		require.Equal(t, want.String(), out.String())
		require.Equal(t, res.Exit, got.Exit)
		require.Equal(t, text(t, res), text(t, got))
		require.Equal(t, text(t, res.Children[0]), text(t, got.Children[0]))
	}
	cfg := r.Config()
	cfg.Args[2] = strings.Replace(perlClient, "300000", "300001", 1)
	_, err = cgemu.Run(context.Background(), cfg)
	require.ErrorContains(t, err, "the run left its recording: on the network it sent ")
	require.ErrorContains(t, err, " (network/000000.jsonl, line ")
}
