package vfstest

import (
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// openFlags are the flags of open(2), by letter.
var openFlags = map[rune]int{
	'r': linux.O_RDONLY, 'w': linux.O_WRONLY, '+': linux.O_RDWR, 't': linux.O_TRUNC, 'a': linux.O_APPEND, 'd': linux.O_DIRECTORY, 'p': linux.O_PATH, 'x': linux.O_EXCL,
}

func flagsOf(s string) (flags int) {
	for _, c := range s {
		flags |= openFlags[c]
	}
	return flags
}

// keep makes h the open file called name.
func (r *Runner) keep(name string, h vfs.Handle, e linux.Errno) (string, linux.Errno) {
	if e != 0 {
		return "", e
	}
	if old := r.open[name]; old != nil {
		old.Close()
	}
	r.open[name] = h
	return "", 0
}

func (r *Runner) openFile(a []string) (string, linux.Errno) {
	n, e := r.walk(a[1])
	if e != 0 {
		return "", e
	}
	if s, e := n.Stat(); e == 0 && s.Kind() == linux.S_IFIFO && !strings.Contains(a[2], "p") {
		return "a FIFO, whose other end would be waited for", 0
	}
	h, e := n.Open(flagsOf(a[2]))
	return r.keep(a[0], h, e)
}

func (r *Runner) createOpen(a []string) (string, linux.Errno) {
	dir, name, e := r.parent(a[1])
	if e != 0 {
		return "", e
	}
	h, e := dir.CreateOpen(name, uint32(number(a[2], 8)), flagsOf(a[3]))
	return r.keep(a[0], h, e)
}

func (r *Runner) openTemp(a []string) (string, linux.Errno) {
	n, e := r.walk(a[1])
	if e != 0 {
		return "", e
	}
	h, e := n.Temp(0o600, flagsOf(a[2]))
	return r.keep(a[0], h, e)
}

func (r *Runner) closeFile(a []string) (string, linux.Errno) {
	h := r.open[a[0]]
	if h == nil {
		return "", linux.EBADF
	}
	delete(r.open, a[0])
	return "", h.Close()
}

// read tells what it has read in short: runs of a byte, and 0 as ".".
func (r *Runner) read(a []string) (string, linux.Errno) {
	h := r.open[a[0]]
	if h == nil {
		return "", linux.EBADF
	}
	b := make([]byte, number(a[2], 10))
	n, e := h.ReadAt(b, number(a[1], 10))
	var out strings.Builder
	b = b[:max(n, 0)]
	for i := 0; i < len(b); {
		k := i
		for k < len(b) && b[k] == b[i] {
			k++
		}
		c := b[i]
		if c == 0 {
			c = '.'
		}
		out.WriteByte(c)
		if k-i > 1 {
			fmt.Fprintf(&out, "*%d ", k-i)
		}
		i = k
	}
	return "'" + strings.TrimSpace(out.String()) + "'", e
}

func (r *Runner) write(a []string) (string, linux.Errno) {
	h := r.open[a[0]]
	if h == nil {
		return "", linux.EBADF
	}
	n, e := h.WriteAt([]byte(a[2]), number(a[1], 10))
	return fmt.Sprint(n), e
}

func (r *Runner) cut(a []string) (string, linux.Errno) {
	h := r.open[a[0]]
	if h == nil {
		return "", linux.EBADF
	}
	return "", h.Truncate(number(a[1], 10))
}

func (r *Runner) allocate(a []string) (string, linux.Errno) {
	h := r.open[a[0]]
	if h == nil {
		return "", linux.EBADF
	}
	return "", h.Allocate(uint32(number(a[1], 10)), number(a[2], 10), number(a[3], 10))
}

// Tree lists all files of a file system with what they contain.
func Tree(fs vfs.FS) string {
	var out strings.Builder
	tree(&out, "/", fs.Root())
	return out.String()
}

func tree(out *strings.Builder, name string, n vfs.Node) {
	text, e := describe(n)
	fmt.Fprintf(out, "%s %s", name, text)
	if e != 0 {
		fmt.Fprintf(out, " %s\n", e.String())
		return
	}
	if target, e := n.Readlink(); e == 0 {
		fmt.Fprintf(out, " -> %s", target)
	}
	if names, e := n.Listxattr(); e == 0 && len(names) > 0 {
		fmt.Fprintf(out, " %v", names)
	}
	s, _ := n.Stat()
	if s.Kind() == linux.S_IFREG {
		r := &Runner{open: map[string]vfs.Handle{}}
		h, e := n.Open(linux.O_RDONLY)
		text, re := "", e
		if e == 0 {
			r.open["h"] = h
			text, re = r.read([]string{"h", "0", fmt.Sprint(s.Size + 1)})
		}
		fmt.Fprintf(out, " %s %d", text, re)
		r.Close()
	}
	out.WriteByte('\n')
	list, _ := n.ReadDir()
	for _, d := range list {
		if c, e := n.Lookup(d.Name); e == 0 {
			tree(out, strings.TrimSuffix(name, "/")+"/"+d.Name, c)
		}
	}
}

// Random makes operations of bytes, on few names, so that they meet.
func Random(b []byte) string {
	var out strings.Builder
	next := func(n int) int {
		if len(b) == 0 {
			return 0
		}
		x := int(b[0]) % n
		b = b[1:]
		return x
	}
	pick := func(list ...string) string { return list[next(len(list))] }
	file := func() string {
		return pick("a", "b", "c", "d/a", "d/b", "e/a", "d", "e", "d/e", "d/e/a")
	}
	handle := func() string { return pick("h", "i") }
	size := func() string { return pick("0", "1", "5", "4096", "5000", "8192", "20480") }
	for len(b) > 0 {
		var line string
		switch op := pick("file", "dir", "sym", "link", "rm", "rmdir", "mv", "mvnew", "swap", "stat", "same", "ls", "readlink", "where", "chmod", "truncate",
			"utimes", "times", "setx", "getx", "lsx", "rmx", "open", "new", "temp", "close", "read", "write", "cut", "alloc", "linkh", "stath", "fifo", "sock"); op {
		case "file", "dir", "fifo", "sock", "chmod":
			line = op + " " + file() + " " + pick("644", "755", "600", "4711", "1777")
		case "link", "mv", "mvnew", "swap", "same":
			line = op + " " + file() + " " + file()
		case "sym":
			line = "sym " + pick("a", "/d/e", "x") + " " + file()
		case "truncate":
			line = op + " " + file() + " " + size()
		case "utimes":
			line = op + " " + file() + " " + pick("-", "77", "88") + " " + pick("99", "66")
		case "times":
			line = "stat " + file() // times are those of the clock
		case "setx":
			line = op + " " + file() + " user." + pick("p", "q") + " " + pick("v", "w") + " " + pick("0", "1", "2")
		case "getx", "rmx":
			line = op + " " + file() + " user." + pick("p", "q")
		case "open":
			line = op + " " + handle() + " " + file() + " " + pick("r", "w", "+", "+a", "+t", "rt", "rd", "p")
		case "new":
			line = op + " " + handle() + " " + file() + " " + pick("644", "444", "200") + " " + pick("w", "+", "+a")
		case "temp":
			line = op + " " + handle() + " " + file() + " " + pick("w", "+", "+x")
		case "close":
			line = op + " " + handle()
		case "read":
			line = op + " " + handle() + " " + size() + " " + size()
		case "write":
			line = op + " " + handle() + " " + size() + " " + pick("hello", "z", strings.Repeat("y", 50))
		case "cut":
			line = op + " " + handle() + " " + size()
		case "alloc":
			line = op + " " + handle() + " " + pick("0", "1", "3") + " " + size() + " " + size()
		case "linkh":
			line = "link @" + handle() + " " + file()
		case "stath":
			line = "stat @" + handle()
		default:
			line = op + " " + file()
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// Seed makes n bytes for Random, different ones for each seed.
func Seed(seed, n int) []byte {
	b, x := make([]byte, n), uint64(seed)*2654435761+1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
	return b
}
