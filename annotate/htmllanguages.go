package annotate

import (
	"strings"
	"sync"
)

// A syntax says how the tokens of a language look.
type syntax struct {
	endings string // of files
	begins  [][]mark
	letters string // of words, beside letters, digits and _

	// Words: keywords, types, what the language gives names to.
	keywords, types, builtins string

	prefixes string // words directly before a string or character that belong to it, in blanks
	suffix   string // of types: _t
	digits   string // what separates digits beside _, or belongs to numbers

	fold      bool // capitals do not matter
	calls     bool // a word in front of ( is a call, a word behind a dot a member
	spaced    bool // a call may have a blank before the parenthesis, as GNU's style has it
	capitals  bool // types have capitals: Vec, but not MAX
	macros    bool // name! is a call
	mnemonics bool // the first word of a line is an instruction

	// Made of these by syntaxes.
	marked *[256][]mark // by the first byte
	isWord [256]bool
	words  map[string]byte
}

// A mark begins a token that is neither word nor number, and says where it ends.
type mark struct {
	open, close string // close "": at the end of the line
	kind        byte
	how         how
	nest        string                        // what opens it again within it
	when        func(text string, i int) bool // nil: anywhere
	names       string                        // of named: only these, in blanks

	// A fence of these characters stands between open and begin, and again
	// between close and last: r##"…"##.
	fence, begin, last string
}

type how int

const (
	escapes   how = 1 << iota // a backslash takes the next character with it
	lines                     // it may go beyond lines; without, a line's end ends it
	character                 // one character, perhaps escaped
	named                     // the mark, blanks, a word
	document                  // the mark and a word that, on a line of its own, ends a here-document
	alone                     // nothing but the mark
	twice                     // two parts: s/a/b/
)

// syntaxes returns the syntaxes by the endings of files. They are made when the
// first is needed: a program that starts should not wait for them.
var syntaxes = sync.OnceValue(func() map[string]*syntax {
	all := map[string]*syntax{}
	for i := range syntaxList {
		s := &syntaxList[i]
		for _, ending := range strings.Fields(s.endings) {
			all["."+ending] = s
		}
		s.marked = new([256][]mark)
		for c := range 256 {
			letter := byte(c) | 0x20 - 'a'
			s.isWord[c] = c >= 0x80 || letter < 26 || isDigit(byte(c)) || c == '_' || strings.IndexByte(s.letters, byte(c)) >= 0
		}
		for _, list := range s.begins {
			for _, m := range list {
				s.marked[m.open[0]] = append(s.marked[m.open[0]], m)
			}
		}
		s.words = map[string]byte{}
		for i, words := range []string{s.keywords, s.types, s.builtins} {
			for _, w := range strings.Fields(words) {
				s.words[w] = "ktb"[i]
			}
		}
	}
	return all
})

// first reports whether only blanks are before i on its line.
func first(text string, i int) bool {
	before := strings.TrimRight(text[:i], " \t")
	return atStart(before, len(before))
}

func atStart(text string, i int) bool { return i == 0 || text[i-1] == '\n' }

// instruction reports whether only a label and blanks are before i on its line.
func instruction(text string, i int) bool {
	before := strings.TrimRight(text[:i], " \t")
	return atStart(before, len(before)) || len(before) < i && before[len(before)-1] == ':'
}

// apart reports whether a word could begin at i in a shell.
func apart(text string, i int) bool {
	return i == 0 || strings.IndexByte(" \t\n;|&(=`", text[i-1]) >= 0
}

// included reports whether the name of a header is at i.
func included(text string, i int) bool {
	before := strings.TrimRight(text[:i], " \t")
	word := strings.TrimRight(before, "_abcdefghijklmnopqrstuvwxyz")
	switch before[len(word):] {
	case "include", "include_next", "import":
		return strings.HasSuffix(strings.TrimRight(word, " \t"), "#")
	}
	return false
}

// expected reports whether a regular expression may be at i: a slash is a division
// behind an operand.
func expected(text string, i int) bool {
	before := strings.TrimRight(text[:i], " \t\r\n")
	return before == "" || strings.IndexByte("(,=:[!&|?{};~+-*%<>", before[len(before)-1]) >= 0 || strings.HasSuffix(before, "return")
}

