package cmd_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The top-level names are fixed. What begins with a dot is not ours to judge; bin, data and data.boot are never committed.
var topLevel = []string{
	"cmd", "docs", "loadtest", "protocol", "server", "store",
	"go.mod", "go.sum", "Makefile", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
	"bin", "data", "data.boot",
}

const (
	maxFileLines     = 400
	maxFunctionLines = 80
)

// longer lists what may be longer, and why.
var longer = map[string]string{}

// vague names say nothing about what is inside.
var vague = []string{"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc", "base"}

func topLevelFaults(root fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			faults = append(faults, name+" is not one of the fixed top-level names")
		}
	}
	return faults, nil
}

// styleFaults lists files and functions that are too long, vague names, and packages that do not say what they are.
func styleFaults(all []source) []string {
	var faults []string
	documented := map[string]bool{}
	for _, s := range all {
		if slices.Contains(vague, path.Base(s.dir)) {
			faults = append(faults, s.path+": the package's name says nothing")
		}
		if s.test {
			continue
		}
		documented[s.dir] = documented[s.dir] || s.file.Doc != nil
		if lines := bytes.Count(s.text, []byte("\n")); lines > maxFileLines && longer[s.path] == "" {
			faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d", s.path, lines, maxFileLines))
		}
		faults = append(faults, functionFaults(s)...)
	}
	for dir, ok := range documented {
		if !ok {
			faults = append(faults, dir+" has no package comment")
		}
	}
	slices.Sort(faults)
	return faults
}

func functionFaults(s source) []string {
	var faults []string
	for _, declaration := range s.file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := s.path + ":" + function.Name.Name
		lines := s.files.Position(function.End()).Line - s.files.Position(function.Pos()).Line + 1
		if lines > maxFunctionLines && longer[name] == "" {
			faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d", name, lines, maxFunctionLines))
		}
	}
	return faults
}

func TestTopLevelIsFixed(t *testing.T) {
	faults, err := topLevelFaults(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

func TestStyle(t *testing.T) {
	all, err := sources(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range styleFaults(all) {
		t.Error(fault)
	}
}

func TestExceptionsAreNeeded(t *testing.T) {
	all, err := sources(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	excused := longer
	longer = nil
	defer func() { longer = excused }()
	faults := strings.Join(styleFaults(all), "\n")
	for name := range excused {
		if !strings.Contains(faults, name+" has ") {
			t.Errorf("%s needs no exception any more", name)
		}
	}
}

func TestStyleFaultsAreFound(t *testing.T) {
	const doc = "// Package p is.\npackage p\n"
	for _, tt := range []struct{ name, file, text, want string }{
		{"long file", "store/a.go", doc + strings.Repeat("\n", maxFileLines), "store/a.go has 402 lines"},
		{"long function", "store/a.go", doc + "func f() {" + strings.Repeat("\n", maxFunctionLines) + "}\n", "store/a.go:f has 81 lines"},
		{"no comment", "store/a.go", "package p\n", "no package comment"},
		{"vague name", "server/util/a.go", doc, "says nothing"},
	} {
		all, err := sources(fstest.MapFS{tt.file: {Data: []byte(tt.text)}})
		if err != nil {
			t.Fatal(err)
		}
		if faults := styleFaults(all); len(faults) != 1 || !strings.Contains(faults[0], tt.want) {
			t.Errorf("%s: got %q, want one fault with %q", tt.name, faults, tt.want)
		}
	}
	limits := doc + "func f() {" + strings.Repeat("\n", maxFunctionLines-1) + "}\n"
	limits += strings.Repeat("\n", maxFileLines-strings.Count(limits, "\n"))
	all, err := sources(fstest.MapFS{"store/a.go": {Data: []byte(limits)}})
	if err != nil {
		t.Fatal(err)
	}
	if faults := styleFaults(all); len(faults) != 0 {
		t.Errorf("at the limits: got %q", faults)
	}
	if faults, err := topLevelFaults(fstest.MapFS{"util/a.go": {}, "cmd/b.go": {}, ".ci/run": {}, "Makefile": {}, "data/store/1.log": {}, "data.boot": {}}); err != nil || len(faults) != 1 {
		t.Errorf("top level: got %q, %v", faults, err)
	}
}
