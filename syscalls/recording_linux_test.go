package syscalls

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// recorded has a guest be recorded, without a terminal or devices.
func recorded(t *testing.T) func(*Config) {
	f, err := os.Create(filepath.Join(t.TempDir(), "run.tar"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	r, err := NewRecorder(f)
	require.NoError(t, err)
	return func(c *Config) { c.Files.Record, c.Files.HostStdio = r, false }
}

// TestPatientOutput has a recorded guest write to a pipe that is full: it does not see that, as a repetition writes
// elsewhere.
func TestPatientOutput(t *testing.T) {
	for name, hostFlags := range map[string]int{"waits": 0, "nonblocking": unix.O_NONBLOCK} {
		t.Run(name, func(t *testing.T) {
			var p [2]int
			require.NoError(t, unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
			full := 0
			for {
				n, err := unix.Write(p[1], make([]byte, 4096))
				if err != nil {
					break
				}
				full += n
			}
			require.NoError(t, unix.SetNonblock(p[0], false))
			require.NoError(t, unix.SetNonblock(p[1], hostFlags != 0))
			in, out := os.NewFile(uintptr(p[0]), "in"), os.NewFile(uintptr(p[1]), "out")
			g := newGuest(t, recorded(t), func(c *Config) { c.Files.Stdout = out })
			out.Close() // the guest has its own
			fds := g.bytes([]byte{1, 0, 0, 0, linux.POLLOUT, 0, 0, 0})
			require.EqualValues(t, 1, g.ok(nr("poll"), fds, 1, 0), "there is room")
			g.ok(nr("fcntl"), 1, linux.F_SETFL, linux.O_WRONLY|linux.O_NONBLOCK)
			const size = 500_000 // more than a pipe holds
			text := g.room(size)
			read := make(chan int)
			go func() {
				b := make([]byte, full+2*size)
				n, _ := io.ReadFull(in, b)
				read <- n
			}()
			require.EqualValues(t, size, g.ok(nr("write"), 1, text, size))
			f := g.ok(nr("memfd_create"), g.str("f"), 0)
			g.ok(nr("ftruncate"), f, size)
			for sent := uint64(0); sent < size; {
				sent += g.ok(nr("sendfile"), 1, f, 0, size)
			}
			require.Equal(t, full+2*size, <-read)
		})
	}
}
