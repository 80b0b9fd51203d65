package cgemu_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// citation matches a document that is cited, and the heading in it, if one follows in quotes.
var citation = regexp.MustCompile(`([\w./-]*[\w-]+\.md)\b(?:, "([^"]+)")?`)

// TestCitations has every document that the project's sources cite be there, with the heading that is named. Documents
// are named as seen from the top of the repository, or stand beside the file.
func TestCitations(t *testing.T) {
	found := 0
	lines := regexp.MustCompile(`\n\s*(//|#)?\s*`) // of a comment, or of text
	eachSource(t, func(file, text string) {
		text = lines.ReplaceAllString(text, " ")
		for _, c := range citation.FindAllStringSubmatch(text, -1) {
			doc, err := os.ReadFile(c[1])
			if err != nil {
				doc, err = os.ReadFile(filepath.Join(filepath.Dir(file), c[1]))
			}
			if !document(c[1]) {
				continue
			}
			if assert.NoError(t, err, "%s cites %s", file, c[1]); c[2] != "" {
				heading := regexp.MustCompile(`(?m)^#+ ` + regexp.QuoteMeta(c[2]) + `$`)
				assert.True(t, heading.Match(doc), "%s cites %s", file, c[0])
			}
			found++
		}
		require.NotContains(t, text, "(spec:", "%s", file)
		require.NotContains(t, text, "(design:", "%s", file)
	})
	require.NotZero(t, found)
}

// TestLinks has every link of a document to another, or to a heading, lead there. (TestDocuments of the module packaging
// follows those of documents in archives.)
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^()\s:#]*)(?:#([^()\s]+))?\)`)
	found := 0
	eachSource(t, func(file, text string) {
		if filepath.Ext(file) != ".md" {
			return
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := file
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(file), m[1])
			}
			if _, err := os.Stat(to); assert.NoError(t, err, "%s: %s", file, m[0]) && m[2] != "" {
				doc, err := os.ReadFile(to)
				require.NoError(t, err)
				assert.Contains(t, headings(string(doc)), m[2], "%s: %s: there is no such heading", file, m[0])
			}
			found++
		}
	})
	require.Greater(t, found, 200)
}

// headings returns the headings of a document as links name them.
func headings(doc string) (list []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(doc, -1) {
		name := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(name, " ", "-"))
	}
	return list
}

// TestPlan has docs/internals.md name every package.
func TestPlan(t *testing.T) {
	text, err := os.ReadFile("docs/internals.md")
	require.NoError(t, err)
	for pkg := range allowed {
		if pkg != "." && pkg != "docs/pictures" {
			assert.Contains(t, string(text), "`"+pkg+"`", "the plan has no such package")
		}
	}
}

// TestPromises has each package that others can import be one of those that docs/manual.md promises to keep as they
// are, or say in its comment that it may change.
func TestPromises(t *testing.T) {
	manual, err := os.ReadFile("docs/manual.md")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(manual), "These packages stay as they are documented: ")
	require.True(t, ok)
	list, _, _ = strings.Cut(list, ".")
	var kept []string
	for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(list, -1) {
		kept = append(kept, m[1])
	}
	for pkg := range allowed {
		name, comment := packageComment(t, pkg)
		if name == "main" || slices.Contains(strings.Split(pkg, "/"), "internal") {
			continue
		}
		if pkg == "." {
			pkg = name
		}
		own := strings.Contains(comment, "The package is cgemu's own: what it promises may change.")
		assert.NotEqual(t, own, slices.Contains(kept, pkg), "%s: either the manual lists it, or its comment says that it may change", pkg)
		kept = slices.DeleteFunc(kept, func(s string) bool { return s == pkg })
	}
	assert.Empty(t, kept, "the manual lists packages that are not there")
}

// packageComment returns the name and the comment of the package in a directory.
func packageComment(t *testing.T, dir string) (name, comment string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if name = tree.Name.Name; tree.Doc != nil {
			return name, strings.Join(strings.Fields(tree.Doc.Text()), " ")
		}
	}
	return name, ""
}

