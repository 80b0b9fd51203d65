//go:build darwin || freebsd

package host

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestTermios translates settings there and back.
func TestTermios(t *testing.T) {
	var host unix.Termios
	for i := range host.Cc {
		host.Cc[i] = disabled
	}
	host.Cc[unix.VINTR], host.Cc[unix.VMIN], host.Cc[unix.VTIME] = 3, 255, 0
	host.Lflag |= unix.ICANON | unix.PENDIN
	for _, bit := range ownTermBits {
		setWord(&host, bit.word, bit.host)
	}
	b := make([]byte, 36)
	termiosOut(&host, b)
	require.EqualValues(t, linux.ICANON, linux.Uint32(b[12:]))
	require.EqualValues(t, []byte{3, 255, 0, 0}, []byte{b[termChar0+linux.VINTR], b[termChar0+linux.VMIN], b[termChar0+linux.VTIME], b[termChar0+linux.VQUIT]})
	again := host
	termiosIn(&again, b)
	require.Equal(t, host, again)
}
