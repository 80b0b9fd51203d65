package vfs

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// A Content is what a regular file of a MemFS contains, or where a FIFO's readers meet its writers.
type Content interface {
	Open(flags int) (Data, linux.Errno)
	// Size is the length; sparse is that of Stat.
	Size() (n int64, sparse bool, e linux.Errno)
	// Remove is called when neither a name nor a Data is left.
	Remove()
}

// pageSize is the unit in which memory is given to a file: what was never written takes none.
const pageSize = 4096

// DirSize is the size of every directory that is made.
const DirSize = pageSize

type page = [pageSize]byte

// pages is a Content in memory.
type pages struct {
	size  int64
	pages map[int64]*page // by number; one that is missing is zero
}

func newPages() *pages { return &pages{pages: map[int64]*page{}} }

// MemContent makes the content of a regular file in Go's memory.
func MemContent(_ uint64, kind uint32) (Content, linux.Errno) {
	if kind != linux.S_IFREG {
		return nil, linux.ENXIO
	}
	return newPages(), 0
}

func (p *pages) Size() (int64, bool, linux.Errno) { return p.size, false, 0 }
func (p *pages) Remove()                          { *p = *newPages() }

func (p *pages) Open(flags int) (Data, linux.Errno) {
	return &pagesData{p, flags}, 0
}

// each calls do for each piece of [off, off+n) that is in one page.
func each(off, n int64, do func(number, from, to int64)) {
	for n > 0 {
		from := off % pageSize
		m := min(n, pageSize-from)
		do(off/pageSize, from, from+m)
		off, n = off+m, n-m
	}
}

// zero makes [off, off+n) zero, and gives back whole pages.
func (p *pages) zero(off, n int64) {
	for number, b := range p.pages {
		at := number * pageSize
		switch from, to := max(off-at, 0), min(off+n-at, pageSize); {
		case from == 0 && to == pageSize:
			delete(p.pages, number)
		case from < to:
			clear(b[from:to])
		}
	}
}

func (p *pages) truncate(size int64) {
	if size < p.size {
		p.zero(size, p.size-size)
	}
	p.size = size
}

// shift moves what begins at off by n bytes, which may be negative; all are multiples of the page size.
func (p *pages) shift(off, n int64) {
	moved := map[int64]*page{}
	for number, b := range p.pages {
		if number*pageSize >= off {
			number += n / pageSize
		}
		moved[number] = b
	}
	p.pages = moved
	p.size += n
}

// pagesData is pages, opened.
type pagesData struct {
	*pages
	flags int
}

func (d *pagesData) Close() linux.Errno      { return 0 }
func (d *pagesData) Sync() linux.Errno       { return 0 }
func (d *pagesData) Descriptor() (int, bool) { return -1, false }

func (d *pagesData) writable() bool { return d.flags&linux.O_ACCMODE != linux.O_RDONLY }

func (d *pagesData) ReadAt(b []byte, off int64) (int, linux.Errno) {
	if d.flags&linux.O_ACCMODE == linux.O_WRONLY {
		return 0, linux.EBADF
	}
	if off < 0 {
		return 0, linux.EINVAL
	}
	n := max(0, min(int64(len(b)), d.size-off))
	at := b[:n]
	each(off, n, func(number, from, to int64) {
		if src := d.pages.pages[number]; src != nil {
			copy(at, src[from:to])
		} else {
			clear(at[:to-from])
		}
		at = at[to-from:]
	})
	return int(n), 0
}

func (d *pagesData) WriteAt(b []byte, off int64) (int, linux.Errno) {
	switch {
	case !d.writable():
		return 0, linux.EBADF
	case off < 0:
		return 0, linux.EINVAL
	case d.flags&linux.O_APPEND != 0:
		off = d.size
	}
	n, end := len(b), off+int64(len(b))
	if end < off {
		return 0, linux.EFBIG
	}
	each(off, int64(n), func(number, from, to int64) {
		dst := d.pages.pages[number]
		if dst == nil {
			dst = new(page)
			d.pages.pages[number] = dst
		}
		copy(dst[from:to], b)
		b = b[to-from:]
	})
	if n > 0 {
		d.size = max(d.size, end)
	}
	return n, 0
}

func (d *pagesData) Truncate(size int64) linux.Errno {
	if !d.writable() || size < 0 {
		return linux.EINVAL
	}
	d.truncate(size)
	return 0
}

func (d *pagesData) Allocate(mode uint32, off, n int64) linux.Errno {
	const shifts = linux.FALLOC_FL_COLLAPSE_RANGE | linux.FALLOC_FL_INSERT_RANGE
	end := off + n
	switch {
	case off < 0 || n <= 0:
		return linux.EINVAL
	case !d.writable():
		return linux.EBADF
	case end < 0:
		return linux.EFBIG
	case mode&shifts != 0 && (off%pageSize != 0 || n%pageSize != 0 || off >= d.size ||
		mode == linux.FALLOC_FL_COLLAPSE_RANGE && end >= d.size):
		return linux.EINVAL
	}
	switch mode {
	case 0:
		d.size = max(d.size, end)
	case linux.FALLOC_FL_KEEP_SIZE:
	case linux.FALLOC_FL_ZERO_RANGE, linux.FALLOC_FL_ZERO_RANGE | linux.FALLOC_FL_KEEP_SIZE, linux.FALLOC_FL_PUNCH_HOLE | linux.FALLOC_FL_KEEP_SIZE:
		d.zero(off, min(end, max(d.size, off))-off)
		if mode == linux.FALLOC_FL_ZERO_RANGE {
			d.size = max(d.size, end)
		}
	case linux.FALLOC_FL_COLLAPSE_RANGE:
		d.zero(off, n)
		d.shift(end, -n)
	case linux.FALLOC_FL_INSERT_RANGE:
		d.shift(off, n)
	default:
		return linux.EOPNOTSUPP
	}
	return 0
}
