package files

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// This file finds out how many pages of a file hold no data, for st_blocks. The host is asked only if it says that the
// file may have holes: where it lies on the disk, and whether it is there yet, is not to be seen.

// pagesOf is how many pages size bytes take.
func pagesOf(size int64) uint64 { return (uint64(size) + emu.PageSize - 1) / emu.PageSize }

// holesAt counts the pages without data of the file at p, which h describes.
func holesAt(p FileAt, h host.Stat) uint64 {
	if !h.Sparse {
		return 0
	}
	r, e := p.Open(linux.O_PATH, 0, 0)
	if e != 0 {
		return 0
	}
	defer r.Close()
	return r.holes(h)
}

// holes counts the pages without data of r, which h describes: 0 if that is not to be found out. It opens the file once
// more, as its position may be that of others, too. What h describes is a regular file, and to open that has no effect.
func (r FileRef) holes(h host.Stat) uint64 {
	if !h.Sparse {
		return 0
	}
	if now, e := r.Stat(); e != 0 || !now.Sparse || now.Dev != h.Dev || now.Ino != h.Ino {
		return 0 // somebody has replaced it
	}
	at := r.Again()
	if r.FD != host.NoFD {
		at = onHost(r.FD.Again())
	}
	again, e := at.Open(linux.O_RDONLY|linux.O_NONBLOCK, 0, 0)
	if e != 0 {
		return 0
	}
	defer again.Close()
	if again.FD == host.NoFD {
		return 0
	}
	data, ok := dataPages(again.FD, h.Size)
	if !ok {
		return 0
	}
	return pagesOf(h.Size) - data
}

// maxPieces bounds how many pieces of a file are looked for: those take a millisecond.
const maxPieces = 1024

// dataPages counts the pages with data of the first size bytes of f, whose position it moves. Behind maxPieces pieces
// all is data. It is not ok if the host cannot tell.
func dataPages(f host.FD, size int64) (n uint64, ok bool) {
	var at int64
	var done uint64 // the number of the first page that is not counted
	for range maxPieces {
		data, e := f.Lseek(at, linux.SEEK_DATA)
		if e == linux.ENXIO || e == 0 && data >= size {
			return n, true
		}
		if e != 0 {
			return 0, false
		}
		hole, e := f.Lseek(data, linux.SEEK_HOLE)
		if e != 0 || hole <= data {
			return 0, false
		}
		end := pagesOf(min(hole, size))
		n += end - max(done, uint64(data)/emu.PageSize)
		at, done = hole, end
	}
	return n + pagesOf(size) - done, true
}
