// Package testhost makes what tests, and the programs that they start natively, inherit from whoever has started them
// what they take for granted. It is for tests.
package testhost

import (
	"errors"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// Settle has files be made with the modes that they are asked for but for 022, processes leave no core dumps and have
// stacks of 8 MiB at most, and no signal be ignored by what tests start: nohup ignores SIGHUP, shells SIGINT of what
// they start in the background, and a process ignores what its parent ignored, not what it caught.
func Settle() {
	settle()
	for _, sig := range append([]os.Signal{os.Interrupt, syscall.SIGTERM}, others...) {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// RequireLoopback skips a test where no loopback network is up.
func RequireLoopback(t testing.TB) {
	t.Helper()
	if c, err := net.Dial("tcp", "127.0.0.1:9"); errors.Is(err, syscall.ENETUNREACH) {
		t.Skip(err)
	} else if err == nil {
		c.Close()
	}
}
