//go:build linux && amd64

package syscalls_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/internal/testhost"
)

const (
	redisSession = `
cd $(mktemp -d); r="redis-cli -s $PWD/sock"
redis-server --port 0 --save '' --appendonly no --unixsocket $PWD/sock >/dev/null 2>&1 &
until $r ping 2>/dev/null | grep -q PONG; do sleep 0.05; done
$r set a 1; $r incr a; $r get a; for i in 1 2 3; do $r rpush l $i; done; $r lrange l 0 -1
seq 500 | sed 's/.*/set key:& &/' | $r --pipe | tail -1; $r dbsize
$r --raw eval 'local s = 0; for i = 1, 100 do s = s + redis.call("get", "key:" .. i) end; return s' 0
redis-benchmark -s $PWD/sock -n 200 -c 10 -t get -q | tr '\r' '\n' | grep -c 'requests per second'
$r shutdown nosave; wait; echo $?; rm -r $PWD`

	nginxSession = `
cd $(mktemp -d); chmod 755 $PWD; mkdir html logs tmp; seq 20000 >html/big; echo hello >html/index.html
cat >conf <<X
pid $PWD/pid; worker_processes 2; events { worker_connections 64; }
http { access_log $PWD/logs/access; client_body_temp_path $PWD/tmp; proxy_temp_path $PWD/tmp; fastcgi_temp_path $PWD/tmp;
 uwsgi_temp_path $PWD/tmp; scgi_temp_path $PWD/tmp; sendfile on; gzip on; gzip_types *;
 server { listen unix:$PWD/sock; location / { root $PWD/html; } location /p/ { proxy_pass http://unix:$PWD/sock:/; } } }
X
/usr/sbin/nginx -c $PWD/conf -p $PWD -e $PWD/logs/error
get() { curl -s --unix-socket sock "$@"; }
get http://x/; get http://x/big | md5sum; get --compressed http://x/big | md5sum; get http://x/p/big | md5sum
get -o /dev/null -w '%{http_code}\n' http://x/none
kill -QUIT $(cat pid); while [ -e pid ]; do sleep 0.05; done; cut -d' ' -f6- logs/access | sort; rm -r $PWD`

	perlSockets = `
use IO::Socket::INET; use IO::Socket::UNIX; use IO::Select;
my $l = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", Proto => "tcp") or die $!;
if (!fork) { for (1..3) { my $c = $l->accept; while (<$c>) { print $c uc } close $c } exit 0 }
my $port = $l->sockport; close $l;
for (1..3) { my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or die $!; print $s "hello $_\n"; $s->shutdown(1); print <$s> }
wait; print $? >> 8, "\n";
my $p = "/tmp/cgemu-perl-$$"; my $u = IO::Socket::UNIX->new(Local => $p, Listen => 1) or die $!; print -S $p ? "socket\n" : "no\n";
if (!fork) { my $s = IO::Socket::UNIX->new(Peer => $p); print $s "x" x 100000; exit 0 }
my $c = $u->accept; my $n = 0; while (sysread $c, $b, 4096) { $n += length $b } print "$n\n"; unlink $p; wait;
my $d = IO::Socket::INET->new(Proto => "udp", LocalAddr => "127.0.0.1");
my $e = IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1", PeerPort => $d->sockport);
$e->send("datagram"); $d->recv(my $x, 100); print "$x\n"; print IO::Select->new($d)->can_read(0.1) ? "more" : "none", "\n";
print defined(IO::Socket::INET->new(PeerAddr => "127.0.0.1:1")) ? "connected" : "$!", "\n";`

	pythonServers = `
import http.server, os, socket, socketserver, threading, urllib.request
def run(s): threading.Thread(target=s.serve_forever, daemon=True).start(); return s
class H(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"
  def do_GET(self):
    b = ("you asked for %s\n" % self.path).encode() * 1000
    self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
  def log_message(self, *a): pass
s = run(http.server.ThreadingHTTPServer(("127.0.0.1", 0), H))
for i in range(5): print(len(urllib.request.urlopen("http://127.0.0.1:%d/%d" % (s.server_port, i)).read()))
s.shutdown()
class E(socketserver.StreamRequestHandler):
  def handle(self):
    for l in self.rfile: self.wfile.write(l.upper())
p = "/tmp/cgemu-py-%d" % os.getpid()
us = run(socketserver.UnixStreamServer(p, E)); c = socket.socket(socket.AF_UNIX); c.connect(p)
c.sendall(b"abc\ndef\n"); c.shutdown(1); print(c.makefile("rb").read()); us.shutdown(); os.unlink(p)
class D(socketserver.BaseRequestHandler):
  def handle(self): self.request[1].sendto(self.request[0][::-1], self.client_address)
u = run(socketserver.UDPServer(("127.0.0.1", 0), D)); d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
d.sendto(b"reverse", u.server_address); print(d.recv(100)); u.shutdown()
a, b = socket.socketpair(); r, w = os.pipe(); socket.send_fds(a, [b"x"], [w]); os.write(socket.recv_fds(b, 9, 2)[1][0], b"passed"); print(os.read(r, 9))`

	pythonAsyncio = `
import asyncio
async def upper(r, w):
  while (l := await r.readline()): w.write(l.upper()); await w.drain()
  w.close()
async def back(r, w): w.write(await r.read(-1)); await w.drain(); w.close()
async def client(port):
  r, w = await asyncio.open_connection("127.0.0.1", port)
  n = 0
  for k in range(20): w.write(b"line %d\n" % k); n += len(await r.readline())
  w.close(); await w.wait_closed(); return n
async def main():
  port = lambda s: s.sockets[0].getsockname()[1]
  print(await asyncio.gather(*(client(port(s)) for s in [await asyncio.start_server(upper, "127.0.0.1", 0)] for i in range(20))))
  r, w = await asyncio.open_connection("127.0.0.1", port(await asyncio.start_server(back, "127.0.0.1", 0)))
  w.write(b"x" * 5_000_000); w.write_eof(); print(len(await r.read(-1)))
  try: await asyncio.wait_for(asyncio.open_connection("127.0.0.1", 1), 2)
  except OSError as e: print(type(e).__name__)
asyncio.run(main())`

	pythonConnections = `
import multiprocessing as m
from multiprocessing.connection import Listener, Client
ctx = m.get_context("fork")
def serve(addr, q):
  with Listener(addr, authkey=b"k") as l:
    q.put(l.address)
    with l.accept() as c:
      while (x := c.recv()) is not None: c.send([x, x * 2])
for addr in ("127.0.0.1", 0), None:
  q = ctx.Queue(); p = ctx.Process(target=serve, args=(addr, q)); p.start()
  with Client(q.get(), authkey=b"k") as c:
    for i in range(5): c.send(i); print(c.recv())
    c.send(None)
  p.join(); print(p.exitcode)
with ctx.Manager() as mgr: d = mgr.dict(a=1); d["b"] = [2]; print(sorted(d.items()))`

	nodeServers = `
const http = require('http'), net = require('net'), dgram = require('dgram'), path = '/tmp/cgemu-node-' + process.pid;
const s = http.createServer((q, r) => { let n = 0; q.on('data', d => n += d.length); q.on('end', () => r.end('got ' + n + ' at ' + q.url)); });
const post = i => new Promise(ok => http.request({port: s.address().port, host: '127.0.0.1', method: 'POST', path: '/' + i, agent: false},
  r => { r.on('data', d => console.log(String(d))); r.on('end', ok); }).end('x'.repeat(100000 * i)));
const echo = () => new Promise(ok => { const u = net.createServer(c => c.pipe(c)).listen(path, () => { const c = net.connect(path, () => c.end('echo'));
  c.on('data', d => console.log(String(d))); c.on('end', () => u.close(ok)); }); });
const send = () => new Promise(ok => { const d = dgram.createSocket('udp4'); d.on('message', m => { console.log(String(m)); d.close(ok); });
  d.bind(0, '127.0.0.1', () => { const e = dgram.createSocket('udp4'); e.send('udp', d.address().port, '127.0.0.1', () => e.close()); }); });
s.listen(0, '127.0.0.1', async () => { for (let i = 0; i < 4; i++) await post(i); s.close(); await echo(); await send();
  net.connect(1, '127.0.0.1').on('error', e => console.log(e.code)); });`

	perlOutside = `
use IO::Socket::INET; use Socket;
my ($host, $tcp, $udp) = split /,/, $ARGV[0];
my $s = IO::Socket::INET->new(PeerAddr => "$host:$tcp", Timeout => 5) or die $!; print $s->sockhost, "\n";
print $s "x" x 1000000; $s->shutdown(1); my $n = 0; while (sysread $s, $b, 65536) { $n += length $b } print "$n\n";
my $d = IO::Socket::INET->new(Proto => "udp", PeerAddr => $host, PeerPort => $udp); $d->send("connected"); $d->recv($b, 100); print "$b\n";
my $e = IO::Socket::INET->new(Proto => "udp"); my $from; $e->send("addressed", 0, pack_sockaddr_in($udp, inet_aton($host))); $from = $e->recv($b, 100);
print "$b from ", inet_ntoa((sockaddr_in($from))[1]) eq $host ? "there" : "elsewhere", "\n";
my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "10.0.2.15") or die $!; print IO::Socket::INET->new(PeerAddr => "10.0.2.15:" . $l->sockport) ? "own\n" : "$!\n";`

	netcat = `
cd $(mktemp -d); nc -lU sock >got & until seq 1000 | nc -NU sock 2>/dev/null; do sleep 0.01; done; wait; md5sum <got; rm -r $PWD`
)

