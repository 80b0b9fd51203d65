package main

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	clock, width := time.Unix(1000, 0), 80
	p := &progress{w: &out, start: clock, now: func() time.Time { return clock }, width: func() int { return width }}
	expect := func(want string) {
		t.Helper()
		require.Equal(t, want, out.String())
		out.Reset()
	}
	clock = clock.Add(1900 * time.Millisecond)
	p.show(1e9, time.Second)
	p.erase()
	expect("") // too early
	clock = clock.Add(600 * time.Millisecond)
	p.show(1_000_000_000, 1100*time.Millisecond)
	expect("\r\x1b[Kcgemu: 1,000,000,000 instructions, 400 MIPS, virtual time 1.1 s")
	io.WriteString(p, "message\n")
	expect("\r\x1b[Kmessage\n")
	io.WriteString(p, "message\n")
	expect("message\n")
	width = 20
	p.show(5_000_000_000, time.Second)
	expect("\r\x1b[Kcgemu: 5,000,000,00")
	p.erase()
	p.erase()
	expect("\r\x1b[K")
}
