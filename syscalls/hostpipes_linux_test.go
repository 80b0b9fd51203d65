package syscalls

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// pipesOfHost are pipes that a guest writes and the host reads.
var pipesOfHost = map[string]func(t *testing.T) (g *guest, fd uint64, r *os.File){
	"pipe":     func(t *testing.T) (*guest, uint64, *os.File) { return outputCase(t, pipe, true) },
	"standard": func(t *testing.T) (*guest, uint64, *os.File) { return outputCase(t, pipe, false) },
	"socket":   func(t *testing.T) (*guest, uint64, *os.File) { return outputCase(t, socketPair, true) },
	"fifo":     fifoCase,
}

// fifoCase has the guest open a FIFO by its name.
func fifoCase(t *testing.T) (*guest, uint64, *os.File) {
	g := newGuest(t)
	require.NoError(t, unix.Mkfifo(filepath.Join(g.dir, "fifo"), 0o600))
	r, err := os.OpenFile(filepath.Join(g.dir, "fifo"), os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return g, g.ok(nr("open"), g.str("fifo"), linux.O_WRONLY), r
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	return r, w
}

func socketPair(t *testing.T) (r, w *os.File) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	return os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
}

func outputCase(t *testing.T, ends func(t *testing.T) (r, w *os.File), hostStdio bool) (*guest, uint64, *os.File) {
	r, w := ends(t)
	t.Cleanup(func() { r.Close(); w.Close() })
	return newGuest(t, func(c *Config) { c.Files.HostStdio, c.Files.Stdout = hostStdio, w }), 1, r
}

// TestFullPipes has guests write more than a pipe of the host's has room for: the kernel never waits for who reads, as
// other threads may have to go on for that, and a write that may wait ends when all is written.
func TestFullPipes(t *testing.T) {
	const size = 1 << 19
	for name, open := range pipesOfHost {
		t.Run(name+"/without waiting", func(t *testing.T) {
			g, fd, r := open(t)
			g.ok(nr("fcntl"), fd, linux.F_SETFL, linux.O_NONBLOCK)
			g.ok(nr("write"), fd, g.str("x"), 1) // what follows ends within a page
			n := g.ok(nr("write"), fd, g.room(size), size)
			require.NotZero(t, n)
			require.Less(t, n, uint64(size))
			_, err := io.ReadFull(r, make([]byte, n+1))
			require.NoError(t, err)
		})
		t.Run(name+"/all of it", func(t *testing.T) {
			g, fd, r := open(t)
			want := append([]byte("x"), bytes.Repeat([]byte("0123456789"), size/10)...)
			got := make(chan []byte)
			go func() {
				b := make([]byte, len(want))
				for n := 0; n < len(b); {
					time.Sleep(100 * time.Microsecond)
					m, err := r.Read(b[n:min(n+50_000, len(b))])
					if err != nil {
						break
					}
					n += m
				}
				got <- b
			}()
			require.EqualValues(t, 1, g.ok(nr("write"), fd, g.str("x"), 1))
			require.EqualValues(t, len(want)-1, g.ok(nr("write"), fd, g.bytes(want[1:]), uint64(len(want)-1)))
			require.True(t, bytes.Equal(want, <-got))
		})
		t.Run(name+"/from a file", func(t *testing.T) {
			g, fd, r := open(t)
			g.ok(nr("fcntl"), fd, linux.F_SETFL, linux.O_NONBLOCK)
			require.NoError(t, os.WriteFile(filepath.Join(g.dir, "file"), bytes.Repeat([]byte("0123456789"), size/10), 0o600))
			in := g.ok(nr("open"), g.str("file"), linux.O_RDONLY)
			g.ok(nr("write"), fd, g.str("x"), 1)
			n := g.ok(nr("sendfile"), fd, in, 0, size)
			require.NotZero(t, n)
			require.Less(t, n, uint64(size))
			require.Equal(t, n, g.ok(nr("lseek"), in, 0, linux.SEEK_CUR))
			_, err := io.ReadFull(r, make([]byte, n+1))
			require.NoError(t, err)
		})
		t.Run(name+"/nobody reads", func(t *testing.T) {
			if name == "fifo" {
				t.Skip("its reader is a writer, too")
			}
			g, fd, r := open(t)
			g.handle(linux.SIGPIPE, 1, 0, 0) // SIG_IGN
			r.Close()
			g.fails(linux.EPIPE, nr("write"), fd, g.room(size), size)
		})
	}
}
