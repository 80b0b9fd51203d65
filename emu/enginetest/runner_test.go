//go:build linux && amd64

package enginetest

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// childEnv makes the test binary a native child.
const childEnv = "CGEMU_ENGINETEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := nativeChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A native runs batches on the host CPU.
type native struct {
	t      testing.TB
	file   *os.File
	shared []byte
	images []byte
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
}

func newNative(t testing.TB, images, ro []byte) *native {
	name := []byte("enginetest\x00")
	fd, _, e := syscall.Syscall(319 /* memfd_create */, addressOf(name), 0, 0)
	require.Zero(t, e)
	n := &native{t: t, file: os.NewFile(fd, "enginetest"), images: images}
	require.NoError(t, n.file.Truncate(int64(shSize)))
	var err error
	n.shared, err = syscall.Mmap(int(fd), 0, shSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	require.NoError(t, err)
	copy(n.shared[shImages:], images)
	copy(n.shared[shRO:], ro)
	n.start()
	t.Cleanup(func() {
		n.stop()
		n.file.Close()
		require.NoError(t, syscall.Munmap(n.shared))
	})
	return n
}

func (n *native) start() {
	exe, err := os.Executable()
	require.NoError(n.t, err)
	n.cmd = exec.Command(exe)
	// Nothing of the runtime may look at the thread while it runs guest code.
	n.cmd.Env = append(os.Environ(), childEnv+"=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off", "GOMAXPROCS=1")
	n.cmd.ExtraFiles = []*os.File{n.file}
	n.cmd.Stderr = os.Stderr
	n.in, err = n.cmd.StdinPipe()
	require.NoError(n.t, err)
	n.out, err = n.cmd.StdoutPipe()
	require.NoError(n.t, err)
	require.NoError(n.t, n.cmd.Start())
}

func (n *native) stop() {
	n.in.Close()
	n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// run executes b.
func (n *native) run(b *batch, out []outcome) {
	for w := range b.code {
		copy(n.shared[shCode+w*codeSize:], b.code[w][:])
	}
	for i := range b.jobs {
		*stateAt(n.shared[shJobs+i*jobSize:]) = b.jobs[i]
	}
	for first := 0; first < len(b.jobs); {
		done := n.some(first, len(b.jobs))
		for i := first; i < done; i++ {
			n.collect(i, &out[i])
		}
		if done < len(b.jobs) {
			out[done].died = true
			done++
			n.stop()
			n.start()
		}
		first = done
	}
}

// some runs jobs [lo, hi) and returns the first that killed the child, or hi.
func (n *native) some(lo, hi int) int {
	var word [16]byte
	binary.LittleEndian.PutUint64(word[:], uint64(lo))
	binary.LittleEndian.PutUint64(word[8:], uint64(hi))
	_, err := n.in.Write(word[:])
	require.NoError(n.t, err)
	hung := time.AfterFunc(10*time.Second, func() { n.cmd.Process.Kill() })
	defer hung.Stop()
	if _, err := io.ReadFull(n.out, word[:8]); err != nil {
		return int(binary.LittleEndian.Uint64(n.shared[shCurrent:]))
	}
	return hi
}

// collect makes an outcome of what the child left.
func (n *native) collect(i int, o *outcome) {
	s := stateAt(n.shared[shJobs+i*jobSize:])
	*o = outcome{state: *s, dump: append(o.dump[:0], n.shared[shDumps+i*dumpSize:][:dumpSize]...)}
	o.fault = emu.Fault{Vector: uint8(s.Trap)}
	if s.Trap == emu.VecPF {
		o.fault.Addr = emu.Addr(s.CR2)
		o.fault.Write, o.fault.Exec = s.Err&2 != 0, s.Err&16 != 0
	}
}