// TestGenerate knows the test that compares what each of the go:generate directives makes with what is there: make
// check does not generate.
func TestGenerate(t *testing.T) {
	compared := map[string]string{ // by the directive's file: the file and the name of the test
		"syscalls/doc.go": "syscalls/table_test.go TestSupportTable", "emu/x86/form.go": "emu/x86/gen/gen_test.go TestTablesCurrent",
		"emu/interp/uop.go": "emu/interp/gen/main_test.go TestGenerated", "docs/pictures/main.go": "docs/pictures/main_test.go TestPictures",
	}
	found := map[string]bool{}
	eachSource(t, func(file, text string) {
		if n := strings.Count("\n"+text, "\n//go:generate "); n > 0 && filepath.Ext(file) == ".go" {
			require.Equal(t, 1, n, file)
			found[file] = true
			in, test, _ := strings.Cut(compared[file], " ")
			require.NotEmpty(t, test, "nothing compares what the directive in %s makes", file)
			source, err := os.ReadFile(in)
			require.NoError(t, err)
			require.Contains(t, string(source), "func "+test+"(")
		}
	})
	require.Len(t, found, len(compared))
}

// TestParts has errors.go know the packages that put their names in front of errors that may end a run.
func TestParts(t *testing.T) {
	known, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	found := 0
	message := regexp.MustCompile(`(?:Errorf|errors\.New)\("([a-z0-9]+): `)
	eachSource(t, func(file, text string) {
		tests := strings.Contains(file, "test/") || strings.HasSuffix(file, "_test.go")
		if tests || !strings.HasPrefix(file, "emu/") && !strings.HasPrefix(file, "loader/") && !strings.HasPrefix(file, "syscalls/") {
			return
		}
		for _, m := range message.FindAllStringSubmatch(text, -1) {
			if m[1] != "x86" && m[1] != "ldcache" { // what is decoded or read is the guest's: it ends no run
				require.Contains(t, string(known), `"`+m[1]+`"`, file)
				found++
			}
		}
	})
	require.NotZero(t, found)
}

// document reports whether a name is that of a document of ours, and not one that a test makes up.
func document(name string) bool {
	return !strings.Contains(name, "$") && path.Base(name) != "out.md" && path.Base(name) != "report.md"
}

// eachSource calls f with the project's sources: all but these tests, test data, and files that are no text.
func eachSource(t *testing.T, f func(file, text string)) {
	err := walk(func(file string) error {
		switch filepath.Ext(file) {
		case ".go", ".s", ".txt", ".h", ".rs", ".md", "":
		default:
			return nil
		}
		if file == "docs_test.go" || filepath.Base(file) == "CHANGELOG.md" {
			return nil
		}
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || strings.ContainsRune(string(text), 0) {
			return err
		}
		f(file, string(text))
		return nil
	})
	require.NoError(t, err)
}

// TestDocComments has the comment of a declaration begin with its name, with "A", "An" or "The" before a type's. Names
// that are not exported may be spoken of in another way, but not by another case.
func TestDocComments(t *testing.T) {
	eachDecl(t, func(file, name, doc string) {
		word, rest, _ := strings.Cut(doc, " ")
		if word == "A" || word == "An" || word == "The" {
			word, _, _ = strings.Cut(rest, " ")
		}
		word = strings.TrimRight(word, ".,:;'s")
		bare := strings.TrimRight(name, "s")
		if ast.IsExported(name) {
			assert.Equal(t, bare, word, "%s: the comment of %s", file, name)
		} else if strings.EqualFold(word, bare) {
			assert.Equal(t, bare, word, "%s: the comment of %s", file, name)
		}
	})
}

// eachDecl calls f with the functions, and the types, constants and variables declared alone, that have a comment.
func eachDecl(t *testing.T, f func(file, name, doc string)) {
	eachSource(t, func(file, text string) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc != nil {
					f(file, d.Name.Name, d.Doc.Text())
				}
			case *ast.GenDecl:
				if d.Doc == nil || len(d.Specs) != 1 || d.Lparen.IsValid() {
					continue
				}
				switch s := d.Specs[0].(type) {
				case *ast.TypeSpec:
					f(file, s.Name.Name, d.Doc.Text())
				case *ast.ValueSpec:
					f(file, s.Names[0].Name, d.Doc.Text())
				}
			}
		}
	})
}
