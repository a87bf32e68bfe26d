package cmd_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// brokenLinks lists the links of every Markdown page that lead to no file of the tree.
func brokenLinks(root fs.FS) ([]string, error) {
	var broken []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." && strings.HasPrefix(path.Base(name), ".") {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(match[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := fs.Stat(root, path.Join(path.Dir(name), target)); err != nil {
				broken = append(broken, name+" → "+match[1])
			}
		}
		return nil
	})
	return broken, err
}

func TestLinksLeadSomewhere(t *testing.T) {
	broken, err := brokenLinks(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	tree := fstest.MapFS{
		"README.md":    {Data: []byte("[a](docs/a.md) [b](docs/b.md#part) [c](https://example.org/x.md) [d](#here)")},
		"docs/a.md":    {Data: []byte("[up](../README.md) [code](../store/doc.go) [dir](decisions/)")},
		"store/doc.go": {},
	}
	broken, err := brokenLinks(tree)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(broken, "; "), "README.md → docs/b.md#part; docs/a.md → decisions/"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