// Marks that languages share.
var (
	slashes   = []mark{{open: "//", kind: 'c'}, {open: "/*", close: "*/", kind: 'c', how: lines}}
	nested    = []mark{{open: "//", kind: 'c'}, {open: "/*", close: "*/", kind: 'c', how: lines, nest: "/*"}}
	quotes    = []mark{{open: `"`, close: `"`, kind: 's', how: escapes}}
	longer    = []mark{{open: `"`, close: `"`, kind: 's', how: escapes | lines}}
	ticks     = []mark{{open: "'", close: "'", kind: 's', how: escapes}}
	runes     = []mark{{open: "'", close: "'", kind: 's', how: escapes | character}}
	lifetimes = []mark{{open: "'", kind: 'p', how: named}}
	backticks = []mark{{open: "`", close: "`", kind: 's', how: lines}}
	triple    = []mark{{open: `"""`, close: `"""`, kind: 's', how: escapes | lines}}
	rawTriple = []mark{{open: `"""`, close: `"""`, kind: 's', how: lines}}
	hash      = []mark{{open: "#", kind: 'c'}}
	directive = []mark{{open: "#", kind: 'p', how: named, when: first}}
	at        = []mark{{open: "@", kind: 'p', how: named}}

	// A backslash at the end of a line joins the next to a comment, too. What
	// is behind #define is as elsewhere.
	cMarks = []mark{
		{open: "//", kind: 'c', how: escapes}, {open: "/*", close: "*/", kind: 'c', how: lines},
		{open: "#", kind: 'p', how: named, when: first}, {open: "<", close: ">", kind: 's', when: included},
	}
	rawC = []mark{fenced(`R"`), fenced(`LR"`), fenced(`uR"`), fenced(`UR"`), fenced(`u8R"`)}

	rustMarks = []mark{
		{open: "#[", kind: 'p', how: named}, {open: "#![", kind: 'p', how: named},
		hashed("r"), hashed("br"), hashed("cr"),
	}
	swiftMarks = []mark{
		{open: "#", fence: "#", begin: `"""`, close: `"""`, last: "#", kind: 's', how: lines},
		{open: "#", fence: "#", begin: `"`, close: `"`, last: "#", kind: 's'},
		{open: "#", kind: 'p', how: named},
	}
	dMarks = []mark{
		{open: "/+", close: "+/", kind: 'c', how: lines, nest: "/+"},
		{open: `r"`, close: `"`, kind: 's', how: lines},
		{open: `q"(`, close: `)"`, kind: 's', how: lines}, {open: `q"[`, close: `]"`, kind: 's', how: lines},
		{open: `q"{`, close: `}"`, kind: 's', how: lines}, {open: `q"<`, close: `>"`, kind: 's', how: lines},
		{open: `q"`, fence: fence, begin: "\n", close: "\n", last: `"`, kind: 's', how: lines},
	}
	sharpMarks = []mark{
		{open: `@"`, close: `"`, kind: 's', how: lines}, {open: `$@"`, close: `"`, kind: 's', how: lines},
		{open: `@$"`, close: `"`, kind: 's', how: lines},
	}
	pascalMarks = []mark{
		{open: "//", kind: 'c'}, {open: "{$", close: "}", kind: 'p', how: lines},
		{open: "{", close: "}", kind: 'c', how: lines}, {open: "(*", close: "*)", kind: 'c', how: lines},
		{open: "'", close: "'", kind: 's'}, {open: "$", kind: 'n', how: named}, {open: "#", kind: 's', how: named},
	}
	ocamlMarks = []mark{
		{open: "(*", close: "*)", kind: 'c', how: lines, nest: "(*"},
		{open: "{", fence: "abcdefghijklmnopqrstuvwxyz_", begin: "|", close: "|", last: "}", kind: 's', how: lines},
	}
	haskellMarks = []mark{
		{open: "{-#", close: "#-}", kind: 'p', how: lines}, {open: "{-", close: "-}", kind: 'c', how: lines, nest: "{-"},
		{open: "--", kind: 'c'}, {open: "#", kind: 'p', how: named, when: atStart, names: " if ifdef ifndef else elif endif define undef include "},
	}
	fortranMarks = []mark{
		{open: "#", kind: 'p', how: named, when: atStart}, {open: "!", kind: 'c'},
		{open: `"`, close: `"`, kind: 's'}, {open: "'", close: "'", kind: 's'},
		{open: ".", kind: 'k', how: named, names: " and or not eqv neqv eq ne lt le gt ge AND OR NOT EQV NEQV EQ NE LT LE GT GE "},
		{open: ".", kind: 'b', how: named, names: " true false TRUE FALSE "},
	}
	fixedMarks = []mark{
		{open: "C", kind: 'c', when: atStart}, {open: "c", kind: 'c', when: atStart}, {open: "*", kind: 'c', when: atStart},
	}
	asmMarks = []mark{
		{open: "#", kind: 'p', how: named, when: first, names: " define undef include if ifdef ifndef else elif endif error pragma warning line "},
		{open: "<", close: ">", kind: 's', when: included},
		{open: "%", kind: 'b', how: named}, {open: ".", kind: 'k', how: named, when: first},
	}
	pythonMarks = []mark{
		{open: "'''", close: "'''", kind: 's', how: escapes | lines}, {open: "@", kind: 'p', how: named, when: first},
	}
	shellMarks = []mark{
		{open: "#", kind: 'c', when: apart}, {open: "'", close: "'", kind: 's', how: lines},
		{open: "$'", close: "'", kind: 's', how: lines | escapes},
		{open: "$", kind: 'b', how: named}, {open: "${", kind: 'b', how: named},
		{open: "<<", kind: 's', how: document, when: apart},
	}
	// Strings of Perl end with their lines, though they need not: what only its
	// grammar tells from a quotation should colour one line at most.
	perlMarks = []mark{
		{open: "=head", close: "\n=cut", kind: 'c', how: lines, when: atStart}, {open: "=pod", close: "\n=cut", kind: 'c', how: lines, when: atStart},
		{open: "=item", close: "\n=cut", kind: 'c', how: lines, when: atStart}, {open: "=over", close: "\n=cut", kind: 'c', how: lines, when: atStart},
		{open: "=begin", close: "\n=cut", kind: 'c', how: lines, when: atStart}, {open: "=for", close: "\n=cut", kind: 'c', how: lines, when: atStart},
		{open: "__END__", close: "\x00", kind: 'c', how: lines, when: atStart},
		{open: "#", kind: 'c'}, {open: `$#`, kind: 'b', how: named}, {open: `$"`, kind: 'b', how: alone}, {open: `$'`, kind: 'b', how: alone}, {open: "$`", kind: 'b', how: alone},
		{open: "$", kind: 'b', how: named}, {open: "@", kind: 'b', how: named}, {open: "${", kind: 'b', how: named},
		{open: "<<", kind: 's', how: document, when: apart},
		{open: "/", close: "/", kind: 's', how: escapes, when: expected},
		{open: "s/", close: "/", kind: 's', how: escapes | lines | twice}, {open: "tr/", close: "/", kind: 's', how: escapes | twice},
		{open: "y/", close: "/", kind: 's', how: escapes | twice}, {open: "m/", close: "/", kind: 's', how: escapes},
		{open: "qr/", close: "/", kind: 's', how: escapes | lines}, {open: "m{", close: "}", kind: 's', how: escapes | lines, nest: "{"},
		{open: "s{", close: "}", kind: 's', how: escapes | lines, nest: "{"}, {open: "qr{", close: "}", kind: 's', how: escapes | lines, nest: "{"},
		{open: "q{", close: "}", kind: 's', how: escapes | lines, nest: "{"}, {open: "qq{", close: "}", kind: 's', how: escapes | lines, nest: "{"},
		{open: "q(", close: ")", kind: 's', how: escapes | lines, nest: "("}, {open: "qq(", close: ")", kind: 's', how: escapes | lines, nest: "("},
		{open: "qw(", close: ")", kind: 's', how: escapes | lines, nest: "("}, {open: "qw/", close: "/", kind: 's', how: escapes | lines},
	}
	scriptMarks = []mark{
		{open: "`", close: "`", kind: 's', how: escapes | lines}, {open: "/", close: "/", kind: 's', how: escapes, when: expected},
	}
	nimMarks = []mark{
		{open: "##[", close: "]##", kind: 'c', how: lines, nest: "##["}, {open: "#[", close: "]#", kind: 'c', how: lines, nest: "#["},
		{open: "#", kind: 'c'}, {open: `r"`, close: `"`, kind: 's'}, {open: "{.", close: ".}", kind: 'p'},
	}
)

