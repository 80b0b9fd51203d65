//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// networkPrograms are what TestReplayNetwork records, and parts of what they write.
var networkPrograms = []struct{ name, setup, run, wrote string }{
	{"curl", "true", `curl -s http://$IP:$HTTP/a; curl -s http://$IP:$HTTP/big | md5sum; curl -s --data-binary @in http://$IP:$HTTP/echo
		curl -s -m 1 http://$IP:$SILENT/; echo $?; curl -s http://$IP:$NOBODY/; echo $?; curl -s --http0.9 http://$IP:$CUT/; echo $?`, "GET /a\n8587634f5bdc"},
	{"at once", "true", `curl -sZ http://$IP:$HTTP/{slow,a,slow,b,big,slow} | sort | uniq -c`, "3 piece 4"},
	{"processes", "true", `for i in 1 2 3 4; do { curl -s http://$IP:$HTTP/slow; curl -s http://$IP:$HTTP/$i; } & done; wait`, "GET /4"},
	{"names", "true", `cat /etc/resolv.conf; curl -s http://web.example:$HTTP/n; getent ahosts web.example; getent hosts no.example; echo $?`, "GET /n"},
	{"wget", "true", `wget -qO- http://$IP:$HTTP/slow; wget -q http://$IP:$HTTP/big; wc -c big; wget -T 1 -t 1 -qO- http://$IP:$SILENT/; echo $?`, "524288 big\n4"},
	{"bash", "true", `exec 3<>/dev/tcp/$IP/$ECHO; for i in 1 2 3; do echo $i >&3; read x <&3; echo got $x; done; : >/dev/tcp/$IP/$NOBODY`, "got 3"},
	{"python", "true", "/usr/bin/python3 client.py", "a datagram\nin the end 6"},
	{"asyncio", "true", "/usr/bin/python3 many.py", "timed out\nhello 0"},
	{"server", "true", "/usr/bin/python3 server.py", "own and GET /other"},
	{"go", "GOFLAGS=-mod=mod GO111MODULE=off go build -o prog client.go", "./prog", "20 answers, deadline true"},
	{"node", "true", "/usr/bin/node client.js", "GET /9"},
	{"nc", "true", `seq 30000 | nc -N $IP $ECHO | md5sum; echo one | nc -u -w 1 $IP $UDP`, "one"},
}

const pythonClient = `
import os, select, socket, threading, urllib.request, urllib.error
ip, port = os.environ["IP"], lambda name: int(os.environ[name])
def get(path, **kw): return urllib.request.urlopen("http://%s:%d/%s" % (ip, port("HTTP"), path), **kw).read()
print(get("a"), len(get("big")), get("echo", data=b"x" * 100000) == b"x" * 100000)
try: urllib.request.urlopen("http://%s:%d/" % (ip, port("SILENT")), timeout=0.5)
except (OSError, urllib.error.URLError) as e: print(e)
done = []
def work(i): done.append((i, get("slow" if i % 2 else str(i))))
threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
for t in threads: t.start()
for t in threads: t.join()
print(done)
s = [socket.socket() for _ in range(6)]
ep = select.epoll()
for i, c in enumerate(s):
    c.setblocking(False)
    print(c.connect_ex((ip, port("NOBODY" if i == 5 else "ECHO"))))
    ep.register(c, select.EPOLLIN | select.EPOLLOUT | (select.EPOLLET if i % 2 else 0))
state, ended = {}, 0
while ended < 6:
    for fd, ev in ep.poll(5):
        c = next(c for c in s if c.fileno() == fd)
        if ev & select.EPOLLOUT and fd not in state:
            state[fd] = e = c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if e: print(os.strerror(e)); ended += 1; ep.unregister(c); continue
            c.sendall(b"number %d" % fd)
            ep.modify(c, select.EPOLLIN)
        if ev & select.EPOLLIN and fd in state: print(c.recv(100)); ended += 1; ep.unregister(c)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(0.3); u.sendto(b"a datagram", (ip, port("UDP"))); print(u.recv(100).decode())
u.sendto(b"quiet", (ip, port("UDP")))
try: print(u.recv(100))
except TimeoutError: print("in the end", ended)
`

