package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime/debug"
	"syscall/js"
	"time"

	"github.com/cgemu/cgemu/annotate/web"
)

// main does one job, which worker.js has put into cgemuJob, and leaves what came of it in cgemuResult.
func main() {
	// The program ends with the report, and its memory goes with it: collecting less often halves the time (100,000
	// lines: 1.3 s for 2.7). What is really large is collected as it comes near to half of what WebAssembly can have.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(2 << 30)
	result := map[string]any{}
	var out bytes.Buffer
	summary, err := run(js.Global().Get("cgemuJob"), &out)
	if err != nil {
		result["error"] = web.Message(err)
	} else {
		output := js.Global().Get("Uint8Array").New(out.Len())
		js.CopyBytesToJS(output, out.Bytes())
		result["output"], result["files"], result["read"] = output, summary.Files, summary.Read
	}
	js.Global().Set("cgemuResult", result)
}

// run does a job, an object with the fields of web.Job.
func run(job js.Value, w io.Writer) (web.Summary, error) {
	j := web.Job{
		Diff: job.Get("diff").Bool(), Format: job.Get("format").String(), Threshold: job.Get("threshold").Float(),
		Context: job.Get("context").Int(), StripHash: job.Get("stripHash").Bool(),
	}
	for _, f := range list(job.Get("profiles")) {
		name := f.Get("name").String()
		j.Profiles = append(j.Profiles, web.Profile{FS: files{name: f}, Name: name})
	}
	for _, s := range list(job.Get("sources")) {
		dropped := files{}
		for _, f := range list(s.Get("files")) {
			dropped[f.Get("path").String()] = f.Get("file")
		}
		j.Sources = append(j.Sources, web.Source{FS: dropped, Folder: s.Get("folder").String(), Side: s.Get("side").String()})
	}
	return j.Run(w)
}

// list returns the elements of an array.
func list(array js.Value) []js.Value {
	values := make([]js.Value, array.Length())
	for i := range values {
		values[i] = array.Index(i)
	}
	return values
}

// files are File objects by path, as an fs.FS.
type files map[string]js.Value

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	v, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{File: v, name: name}, nil
}

// A file is one of them, being read.
type file struct {
	File js.Value
	name string
	at   int64
}

// part is how much is read at once, so that a file is not in memory twice.
const part = 4 << 20

// Read implements fs.File. Workers alone can read without coming back to the event loop.
func (f *file) Read(b []byte) (n int, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case js.Error: // it was removed or changed since
			n, err = 0, &fs.PathError{Op: "read", Path: f.name, Err: errors.New(e.Value.Get("message").String())}
		default:
			panic(e)
		}
	}()
	end := min(f.at+int64(min(len(b), part)), f.Size())
	if f.at >= end {
		return 0, io.EOF
	}
	buffer := js.Global().Get("FileReaderSync").New().Call("readAsArrayBuffer", f.File.Call("slice", f.at, end))
	n = js.CopyBytesToGo(b, js.Global().Get("Uint8Array").New(buffer))
	if n == 0 {
		return 0, fmt.Errorf("%s: %w", f.name, io.ErrUnexpectedEOF)
	}
	f.at += int64(n)
	return n, nil
}

// Close implements fs.File.
func (f *file) Close() error { return nil }

// Stat implements fs.File. A file is what is known of it, too.
func (f *file) Stat() (fs.FileInfo, error) { return f, nil }

// Name implements fs.FileInfo.
func (f *file) Name() string { return path.Base(f.name) }

// Size implements fs.FileInfo.
func (f *file) Size() int64 { return int64(f.File.Get("size").Float()) }

// Mode implements fs.FileInfo.
func (f *file) Mode() fs.FileMode { return 0o444 }

// ModTime implements fs.FileInfo.
func (f *file) ModTime() time.Time { return time.UnixMilli(int64(f.File.Get("lastModified").Float())) }

// IsDir implements fs.FileInfo.
func (f *file) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (f *file) Sys() any { return nil }
