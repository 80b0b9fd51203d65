package annotate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarkdownCode(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a", "`a`"},
		{" \t", ""},
		{"a|b", "`a\\|b`"},
		{"a`b", "``a`b``"},
		{"`a``", "``` `a`` ```"},
		{"\ta\tb\xff ", "`a b\uFFFD`"},
	} {
		require.Equal(t, tt.want, markdownCode(tt.in))
	}
	require.Equal(t, `&lt;a&gt; \| \*b\_`, MarkdownText("<a> | *b_"))
	require.Equal(t, `a\\\| !\[i\](http://e/) @<!-- -->you  # \~\$\$`, MarkdownText("a\\| ![i](http://e/) @you\r\n# ~$$"))
}
