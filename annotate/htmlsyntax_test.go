package annotate

import (
	"fmt"
	goscanner "go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// marked returns a text with its tokens in «», behind the letters of their kinds.
func marked(ending, text string) string {
	var b strings.Builder
	sc := scan{syntax: syntaxes()[ending], text: text, add: func(kind byte, token string) {
		if kind == '_' {
			b.WriteString(token)
		} else {
			b.WriteString("«" + string(kind) + " " + token + "»")
		}
	}}
	sc.all()
	return b.String()
}

var (
	marking = regexp.MustCompile(`«. |»`)
	aRun    = regexp.MustCompile(`[a-z_](\d+)`)
)

// firstEnding is one of a language's.
func firstEnding(s *syntax) string { return "." + strings.Fields(s.endings)[0] }

// syntaxTests are texts with their tokens as marked shows them.
var syntaxTests = []struct{ ending, want string }{
	{".c", "«t int» «f main»(«t void») { «k return» «n 0x1fUL» + «n 1'000» + «n 1.5e-3f» + «n .5» + a[«n 1.»]; } «c // x»\n«t size_t» n;"},
	{".c", "«c /* a\n\" b */» «t char» c = «s '\"'», d = «s '\\''», *s = «s \"// /* \\\" '\"»;"},
	{".c", "s = «s \"open»\n«t int» i; c = «s 'x»\n«t int» j;"},
	{".c", "«p #define» «f F»(x) «k do» { \\\n  «f g» (x); «c /* y */» \\\n} «k while» («n 0»)\n  «p #  include» «s <a/b.h>»\nx = a <b> c;"},
	{".c", "«p #if» «b NULL» «c // joined \\\nhere»\n«k if» (x) y;"},
	{".c", "s = «s \"a\\\r\nb\"» «s L»«s \"é𝄞\"» «s u8»«s \"x\"» é𝄞;"},
	{".c", "«c /* open\n\n x»"},
	{".cpp", "s = «s R\"(a\"\n)x\"//)\"» «s u8R\"d(a)\"\n)e\")d\"» x; «k template» <«k typename» T> x<«n 1»>y;"},
	{".cpp", "s = «s R\"(a\n// b»"},
	{".cpp", "n = «n 0x1p-3» - «n 0xe»-«n 1» + «n 1'234'567u»; c = «s 'a'»; p->«f size»();"},
	{".m", "«k @interface» A\n[«b self» f:«s @\"x\\\"\"»];\n«p #import» «s <F/F.h>»"},
	{".rs", "«k fn» f<«p 'a»>(c: &«p 'a» «t str») -> «t u8» { «s b»«s '\\''» + «s '\"'» + «s '\\u{1f}'» + «s 'é'» + «p 'x»: «k loop» {} }"},
	{".rs", "«c /* a /* b */ \" c */» «s r#\"a\"\n// \"#» «s br##\"x\"# \"##» «s \"a\n b\"» «s r\"\\\"» x"},
	{".rs", "«p #[derive»(«t Debug»)] «p #![no_std»] «f println!»(«s \"{}\"», x != «n 1.5e3», «n 0»..«n 10», «n 1».«f max»(«n 2_u8»), x.«n 0» );"},
	{".rs", "a: «t Vec»<«t T», MAX> = self_.type_; «c // \"»\nx"},
	{".go", "«k func» «f f»() { «c // é»\n\t«k return» «b len»(«s `a\n\\`») + «n 0b1_0» + «s '\\''» + x.len + «n 1i» }\n«k var» x «k map»[«t string»]«t any»"},
	{".d", "«c /+ a /+ b +/ c +/» «c /* /* */» «s r\"\\\"» «s `a\"`» «s q\"(a \"\n)\"» «s q\"EOS\nx\"\nEOS\"» «p @nogc» «n 1»..«n 2»"},
	{".zig", "«k const» x = «b @import»(«s \"std\"»);\n  «s \\\\ raw \" '»\n«c // c»\n«k pub» «k fn» «f f»() «t void» {}"},
	{".swift", "«c /* /* */ \" */» «k let» s = «s #\"a\"b\"#» + «s #\"\"\"\na\"\"\" \"\n\"\"\"#» + «s \"\"\"\n\"x\"\n\"\"\"» «p #if» «p @main» «n 1»...«n 5» «t Int»"},
	{".swift", "«s #\"open»\n«k let»"},
	{".f90", "«c ! x»"},
	{".f90", "«t Real» :: x = «n 1.0D-3» «c ! it's»\n«k IF» (x «k .and». y == «s 'it'»«s 's'») «k Then»\n«p #ifdef» A\nx = «n 1»«k .eq».«n 2» «b .true». ** c"},
	{".f", "«c C it's»\n      «k CALL» F(X)\n«c * x»\n      a * c"},
	{".pas", "«p {$I x}» «k Begin» x := «s 'it'»«s 's'» + «s 'open»\n «c { a\n' }» «c (* b *)» «n $FF» + «s #13» «n 1»..«n 2»; «c // x»\n«k END»."},
	{".adb", "x : «t Character» := «s '''»; «c -- \" x»\ny := «n 16#FF#» + A«p 'First» & «s \"a\"»«s \"b\"» «s '\"'» «k End»;"},
	{".hs", "«p {-# X #-}» «c {- a {- b -} c -}» f' x = «s '\"'» : foldl' («s \"a\\\"\"») «n 1.5» «c -- x»\n«k data» «t Maybe» a = [«n 1»..«n 2»] \\x -> y"},
	{".ml", "«c (* a (* b *) \n *)» «k let» f (x : «p 'a») = «s {|a\"|}» ^ «s {id|x|} |id}» ^ «s \"a\nb\"» «s '\\n'» «s '\"'» { r }"},
	{".S", "«p #include» «s <a.h>»\n«c # it's \"»\n«k .globl» f\nf:  «f mov» $«n 0x10», «b %rax» «c /* x\n */»\n«k .L1»: «f jmp» .L1 «c // x»\n\t«k rep» movsb; a: «f mov» «b %fs»:x"},
	{".asm", "f:  «f mov» «b rax», «n 0ffh» «c ; it's»\n«p %define» X «s 'a'»\n«k SECTION» .text"},
	{".py", "«p @wraps»\n«k def» «f f»(a): «c # it's»\n    «s r»«s '\\''» «s \"\"\"a\n\"b\\\"\"\"\"» «s '''x'''» «s \"open»\n  «k return» a @ b, «b None», x.map, «n 1_0j»"},
	{".pyx", "«k cdef» «t double» x"},
	{".pl", "«k my» «b $x» = «s q(a (b) ')» . «s \"a\\\"$b\"»; «b @a» = «s qw(a 'b)»; «b $x» =~ «s s/'/\"/»g; «b $x» / «n 2» / «n 3»; «k if» («s /it's/») {}"},
	{".pl", "«b print» «s <<\"END\"», «b $x»;«s \nit's\n END 1\nEND»\nz"},
	{".pl", "«c =head1 it's\n\n=cut»\n«b $#a» «b $\"» z «c # y»\n«c __END__\n'»"},
	{".sh", "«k if» x; «k then» «b echo» «s \"a \\\" $b\n'\"» $# «s '\\'» «b ${x»#y} \\\" «s $'\\''»; «k fi» «c # it's»"},
	{".sh", "cat «s <<-EOF» > «b $f»«s \n it's\n\t EOF»\n«k if» x; cat <<< a; $((«n 1»<<n)); cat «s <<'A'» «s <<B»«s \na\nA\n\"\nB»\n«k fi»"},
	{".sh", "cat «s <<EOF»«s \n\"open\n»"},
	{".java", "«p @Override» «k public» «t String» «f f»() { «k return» «s \"\"\"\n \"a\" \\\"\"\"\n\"\"\"» + «s 'c'» + «n 1_000L»; } «c /* /* */»"},
	{".kt", "«c /* /* */ */» «k val» s = «s \"\"\"a\\\"\"\"» + «s '\\''»"},
	{".cs", "«p #region» x\n«t var» s = «s @\"a\\\"» + «s $@\"x\n\"»«s \"\"» + $«s \"y\"»; A.«f F»(«n 1.5m»)"},
	{".js", "«k const» r = «s /[\"']\\//»g, s = «s `a\n${b}`», $d = a / b / c; «k return» «s /x/» «c // \"»\n«f f»(«n 0x1fn»)"},
	{".nim", "«k proc» «f f»() = «c #[ a #[ b ]# ]#» «s r\"\\\"» «n 1'u8» «s '\\''» «c # x»"},
	{".cr", "«k def» «f f»(«b @x» : «t Int32») «c # it's»"},
	{".vala", "«s \"\"\"a\"b\"\"\"» «k class» «t A» {}"},
	{".odin", "«c /* /* */ */» f :: «k proc»() { «s `a\\`»; «p #force_inline» }"},
	{".ha", "«k fn» «f f»() «t void» = «s \"a\"»; «p @init»"},
}

func TestSyntax(t *testing.T) {
	tested := map[*syntax]bool{}
	for _, tt := range syntaxTests {
		tested[syntaxes()[tt.ending]] = true
		require.Equal(t, tt.want, marked(tt.ending, marking.ReplaceAllString(tt.want, "")), tt.ending)
	}
	for i := range syntaxList {
		require.True(t, tested[&syntaxList[i]], "no test of %s", syntaxList[i].endings)
	}
}

// TestSyntaxGo: Go's own scanner finds the same comments, strings, numbers and
// keywords in its library.
func TestSyntaxGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "[r-u]*", "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		var want, got []string
		var s goscanner.Scanner
		s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, goscanner.ScanComments)
		for pos, tok, lit := s.Scan(); tok != token.EOF; pos, tok, lit = s.Scan() {
			if tok == token.COMMENT || tok != token.IDENT && tok.IsLiteral() || tok.IsKeyword() {
				want = append(want, fmt.Sprint(pos-1, " ", lit))
			}
		}
		at := 0
		sc := scan{syntax: syntaxes()[".go"], text: string(text), add: func(kind byte, tok string) {
			if strings.IndexByte("csnk", kind) >= 0 {
				got = append(got, fmt.Sprint(at, " ", tok))
			}
			at += len(tok)
		}}
		sc.all()
		require.Equal(t, want, got, name)
	}
}

