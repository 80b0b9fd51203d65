package enginetest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestRecorded compares the interpreter, on any host, with what CPUs left that were recorded: all forms of
// instructions.
func TestRecorded(t *testing.T) {
	tested := 0
	for _, kind := range []struct {
		vendor vendor
		wide   bool
	}{{intel, false}, {amd, false}, {intel, true}, {amd, true}} {
		rec, err := readRecording(kind.vendor, kind.wide)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		file := recordingFile(kind.vendor, kind.wide)
		require.NoError(t, err, file)
		tested++
		for _, u := range interpreters {
			if kind.wide {
				u.model = u.wide
			}
			t.Run(filepath.Base(file)+"/"+u.name, func(t *testing.T) { compareRecorded(t, rec, u) })
		}
	}
	files, err := filepath.Glob("testdata/recorded-*")
	require.NoError(t, err)
	require.Len(t, files, tested)
	require.NotZero(t, tested)
}

func compareRecorded(t *testing.T, rec *recording, u engineUnderTest) {
	bad := map[string]int{}
	compared := 0
	m := newEmulated(t, u, u.model(t), rec.images, rec.ro)
	got := make([]outcome, recordedBatch)
	rec.batches(func(cases []recordedCase, b *batch) {
		m.run(b, got)
		for i := range cases {
			c := &cases[i]
			tc, err := c.testCase()
			require.NoError(t, err)
			want := rec.outcome(c)
			if strays(&want, &got[i]) || !u.allows(rec.vendor, tc, &want, &got[i]) {
				continue
			}
			compared++
			asVendor(rec.vendor, tc, &c.start, &want, &got[i])
			if d := compare(tc, &c.start, &want, &got[i]); d != "" {
				if bad[tc.inst.Op.String()]++; bad[tc.inst.Op.String()] == 1 {
					t.Errorf("%v: %s", tc, d)
				}
			}
		}
	})
	require.Empty(t, bad, "cases that differ, by instruction")
	require.Greater(t, 100*compared, 97*rec.number, "too few cases were compared")
	t.Logf("%d of %d cases of %s compared", compared, rec.number, rec.cpu)
}

// TestTornRecording writes a recording, reads it, and cuts it off everywhere: that is an error.
func TestTornRecording(t *testing.T) {
	s := nativeState{World: 1}
	s.Regs[3] = 7
	c := recordedCase{code: []byte{0x90}, start: s}
	c.start.RIP = worlds[1]
	c.end.state = s
	c.end.state.World = 0
	c.end.state.RIP = c.start.RIP + 1
	c.end.state.Regs[5] = 0x1234567890
	r := recording{cpu: "a CPU", images: make([]byte, numImages*dumpSize), ro: make([]byte, 4096), states: []nativeState{s}}
	start := bytes.Clone(r.startMemory(&c.start))
	c.end.dump = bytes.Clone(start)
	c.end.dump[4711] = 1
	c.memory = appendChanges(nil, start, c.end.dump)
	c.end.fault = emu.Fault{Vector: emu.VecPF, Addr: 5, Write: true}
	r.cases = []recordedCase{c}
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("testdata", 0o755))
	read := func(b []byte) (*recording, error) {
		require.NoError(t, os.WriteFile(recordingFile(amd, false), b, 0o644))
		return readRecording(amd, false)
	}
	whole, err := r.encode()
	require.NoError(t, err)
	back, err := read(whole)
	require.NoError(t, err)
	require.True(t, slices.Equal(r.states, back.states))
	require.True(t, c.start == back.cases[0].start)
	end := back.outcome(&back.cases[0])
	require.True(t, c.end.state == end.state && bytes.Equal(c.end.dump, end.dump))
	require.Equal(t, c.end.fault, end.fault)
	for n := range whole {
		_, err := read(whole[:n])
		require.Error(t, err)
	}
	content := bytes.TrimPrefix(r.content(), []byte(recordingMagic))
	for n := range content {
		if n < 100 || n > len(content)-2*(coreSize+emu.XAVXSize) || n%1000 == 0 { // of the images few suffice
			require.PanicsWithValue(t, errTorn, func() { decodeRecording(amd, false, &recordingReader{content[:n]}) })
		}
	}
}