// TestServers runs servers and their clients, natively and under cgemu: equal output.
func TestServers(t *testing.T) {
	testhost.RequireLoopback(t)
	env := []string{"PATH=/usr/bin:/bin:/usr/sbin", "LC_ALL=C", "HOME=/"}
	for name, tt := range map[string]struct {
		args  []string
		tools []string
	}{
		"redis":       {[]string{"bash", "-c", redisSession}, []string{"redis-server", "redis-cli", "redis-benchmark"}},
		"nginx":       {[]string{"bash", "-c", nginxSession}, []string{"/usr/sbin/nginx", "curl"}},
		"perl":        {[]string{"perl", "-e", perlSockets}, nil},
		"python":      {[]string{"/usr/bin/python3", "-c", pythonServers}, nil},
		"asyncio":     {[]string{"/usr/bin/python3", "-c", pythonAsyncio}, nil},
		"connections": {[]string{"/usr/bin/python3", "-c", pythonConnections}, nil},
		"node":        {[]string{"/usr/bin/node", "-e", nodeServers}, nil},
		"netcat":      {[]string{"bash", "-c", netcat}, []string{"nc"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.args[0] = tool(t, tt.args[0])
			for _, needed := range tt.tools {
				tool(t, needed)
			}
			alike(t)
			want, status := nativeRun(t, tt.args, env)
			got, gotStatus := guestRun(t, tt.args, env)
			assert.Equal(t, want, got)
			assert.Equal(t, status, gotStatus)
		})
	}
}

