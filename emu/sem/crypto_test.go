package sem

import (
	"crypto/aes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// expandKey makes the eleven round keys of AES-128, as programs do with AESKEYGENASSIST.
func expandKey(key [16]byte) (keys [11]lane) {
	keys[0] = laneOf(&key)
	constant := byte(1)
	for i := range keys[1:] {
		mixed := assistKey(keys[i], constant).high >> 32 // column 3, through the S-box and rotated
		var columns [4]uint64
		for k := range columns {
			mixed ^= keys[i].dword(uint8(k))
			columns[k] = mixed
		}
		keys[i+1] = lane{columns[0] | columns[1]<<32, columns[2] | columns[3]<<32}
		constant = multiplyGF(constant, 2)
	}
	return keys
}

// TestAES encrypts and decrypts blocks with rounds, and compares with crypto/aes.
func TestAES(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var key, block, want [16]byte
		for i := range key {
			key[i], block[i] = byte(r.Uint32()), byte(r.Uint32())
		}
		cipher, err := aes.NewCipher(key[:])
		require.NoError(t, err)
		cipher.Encrypt(want[:], block[:])

		keys := expandKey(key)
		state := xorLanes(laneOf(&block), keys[0])
		for _, k := range keys[1:10] {
			state = encryptRound(state, k)
		}
		state = encryptLast(state, keys[10])
		require.Equal(t, want, state.bytes())

		state = xorLanes(state, keys[10])
		for i := 9; i > 0; i-- {
			state = decryptRound(state, unmixColumns(keys[i]))
		}
		require.Equal(t, block, decryptLast(state, keys[0]).bytes())
	}
}

// TestMultiplyCarryless compares with the product made bit by bit.
func TestMultiplyCarryless(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		a, b := lane{r.Uint64(), r.Uint64()}, lane{r.Uint64(), r.Uint64()}
		imm := uint8(r.Uint32())
		x, y := [2]uint64{a.low, a.high}[imm&1], [2]uint64{b.low, b.high}[imm>>4&1]
		var want lane
		for i := range 128 {
			var bit uint64
			for k := max(0, i-63); k <= min(i, 63); k++ {
				bit ^= x >> k & (y >> (i - k)) & 1
			}
			if i < 64 {
				want.low |= bit << i
			} else {
				want.high |= bit << (i - 64)
			}
		}
		require.Equal(t, want, multiplyCarryless(a, b, imm))
	}
}

// TestCRC32 makes the checksum of a text by pieces of all sizes.
func TestCRC32(t *testing.T) {
	text := []byte("The quick brown fox jumps over the lazy dog, and what the dog makes of it")
	want := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
	for _, test := range []struct {
		size int
		code []byte
	}{
		{1, []byte{0xf2, 0x0f, 0x38, 0xf0, 0xc3}}, {2, []byte{0x66, 0xf2, 0x0f, 0x38, 0xf1, 0xc3}},
		{4, []byte{0xf2, 0x0f, 0x38, 0xf1, 0xc3}}, {8, []byte{0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xc3}},
	} {
		c := emu.NewCPU()
		step := func(code []byte, piece []byte) {
			var g guest.Insn
			require.NoError(t, x86.Decode(code, &g.Inst))
			var b [8]byte
			copy(b[:], piece)
			c.Regs[emu.RBX] = binary.LittleEndian.Uint64(b[:])
			require.Nil(t, Of(&g)(nil, c, &g))
		}
		c.Regs[emu.RAX] = 0xffffffff
		rest := text
		for ; len(rest) >= test.size; rest = rest[test.size:] {
			step(test.code, rest[:test.size])
		}
		for _, b := range rest {
			step([]byte{0xf2, 0x0f, 0x38, 0xf0, 0xc3}, []byte{b})
		}
		require.Equal(t, uint64(^want), c.Regs[emu.RAX], "%d bytes at once", test.size)
	}
}
