package dwarfmap

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// padded returns deflated data as inflate wants them.
func padded(deflated []byte) []byte {
	return slices.Concat([]byte{0x78, 0x9c}, deflated, bytes.Repeat([]byte{0xff}, inflatePadding))
}

func deflated(tb testing.TB, data []byte, level int) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	require.NoError(tb, err)
	_, err = w.Write(data)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// inflateAll inflates and is never stopped.
func inflateAll(padded []byte, size int) ([]byte, error) {
	return inflate(padded, size, func() bool { return false })
}

// inflateTexts are of all kinds: few and many symbols, short and long matches, near
// and far ones.
func inflateTexts(tb testing.TB) map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	source, err := os.ReadFile("program.go")
	require.NoError(tb, err)
	program, err := os.ReadFile("testdata/bin/t42_loc")
	require.NoError(tb, err)
	// Symbol i about 1.5 times as often as i+1, for the longest codes.
	skewed := make([]byte, 200000)
	random := make([]byte, 100000)
	for i := range skewed {
		skewed[i] = byte(r.ExpFloat64() * 2.5)
	}
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	return map[string][]byte{
		"none": {}, "one": {'x'}, "zeros": make([]byte, 70000), "pairs": bytes.Repeat([]byte("ab"), 500),
		"skewed": skewed, "random": random, "far": slices.Concat(random[:32768], random[:32768]),
		"source": source, "program": program,
	}
}

func TestInflate(t *testing.T) {
	for name, text := range inflateTexts(t) {
		for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
			data := deflated(t, text, level)
			got, err := inflateAll(padded(data), len(text))
			require.NoError(t, err, "%s, level %d", name, level)
			require.True(t, bytes.Equal(text, got), "%s, level %d", name, level)
			got, err = inflateAll(padded(append(data, 1, 2, 3)), len(text))
			require.NoError(t, err, "%s, level %d, a checksum behind", name, level)
			require.True(t, bytes.Equal(text, got), "%s, level %d, a checksum behind", name, level)

			_, err = inflateAll(padded(data), len(text)+1)
			require.ErrorIs(t, err, errDeflate, "%s, level %d, too short", name, level)
			if len(text) > 0 {
				_, err = inflateAll(padded(data), len(text)-1)
				require.ErrorIs(t, err, errDeflate, "%s, level %d, too long", name, level)
			}
			for n := 0; n < len(data); n += 1 + n/10 {
				_, err = inflateAll(padded(data[:n]), len(text))
				require.ErrorIs(t, err, errDeflate, "%s, level %d, cut at %d of %d", name, level, n, len(data))
			}
		}
	}
}

func TestInflateErrors(t *testing.T) {
	for note, data := range map[string][]byte{
		"empty":             {},
		"no header":         {0x78},
		"not deflate":       {0x77, 0x9f, 3, 0},
		"header's checksum": {0x78, 0x9d, 3, 0},
		"dictionary":        {0x78, 0xbb, 3, 0},
		"third kind":        {0x78, 0x9c, 7, 0},
		"stored, cut":       {0x78, 0x9c, 1, 0, 0},
		"stored, inverse":   {0x78, 0x9c, 1, 0, 0, 0, 0},
		"distance too far":  {0x78, 0x9c, 0x03, 0x02, 0},
		"length 286":        {0x78, 0x9c, 0x1b, 0x03, 0},
		"287 lengths":       {0x78, 0x9c, 0xf5, 0, 0, 0},
	} {
		_, err := inflateAll(append(data, make([]byte, inflatePadding)...), 0)
		require.ErrorIs(t, err, errDeflate, note)
	}
}

// FuzzInflate compares with compress/flate.
func FuzzInflate(f *testing.F) {
	for _, text := range inflateTexts(f) {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, flate.BestSpeed, flate.BestCompression} {
			f.Add(deflated(f, text[:min(len(text), 3000)], level))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1 << 20
		want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), most+1))
		if len(want) > most {
			return
		}
		got, err := inflateAll(padded(data), len(want))
		if wantErr != nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	})
}

// BenchmarkInflate compares with compress/flate.
func BenchmarkInflate(b *testing.B) {
	text, err := os.ReadFile(os.Args[0])
	require.NoError(b, err)
	data := deflated(b, text, flate.DefaultCompression)
	src := padded(data)
	b.Run("reader=ours", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			_, err := inflateAll(src, len(text))
			require.NoError(b, err)
		}
	})
	b.Run("reader=flate", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		got := make([]byte, len(text))
		for b.Loop() {
			_, err := io.ReadFull(flate.NewReader(bytes.NewReader(data)), got)
			require.NoError(b, err)
		}
	})
}