// fence has the characters that may be in the delimiter of a raw string of C++.
const fence = "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+*=.:;,!?#$%&/<>[]{}^|~@'"

func fenced(open string) mark {
	return mark{open: open, fence: fence, begin: "(", close: ")", last: `"`, kind: 's', how: lines}
}

func hashed(open string) mark {
	return mark{open: open, fence: "#", begin: `"`, close: `"`, kind: 's', how: lines}
}

const cKeywords = "alignas alignof asm auto break case const constexpr continue default do else enum extern for goto if inline " +
	"register restrict return sizeof static static_assert struct switch thread_local typedef typeof typeof_unqual union volatile while " +
	"_Alignas _Alignof _Atomic _Generic _Noreturn _Static_assert _Thread_local __asm__ __attribute__ __extension__ __inline " +
	"__inline__ __restrict __typeof__ __volatile__ "

const cTypes = "bool char double float int long short signed unsigned void _Bool _BitInt _Complex _Decimal32 _Decimal64 _Decimal128 " +
	"_Float16 _Float32 _Float64 _Float128 _Imaginary __float128 __int128 FILE DIR va_list "

const cBuiltins = "NULL nullptr true false errno stdin stdout stderr EOF __func__ __FILE__ __LINE__ __FUNCTION__ "

const pythonKeywords = "and as assert async await break class continue def del elif else except finally for from global if import in " +
	"is lambda nonlocal not or pass raise return try while with yield match case "