// TestSyntaxes: a word is of one kind, an ending of one language, and words are
// such that a text can have them.
func TestSyntaxes(t *testing.T) {
	syntaxes()
	var endings []string
	for i := range syntaxList {
		s := &syntaxList[i]
		endings = append(endings, strings.Fields(s.endings)...)
		words := strings.Fields(s.keywords + " " + s.types + " " + s.builtins)
		for _, w := range words {
			require.LessOrEqual(t, len(w), 24, w)
			require.Zero(t, strings.IndexFunc(w, func(c rune) bool { return c < 0x80 && s.isWord[c] }), "%s: %q", s.endings, w)
			if s.fold {
				require.Equal(t, strings.ToLower(w), w, s.endings)
			}
		}
		require.Equal(t, duplicates(words), []string(nil), s.endings)
		for _, list := range s.begins {
			for _, m := range list {
				require.Less(t, m.open[0], byte(utf8.RuneSelf))
				require.Contains(t, "ktfsncpb_", string(m.kind))
				require.True(t, m.close != "" || m.how&lines == 0, "%s: %s has no end", s.endings, m.open)
			}
		}
	}
	require.Equal(t, duplicates(endings), []string(nil))
}

func duplicates(list []string) (twice []string) {
	list = slices.Clone(list)
	slices.Sort(list)
	for i := range list {
		if i > 0 && list[i] == list[i-1] {
			twice = append(twice, list[i])
		}
	}
	return twice
}

