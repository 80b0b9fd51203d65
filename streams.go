package cgemu

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// streams are the files that the guest has for its standard streams, and what is between them and a Config's readers
// and writers.
type streams struct {
	stdin, stdout, stderr *os.File
	// dir is where files are made; "" where the host has temporary ones.
	dir string
	// piped says that the guest is to see a pipe in stdin.
	piped bool
	// ours are the files that were made, to be closed when the guest has ended; copies are the errors of writers, input
	// is that of a reader, once it is known.
	ours   []*os.File
	copies []chan error
	input  chan error
}

// checkFiles refuses descriptors that no file of Files can have.
func (cfg *Config) checkFiles() error {
	const most = 1 << 20 // as a guest may have open
	for _, n := range slices.Sorted(maps.Keys(cfg.Files)) {
		if n < 3 || n >= most {
			return fmt.Errorf("descriptor %d of Files: 3 to %d expected", n, most-1)
		}
	}
	return nil
}

// openStreams makes files of the readers and writers of cfg.
func (cfg *Config) openStreams() (s *streams, err error) {
	s = &streams{dir: cfg.ShmDir}
	if cfg.Replay == nil {
		s.stdin, err = s.reader(cfg.Stdin)
	}
	if err == nil && cfg.Record != nil {
		s.stdin, s.piped, err = s.recordable(s.stdin)
	}
	if err == nil {
		s.stdout, err = s.writer(cfg.Stdout)
	}
	if err == nil {
		if s.stderr = s.stdout; !sameWriter(cfg.Stdout, cfg.Stderr) {
			s.stderr, err = s.writer(cfg.Stderr)
		}
	}
	if err == nil && cfg.Replay != nil {
		err = s.replay(cfg.Replay.r)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// sameWriter reports whether two writers are one.
func sameWriter(a, b io.Writer) bool {
	defer func() { _ = recover() }() // of types that cannot be compared
	return a == b
}

// reader returns a file from which what r has can be read. What is in memory becomes a file on the disk, so that what a
// read returns is the same in each run; a pipe's reads return what is there.
func (s *streams) reader(r io.Reader) (*os.File, error) {
	switch r := r.(type) {
	case nil:
		return s.null(os.O_RDONLY)
	case *os.File:
		if r == nil {
			return s.null(os.O_RDONLY)
		}
		return r, nil
	case *bytes.Buffer, *bytes.Reader, *strings.Reader:
		return s.spool(r)
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.ours = append(s.ours, in)
	input := make(chan error, 1)
	s.input = input
	go func() {
		read := &watchedReader{Reader: r}
		_, _ = io.Copy(out, read) // the guest sees the end of what could be read, or is gone
		input <- read.err
		out.Close()
	}()
	return in, nil
}

// A watchedReader remembers why it could not read.
type watchedReader struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (r *watchedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// spool returns a file with what r has.
func (s *streams) spool(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp(s.dir, "cgemu-stdin-")
	if err != nil {
		return nil, err
	}
	s.ours = append(s.ours, f)
	_ = os.Remove(f.Name()) // some hosts cannot yet: they do when it is closed
	if _, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return f, err
}

// writer returns a file that leads to w.
func (s *streams) writer(w io.Writer) (*os.File, error) {
	switch w := w.(type) {
	case nil:
		return s.null(os.O_WRONLY)
	case *os.File:
		if w == nil {
			return s.null(os.O_WRONLY)
		}
		return w, nil
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.ours = append(s.ours, out)
	done := make(chan error, 1)
	s.copies = append(s.copies, done)
	go func() {
		_, err := io.Copy(w, in)
		in.Close()
		done <- err
	}()
	return out, nil
}

func (s *streams) null(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		s.ours = append(s.ours, f)
	}
	return f, err
}

// close closes what was made, and waits until the writers have everything. A reader may wait still: that is not waited
// for.
func (s *streams) close() error {
	var errs []error
	select {
	case err := <-s.input:
		errs = append(errs, inStream("input", err))
	default:
	}
	for _, f := range s.ours {
		f.Close()
	}
	for _, c := range s.copies {
		errs = append(errs, inStream("output", <-c))
	}
	return errors.Join(errs...)
}

// inStream says of an error where it was.
func inStream(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
