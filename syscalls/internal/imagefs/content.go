package imagefs

import (
	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// content returns the content of a file, which it copies out of the image if that was not done, or is forgotten. It is
// to be released.
func (fs *FS) content(f *image.File) (*content, linux.Errno) {
	c := fs.contents[f]
	if c == nil {
		made, e := fs.extract(f)
		if e == linux.ENOSPC && fs.idle.Len() > 0 {
			fs.forget(0)
			made, e = fs.extract(f)
		}
		if e != 0 {
			return nil, e
		}
		c = &content{Content: made, of: f}
		fs.contents[f] = c
	} else if c.opened == 0 {
		fs.idle.Remove(c.idle)
		fs.idleSize -= c.size()
	}
	c.opened++
	return c, 0
}

// extract copies a content out of the image.
func (fs *FS) extract(f *image.File) (vfs.Content, linux.Errno) {
	r, err := f.Open()
	if err != nil {
		return nil, linux.EFBIG
	}
	c, e := fs.newContent(f.Number, linux.S_IFREG)
	if e != 0 {
		return nil, e
	}
	e = vfs.Fill(c, r)
	if size, _, _ := c.Size(); e == 0 && size != f.Size {
		e = linux.EIO // somebody has shortened the image
	}
	if e != 0 {
		c.Remove()
		return nil, e
	}
	return c, 0
}

// release gives a content up. It is forgotten when many others were used later.
func (fs *FS) release(c *content) {
	if c.opened--; c.opened > 0 {
		return
	}
	c.idle = fs.idle.PushBack(c)
	fs.idleSize += c.size()
	fs.forget(fs.maxIdle)
}

// forget removes contents that nobody has open, until they take no more than most bytes.
func (fs *FS) forget(most int64) {
	for fs.idleSize > most {
		c := fs.idle.Remove(fs.idle.Front()).(*content)
		c.Remove()
		delete(fs.contents, c.of)
		fs.idleSize -= c.size()
	}
}
