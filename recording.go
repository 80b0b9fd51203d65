package cgemu

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/syscalls"
)

// A Recorder says where a run is recorded: everything that the program takes from the host, so that the run can be
// repeated where none of that is (OpenRecording).
type Recorder struct {
	// File gets the recording, in place of what it has. If Run returns an error, or was interrupted, it has none.
	File *os.File
	// Version says who records, and Options with what: Recording tells.
	Version string
	Options []string
}

// maxCPUs is how many CPUs a guest may see.
const maxCPUs = 1024

// A Recording is a recorded run, to be repeated: see Recording.Config.
type Recording struct {
	r *syscalls.Recording
	s recordedRun
}

// A recordedRun is what a run depends on besides files.
type recordedRun struct {
	Version   string           `json:"version"`
	Rules     string           `json:"rules"` // of counting
	Options   []string         `json:"options,omitempty"`
	Path      syscalls.Text    `json:"path"`
	Args      []syscalls.Text  `json:"args"`
	Env       []syscalls.Text  `json:"env"`
	CPU       string           `json:"cpu"`
	CPUs      int              `json:"cpus,omitempty"`
	Caches    *cachesim.Config `json:"caches,omitempty"` // those that the guest was told of
	Network   string           `json:"network,omitempty"`
	Seed      uint64           `json:"seed,omitempty"`
	SchedSeed uint64           `json:"schedSeed,omitempty"`
	Start     time.Time        `json:"start,omitzero"`
	RepOnce   bool             `json:"repOnce,omitempty"`
}

// OpenRecording opens what Config.Record has written. Close it when no run needs it any more.
func OpenRecording(name string) (*Recording, error) {
	r, err := syscalls.OpenRecording(name)
	if err != nil {
		return nil, err
	}
	out := &Recording{r: r}
	err = json.Unmarshal(r.Run, &out.s)
	switch {
	case err != nil:
	case len(out.s.Args) == 0:
		err = errors.New("there is no program")
	case out.s.CPUs < 0 || out.s.CPUs > maxCPUs:
		err = fmt.Errorf("%d CPUs", out.s.CPUs)
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: the recorded run: %w", name, err)
	}
	return out, nil
}

// Close closes the file.
func (r *Recording) Close() error { return r.r.Close() }

// Version and Options are what the Recorder had. Rules is the CountingRules of the cgemu that recorded.
func (r *Recording) Version() string   { return r.s.Version }
func (r *Recording) Options() []string { return r.s.Options }
func (r *Recording) Rules() string     { return r.s.Rules }

// Config is what repeats the run. What counts, the events, names, outputs and the engine may be changed in it.
func (r *Recording) Config() Config {
	s := &r.s
	return Config{
		Replay: r, Path: string(s.Path), Args: syscalls.Strings(s.Args), Env: syscalls.Strings(s.Env), CPU: s.CPU, CPUs: s.CPUs, Network: s.Network,
		Seed: s.Seed, SchedSeed: s.SchedSeed, Start: s.Start, RepOnce: s.RepOnce,
	}
}

// checkRecording refuses what cannot be recorded, or does not go with a recording.
func (cfg *Config) checkRecording() error {
	if cfg.Record == nil && cfg.Replay == nil {
		return nil
	}
	for _, c := range []struct {
		not  bool
		name string
	}{
		{cfg.Record != nil && cfg.Replay != nil, "a recording that is being made"},
		{cfg.RealTime, "the host's time"}, {cfg.Replay != nil && cfg.Network != cfg.Replay.s.Network, "another network"}, {cfg.Compat, "Compat"}, {cfg.Sysroot != "", "a sysroot"},
		{len(cfg.Binds) > 0, "Binds"}, {cfg.HostStdio, "HostStdio"}, {len(cfg.Files) > 0, "Files"},
		{cfg.Replay != nil && (cfg.Root != "" || cfg.Isolate != "" || cfg.Dir != "" || cfg.ReadOnly || cfg.HostEtc), "files of the host"},
	} {
		if c.not {
			return fmt.Errorf("a run that is recorded or repeated cannot have %s", c.name)
		}
	}
	return nil
}

