package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/outfile"
)

// A run that the host's kernel confines (walls.go) cannot write its profiles: to be allowed to it would have to be
// allowed to change all files of the directory that they go to. So another cgemu does, the writer, which was started
// before and knows the value of --cachegrind-out-file. It is told the number of a process and gets bytes; it decides on
// the name of the file itself. When the run is over, or was killed, it removes what the guest had in /dev/shm and ends.

// writerName is the name under which cgemu is the writer.
const writerName = "cgemu-writer"

// A writer is the other end of one.
type writer struct {
	conn    *os.File
	replies *bufio.Reader
	// sending is held while a message is sent.
	sending sync.Mutex
}

// send sends a message as a whole.
func (w *writer) send(h header, parts ...*bytes.Buffer) error {
	w.sending.Lock()
	defer w.sending.Unlock()
	if err := binary.Write(w.conn, binary.LittleEndian, h); err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := part.WriteTo(w.conn); err != nil {
			return err
		}
	}
	return nil
}

// A header stands in front of a profile on its way to the writer.
type header struct {
	PID, Dump, Thread int64 // what the profile is of: see part
	// Profile and Insns are how many bytes follow; -1 if there are no counts by instruction.
	Profile, Insns int64
}

// Headers with these for a PID stand alone: nothing else comes; the run was interrupted, so that nobody is waited for
// any more.
const (
	noProcess   = -1
	interrupted = -2
)

// put has the profile of a part written, as write does.
func (w *writer) put(ctx context.Context, of part, p *cgout.Profile, write func(io.Writer) error) error {
	var profile, insns bytes.Buffer
	h := header{PID: int64(of.pid), Dump: int64(of.dump), Thread: int64(of.thread), Insns: -1}
	if err := write(&profile); err != nil {
		return err
	}
	h.Profile = int64(profile.Len())
	if p.Insns != nil {
		if err := p.Insns.Write(&insns); err != nil {
			return err
		}
		h.Insns = int64(insns.Len())
	}
	if err := w.send(h, &profile, &insns); err != nil {
		return fmt.Errorf("sending the profile to the process that writes it: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = w.send(header{PID: interrupted}) })
	reply, err := w.replies.ReadString('\n')
	stop()
	if err != nil {
		return fmt.Errorf("the process that writes profiles has gone: %w", err)
	}
	if reply = strings.TrimSuffix(reply, "\n"); reply != "" {
		return errors.New(reply)
	}
	return nil
}

// close ends the writer and waits until it has removed what it has to.
func (w *writer) close() {
	_ = w.send(header{PID: noProcess})
	_, _ = io.Copy(io.Discard, w.replies)
	w.conn.Close()
}

// A request is a profile that the writer has got.
type request struct {
	header
	profile, insns []byte
}

// writerMain is the writer's main function. Its standard input is the connection; its arguments are the value of
// --cachegrind-out-file and a directory to be removed.
func writerMain(args []string) int {
	if len(args) != 2 {
		return fail(exitFailed, errors.New("the process that writes profiles is started by cgemu only"))
	}
	// They are for the run, which ends it.
	signal.Ignore(append(hangups, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)...)
	defer os.RemoveAll(args[1])
	files, err := newOutFiles(args[0])
	if err != nil {
		return exitFailed
	}
	ctx, hurry := context.WithCancel(context.Background())
	requests, gone := make(chan request), make(chan struct{})
	go func() {
		defer close(gone)
		defer hurry()
		in := bufio.NewReader(os.Stdin)
		for {
			r, err := readRequest(in)
			switch {
			case err != nil:
				return
			case r.PID == interrupted:
				hurry()
			default:
				requests <- r
			}
		}
	}()
	for {
		select {
		case r := <-requests:
			if !r.answer(ctx, files, gone) {
				return 0
			}
		case <-gone:
			return 0
		}
	}
}

// readRequest reads what put sends.
func readRequest(in io.Reader) (r request, err error) {
	if err := binary.Read(in, binary.LittleEndian, &r.header); err != nil {
		return r, err
	}
	switch r.PID {
	case noProcess:
		return r, io.EOF
	case interrupted:
		return r, nil
	}
	for _, part := range []struct {
		n  int64
		to *[]byte
	}{{r.Profile, &r.profile}, {r.Insns, &r.insns}} {
		// Not more is reserved than comes.
		b, err := io.ReadAll(io.LimitReader(in, max(part.n, 0)))
		if err != nil {
			return r, err
		}
		if int64(len(b)) < part.n {
			return r, io.ErrUnexpectedEOF
		}
		*part.to = b
	}
	return r, nil
}

// answer writes the files and says what came of it. It reports whether there is still somebody to be told: a run that
// was killed leaves its writer perhaps before a FIFO that nobody reads.
func (r request) answer(ctx context.Context, files *outFiles, gone <-chan struct{}) bool {
	done := make(chan error, 1)
	go func() { done <- r.write(ctx, files) }()
	var err error
	select {
	case err = <-done:
	case <-gone:
		select {
		case <-done:
		case <-time.After(2 * outfile.Grace):
			outfile.Abandon()
		}
		return false
	}
	reply := ""
	if err != nil {
		reply = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	_, err = os.Stdin.WriteString(reply + "\n")
	return err == nil
}

func (r request) write(ctx context.Context, files *outFiles) error {
	content := func(b []byte) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		}
	}
	var insns func(io.Writer) error
	if r.Insns >= 0 {
		insns = content(r.insns)
	}
	cmd, _ := readCommand(bytes.NewReader(r.profile))
	return files.put(part{int(r.PID), int(r.Dump), int(r.Thread)}, cmd, emptyProfile(r.profile), os.Stderr, func(name string) error {
		return cgout.WriteFiles(ctx, name, content(r.profile), insns)
	})
}
