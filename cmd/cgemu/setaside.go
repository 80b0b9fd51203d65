package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/syscalls"
)

// Process ids of guests are the same in every run, so that runs in one directory want the same files where names are
// the default. What is of other runs is set aside then: it gets a name that ends in ".old".

// isDefault reports whether profiles have the names that they have if the user says nothing.
func (f *outFiles) isDefault() bool { return f.format == defaultOut || f.format == callgrindOut }

// all is a pattern for the profiles of a run's processes.
func (f *outFiles) all() string { return strings.ReplaceAll(f.format, "%p", "????") }

// find finds the files that are called as profiles are where names are the default. Valgrind's are called so, too, by
// process ids of the host: guests' begin at 1000, and threads and processes without a profile leave gaps of maxGap at
// most.
func (f *outFiles) find() map[string]fs.FileInfo {
	prefix, _, _ := strings.Cut(f.format, "%")
	profile := regexp.MustCompile("^" + regexp.QuoteMeta(prefix) + `([0-9]+)(\.[0-9]+)?(-[0-9]+)?$`)
	byPID := map[int]map[string]fs.FileInfo{}
	entries, _ := os.ReadDir(".") // a profile cannot be written there, which is told then
	for _, e := range entries {
		m := profile.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		pid, err := strconv.Atoi(m[1])
		if info, err2 := e.Info(); err == nil && err2 == nil && info.Mode().IsRegular() {
			if byPID[pid] == nil {
				byPID[pid] = map[string]fs.FileInfo{}
			}
			byPID[pid][e.Name()] = info
		}
	}
	found := map[string]fs.FileInfo{}
	last := syscalls.DefaultPID
	for _, pid := range slices.Sorted(maps.Keys(byPID)) {
		switch {
		case pid < syscalls.DefaultPID:
		case pid > last+maxGap:
			return found
		default:
			maps.Copy(found, byPID[pid])
			last = pid
		}
	}
	return found
}

// maxGap is how far the process id of a profile lies from that of the one before, if both are of one run.
const maxGap = 1000

// put writes the profile of a part, and sets aside what is of other runs. Messages go to log.
func (f *outFiles) put(p part, cmd string, empty bool, log io.Writer, write func(name string) error) error {
	name := f.of(p)
	if !f.isDefault() {
		return write(name)
	}
	unlock := lockDirectory(".") // other runs want these files, too
	defer unlock()
	if err := f.setAside(name, cmd, empty, p.isLast(), log); err != nil {
		return err
	}
	if err := write(name); err != nil {
		return err
	}
	if info, err := os.Lstat(name); err == nil {
		f.written[name] = info
	}
	if p.isLast() {
		return f.setAsideStale(log)
	}
	return nil
}

// setAside keeps a profile from being replaced: one that another run has written meanwhile; and, by the last profile of
// the run, that of the first process, one of another program, or any by one that is empty, which nobody has asked for.
func (f *outFiles) setAside(name, cmd string, empty, last bool, log io.Writer) error {
	was, ok := commandOf(name)
	if !ok {
		return nil
	}
	if info, err := os.Lstat(name); err == nil && !unchanged(info, f.found[name]) && !unchanged(info, f.written[name]) {
		to := freeName(name + cgout.OldSuffix)
		fmt.Fprintf(log, "cgemu: another run has written %s meanwhile, the profile of %s: it is %s now\n", name, shorten(was), to)
		return rename(name, to)
	}
	if !last || program(was) == program(cmd) && !(empty && !emptyFile(name)) {
		return nil
	}
	fmt.Fprintf(log, "cgemu: %s was the profile of %s: it is %[1]s%[3]s now\n", name, shorten(was), cgout.OldSuffix)
	return rename(name, name+cgout.OldSuffix)
}

// setAsideStale sets aside what earlier runs have left of processes that were not there in this one: it would be taken
// for this one's.
func (f *outFiles) setAsideStale(log io.Writer) error {
	var stale []string
	for _, name := range slices.Sorted(maps.Keys(f.found)) {
		if info, err := os.Lstat(name); err == nil && f.written[name] == nil && unchanged(info, f.found[name]) {
			stale = append(stale, name)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	what := stale[0] + " is of an earlier run: it is " + stale[0] + cgout.OldSuffix + " now"
	if n := len(stale); n > 1 {
		what = fmt.Sprintf("%s and %d more, up to %s, are of earlier runs: their names end in %s now", stale[0], n-1, stale[n-1], cgout.OldSuffix)
	}
	fmt.Fprintf(log, "cgemu: %s\n", what)
	for _, name := range stale {
		if err := rename(name, name+cgout.OldSuffix); err != nil {
			return err
		}
	}
	return nil
}

// unchanged reports whether a file is what it was.
func unchanged(now, before fs.FileInfo) bool {
	return before != nil && os.SameFile(now, before) && now.ModTime().Equal(before.ModTime()) && now.Size() == before.Size()
}

// freeName is a name that no file has: name, or that with a number.
func freeName(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s.%d", name, n)
	}
}

// rename gives a profile another name, and its counts by instruction, if there are any.
func rename(from, to string) error {
	for _, suffix := range []string{"", cgout.InsnsSuffix} {
		if err := os.Rename(from+suffix, to+suffix); err != nil && !(suffix != "" && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// program is the first word of a command.
func program(cmd string) string { first, _, _ := strings.Cut(cmd, " "); return first }

// emptyProfile reports whether a profile, or its end, is of one that counted nothing.
func emptyProfile(b []byte) bool {
	return bytes.Contains(b, []byte("\nsummary: 0\n")) || bytes.Contains(b, []byte("\nsummary: 0 "))
}

// emptyFile reports whether a file has a profile that counted nothing.
func emptyFile(name string) bool {
	const end = 4 << 10 // the summary is the last line
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false
	}
	b := make([]byte, end)
	n, _ := file.ReadAt(b, max(info.Size()-end, 0))
	return emptyProfile(b[:n])
}

// commandOf returns the command whose profile a file has.
func commandOf(name string) (string, bool) {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	file, err := os.Open(name)
	if err != nil {
		return "", false
	}
	defer file.Close()
	return readCommand(file)
}

// readCommand returns the command of a profile.
func readCommand(r io.Reader) (string, bool) {
	const most = 1 << 20 // of lines in front of the counts
	s := bufio.NewScanner(io.LimitReader(r, most))
	s.Buffer(nil, most)
	for s.Scan() {
		if cmd, ok := strings.CutPrefix(s.Text(), "cmd: "); ok {
			return cmd, true
		}
	}
	return "", false
}