// recorded is what is to be remembered of the run.
func (r *runner) recorded() recordedRun {
	cfg := r.cfg
	return recordedRun{
		Version: cfg.Record.Version, Rules: CountingRules, Options: cfg.Record.Options,
		Path: syscalls.Text(cfg.guestPath()), Args: syscalls.Texts(cfg.Args), Env: syscalls.Texts(cfg.Env), CPU: r.model.Name, CPUs: cfg.CPUs,
		Caches: cfg.Caches, Network: cfg.Network, Seed: cfg.Seed, SchedSeed: cfg.SchedSeed, Start: cfg.Start, RepOnce: cfg.RepOnce,
	}
}

// ErrNotRecorded is why a run has failed whose program may have done all that it should.
var ErrNotRecorded = errors.New("the run is not recorded")

// startRecording has the kernel record, or take what it needs from a recording.
func (r *runner) startRecording(files *syscalls.FileConfig) (err error) {
	if r.cfg.Record != nil {
		files.Record, err = syscalls.NewRecorder(r.cfg.Record.File)
		r.recorder = files.Record
	}
	if r.cfg.Replay != nil {
		files.Replay = r.cfg.Replay.r
	}
	return err
}

// endRecording completes the recording, or says that the run was not the one that was recorded.
func (r *runner) endRecording(interrupted bool) error {
	if r.recorder != nil {
		if interrupted {
			fmt.Fprintln(r.cfg.log(), "cgemu: the run was interrupted: it is not recorded")
			return r.cfg.Record.File.Truncate(0)
		}
		if err := r.recorder.Finish(r.recorded()); err != nil {
			return fmt.Errorf("%w: %w", ErrNotRecorded, err)
		}
	}
	if r.cfg.Replay != nil {
		if err := r.cfg.Replay.r.NetworkError(); err != nil {
			return err
		}
		if what := r.cfg.Replay.r.Missing(); what != "" {
			return fmt.Errorf("the run left its recording: it asked for %s, and the recorded run did not", what)
		}
	}
	return nil
}

// recordable makes of standard input, where it can be read once only, a file with all that comes from it; piped says
// so.
func (s *streams) recordable(in *os.File) (_ *os.File, piped bool, err error) {
	info, err := in.Stat()
	switch {
	case err != nil, info.Mode().IsRegular(): // closed, or what can be read again
		return in, false, nil
	case info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0:
		f, err := s.spool(in)
		return f, true, err
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return in, false, nil
	}
	return nil, false, errors.New("standard input is neither a file nor a pipe: it cannot be recorded; give a file, or /dev/null")
}

// replay makes standard streams what they were in a recording, but for where output goes.
func (s *streams) replay(r *syscalls.Recording) (err error) {
	closed, err := s.null(os.O_RDONLY)
	if err != nil {
		return err
	}
	closed.Close()
	var in io.Reader
	switch r.System.Stdin.Kind {
	case syscalls.StdinClosed:
		in = closed
	case syscalls.StdinPipe:
		if in = r.Stdin(); in == nil {
			return errors.New("the recording has no standard input")
		}
		s.stdin, err = s.spool(in)
		s.piped = true
		return err
	}
	if s.stdin, err = s.reader(in); err != nil {
		return err
	}
	for _, out := range []struct {
		closed bool
		file   **os.File
	}{{r.System.NoStdout, &s.stdout}, {r.System.NoStderr, &s.stderr}} {
		if out.closed {
			*out.file = closed
		} else if _, gone := (*out.file).Stat(); gone != nil {
			if *out.file, err = s.null(os.O_WRONLY); err != nil {
				return err
			}
		}
	}
	return nil
}
