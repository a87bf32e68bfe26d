package cmd_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "lifeline"

// arrows is the design: what each package may import of this module. Every arrow points down. A change here is a change
// of the design and is made in a commit that says so. Tests may also import tests' packages, and their own.
var arrows = map[string]struct{ code, tests []string }{
	"protocol":        {},
	"protocol/client": {code: []string{"protocol"}},

	"store":             {},
	"store/commit":      {code: []string{"store"}, tests: []string{"store/storetest", "store/memstore"}},
	"store/memstore":    {code: []string{"store"}, tests: []string{"store/storetest"}},
	"store/pebblestore": {code: []string{"store", "store/commit"}, tests: []string{"store/storetest", "store/memstore"}},
	"store/storetest":   {code: []string{"store"}, tests: []string{"store/memstore"}},

	"server/route":            {tests: []string{"server/route/routetest"}},
	"server/route/redisroute": {code: []string{"server/route"}, tests: []string{"server/route/routetest", "server/route/redistest"}},
	"server/route/redistest":  {},
	"server/route/routetest":  {code: []string{"server/route"}},
	"server/liveness":         {},
	"server/auth":             {code: []string{"protocol"}},
	"server/config":           {code: []string{"server/auth", "server/liveness"}},
	"server/admin":            {code: []string{"server/config"}},
	"server/session":          {code: []string{"server/liveness", "protocol", "store"}},
	"server/delivery":         {code: []string{"server/auth", "server/session", "protocol", "store"}, tests: []string{"store/memstore"}},
	"server": {
		code: []string{
			"server/admin", "server/auth", "server/config", "server/delivery", "server/liveness", "server/route", "server/session",
			"protocol", "store",
		},
		tests: []string{"server/servertest", "store/memstore", "store/storetest"},
	},
	"server/servertest": {code: []string{
		"server", "server/auth", "server/config", "server/delivery", "server/liveness", "server/route", "server/session",
		"protocol", "store", "store/memstore",
	}, tests: []string{"store/storetest", "protocol/client"}},

	"loadtest":          {code: []string{"protocol", "protocol/client"}},
	"loadtest/simulate": {code: []string{"server/liveness", "protocol/client"}},

	"cmd": {},
	"cmd/lifelined": {
		code: []string{
			"server", "server/config", "server/route", "server/route/redisroute",
			"store", "store/commit", "store/memstore", "store/pebblestore",
		},
		tests: []string{"protocol", "protocol/client", "server/route/redistest"},
	},
	"cmd/lifelinectl":  {code: []string{"protocol", "protocol/client", "server/auth", "store", "store/commit", "store/pebblestore"}, tests: []string{"server/route/redistest"}},
	"cmd/lifelineload": {code: []string{"loadtest", "loadtest/simulate"}, tests: []string{"server/route/redistest"}},
}

// foreign says which packages may import which module of others, and why no other may. "tests" stands for every test.
var foreign = []struct {
	prefix string
	where  []string
	reason string
}{
	{"github.com/cockroachdb/pebble/v2", []string{"store/pebblestore"}, "the store's domain knows no database"},
	{"github.com/redis/go-redis/v9", []string{"server/route/redisroute"}, "the core runs without Redis"},
	{"github.com/panjf2000/gnet/v2", []string{"server", "loadtest"}, "the core runs without gnet, in virtual time"},
	{"github.com/golang-jwt/jwt/v5", []string{"server/auth", "cmd/lifelinectl", "tests"}, "one place decides who a token speaks for"},
	{"github.com/VictoriaMetrics/metrics", []string{"server", "server/admin", "server/delivery", "server/servertest", "server/route/redisroute", "store/commit", "store/pebblestore", "loadtest", "cmd/lifelined"}, "pure packages count nothing"},
	{"github.com/spf13/cobra", []string{"cmd/lifelined", "cmd/lifelinectl", "cmd/lifelineload"}, "command lines are read by commands"},
	{"github.com/spf13/pflag", []string{"server/config", "cmd/lifelined", "cmd/lifelinectl", "cmd/lifelineload"}, "command lines are read by commands"},
	{"go.yaml.in/yaml/v3", []string{"server/config"}, "one package reads configuration"},
	{"google.golang.org/protobuf", []string{"tests"}, "the runtime with reflection is only the judge of ours"},
	{"github.com/bufbuild/protocompile", []string{"tests"}, "the schema is compiled only to judge our codec"},
	{"golang.org/x/term", []string{"cmd/lifelinectl"}, "one command draws on a terminal"},
	{"golang.org/x/sys", []string{"server", "server/config", "server/session", "store/pebblestore", "loadtest", "cmd/lifelined", "tests"}, "the system is asked at the edges"},
}

