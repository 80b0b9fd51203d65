//go:build linux && amd64

package jit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// parts are the parts of the state block: where they begin, and their sizes.
var parts = map[string][2]int{
	"stRegs": {stRegs, 16 * 8}, "stRIP": {stRIP, 8}, "stFlags": {stFlags, 8}, "stFSBase": {stFSBase, 8}, "stGSBase": {stGSBase, 8}, "stFP": {stFP, 8},
	"stHostSP": {stHostSP, 8}, "stHostBP": {stHostBP, 8}, "stShadow": {stShadow, 8}, "stSavedBias": {stSavedBias, 8}, "stNowhere": {stNowhere, 8},
	"stJumpTable": {stJumpTable, 8}, "stBase": {stBase, 8}, "stNegBase": {stNegBase, 8}, "stExit": {stExit, 8}, "stTarget": {stTarget, 8},
	"stSlots": {stSlots, 5 * 8}, "stInGuest": {stInGuest, 8}, "stSigNo": {stSigNo, 8}, "stSigCode": {stSigCode, 8}, "stSigAddr": {stSigAddr, 8},
	"stSigRIP": {stSigRIP, 8}, "stSigErr": {stSigErr, 8}, "stSigTrap": {stSigTrap, 8}, "stCodeLo": {stCodeLo, 8}, "stCodeHi": {stCodeHi, 8},
	"stFaultExit": {stFaultExit, 8}, "stBudget": {stBudget, 8}, "stHostMXCSR": {stHostMXCSR, 8}, "stSlotCount": {stSlotCount, 8}, "stHistory": {stHistory, 8},
	"stSimRSP": {stSimRSP, 8}, "stSpill": {stSpill, 16 * 8}, "stClock": {stClock, 8}, "stFrame": {stFrame, 8}, "stFrom": {stFrom, 4}, "stOrigin": {stOrigin, 4},
	"stToNowhere": {stToNowhere, 8}, "stBack": {stBack, 8}, "stBehind": {stBehind, 8}, "stCounts": {stCounts, 8}, "stStackLo": {stStackLo, 8},
	"stStackHi": {stStackHi, 8}, "stX87": {stX87, 8}, "stTick": {stTick, 8}, "stD1Directory": {stD1Directory, 8}, "stLLDirectory": {stLLDirectory, 8},
	"stElements": {stElements, 8 * 8}, "stGiven": {stGiven, 8}, "stElement": {stElement, 8}, "stCounted": {stCounted, 8}, "stLimit": {stLimit, 8},
	"stTakenBit": {stTakenBit, 8}, "stAsked": {stAsked, 8}, "stAnswer": {stAnswer, 4 * 4}, "stTimeBefore": {stTimeBefore, 8}, "stX87Left": {stX87Left, 8},
	"stX87Saved": {stX87Saved, 8}, "stTouched": {stTouched, touchedPages}, "stApproximations": {stApproximations, 8}, "stLanes": {stLanes, 8 * 4}, "stX87Control": {stX87Control, 8}, "stX87Back": {stX87Back, 8}, "stX87Operands": {stX87Operands, 2 * 16},
	"stX87Rests": {stX87Rests, 2 * 8}, "stSigExit": {stSigExit, 8}, "stX87Regs": {stX87Regs, 13 * 8}, "stX87Routines": {stX87Routines, 8 * len(x87Functions)}, "stXMM15": {stXMM15, 16}, "stSimStack": {stSimStack - 0x300, 0x300},
	"stMeters": {stMeters, meters * 8}, "stSteps": {stSteps, 16 * (2*maxStep + 1)}, "stRefine": {stRefine, 4 * refineWords}, "stQuiet": {stQuiet, quietWords * 8}, "stTotals": {stTotals, 8 * allLanes * totalParts},
}

// TestStateBlock gives each part of the state block a place of its own.
func TestStateBlock(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "state.go", nil, 0)
	require.NoError(t, err)
	named := 0
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		for i := 0; ok && i < len(g.Specs); i++ {
			v, ok := g.Specs[i].(*ast.ValueSpec)
			if name := v.Names[0].Name; ok && strings.HasPrefix(name, "st") {
				require.Contains(t, parts, name)
				named++
			}
		}
	}
	require.Len(t, parts, named)
	owner := map[int]string{}
	for name, p := range parts {
		require.LessOrEqual(t, p[0]+p[1], stateSize, name)
		for off := p[0]; off < p[0]+p[1]; off++ {
			require.Empty(t, owner[off], "%s is at %#x, too", name, off)
			owner[off] = name
		}
	}
}
