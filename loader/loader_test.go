package loader

import (
	"encoding/binary"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

func TestLoadStatic(t *testing.T) {
	spec := staticSpec()
	b := spec.build()
	for i := 0x2000; i < 0x3000; i++ {
		b[i] = 0xaa
	}
	m := newSpace(t)
	p, err := Load(m, newFiles(t, map[string][]byte{"a": b}).open, "a", []string{"a"}, nil, Options{})
	require.NoError(t, err)
	assert.EqualValues(t, 0x401000, p.Entry)
	assert.Equal(t, []Image{{Path: "a", Lo: 0x400000, Hi: 0x406000}}, p.Images)
	assert.EqualValues(t, 0x4000000, p.Brk)
	assert.EqualValues(t, 0x4800000, p.BrkLimit)
	data := make([]byte, 0x2000)
	require.Equal(t, len(data), m.Read(0x403100, data))
	for i, x := range data {
		want := byte(0)
		if i < 0x200 {
			want = 0xaa
		}
		if x != want {
			t.Fatalf("byte %#x of data is %#x, want %#x", i, x, want)
		}
	}
	// Below the data, the page shows the file.
	require.Equal(t, 1, m.Read(0x4030ff, data[:1]))
	assert.EqualValues(t, 0xaa, data[0])
	assert.Equal(t, mem.Read|mem.Exec, m.VMA(0x400000).Prot)
	assert.Equal(t, mem.Read|mem.Write, m.VMA(0x404000).Prot)
	assert.Equal(t, mem.Read|mem.Write, m.VMA(mem.StackEnd-1).Prot)
}

func TestLoadDynamic(t *testing.T) {
	interp := pieSpec("")
	fl := newFiles(t, map[string][]byte{"p": pieSpec("ld.so").build(), "ld.so": interp.build()})
	m := newSpace(t)
	p, err := Load(m, fl.open, "p", []string{"p"}, nil, Options{})
	require.NoError(t, err)
	assert.EqualValues(t, 0x4001000, p.Entry)
	require.Len(t, p.Images, 2)
	assert.EqualValues(t, 0x108000, p.Images[0].Lo)
	assert.EqualValues(t, 0x108000, p.Images[0].Bias)
	assert.EqualValues(t, 0x4000000, p.Images[1].Bias)
	assert.True(t, p.Images[1].Interp)
	assert.EqualValues(t, 0x4006000, p.Brk)
	aux := map[uint64]uint64{}
	for _, a := range p.Auxv {
		aux[a.Type] = a.Value
	}
	assert.EqualValues(t, 0x109000, aux[ATEntry])
	assert.EqualValues(t, 0x4000000, aux[ATBase])
	assert.EqualValues(t, 0x108040, aux[ATPhdr])
	assert.EqualValues(t, 4, aux[ATPhnum])
}

// TestStackFixed checks that in the default mode nothing moves when strings grow.
func TestStackFixed(t *testing.T) {
	fl := newFiles(t, map[string][]byte{"a": staticSpec().build(), strings.Repeat("b", 99): staticSpec().build()})
	var sp, arg1 emu.Addr
	for i, n := range []int{0, 1, 15, 63, 64, 100, 4000} {
		m := newSpace(t)
		name, pad := "a", strings.Repeat("x", n)
		if n == 100 {
			name = strings.Repeat("b", 99)
		}
		p, err := Load(m, fl.open, name, []string{name, pad}, []string{"A=" + pad}, Options{})
		require.NoError(t, err)
		a, ok := m.ReadUint64(p.Stack + 16)
		require.True(t, ok)
		if i == 0 {
			sp, arg1 = p.Stack, emu.Addr(a)
		}
		assert.Equal(t, sp, p.Stack)
		assert.Equal(t, arg1%64, emu.Addr(a)%64)
		s, ok := m.ReadString(emu.Addr(a), 1<<20)
		assert.True(t, ok)
		assert.Equal(t, pad, s)
	}
}

// TestStackPacked checks addresses that Valgrind 3.19 gave to a static program, by
//
//	env -i A=1 valgrind.bin --tool=none ./auxv_s
func TestStackPacked(t *testing.T) {
	m := newSpace(t)
	fl := newFiles(t, map[string][]byte{"auxv_s": staticSpec().build()})
	env := []string{"A=1", "LD_PRELOAD=/usr/libexec/valgrind/vgpreload_core-amd64-linux.so"}
	host := []Aux{{ATSysinfoEhdr, 0x7f27db2e9000}, {51, 0xe30}, {ATHwcap, 0x1f8bfbff}}
	for _, typ := range valgrindAuxv[3:] {
		host = append(host, Aux{Type: typ, Value: 2})
	}
	p, err := Load(m, fl.open, "./auxv_s", []string{"./auxv_s"}, env, Options{Compat: true, HostAuxv: host})
	require.NoError(t, err)
	assert.EqualValues(t, 0x1fff000de0, p.Stack)
	word := func(a emu.Addr) uint64 { x, _ := m.ReadUint64(a); return x }
	assert.EqualValues(t, 1, word(0x1fff000de0))
	assert.EqualValues(t, 0x1fff000f93, word(0x1fff000de8))
	assert.EqualValues(t, 0x1fff000f9c, word(0x1fff000df8))
	assert.EqualValues(t, 0x1fff000fa0, word(0x1fff000e00))
	var types []uint64
	at := emu.Addr(0x1fff000e10)
	for ; word(at) != ATNull; at += 16 {
		types = append(types, word(at))
		switch word(at) {
		case ATRandom:
			assert.EqualValues(t, 0x1fff000fdf, word(at+8))
		case ATExecfn:
			assert.EqualValues(t, 0x1fff000fef, word(at+8))
		case ATPlatform:
			assert.EqualValues(t, 0x1fff000ff8, word(at+8))
		case ATHwcap:
			assert.EqualValues(t, 0x1f8bfbff, word(at+8))
		}
	}
	assert.Equal(t, []uint64{1, 1, 16, 6, 17, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 23, 25, 1, 31, 15, 1, 1}, types)
	assert.EqualValues(t, 0x1fff000f70, at)
}

// TestMinSigStack has AT_MINSIGSTKSZ where it is asked for, and nowhere else.
func TestMinSigStack(t *testing.T) {
	find := func(size uint64) (values []uint64) {
		for _, a := range auxvFor(auxInfo{}, Options{MinSigStack: size}) {
			if a.Type == ATMinSigStack {
				values = append(values, a.Value)
			}
		}
		return values
	}
	assert.Equal(t, []uint64{3632}, find(3632))
	assert.Empty(t, find(0))
}

func TestScripts(t *testing.T) {
	long := "#!/" + strings.Repeat("x", 300)
	fl := newFiles(t, map[string][]byte{
		"prog": staticSpec().build(), "s1": []byte("#!prog\n"), "s2": []byte("#! \tprog  foo bar \t\nrest"), "s3": []byte("#!s2\n"),
		"s4": []byte("#!s3 x"), "loop": []byte("#!loop\n"), "none": []byte("#!nothere\n"), "empty": []byte("#! \n"), "long": []byte(long), "zero": []byte("#! \x00\n"),
		"open": []byte("#!prog " + strings.Repeat("y", 300)), "blanks": []byte("#!prog" + strings.Repeat(" ", 300) + "z\n"), "zeroarg": []byte("#!prog \x00z\n"),
	})
	for _, tt := range []struct {
		name string
		argv []string
		err  error
	}{
		{"s1", []string{"prog", "s1", "A"}, nil},
		{"s2", []string{"prog", "foo bar", "s2", "A"}, nil},
		{"s3", []string{"prog", "foo bar", "s2", "s3", "A"}, nil},
		{"s4", []string{"prog", "foo bar", "s2", "s3", "x", "s4", "A"}, nil},
		{"loop", nil, ErrLoop},
		{"none", nil, fs.ErrNotExist},
		{"empty", nil, ErrFormat},
		{"zero", nil, fs.ErrPermission},
		{"open", []string{"prog", strings.Repeat("y", 248), "open", "A"}, nil},
		{"blanks", []string{"prog", "blanks", "A"}, nil},
		{"zeroarg", []string{"prog", "", "zeroarg", "A"}, nil},
		{"long", nil, ErrFormat},
		{"missing", nil, fs.ErrNotExist},
	} {
		p, err := Load(newSpace(t), fl.open, tt.name, []string{"argv0", "A"}, nil, Options{})
		if tt.err != nil {
			assert.ErrorIs(t, err, tt.err, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.argv, p.Argv)
	}
}

func TestRefused(t *testing.T) {
	with := func(f func(s *elfSpec)) []byte { s := staticSpec(); f(&s); return s.build() }
	patch := func(off int, b ...byte) []byte { x := staticSpec().build(); copy(x[off:], b); return x }
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "is empty"},
		{"text", []byte("hello, world\n"), "is text without a #! line"},
		{"pe", []byte("MZ\x90\x00"), "Windows"},
		{"macho", []byte("\xcf\xfa\xed\xfe\x07\x00\x00\x01"), "Mach-O"},
		{"wasm", []byte("\x00asm\x01\x00\x00\x00"), "WebAssembly"},
		{"binary", []byte{0, 1, 2, 3, 4}, "is not an ELF file"},
		{"arm", with(func(s *elfSpec) { s.machine = 40 }), "32-bit ARM"},
		{"aarch64", with(func(s *elfSpec) { s.machine = 183 }), "aarch64"},
		{"i386", patch(4, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0), "32-bit x86"},
		{"x32", patch(4, 1), "x32"},
		{"s390x", patch(4, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 22), "IBM Z"},
		{"object", with(func(s *elfSpec) { s.typ = 1 }), "object file"},
		{"core", with(func(s *elfSpec) { s.typ = 4 }), "core dump"},
		{"type", with(func(s *elfSpec) { s.typ = 9 }), "ELF type 9"},
		{"short", staticSpec().build()[:40], "truncated"},
		{"cut", staticSpec().build()[:0x2200], "truncated: segment 1"},
		{"nophdr", patch(56, 0, 0), "no program headers"},
		{"phentsize", patch(54, 57, 0), "program headers of 57 bytes"},
		{"phnum", patch(56, 0xff, 0xff), "65535 program headers"},
		{"phoff", patch(32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "truncated: program headers"},
		{"overlap", with(func(s *elfSpec) { s.segs[1].vaddr = 0x400100 }), "overlaps"},
		{"order", with(func(s *elfSpec) { s.segs[1].vaddr = 0x300100 }), "overlaps or precedes"},
		{"huge", with(func(s *elfSpec) { s.segs[1].memsz = 1 << 62 }), "outside the address space"},
		{"wrap", with(func(s *elfSpec) { s.segs[1].memsz = 1<<64 - 0x1000 }), "outside the address space"},
		{"filesz", with(func(s *elfSpec) { s.segs[1].memsz = 1 }), "bytes of file"},
		{"unaligned", with(func(s *elfSpec) { s.segs[1].off = 0x2101 }), "differ within a page"},
		{"low", with(func(s *elfSpec) { s.segs[0].vaddr = 0 }), "mmap_min_addr"},
		{"stack", with(func(s *elfSpec) { s.segs[0].vaddr, s.segs[1].vaddr = 0x1ffeff0000, 0x1fff000100 }), "where its stack must be"},
		{"noload", with(func(s *elfSpec) { s.segs = s.segs[2:] }), "no segment to load"},
		{"nointerp", pieSpec("/lib64/nothere.so").build(), "needs the interpreter /lib64/nothere.so, which does not exist"},
		{"badinterp", pieSpec("text").build(), "interpreter: text: is text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fl := newFiles(t, map[string][]byte{tt.name: tt.file, "text": []byte("hello")})
			_, err := Load(newSpace(t), fl.open, tt.name, []string{"x"}, nil, Options{})
			require.ErrorContains(t, err, tt.want)
			assert.True(t, strings.HasPrefix(err.Error(), "loader: "+tt.name+": "), err.Error())
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestArgsTooLong(t *testing.T) {
	fl := newFiles(t, map[string][]byte{"a": staticSpec().build()})
	_, err := Load(newSpace(t), fl.open, "a", []string{"a", strings.Repeat("x", MaxArg)}, nil, Options{})
	assert.ErrorIs(t, err, ErrArgs)
	var many []string
	for range 17 {
		many = append(many, strings.Repeat("x", MaxArg-1))
	}
	_, err = Load(newSpace(t), fl.open, "a", []string{"a"}, many, Options{})
	assert.ErrorIs(t, err, ErrArgs)
	_, err = Load(newSpace(t), fl.open, "a", []string{"a"}, many[:10], Options{})
	assert.NoError(t, err)
}

// TestMutated loads files with random damage: an error or a program, never a panic.
func TestMutated(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seeds := [][]byte{staticSpec().build(), pieSpec("ld").build(), pieSpec("").build()}
	fl := newFiles(t, map[string][]byte{"ld": pieSpec("").build()})
	loaded := 0
	for range 1000 {
		b := append([]byte(nil), seeds[rng.IntN(len(seeds))]...)
		for range 1 + rng.IntN(4) {
			off := rng.IntN(64 + 4*56)
			switch rng.IntN(4) {
			case 0:
				b[off] = byte(rng.Uint32())
			case 1:
				b[off] ^= 1 << rng.IntN(8)
			case 2:
				binary.LittleEndian.PutUint64(b[off:], rng.Uint64()>>rng.IntN(64))
			case 3:
				b = b[:rng.IntN(len(b))]
				b = append(b, make([]byte, max(0, 64+4*56+8-len(b)))...)
			}
		}
		if loadBytes(t, fl, b) == nil {
			loaded++
		}
	}
	t.Logf("%d of 1000 loaded", loaded)
}

func loadBytes(t testing.TB, fl files, b []byte) error {
	require.NoError(t, os.WriteFile(filepath.Join(fl.dir, "p"), b, 0o755))
	m, err := mem.New()
	if err != nil {
		t.Skip(err)
	}
	defer m.Close()
	_, err = Load(m, fl.open, "p", []string{"p"}, nil, Options{})
	return err
}

func FuzzLoad(f *testing.F) {
	f.Add(staticSpec().build())
	f.Add(pieSpec("ld").build())
	f.Add([]byte("#!ld x\n"))
	fl := newFiles(f, map[string][]byte{"ld": pieSpec("").build()})
	f.Fuzz(func(t *testing.T, b []byte) { loadBytes(t, fl, b) })
}

// TestCompiled loads what compilers make.
func TestCompiled(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "h.c")
	require.NoError(t, os.WriteFile(src, []byte("int x[5000]; int y=1; int main(void){return x[0]+y;}\n"), 0o644))
	for _, tt := range []struct {
		cc     string
		flags  []string
		images int
	}{
		{"gcc", nil, 2},
		{"gcc", []string{"-no-pie"}, 2},
		{"gcc", []string{"-static"}, 1},
		{"gcc", []string{"-static-pie"}, 1},
		{"gcc", []string{"-static", "-Wl,-z,noseparate-code"}, 1},
		{"gcc", []string{"-static", "-Wl,-z,execstack"}, 1},
		{"musl-gcc", []string{"-static"}, 1},
		{"musl-gcc", nil, 2},
	} {
		t.Run(tt.cc+strings.Join(tt.flags, ""), func(t *testing.T) {
			if _, err := exec.LookPath(tt.cc); err != nil {
				t.Skip(err)
			}
			out := filepath.Join(t.TempDir(), "h")
			if msg, err := exec.Command(tt.cc, append(tt.flags, "-o", out, src)...).CombinedOutput(); err != nil {
				t.Skipf("%v: %s", err, msg)
			}
			m := newSpace(t)
			p, err := Load(m, hostOpener, out, []string{out}, nil, Options{})
			require.NoError(t, err)
			assert.Len(t, p.Images, tt.images)
			assert.NotZero(t, m.VMA(p.Entry).Prot&mem.Exec)
			exec := strings.Contains(strings.Join(tt.flags, ""), "execstack")
			assert.Equal(t, exec, m.VMA(p.Stack).Prot&mem.Exec != 0)
		})
	}
}