const pythonBuiltins = "None True False self cls abs all any bool bytearray bytes callable chr classmethod dict dir divmod enumerate " +
	"eval exec filter float format frozenset getattr hasattr hash hex id input int isinstance issubclass iter len list map max min " +
	"next object oct open ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super " +
	"tuple type vars zip "

const fortranKeywords = "abstract allocatable allocate assign associate backspace bind block call case class close common concurrent " +
	"contains contiguous continue critical cycle data deallocate default deferred dimension do elemental else elseif elsewhere end " +
	"endassociate endblock enddo endfile endforall endfunction endif endinterface endmodule endprocedure endprogram endselect " +
	"endsubroutine endtype endwhere entry enum enumerator equivalence error exit extends external final flush forall format function " +
	"generic go goto if implicit import impure in include inout inquire intent interface intrinsic kind module namelist non_overridable " +
	"none nopass nullify only open operator optional out parameter pass pause pointer private procedure program protected public pure " +
	"read recursive result return rewind save select sequence stop submodule subroutine sync target then to type use value volatile " +
	"wait where while write "

const (
	fortranTypes    = "character complex double integer logical precision real doubleprecision "
	fortranBuiltins = "abs aimag allocated any acos all asin associated atan atan2 ceiling cmplx conjg cos cosh count dble dot_product " +
		"exp floor huge iand ieor int ior len log log10 matmul max maxloc maxval merge min minloc minval mod modulo nint pack " +
		"present print product reshape shape sign sin sinh size spread sqrt sum tan tanh tiny transfer transpose trim ubound lbound "
)

