package sem

import (
	"github.com/cgemu/cgemu/emu/x86"
)

// evexRows are the instructions with an EVEX prefix.
func evexRows() parts {
	return join(evexMoveRows(), evexScalarMoveRows(), evexPackedRows(), evexPermuteRows(), evexFloatRows(), evexFurtherRows())
}

// evexMoveRows are moves, those of memory at many places among them.
func evexMoveRows() rows {
	return rows{
		x86.VMOVUPS: {evex: (*Machine).moveWide}, x86.VMOVUPD: {evex: (*Machine).moveWide},
		x86.VMOVAPS: {evex: (*Machine).moveWide}, x86.VMOVAPD: {evex: (*Machine).moveWide},
		x86.VMOVDQA32: {evex: (*Machine).moveWide}, x86.VMOVDQA64: {evex: (*Machine).moveWide},
		x86.VMOVDQU8: {evex: (*Machine).moveWide}, x86.VMOVDQU16: {evex: (*Machine).moveWide},
		x86.VMOVDQU32: {evex: (*Machine).moveWide}, x86.VMOVDQU64: {evex: (*Machine).moveWide},
		x86.VMOVNTPS: {evex: (*Machine).moveWide}, x86.VMOVNTPD: {evex: (*Machine).moveWide},
		x86.VMOVNTDQ: {evex: (*Machine).moveWide}, x86.VMOVNTDQA: {evex: (*Machine).moveWide},

		x86.VPCOMPRESSD: {evex: (*Machine).compress}, x86.VPCOMPRESSQ: {evex: (*Machine).compress},
		x86.VCOMPRESSPS: {evex: (*Machine).compress}, x86.VCOMPRESSPD: {evex: (*Machine).compress},
		x86.VPEXPANDD: {evex: (*Machine).expand}, x86.VPEXPANDQ: {evex: (*Machine).expand},
		x86.VEXPANDPS: {evex: (*Machine).expand}, x86.VEXPANDPD: {evex: (*Machine).expand},

		x86.VPGATHERDD: {evex: evexGather(4)}, x86.VPGATHERDQ: {evex: evexGather(8)}, x86.VPGATHERQD: {evex: evexGather(4)},
		x86.VPGATHERQQ: {evex: evexGather(8)}, x86.VGATHERDPS: {evex: evexGather(4)}, x86.VGATHERDPD: {evex: evexGather(8)},
		x86.VGATHERQPS: {evex: evexGather(4)}, x86.VGATHERQPD: {evex: evexGather(8)},
		x86.VPSCATTERDD: {evex: evexScatter(4)}, x86.VPSCATTERDQ: {evex: evexScatter(8)}, x86.VPSCATTERQD: {evex: evexScatter(4)},
		x86.VPSCATTERQQ: {evex: evexScatter(8)}, x86.VSCATTERDPS: {evex: evexScatter(4)}, x86.VSCATTERDPD: {evex: evexScatter(8)},
		x86.VSCATTERQPS: {evex: evexScatter(4)}, x86.VSCATTERQPD: {evex: evexScatter(8)},
	}
}