func TestHighlight(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a.c", "int f(void) /* a\nb */ { return \"é𝄞\"[0] + 0x1f; }", "t3_1f1_1t4_2c4/c4_3k6_1s5_1n1_4n4"},
		{"a.c", "int i;\r\n\n/*", "t3//c2"},
		{"a.c", "\xff\xfe int \"\xff", "_2t3_1s2"},
		{"a.unknown", "int\nint", "/"},
		{"README", "int", ""},
		{"/usr/include/c++/12/vector", "class x", "k5"},
		{"/usr/include/c++/12/stdlib.h", "class x", "k5"},
		{"a.h", "class x", ""},
	} {
		got := highlight(tt.name, strings.Split(tt.text, "\n"))
		require.Equal(t, strings.Split(tt.want, "/"), got, tt.name)
	}
	require.Len(t, highlight("a.c", nil), 0)
}

// checkHighlight: runs cover their lines and no more, and tokens together are the
// text.
func checkHighlight(t *testing.T, ending, text string) {
	lines := strings.Split(text, "\n")
	got := highlight("a"+ending, lines)
	require.Len(t, got, len(lines))
	for i, runs := range got {
		sum := 0
		for _, m := range aRun.FindAllStringSubmatch(runs, -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			sum += n
		}
		require.LessOrEqual(t, sum, len(utf16.Encode([]rune(valid(lines[i])))), "%s, line %d: %s", ending, i+1, runs)
	}
	text = valid(text)
	at := 0
	sc := scan{syntax: syntaxes()[ending], text: text, add: func(_ byte, token string) {
		if !utf8.ValidString(token) || !strings.HasPrefix(text[at:], token) {
			require.Fail(t, "not a part of the text", "%s, at %d: %q", ending, at, token)
		}
		at += len(token)
	}}
	sc.all()
	require.Equal(t, len(text), at, ending)
}

