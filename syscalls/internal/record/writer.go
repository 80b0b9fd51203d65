package record

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// A writer writes an archive. After an error it writes nothing more.
type writer struct {
	file *os.File
	tar  *tar.Writer
}

// NewRecorder returns a Recorder whose archive is written to f, from its beginning on. What f had is gone.
func NewRecorder(f *os.File) (*Recorder, error) {
	_, err := f.Seek(0, io.SeekStart)
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, err
	}
	return &Recorder{out: &writer{f, tar.NewWriter(f)}, ids: map[any]uint64{}, found: map[any]*file{}, etc: map[string][]byte{}}, nil
}

// Finish writes the end of the archive. Run is what the callers above have to remember.
func (r *Recorder) Finish(run any) error {
	if r.err != nil {
		return r.err
	}
	if r.odd != nil {
		return r.odd
	}
	if r.network != nil {
		r.network.finish()
	}
	settings, err := json.Marshal(run)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	r.entries(r.root, "/", func(e *entry) { r.fail(enc.Encode(e)) })
	r.fail(r.out.bytes(filesName, lines.Bytes()))
	text, err := json.MarshalIndent(manifest{format, r.System, settings}, "", "  ")
	r.fail(err)
	r.fail(r.out.bytes(manifestName, append(text, '\n')))
	r.fail(r.out.tar.Close())
	return r.err
}

// bytes writes a member that is in memory.
func (w *writer) bytes(name string, b []byte) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(b))}); err != nil {
		return err
	}
	_, err := w.tar.Write(b)
	return err
}

// data writes a member that has what d contains: as many bytes as s says, unless that is none, as of files of which the
// host's kernel does not know how long they are.
func (w *writer) data(name string, s *Stat, d vfs.Data) error {
	const most = 16 << 20
	if s.Size == 0 {
		b, err := io.ReadAll(io.LimitReader(&reader{d: d}, most))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return w.bytes(name, b)
	}
	h := &tar.Header{Name: name, Mode: int64(s.Mode & 0o7777), Uid: int(s.UID), Gid: int(s.GID), Size: s.Size, ModTime: time.Unix(s.Mtime, 0)}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w.tar, io.LimitReader(&reader{d: d}, s.Size))
	if err == nil && n < s.Size {
		err = fmt.Errorf("%s: it was changed by others while it was recorded", name)
	}
	return err
}

// A reader reads a Data from its beginning on.
type reader struct {
	d   vfs.Data
	off int64
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	n, e := r.d.ReadAt(b, r.off)
	switch r.off += int64(n); {
	case e != 0:
		return n, e
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Stdin makes what d contains the standard input of the archive.
func (r *Recorder) Stdin(s Stat, d vfs.Data) { r.fail(r.out.data(stdinName, &s, d)) }

// unreadable notes that the guest may change a file whose content is out of reach.
func (r *Recorder) unreadable(f *file, why linux.Errno) {
	f.emptied = true // what it has from now on is not what was there
	if r.odd == nil {
		r.odd = fmt.Errorf("%s was changed, and what was in it cannot be read: %w", f.path, why)
	}
}

// strange notes that the guest has opened a file whose content no archive can have.
func (r *Recorder) strange(f *file) {
	what := "a device"
	if f.kind == linux.S_IFIFO {
		what = "a FIFO"
	}
	if r.odd == nil {
		r.odd = fmt.Errorf("%s is %s of the host, and what comes from it cannot be recorded; the program got ENXIO", f.path, what)
	}
}
