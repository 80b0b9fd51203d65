package dwarfmap

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What c++filt -i prints; TestOracleDemangle compares far more.
func TestDemangled(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"main", "main"},
		{"_Z", "_Z"},
		{"_Zfoo", "_Zfoo"},
		{"_Z3foov", "foo()"},
		{"_Z3fooi.cold", "foo(int) [clone .cold]"},
		{"_ZN1aC1Ev", "a::a()"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_Z1fIJEEvDpT_", "void f<>()"},
		{"_ZSt12__get_helperILm1EiJEERT0_RSt11_Tuple_implIXT_EJS0_DpT1_EE",
			"int& std::__get_helper<1ul, int>(std::_Tuple_impl<1ul, int>&)"},
		{"_Z1fN1aI1bI1cJEEJEEE", "f(a<b<c>>)"},
		{"_Z1fN1aI1bI1cEEE", "f(a<b<c> >)"},
		{"_ZN7DerivedCI14BaseEi", "Derived::Base(int)"},
		// Rust, legacy.
		{"_ZN3foo3bar17h05af221e174051e9E", "foo::bar"},
		{"_ZN3foo3bar17h05af221e174051e9E.llvm.123", "foo::bar"},
		{"_ZN3foo3bar17h0000000000000000E", "foo::bar::h0000000000000000"},
		{"_ZN49_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$a..B$GT$3pop17h05af221e174051e9E",
			"<alloc::vec::Vec<T> as a::B>::pop"},
		{"_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17hb12ac75f187c2ba6E",
			"core::ops::function::FnOnce::call_once{{vtable.shim}}"},
		{"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17hb9ccf8bcc7cba902E",
			"std::sys::backtrace::__rust_begin_short_backtrace"},
		// Rust, version 0.
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RNvCs1234_7mycrate3foo.llvm.7", "mycrate::foo"},
		{"_RNCNvC7mycrate3foos_0", "mycrate::foo::{closure#1}"},
		{"_RNvMNtC7mycrate3fooNtB2_3Bar3new", "<mycrate::foo::Bar>::new"},
		{"_RNvXC1aNtB2_1SNtB2_1T1f", "<a::S as a::T>::f"},
		{"_RINvC1a1fmRhOyTlEAbj3_E", "a::f::<u32, &u8, *mut u64, (i32,), [bool; 3]>"},
		{"_RINvC1a1fFG_RL0_hEuE", "a::f::<for<'a> fn(&'a u8)>"},
		{"_RINvC1a1fDNtB2_1Tp1AhEL_E", "a::f::<dyn a::T<A = u8>>"},
		{"_RINvC1a1fKb1_Kc41_Kln5_KpE", "a::f::<true, 'A', -5, _>"},
		{"_RNvC1au8gdel_5qa", "a::gödel"},
		{"_RINvC1a1fKo0123456789abcdef_E", "a::f::<81985529216486895>"},
		{"_RINvC1a1fKo0123456789abcdef01_E", "a::f::<0x123456789abcdef01_>"}, // libiberty's slip
		{"_RNvC1a", "_RNvC1a"},
		{"_RNvB_1f", "_RNvB_1f"},
		// The library panics.
		{"_Zcv1AIUlTyT_E_UlTyT_E_UlTyT_E_UlTyT_E_UlTyT_E_UlTyT_E_EIS_S_E", "_Zcv1AIUlTyT_E_UlTyT_E_UlTyT_E_UlTyT_E_UlTyT_E_UlTyT_E_EIS_S_E"},
		{"_R" + strings.Repeat("Nv", 3000), "_R" + strings.Repeat("Nv", 3000)},
	} {
		require.Equal(t, tt.want, new(effort).demangled(tt.name), tt.name)
	}
}

func FuzzDemangled(f *testing.F) {
	for _, s := range []string{"_RINvC1a1fFG_RL0_hEuE", "_RNvC1au8gdel_5qa", "_ZN3foo3bar17h05af221e174051e9E", "_Z1fN1aI1bI1cJEEJEEE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var e effort
		require.NotContains(t, strings.ReplaceAll(e.demangled(s), s, ""), emptyPack)
		require.LessOrEqual(t, e.taken, 4*maxDemangled)
	})
}

// manglingPieces are pieces of mangled names, of C++ and of Rust.
var manglingPieces = []string{
	"_Z", "_R", "1A", "1f", "N", "I", "E", "P", "S_", "S0_", "S1_", "S2_", "S9_", "SA_", "T_", "T0_", "cv", "cvT_", "X", "L_Z", "Li1E", "J", "Dp", "sr", "St", "Sa",
	"i", "v", "K", "R", "O", "F", "M", "A1_", "UlTyT_E_", "DTT_E", "C1", "D0", "B1x", "Z", "E_0", "GV", "TV", "pl", "ad", "qu", "cl", "sZ", "sp", "tw", "nw",
	"Nv", "C1a", "B_", "B0_", "B1_", "B2_", "B9_", "T", "FG_", "FGz_", "u", "j", "Kj1_", "KB_", "D", "L_", "Y", "17h05af221e174051e9E", "u3a_b", "$RF$",
}

// FuzzManglings puts pieces together: single characters rarely make names that refer to their own parts.
func FuzzManglings(f *testing.F) {
	f.Add([]byte{0, 3, 2, 5, 30, 6, 5, 8, 8, 6})
	f.Add([]byte{1, 5, 55, 53, 3, 62, 30, 58, 58, 6, 6})
	f.Add([]byte("\x00\x10\x02\x05iiiiii\x06\x05\b\b\x06"))
	f.Fuzz(func(t *testing.T, pieces []byte) {
		var b strings.Builder
		for _, p := range pieces {
			b.WriteString(manglingPieces[int(p)%len(manglingPieces)])
		}
		var e effort
		e.demangled(b.String())
		require.LessOrEqual(t, e.taken, 4*maxDemangled)
	})
}