const pythonMany = `
import asyncio, os
ip, port = os.environ["IP"], lambda name: int(os.environ[name])
async def one(i):
    r, w = await asyncio.open_connection(ip, port("ECHO"))
    w.write(b"hello %d\n" % i * (1 + i * 1000)); await w.drain()
    line = b""
    for _ in range(1 + i * 1000): line = await r.readline()
    w.close(); await w.wait_closed()
    return line.decode()
async def main():
    for c in asyncio.as_completed([one(i) for i in range(10)]): print("ended", (await c).strip())
    r, w = await asyncio.open_connection(ip, port("SILENT"))
    try: await asyncio.wait_for(r.read(1), 0.3)
    except asyncio.TimeoutError: print("timed out")
    print("".join(await asyncio.gather(*[one(i) for i in range(10)])))
asyncio.run(main())
`

const pythonServer = `
import http.server, os, threading, urllib.request
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"own and " + urllib.request.urlopen("http://%(IP)s:%(HTTP)s" % os.environ + self.path).read())
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(*[urllib.request.urlopen("http://127.0.0.1:%d/%s" % (s.server_port, p)).read().decode() for p in ("slow", "other")])
`

const goClient = `
package main

import ("context"; "fmt"; "io"; "net"; "net/http"; "os"; "sync"; "time")

func main() {
	at := "http://" + os.Getenv("IP") + ":"
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for i := 0; i < 20; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			path := "/slow"
			if i%2 == 0 { path = fmt.Sprint("/", i) }
			r, err := http.Get(at + os.Getenv("HTTP") + path)
			if err != nil { fmt.Println(err); return }
			b, err := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			n++
			fmt.Println(i, len(b), err)
		}(i)
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", at + os.Getenv("SILENT"), nil)
	_, err := http.DefaultClient.Do(req)
	_, refused := net.Dial("tcp", os.Getenv("IP") + ":" + os.Getenv("NOBODY"))
	fmt.Println(refused)
	fmt.Println(n, "answers, deadline", ctx.Err() != nil && err != nil)
}
`

const nodeClient = `
const http = require("http"), { IP, HTTP, NOBODY } = process.env;
let left = 10;
for (let i = 0; i < 10; i++)
  http.get({ host: IP, port: HTTP, path: i % 2 && i < 9 ? "/slow" : "/" + i }, r => { let s = ""; r.on("data", d => s += d); r.on("end", () => { console.log(s); if (!--left) next(); }); });
function next() { http.get({ host: IP, port: NOBODY }).on("error", e => console.log(e.code)); }
`

// resolved answers a query of DNS: one name has an address, and others are not known.
func resolved(query, ip []byte) []byte {
	const header = 12
	end := header + bytes.IndexByte(query[header:], 0) + 5
	out := append([]byte{}, query[:end]...)
	out[2], out[3] = 0x81, 0x80
	copy(out[4:], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	switch {
	case !bytes.Contains(query, []byte("\x03web\x07example\x00")):
		out[3] |= 3 // NXDOMAIN
	case query[end-3] == 1: // A
		out[7] = 1
		out = append(out, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4)
		out = append(out, ip...)
	}
	return out
}

// TestReplayNetwork records programs that talk to servers of the test's, and repeats them where there are neither
// servers, nor files, nor any network: what they write, how they end, and the profiles of all processes are the same.
func TestReplayNetwork(t *testing.T) {
	t.Parallel()
	if oracles && os.Geteuid() != 0 {
		t.Skip("port 53 is root's")
	}
	jail := newJail(t)
	for _, p := range networkPrograms {
		t.Run(p.name, func(t *testing.T) {
			s := startServers(t)
			s.answer(t, "DNS", 53, func(query []byte) []byte { return resolved(query, s.ip.To4()) })
			work := newWork(t, p.setup, map[string]string{
				"client.py": pythonClient, "many.py": pythonMany, "server.py": pythonServer, "client.go": goClient, "client.js": nodeClient, "in": "10\n20\n",
				"resolv.conf": "nameserver " + s.ip.String() + "\n",
			})
			script := `mount --bind "$0" /etc/resolv.conf && exec "$@"`
			record := []string{"unshare", "--mount", "sh", "-c", script, filepath.Join(work, "resolv.conf"), filepath.Join(jail, "cgemu"), "--network=host"}
			for _, e := range s.env {
				record = append(record, "-e", e)
			}
			want, got := replay(t, jail, work, p.run, s.close, record...)
			require.Contains(t, want.stdout, p.wrote)
			require.Equal(t, want, got)
			info, err := os.Stat(filepath.Join(jail, "run.tar"))
			require.NoError(t, err)
			t.Logf("%d bytes", info.Size())
		})
	}
}
