// Package outfile writes files that are whole at every moment: a new file is written beside the old one and takes its
// name when it is complete. What is no regular file, such as a terminal or a FIFO, is written to directly, and so is
// what a descriptor of this process refers to, by a name such as /dev/stdout: behind what others have written there.
//
// A process that is to end at once, by a signal, calls Abandon first, which leaves nothing half written behind.
package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/cgemu/cgemu/internal/nonblock"
)

// Grace is how long something that others must do is waited for when the context is done: that somebody opens a FIFO
// for reading, or reads some of what was written.
const Grace = 500 * time.Millisecond

// errNobody is why a special file could not be written before the time was up.
var errNobody = errors.New("nobody reads it, and the run was interrupted")

// IsSpecial reports whether path names something else than a regular file: a device, a pipe or a descriptor of this
// process, into which Write writes, or a directory.
func IsSpecial(path string) bool {
	if _, ok := descriptorOf(path); ok {
		return true
	}
	return isOther(path)
}

// isOther reports whether path is there and no regular file.
func isOther(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// Create opens a file for writing, empty, or what a descriptor of this process refers to, as it is.
func Create(path string) (*os.File, error) {
	if fd, ok := descriptorOf(path); ok && !isOther(path) {
		return duplicate(fd, path)
	}
	return os.Create(path)
}

// Write calls write and makes what it writes the contents of the file. If anything fails, the old file stays as it was.
//
// A new file has the permissions perm. They are cut by the umask; a file that is replaced keeps its own, unless perm is
// for the owner alone.
//
// If path is no regular file, and ctx is done, nobody is waited for longer than Grace.
func Write(ctx context.Context, path string, perm fs.FileMode, write func(io.Writer) error) error {
	if IsSpecial(path) {
		return cause(writeInto(ctx, path, write))
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path
	}
	return cause(replace(target, perm, write))
}

// cause drops the names of files from an error: they are those of temporary files.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// writeInto writes to what IsSpecial says.
func writeInto(ctx context.Context, path string, write func(io.Writer) error) error {
	f, err := openSpecial(ctx, path)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { f.SetWriteDeadline(time.Now().Add(Grace)) })
	defer stop()
	err = errors.Join(write(&special{f, ctx}), f.Close())
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errNobody
	}
	return err
}

// openSpecial opens what IsSpecial says. It waits for the reader of a FIFO.
func openSpecial(ctx context.Context, path string) (*os.File, error) {
	fd, open := descriptorOf(path)
	if open && !isOther(path) {
		return duplicate(fd, path)
	}
	var late <-chan time.Time
	done := ctx.Done()
	for {
		// Without O_NONBLOCK nothing could end the wait, neither here nor in a write.
		f, err := os.OpenFile(path, os.O_WRONLY|nonblock.Flag, 0)
		switch {
		case !errors.Is(err, syscall.ENXIO):
			return f, err
		case isFIFO(path):
		case open: // a socket
			return duplicate(fd, path)
		default:
			return nil, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-done:
			done, late = nil, time.After(Grace)
		case <-late:
			return nil, errNobody
		}
	}
}

func isFIFO(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// A special is a file that is not regular. Once the context is done each part of what is written has a time limit of
// its own: as long as somebody reads, all is written.
type special struct {
	*os.File
	ctx context.Context
}

// Write implements io.Writer.
func (s *special) Write(b []byte) (n int, err error) {
	const part = 32 << 10
	for len(b) > 0 && err == nil {
		if s.ctx.Err() != nil {
			s.SetWriteDeadline(time.Now().Add(Grace)) // an error means a device that does not wait
		}
		var m int
		m, err = s.File.Write(b[:min(len(b), part)])
		n, b = n+m, b[m:]
	}
	return n, err
}

// temps are the files that are being written, for Abandon.
var temps struct {
	sync.Mutex
	names map[string]bool
}

// Abandon removes what is half written. The process is to end behind it.
func Abandon() {
	temps.Lock()
	defer temps.Unlock()
	for name := range temps.names {
		os.Remove(name)
	}
}

// replace writes a new file and gives it the name target.
func replace(target string, perm fs.FileMode, write func(io.Writer) error) error {
	f, err := createTemp(target, perm)
	if err != nil {
		return err
	}
	temp := f.Name()
	if info, err2 := os.Stat(target); err2 == nil && perm&0o077 != 0 {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = write(f)
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(temp, target)
	}
	temps.Lock()
	defer temps.Unlock()
	if err != nil {
		os.Remove(temp) // best effort: err says what went wrong
	}
	delete(temps.names, temp)
	return err
}

// createTemp makes a file beside target.
func createTemp(target string, perm fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(target)
	temps.Lock()
	defer temps.Unlock()
	for try := 0; ; try++ {
		// A long name is cut so that what is added to it fits a directory entry.
		name := dir + fmt.Sprintf(".%s.%d.tmp", base[:min(len(base), 200)], rand.Uint32())
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			if temps.names == nil {
				temps.names = map[string]bool{}
			}
			temps.names[name] = true
			return f, nil
		}
		if !errors.Is(err, fs.ErrExist) || try == 1000 {
			return nil, err
		}
	}
}