// TestHighlightPrefixes: all texts of the tests, cut anywhere.
func TestHighlightPrefixes(t *testing.T) {
	for _, tt := range syntaxTests {
		text := marking.ReplaceAllString(tt.want, "")
		for i := range len(text) {
			checkHighlight(t, tt.ending, text[:i])
			checkHighlight(t, tt.ending, text[i:])
		}
	}
}

func FuzzHighlight(f *testing.F) {
	for _, tt := range syntaxTests {
		i := slices.IndexFunc(syntaxList, func(s syntax) bool { return slices.Contains(strings.Fields(s.endings), tt.ending[1:]) })
		f.Add(uint8(i), marking.ReplaceAllString(tt.want, ""))
	}
	f.Fuzz(func(t *testing.T, language uint8, text string) {
		checkHighlight(t, firstEnding(&syntaxList[int(language)%len(syntaxList)]), text)
	})
}

// TestHighlightLinear has texts made to be slow: one that is 64 times as long takes no more than 500 times as long,
// where a quadratic way would take 4,096 times.
func TestHighlightLinear(t *testing.T) {
	syntaxes()
	took := func(syntax *syntax, text string) time.Duration {
		n, start := 0, time.Now()
		sc := scan{syntax: syntax, text: text, add: func(_ byte, token string) { n += len(token) }}
		sc.all()
		took := time.Since(start)
		require.Equal(t, len(text), n)
		return max(took, time.Microsecond)
	}
	for _, part := range []string{"#", "\"", "'", "/*", "(*", "R\"", "r#", "q\"", "<<a ", "/", "s/", "@", "0.", "\\", " ", "<", "{", "1e", "include <", "\t#", "$'", "=head "} {
		long := strings.Repeat(part, 1<<18/len(part))
		for i := range syntaxList {
			s := &syntaxList[i]
			short := took(s, long[:len(long)/64])
			require.Eventually(t, func() bool { // another program may have run meanwhile
				return took(s, long) < 500*short
			}, 10*time.Minute, time.Nanosecond, "%s: %q", s.endings, part)
		}
	}
}

func BenchmarkHighlight(b *testing.B) {
	c, err := os.ReadFile("cli/testdata/html/new.c")
	require.NoError(b, err)
	goFile, err := os.ReadFile("htmldata.go")
	require.NoError(b, err)
	for _, bench := range []struct{ ending, text string }{
		{".c", string(c)},
		{".go", string(goFile)},
		{".rs", strings.Repeat("    pub fn get<'a>(&'a self, key: &str) -> Option<&'a T> { self.map.get(key) } // looks up\n", 30)},
	} {
		text := strings.Repeat(bench.text, 1<<20/len(bench.text))
		lines := strings.Split(text, "\n")
		b.Run(fmt.Sprintf("ending=%s", bench.ending), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				highlight("a"+bench.ending, lines)
			}
		})
	}
}
