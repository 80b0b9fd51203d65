// Package page writes the page of `make web`: one file of HTML that has all it needs, the program for profiles among
// it.
//
// The package is cgemu's own: what it promises may change.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"path"
	"strings"

	"github.com/cgemu/cgemu/annotate"
)

//go:embed assets
var assets embed.FS

// A Page is what goes into the page.
type Page struct {
	Version string
	// Program is cmd/cgemu-web, built for js/wasm; Exec is wasm_exec.js of the Go distribution that built it.
	Program, Exec []byte
	// Licenses is the text of the licences of what Program and Exec contain.
	Licenses string
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	style, script := asset("app.css"), asset("app.js")
	worker := string(p.Exec) + "\n" + asset("worker.js")
	if strings.Contains(worker, "</script") || strings.Contains(worker, "<!--") {
		return fmt.Errorf("wasm_exec.js cannot stand in a page: it contains </script or <!--")
	}
	program, err := packed(p.Program)
	if err != nil {
		return err
	}
	// In one pass, so that nothing in a value is taken for a place.
	page := strings.NewReplacer(
		"{{policy}}", html.EscapeString(policy(style, script)),
		"{{version}}", html.EscapeString(p.Version),
		"{{licenses}}", html.EscapeString(p.Licenses),
		"{{style}}", style,
		"{{program}}", program,
		"{{worker}}", worker,
		"{{script}}", script,
	)
	_, err = page.WriteString(w, asset("index.html"))
	return err
}

// packed returns data compressed, as base64.
func packed(data []byte) (string, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// asset returns a file of the page.
func asset(name string) string {
	text, err := assets.ReadFile(path.Join("assets", name))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
}

// policy is the page's Content-Security-Policy. Nothing may be fetched from anywhere. WebAssembly counts as code made
// at run time, like eval, which 'wasm-unsafe-eval' allows for it alone. The worker, a blob, and the frame with the
// report inherit this policy, so that it has the hashes of a report's style and script, too.
func policy(style, script string) string {
	reportStyle, reportScript := annotate.HTMLHashes()
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join([]string{
		"default-src 'none'", "style-src " + hash(style) + " " + reportStyle, "script-src " + hash(script) + " " + reportScript + " 'wasm-unsafe-eval'",
		"worker-src blob:", "base-uri 'none'", "form-action 'none'",
	}, "; ")
}