// oneFile lists imports that a package hides in one file.
var oneFile = []string{"github.com/panjf2000/gnet/v2"}

// source is one Go file of the tree.
type source struct {
	path    string
	dir     string
	test    bool
	text    []byte
	file    *ast.File
	files   *token.FileSet
	imports []string
}

// sources parses every Go file below root that Go itself would build.
func sources(root fs.FS) ([]source, error) {
	var all []source
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		s, err := parse(root, name)
		if err != nil {
			return err
		}
		all = append(all, s)
		return nil
	})
	return all, err
}

func parse(root fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return source{}, err
	}
	s := source{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), text: text, files: token.NewFileSet()}
	if s.file, err = parser.ParseFile(s.files, name, text, parser.SkipObjectResolution|parser.ParseComments); err != nil {
		return source{}, fmt.Errorf("parse %s: %w", name, err)
	}
	for _, spec := range s.file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		s.imports = append(s.imports, imported)
	}
	return s, nil
}

// importFaults lists every arrow that is not in the tables.
func importFaults(all []source) []string {
	var faults []string
	hidden := map[string][]string{} // package and import → files
	for _, s := range all {
		if _, ok := arrows[s.dir]; !ok {
			faults = append(faults, s.path+": package "+s.dir+" is not in the table of arrows")
			continue
		}
		for _, imported := range s.imports {
			if fault := importFault(s, imported); fault != "" {
				faults = append(faults, s.path+": "+fault)
			}
			for _, prefix := range oneFile {
				key := s.dir + " imports " + prefix
				if below(imported, prefix) && !slices.Contains(hidden[key], s.path) {
					hidden[key] = append(hidden[key], s.path)
				}
			}
		}
	}
	for key, files := range hidden {
		if len(files) > 1 {
			faults = append(faults, key+" in more than one file: "+strings.Join(files, ", "))
		}
	}
	slices.Sort(faults)
	return faults
}

