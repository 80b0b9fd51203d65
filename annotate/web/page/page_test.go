package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/annotate"
)

func write(t *testing.T, p *Page) string {
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.String()
}

// TestAlone: the page loads nothing, its policy allows what is in it and no more, and the program is in it as it was.
func TestAlone(t *testing.T) {
	p := &Page{Version: "1.2.3", Program: []byte("\x00asm{{script}}"), Exec: []byte("// exec {{style}}"), Licenses: "<b>{{worker}}</b>"}
	page := write(t, p)
	require.Equal(t, page, write(t, p))
	require.NotRegexp(t, `(?i)https?:|\burl\(|@import|src=|<link`, page)
	part := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(page)
		require.NotNil(t, found, pattern)
		return found[1]
	}
	source := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	style, script := annotate.HTMLHashes()
	require.Equal(t, "default-src 'none'; style-src"+source(part(`(?s)<style>(.*?)</style>`))+" "+style+
		"; script-src"+source(part(`(?s)<script>(.*?)</script>`))+" "+script+" 'wasm-unsafe-eval'"+
		"; worker-src blob:; base-uri 'none'; form-action 'none'", html.UnescapeString(part(`Content-Security-Policy" content="([^"]*)"`)))
	require.NotRegexp(t, `(?i) (style|on\w+)=`, page, "the policy lets no such attribute have an effect")
	packed, err := base64.StdEncoding.DecodeString(part(`id="program">([^<]*)<`))
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	program, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, p.Program, program)
	require.Contains(t, page, "&lt;b&gt;{{worker}}&lt;/b&gt;")
	require.Contains(t, page, "// exec {{style}}\n")
	require.Contains(t, page, "cgemu 1.2.3")
}

func TestWriteFails(t *testing.T) {
	for _, text := range []string{"</script>", "<!--"} {
		p := Page{Exec: []byte("x = '" + text + "'")}
		require.EqualError(t, p.Write(io.Discard), "wasm_exec.js cannot stand in a page: it contains </script or <!--")
	}
	require.ErrorIs(t, new(Page).Write(full{}), errFull)
	require.True(t, strings.HasPrefix(write(t, new(Page)), "<!DOCTYPE html>"))
}

var errFull = errors.New("full")

// A full writer has no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
