package files

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/ldcache"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// EtcNodes are files of /etc. Some say who the machine is and, in package net, how it finds others: they are made up,
// as the machine is, since the host's differ from one container to the next. The others stand in for files of the host
// (standIn): every program reads them, so that its counts would depend on what else is installed, and where.
var EtcNodes = map[string]*VNode{
	"hostname":      DiskNode(func(*task.Thread) []byte { return []byte(task.HostName + "\n") }),
	"passwd":        standIn(recorded("passwd", func(*task.Thread) []byte { return accounts("/etc/passwd", guestAccount) })),
	"group":         standIn(recorded("group", func(*task.Thread) []byte { return accounts("/etc/group", guestGroup) })),
	"nsswitch.conf": standIn(func(*task.Thread) []byte { return []byte(nameServices) }),
	"localtime":     standIn(func(*task.Thread) []byte { return utcZone() }),
	"timezone":      standIn(func(*task.Thread) []byte { return []byte("Etc/UTC\n") }),
}

var etcRoot = DirNode(EtcNodes)

func init() { EtcNodes["ld.so.cache"] = standIn(loaderCache) } // which itself looks files up

// DiskNode is FileNode for a file that is as if on a disk.
func DiskNode(content func(*task.Thread) []byte) *VNode {
	n := FileNode(content)
	n.disk = true
	return n
}

// standIn is DiskNode for a file that is the host's if the guest is to see that.
func standIn(content func(*task.Thread) []byte) *VNode {
	n := DiskNode(content)
	n.standIn = true
	return n
}

// etcNode is the file of a name that /etc has, nil if it is none of ours.
func etcNode(k *task.Kernel, name string) *VNode {
	n := EtcNodes[name]
	if n != nil && n.standIn && !SystemOf(k).standIns {
		return nil
	}
	return n
}

// The guest's user and group, and where names of all kinds are looked for.
const (
	guestAccount = "user:x:1000:1000:user:/home/user:/bin/sh"
	guestGroup   = "user:x:1000:"
	nameServices = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\nrpc: files\n"
)

// staticIDs is how many ids every distribution gives out itself; nobodyID is everywhere, too.
const (
	staticIDs = 100
	nobodyID  = 65534
)

// accounts is a file of users or groups of the host's in an order in which those come first that are everywhere: they
// are searched from the beginning on. The guest's own replaces what the host has of its number.
func accounts(name, own string) []byte {
	text, _ := os.ReadFile(name)
	id := func(line string) int {
		if f := strings.Split(line, ":"); len(f) > 2 {
			if n, err := strconv.Atoi(f[2]); err == nil {
				return n
			}
		}
		return -1
	}
	rank := func(line string) int {
		switch n := id(line); {
		case n == 0:
			return 0
		case line == own:
			return 1
		case n > 0 && n < staticIDs || n == nobodyID:
			return 2
		}
		return 3
	}
	lines := []string{own}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && id(line) != id(own) {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(id(a), id(b))) })
	return []byte(strings.Join(lines, "\n") + "\n")
}

// utcZone is a file of tzfile(5) without changes: UTC.
func utcZone() []byte {
	var b bytes.Buffer
	header := func(version byte) {
		b.WriteString("TZif")
		b.WriteByte(version)
		b.Write(make([]byte, 15+4*4)) // of what is counted, nothing but one type of local time, and its name of 4 bytes
		b.Write([]byte{0, 0, 0, 1, 0, 0, 0, 4})
		b.Write([]byte{0, 0, 0, 0, 0, 0}) // 0 seconds east, no summer time, the first name
		b.WriteString("UTC\x00")
	}
	header('2')
	header('2')
	b.WriteString("\nUTC0\n")
	return b.Bytes()
}

// linkerName is what glibc's dynamic linker for x86-64 is called. It looks for libraries where it lies itself and, if
// that is Debian's directory for the architecture, in the one above.
const (
	linkerName = "ld-linux-x86-64.so.2"
	multiarch  = "x86_64-linux-gnu"
)

// maxLoaderCaches is for how many programs caches are kept.
const maxLoaderCaches = 256

// loaderCache is the host's cache of libraries, as far as t's program needs it. It is made once for each program: every
// process asks for it several times.
func loaderCache(t *task.Thread) []byte {
	fs, exe := SystemOf(t.Kernel), t.Process.Exe
	text, made := fs.loaderCaches[exe]
	if !made {
		if len(fs.loaderCaches) == maxLoaderCaches {
			clear(fs.loaderCaches)
		}
		text = fs.RecordedEtc("ld.so.cache"+exe, func() []byte { return makeLoaderCache(t.Kernel, exe) })
		fs.loaderCaches[exe] = text
	}
	return text
}

// maxSoname is as long as the name of a library may be.
const maxSoname = 4096

// importedLibraries returns the names of the libraries that f needs. Its table of strings, of which they are few, may
// be long.
func importedLibraries(f *elf.File) (names []string) {
	dynamic := f.SectionByType(elf.SHT_DYNAMIC)
	if dynamic == nil || int(dynamic.Link) >= len(f.Sections) {
		return nil
	}
	table := f.Sections[dynamic.Link]
	if table.ReaderAt == nil { // it is said to be compressed
		return nil
	}
	offsets, _ := f.DynValue(elf.DT_NEEDED)
	for _, off := range offsets {
		r := bufio.NewReaderSize(io.NewSectionReader(table, int64(off), maxSoname), 64)
		if name, err := r.ReadString(0); err == nil {
			names = append(names, strings.TrimSuffix(name, "\x00"))
		}
	}
	return names
}

// makeLoaderCache is loaderCache for a program that has none yet.
func makeLoaderCache(k *task.Kernel, exe string) []byte {
	const name = "/etc/ld.so.cache"
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	entries, err := ldcache.Read(text)
	if err != nil {
		return text // of another C library, or another time
	}
	needed := func(path string) []string {
		if host, ok := HostPath(k, path); ok {
			path = host
		}
		f, err := elf.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		return importedLibraries(f)
	}
	real := map[string]string{}
	dirOf := func(path string) string {
		dir := filepath.Dir(path)
		if above, _, ok := strings.Cut(dir, "/glibc-hwcaps/"); ok {
			dir = above
		}
		if _, ok := real[dir]; !ok {
			real[dir], _ = filepath.EvalSymlinks(dir)
		}
		return real[dir]
	}
	i := slices.IndexFunc(entries, func(e ldcache.Entry) bool { return e.Soname == linkerName })
	if i < 0 {
		return text
	}
	own := dirOf(entries[i].Path)
	standard := func(path string) bool {
		dir := dirOf(path)
		return dir == own || filepath.Base(own) == multiarch && dir == filepath.Dir(own)
	}
	return ldcache.Write(ldcache.For(entries, exe, needed, standard))
}