func importFault(s source, imported string) string {
	if imported == module || strings.HasPrefix(imported, module+"/") {
		target := strings.TrimPrefix(imported, module+"/")
		allowed := arrows[s.dir]
		if slices.Contains(allowed.code, target) || s.test && (target == s.dir || slices.Contains(allowed.tests, target)) {
			return ""
		}
		return s.dir + " must not import " + target
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for _, rule := range foreign {
		if !below(imported, rule.prefix) {
			continue
		}
		if slices.Contains(rule.where, s.dir) || s.test && slices.Contains(rule.where, "tests") {
			return ""
		}
		return s.dir + " must not import " + imported + ": " + rule.reason
	}
	return imported + " is in no table: a dependency needs a decision record"
}

func below(imported, prefix string) bool {
	return imported == prefix || strings.HasPrefix(imported, prefix+"/")
}

func TestImportsPointDown(t *testing.T) {
	all, err := sources(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no Go files were found")
	}
	for _, fault := range importFaults(all) {
		t.Error(fault)
	}
}

// The table itself has no arrow up: following it never leads back.
func TestArrowsHaveNoCycle(t *testing.T) {
	const open, done = 1, 2
	state := map[string]int{}
	var walk func(string)
	walk = func(from string) {
		state[from] = open
		for _, to := range arrows[from].code {
			if _, ok := arrows[to]; !ok {
				t.Errorf("%s → %s, which is in no line of the table", from, to)
			}
			switch state[to] {
			case open:
				t.Errorf("%s → %s closes a cycle", from, to)
			case 0:
				walk(to)
			}
		}
		state[from] = done
	}
	for from := range arrows {
		if state[from] == 0 {
			walk(from)
		}
	}
}

// A check that cannot fail proves nothing: each line is one forbidden file and what is said of it.
func TestImportFaultsAreFound(t *testing.T) {
	for _, tt := range []struct{ name, file, imports, want string }{
		{"store knows protocol", "store/a.go", "lifeline/protocol", "store must not import protocol"},
		{"protocol knows store", "protocol/a.go", "lifeline/store", "protocol must not import store"},
		{"an arrow up", "server/session/a.go", "lifeline/server", "server/session must not import server"},
		{"a neighbour", "server/liveness/a.go", "lifeline/server/auth", "server/liveness must not import server/auth"},
		{"an arrow up from a test", "store/a_test.go", "lifeline/server", "store must not import server"},
		{"the model outside tests", "server/a.go", "lifeline/store/memstore", "server must not import store/memstore"},
		{"the commands", "server/a.go", "lifeline/cmd/lifelined", "server must not import cmd/lifelined"},
		{"the load harness sees the server", "loadtest/a.go", "lifeline/server/session", "loadtest must not import server/session"},
		{"Pebble in the domain", "store/a.go", "github.com/cockroachdb/pebble/v2", "the store's domain knows no database"},
		{"part of Pebble", "store/commit/a.go", "github.com/cockroachdb/pebble/v2/vfs", "the store's domain knows no database"},
		{"Redis in the server", "server/a.go", "github.com/redis/go-redis/v9", "the core runs without Redis"},
		{"gnet in a session", "server/session/a.go", "github.com/panjf2000/gnet/v2", "the core runs without gnet"},
		{"reflection on the wire", "protocol/a.go", "google.golang.org/protobuf/proto", "only the judge"},
		{"a new dependency", "server/a.go", "github.com/someone/something", "needs a decision record"},
		{"a new package", "server/newthing/a.go", "fmt", "not in the table"},
		{"a new top level", "util/a.go", "fmt", "not in the table"},
	} {
		tree := fstest.MapFS{tt.file: {Data: []byte("package p\n\nimport _ \"" + tt.imports + "\"\n")}}
		all, err := sources(tree)
		if err != nil {
			t.Fatal(err)
		}
		if faults := importFaults(all); len(faults) != 1 || !strings.Contains(faults[0], tt.want) {
			t.Errorf("%s: got %q, want one fault with %q", tt.name, faults, tt.want)
		}
	}
}

func TestGoodImportsAreNotFaults(t *testing.T) {
	gnet := []byte("package server\n\nimport _ \"github.com/panjf2000/gnet/v2\"\nimport _ \"github.com/panjf2000/gnet/v2/pkg/logging\"\n")
	tree := fstest.MapFS{
		"store/memstore/a.go":      {Data: []byte("package memstore\n\nimport (\n\t\"fmt\"\n\t\"lifeline/store\"\n)\n")},
		"store/memstore/a_test.go": {Data: []byte("package memstore_test\n\nimport (\n\t\"lifeline/store/memstore\"\n\t\"lifeline/store/storetest\"\n)\n")},
		"server/gnet.go":           {Data: gnet},
		"server/testdata/bad.go":   {Data: []byte("package bad\n\nimport _ \"lifeline/cmd/lifelined\"\n")},
	}
	all, err := sources(tree)
	if err != nil {
		t.Fatal(err)
	}
	if faults := importFaults(all); len(faults) != 0 {
		t.Errorf("got %q", faults)
	}
	tree["server/second.go"] = &fstest.MapFile{Data: gnet}
	if all, err = sources(tree); err != nil {
		t.Fatal(err)
	}
	if faults := importFaults(all); len(faults) != 1 || !strings.Contains(faults[0], "more than one file") {
		t.Errorf("two files with gnet: got %q", faults)
	}
}
