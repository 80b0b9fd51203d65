package main

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAskedAgain takes signals that come with the first one as part of it, as timeout(1) sends two.
func TestAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan os.Signal, 2)
		go func() {
			c <- syscall.SIGTERM
			time.Sleep(oneRequest - 1)
			c <- syscall.SIGINT
			time.Sleep(time.Nanosecond)
			c <- syscall.SIGHUP
		}()
		require.Equal(t, syscall.SIGHUP, askedAgain(c))
	})
}