// syntaxList has the languages, their words from the references of each.
var syntaxList = []syntax{
	{
		endings: "c h inc def y l", begins: [][]mark{cMarks, quotes, ticks}, digits: "'", prefixes: " L u U u8 ", suffix: "_t",
		keywords: cKeywords, types: cTypes, builtins: cBuiltins, calls: true, spaced: true,
	},
	{
		endings: "cc cpp cxx c++ C hh hpp hxx h++ H ipp tcc tpp inl cu cuh ii ixx cppm cl",
		begins:  [][]mark{cMarks, quotes, ticks, rawC}, digits: "'", prefixes: " L u U u8 ", suffix: "_t",
		keywords: cKeywords + "and and_eq bitand bitor catch class co_await co_return co_yield compl concept consteval constinit " +
			"const_cast decltype delete dynamic_cast explicit export final friend import module mutable namespace new noexcept not not_eq " +
			"operator or or_eq override private protected public reinterpret_cast requires static_cast template throw try typeid " +
			"typename using virtual xor xor_eq __device__ __global__ __host__ __shared__ ",
		types: cTypes + "wchar_t char8_t char16_t char32_t ", builtins: cBuiltins + "this std ", calls: true, spaced: true,
	},
	{
		endings: "m mm", begins: [][]mark{cMarks, {{open: `@"`, close: `"`, kind: 's', how: escapes}, {open: "@", kind: 'k', how: named}}, quotes, ticks},
		digits: "'", prefixes: " L u U u8 ", suffix: "_t", calls: true, spaced: true,
		keywords: cKeywords + "in out inout bycopy byref oneway __weak __strong __block __bridge nonatomic strong weak copy readonly readwrite ",
		types:    cTypes + "id SEL IMP Class BOOL NSInteger NSUInteger CGFloat instancetype ",
		builtins: cBuiltins + "nil Nil YES NO self super _cmd ",
	},
	{
		endings: "rs", begins: [][]mark{nested, rustMarks, longer, runes, lifetimes}, prefixes: " b c ",
		keywords: "as async await break const continue crate dyn else enum extern fn for gen if impl in let loop macro_rules match mod move mut pub " +
			"ref return static struct super trait type union unsafe use where while yield",
		types:    "bool char f16 f32 f64 f128 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize Self",
		builtins: "self true false Some None Ok Err", calls: true, capitals: true, macros: true,
	},
	{
		endings: "go", begins: [][]mark{slashes, quotes, ticks, backticks},
		keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return " +
			"select struct switch type var",
		types: "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 " +
			"uint16 uint32 uint64 uintptr",
		builtins: "append cap clear close complex copy delete imag len make max min new panic print println real recover true false nil iota",
		calls:    true,
	},
	{
		endings: "d di", begins: [][]mark{slashes, dMarks, directive, longer, ticks, backticks, at}, prefixes: " x i ",
		keywords: "abstract alias align asm assert auto body break case cast catch class const continue debug default delegate delete deprecated " +
			"do else enum export extern final finally for foreach foreach_reverse function goto if immutable import in inout interface " +
			"invariant is lazy macro mixin module new nothrow out override package pragma private protected public pure ref return scope " +
			"shared static struct super switch synchronized template throw try typeid typeof union unittest version while with " +
			"__gshared __traits __parameters",
		types: "bool byte cdouble cfloat char creal dchar double float idouble ifloat int ireal long real short string dstring wstring " +
			"ubyte uint ulong ushort void wchar size_t ptrdiff_t",
		builtins: "true false null this __FILE__ __LINE__ __FUNCTION__ __MODULE__", calls: true,
	},
	{
		endings: "zig zon", begins: [][]mark{{{open: "//", kind: 'c'}, {open: `\\`, kind: 's'}, {open: `@"`, close: `"`, kind: '_'}, {open: "@", kind: 'b', how: named}}, quotes, ticks},
		keywords: "addrspace align allowzero and anyframe asm async await break callconv catch comptime const continue defer else enum errdefer error " +
			"export extern fn for if inline linksection noalias noinline nosuspend opaque or orelse packed pub resume return struct " +
			"suspend switch test threadlocal try union unreachable usingnamespace var volatile while",
		types: "anyerror anyopaque anytype bool c_char c_int c_long c_longlong c_short c_uint c_ulong c_ushort comptime_float comptime_int " +
			"f16 f32 f64 f80 f128 i8 i16 i32 i64 i128 isize noreturn type u1 u8 u16 u32 u64 u128 usize void",
		builtins: "true false null undefined", calls: true, capitals: true,
	},
	{
		endings: "swift", begins: [][]mark{nested, swiftMarks, triple, quotes, at},
		keywords: "actor as associatedtype async await break case catch class continue convenience default defer deinit didSet do dynamic else enum " +
			"extension fallthrough fileprivate final for func get guard if import in indirect infix init inout internal is lazy let " +
			"mutating nonisolated nonmutating open operator optional override postfix precedencegroup prefix private protocol public " +
			"repeat required rethrows return set some static struct subscript super switch throw throws try typealias unowned var weak " +
			"where while willSet",
		types: "Any Self", builtins: "self true false nil", calls: true, capitals: true,
	},
	{
		endings: "f90 F90 f95 F95 f03 F03 f08 F08 f18", begins: [][]mark{fortranMarks}, fold: true,
		keywords: fortranKeywords, types: fortranTypes, builtins: fortranBuiltins,
	},
	{
		endings: "f F for ftn f77 F77", begins: [][]mark{fixedMarks, fortranMarks}, fold: true,
		keywords: fortranKeywords, types: fortranTypes, builtins: fortranBuiltins,
	},
	{
		endings: "pas pp lpr dpr", begins: [][]mark{pascalMarks}, fold: true,
		keywords: "absolute abstract and array as asm begin case cdecl class const constructor destructor dispinterface div do downto else end " +
			"except exit external file finalization finally for forward function goto if implementation in inherited initialization inline " +
			"interface is label library mod not object of on operator or out overload override packed private procedure program property " +
			"protected public published raise record repeat reintroduce resourcestring set shl shr static then threadvar to try type unit " +
			"until uses var virtual while with xor",
		types: "ansistring boolean byte cardinal char currency double dword extended int64 integer longint longword pchar pointer qword real " +
			"shortint shortstring single smallint string text uint64 widechar widestring word",
		builtins: "nil true false self result assigned dec fillchar freemem getmem high inc length low move new dispose ord read readln " +
			"setlength sizeof str val write writeln",
	},
	{
		endings: "adb ads ada", begins: [][]mark{{{open: "--", kind: 'c'}, {open: `"`, close: `"`, kind: 's'}}, runes, lifetimes}, fold: true, digits: "#",
		keywords: "abort abs abstract accept access aliased all and array at begin body case constant declare delay delta digits do else elsif " +
			"end entry exception exit for function generic goto if in interface is limited loop mod new not of or others out overriding " +
			"package parallel pragma private procedure protected raise range record rem renames requeue return reverse select separate " +
			"some subtype synchronized tagged task terminate then type until use when while with xor",
		types:    "boolean character duration float integer long_float long_integer natural positive string wide_character wide_string",
		builtins: "true false null",
	},
	{
		endings: "hs lhs hsc", begins: [][]mark{haskellMarks, quotes, runes, lifetimes}, letters: "'",
		keywords: "as case class data default deriving do else family forall foreign hiding if import in infix infixl infixr instance let mdo " +
			"module newtype of pattern proc qualified rec role then type where",
		builtins: "True False otherwise undefined error", capitals: true,
	},
	{
		endings: "ml mli mll mly", begins: [][]mark{ocamlMarks, longer, runes, lifetimes}, letters: "'", capitals: true,
		keywords: "and as asr assert begin class constraint do done downto effect else end exception external for fun function functor if in " +
			"include inherit initializer land lazy let lor lsl lsr lxor match method mod module mutable new nonrec object of open or " +
			"private rec sig struct then to try type val virtual when while with",
		types: "array bool bytes char exn float int int32 int64 list nativeint option string unit ref", builtins: "true false self raise failwith",
	},
	{
		endings: "s S sx", begins: [][]mark{asmMarks, hash, slashes, quotes, runes}, mnemonics: true,
		keywords: "rep repe repz repne repnz lock notrack",
	},
	{
		endings: "asm nasm", begins: [][]mark{{{open: ";", kind: 'c'}, {open: "%", kind: 'p', how: named, when: first}, {open: "'", close: "'", kind: 's'}}, quotes, backticks},
		keywords: "align bits common cpu db dd default do dq dt dw dy dz endstruc equ extern global incbin istruc org rel resb resd reso resq rest " +
			"resw section segment struc times use32 use64",
		types: "byte word dword qword oword xmmword ymmword zmmword ptr",
		builtins: "al ah ax eax rax bl bh bx ebx rbx cl ch cx ecx rcx dl dh dx edx rdx sil si esi rsi dil di edi rdi bpl bp ebp rbp spl sp esp rsp " +
			"r8 r9 r10 r11 r12 r13 r14 r15 r8d r9d r10d r11d r12d r13d r14d r15d xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 " +
			"ymm0 ymm1 ymm2 ymm3 ymm4 ymm5 ymm6 ymm7",
		fold: true, mnemonics: true,
	},
	{
		endings: "py pyi pyw", begins: [][]mark{hash, triple, pythonMarks, quotes, ticks}, prefixes: " r R b B u U f F t br Br bR BR rb rB fr Fr rf Rf ",
		keywords: pythonKeywords, builtins: pythonBuiltins, calls: true,
	},
	{
		endings: "pyx pxd pxi", begins: [][]mark{hash, triple, pythonMarks, quotes, ticks}, prefixes: " r R b B u U f F t br Br bR BR rb rB fr Fr rf Rf ",
		keywords: pythonKeywords + "cdef cimport cpdef ctypedef enum extern gil include inline nogil packed public readonly struct union DEF IF ELIF ELSE",
		types:    "bint char double long short size_t ssize_t unsigned void Py_ssize_t", builtins: pythonBuiltins + "NULL", calls: true,
	},
	{
		endings: "pl pm t", begins: [][]mark{perlMarks, quotes, ticks},
		keywords: "and cmp continue default do else elsif eq for foreach ge given gt if last le local lt my ne next no not or our package redo " +
			"require return state sub unless until use when while x xor BEGIN END",
		builtins: "bless chomp chop chr close defined delete die each eof eval exists grep hex index join keys lc length map oct open ord pack " +
			"pop print printf push ref reverse say scalar shift sort splice split sprintf substr uc undef unlink unpack unshift values " +
			"wantarray warn __FILE__ __LINE__ __PACKAGE__",
		calls: true,
	},
	{
		endings: "sh bash ksh zsh", begins: [][]mark{shellMarks, longer},
		keywords: "case coproc do done elif else esac fi for function if in select then time until while",
		builtins: "alias bg bind break builtin cd command continue declare echo eval exec exit export false fg getopts hash jobs kill let local " +
			"printf pushd popd pwd read readonly return set shift shopt source test trap true type typeset ulimit umask unalias unset wait",
	},
	{
		endings: "java", begins: [][]mark{slashes, triple, quotes, ticks, at}, letters: "$",
		keywords: "abstract assert break case catch class const continue default do else enum exports extends final finally for goto if implements " +
			"import instanceof interface module native new non package permits private protected public record requires return sealed " +
			"static strictfp switch synchronized throw throws transient try var volatile when while yield",
		types: "boolean byte char double float int long short void", builtins: "true false null this super", calls: true, capitals: true,
	},
	{
		endings: "kt kts", begins: [][]mark{nested, rawTriple, quotes, ticks, at}, capitals: true,
		keywords: "abstract actual annotation as break by catch class companion const constructor continue crossinline data do else enum expect " +
			"external final finally for fun get if import in infix init inline inner interface internal is lateinit noinline object open " +
			"operator out override package private protected public reified return sealed set suspend tailrec throw try typealias val " +
			"value var vararg when where while",
		builtins: "true false null this super it", calls: true,
	},
	{
		endings: "cs", begins: [][]mark{slashes, directive, rawTriple, sharpMarks, quotes, ticks},
		keywords: "abstract as async await base break case catch checked class const continue default delegate do else enum event explicit extern " +
			"finally fixed for foreach from get goto if implicit in init interface internal is let lock namespace new operator orderby " +
			"out override params partial private protected public readonly record ref required return sealed select set sizeof " +
			"stackalloc static struct switch throw try typeof unchecked unsafe using virtual volatile when where while with yield",
		types:    "bool byte char decimal double dynamic float int long nint nuint object sbyte short string uint ulong ushort var void",
		builtins: "true false null this value", calls: true,
	},
	{
		endings: "js mjs cjs jsx ts mts cts tsx", begins: [][]mark{slashes, quotes, ticks, scriptMarks, at}, letters: "$",
		keywords: "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends finally " +
			"for from function get if implements import in instanceof interface keyof let namespace new of private protected public " +
			"readonly return satisfies set static switch throw try type typeof var void while with yield",
		types:    "any bigint boolean never number object string symbol unknown",
		builtins: "true false null undefined this super NaN Infinity globalThis console document window", calls: true,
	},
	{
		endings: "nim nims", begins: [][]mark{nimMarks, rawTriple, quotes, runes}, digits: "'", calls: true, capitals: true,
		keywords: "addr and as asm bind block break case cast concept const continue converter defer discard distinct div do elif else end enum " +
			"except export finally for from func if import in include interface is isnot iterator let macro method mixin mod nil not " +
			"notin object of or out proc ptr raise ref return shl shr static template try tuple type using var when while xor yield",
		types: "array bool byte char cint cstring float float32 float64 int int8 int16 int32 int64 openArray pointer range seq set string " +
			"uint uint8 uint16 uint32 uint64 void",
		builtins: "true false echo result len add",
	},
	{
		endings: "cr", begins: [][]mark{hash, longer, runes, {{open: "@[", kind: 'p', how: named}}, {{open: "@@", kind: 'b', how: named}, {open: "@", kind: 'b', how: named}}},
		keywords: "abstract alias annotation as asm begin break case class def do else elsif end ensure enum extend for fun if in include instance_sizeof " +
			"lib macro module next of out pointerof private protected rescue return require select sizeof struct then type typeof " +
			"uninitialized union unless until verbatim when while with yield",
		builtins: "true false nil self super puts raise", calls: true, capitals: true,
	},
	{
		endings: "vala vapi", begins: [][]mark{slashes, rawTriple, directive, quotes, ticks}, calls: true, capitals: true,
		keywords: "abstract as async base break case catch class const construct continue default delegate delete do dynamic else ensures enum " +
			"errordomain extern finally for foreach get if in inline interface internal is lock namespace new out override owned params " +
			"private protected public ref requires return set signal sizeof static struct switch throw throws try typeof unowned using " +
			"virtual void volatile weak while yield",
		types:    "bool char double float int int8 int16 int32 int64 long short size_t string uchar uint uint8 uint16 uint32 uint64 ulong unichar ushort var",
		builtins: "true false null this",
	},
	{
		endings: "odin", begins: [][]mark{nested, quotes, ticks, backticks, at, {{open: "#", kind: 'p', how: named}}}, calls: true, capitals: true,
		keywords: "asm auto_cast bit_set break case cast context continue defer distinct do dynamic else enum fallthrough for foreign if import in map " +
			"matrix not_in or_break or_continue or_else or_return package proc return struct switch transmute typeid union using when where",
		types: "any b8 b16 b32 b64 bool byte complex64 complex128 cstring f16 f32 f64 i8 i16 i32 i64 i128 int rawptr rune string u8 u16 u32 " +
			"u64 u128 uint uintptr",
		builtins: "true false nil append cap delete len make new size_of",
	},
	{
		endings: "ha", begins: [][]mark{{{open: "//", kind: 'c'}}, longer, ticks, backticks, at}, calls: true,
		keywords: "abort align alloc append as assert break case const continue def defer delete else enum export fn for free if insert is len let " +
			"match offset return size static struct switch type union use vaarg vaend vastart yield",
		types:    "bool done f32 f64 i8 i16 i32 i64 int never nomem opaque rune str u8 u16 u32 u64 uint uintptr valist void",
		builtins: "true false null",
	},
}