// outsideAddress is one of the host's that is not the guest's too.
func outsideAddress(t *testing.T) net.IP {
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP
		}
	}
	t.Skip("the host has no other IPv4 address than 127.0.0.1")
	return nil
}

// TestHostNetwork talks to servers outside of the guest: this test's, at an address that is not the guest's.
func TestHostNetwork(t *testing.T) {
	perl := tool(t, "perl")
	ip := outsideAddress(t)
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: ip})
	require.NoError(t, err)
	defer l.Close()
	u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: ip})
	require.NoError(t, err)
	defer u.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b, _ := io.ReadAll(c)
			c.Write(b)
			c.Close()
		}
	}()
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			u.WriteTo(b[:n], from)
		}
	}()
	where := fmt.Sprintf("%s,%d,%d", ip, l.Addr().(*net.TCPAddr).Port, u.LocalAddr().(*net.UDPAddr).Port)
	args := []string{perl, "-e", perlOutside, where}
	got, status := guestRun(t, args, nil, func(c *cgemu.Config) { c.Network = "host" })
	assert.Equal(t, "10.0.2.15\n1000000\nconnected\naddressed from there\nown\n", got)
	assert.Zero(t, status)
	got, status = guestRun(t, args, nil)
	assert.Contains(t, got, "Network is unreachable")
	assert.NotZero(t, status)
}
