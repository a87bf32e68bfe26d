package protocol

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const document = "../docs/protocol.md"

func readDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// table returns the first cells of the rows of the first table behind a line, joined as they stand.
func table(t *testing.T, document, after string, cells int) []string {
	t.Helper()
	_, rest, found := strings.Cut(document, "\n"+after+"\n")
	if !found {
		t.Fatalf("no line %q", after)
	}
	var rows []string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		parts := strings.Split(line, "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		rows = append(rows, strings.Join(parts[1:1+cells], " | "))
	}
	return rows[2:]
}

func sameRows(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: no row %q", what, want[i])
		case i >= len(want):
			t.Errorf("%s: row %q is not in the code", what, got[i])
		case got[i] != want[i]:
			t.Errorf("%s: row %q, want %q", what, got[i], want[i])
		}
	}
}

func TestDocumentTypes(t *testing.T) {
	rows := table(t, readDocument(t), "## 2. Types", 4)
	var got, want []string
	for _, row := range rows {
		cells := strings.Split(row, " | ")
		reserved := ""
		if cells[3] == "reserved" {
			reserved = " reserved"
		}
		got = append(got, cells[0]+" "+strings.ToLower(cells[1])+" "+cells[2]+reserved)
	}
	for _, typ := range Types() {
		row := fmt.Sprintf("0x%02x %s S→C", byte(typ), typ)
		if typ.FromClient() {
			row = fmt.Sprintf("0x%02x %s C→S", byte(typ), typ)
		}
		if New(typ) == nil {
			row += " reserved"
		}
		want = append(want, row)
	}
	sameRows(t, "types", got, want)
}

func TestDocumentCodes(t *testing.T) {
	var want []string
	for _, code := range Codes() {
		class := code.Retry().String()
		if code.Local() {
			class = "never sent"
		}
		status := code.Status()
		want = append(want, fmt.Sprintf("%d | %s | %s | %d | %d", code, code, class, status.RetryMinMs, status.RetryWindowMs))
	}
	sameRows(t, "codes", table(t, readDocument(t), "### Table of codes", 5), want)
}

func TestDocumentClasses(t *testing.T) {
	var want []string
	for class := RetryUnspecified; class.String() != ""; class++ {
		want = append(want, fmt.Sprintf("%d | %s", class, class))
	}
	sameRows(t, "classes", table(t, readDocument(t), "## 5. Codes", 2), want)
}

func TestDocumentFields(t *testing.T) {
	text := readDocument(t)
	list := messages(t)
	for i := range list.Len() {
		documentFields(t, text, list.Get(i))
	}
}

func documentFields(t *testing.T, text string, m protoreflect.MessageDescriptor) {
	t.Helper()
	var want []string
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		want = append(want, fmt.Sprintf("%d | %s | %s", field.Number(), field.Name(), fieldType(field)))
	}
	if len(want) == 0 {
		if !strings.Contains(text, "Echo, Probe and ProbeAck have no fields.") {
			t.Errorf("%s is not said to have no fields", m.Name())
		}
		return
	}
	sameRows(t, string(m.Name()), table(t, text, "### "+string(m.Name()), 3), want)
}

func fieldType(field protoreflect.FieldDescriptor) string {
	name := field.Kind().String()
	switch {
	case field.Message() != nil:
		name = string(field.Message().Name())
	case field.Enum() != nil:
		name = strings.TrimPrefix(string(field.Enum().FullName()), "lifeline.v1.")
	}
	switch {
	case field.IsList():
		return "repeated " + name
	case field.HasOptionalKeyword():
		return "optional " + name
	case field.ContainingOneof() != nil:
		return name + ", oneof " + string(field.ContainingOneof().Name())
	}
	return name
}

func TestDocumentLimits(t *testing.T) {
	rows := table(t, readDocument(t), "The server announces its limits in Connack. A client must work with any values; these are the defaults.", 2)
	for _, want := range []string{
		fmt.Sprintf("bytes before Connack | %d", MaxPreAuth),
		fmt.Sprintf("payload | %d, at most %d", DefaultMaxPayload, PayloadCeiling),
		fmt.Sprintf("length of a frame | payload + %d", FrameOverhead),
		fmt.Sprintf("id of a user, device or group; client id | %d bytes", MaxIDBytes),
		fmt.Sprintf("users of a Presence | %d", MaxPresenceUsers),
		fmt.Sprintf("devices named of a user | %d", MaxPresenceDevices),
	} {
		if !slices.Contains(rows, want) {
			t.Errorf("no row %q", want)
		}
	}
}

// unobeyed are the rules that no source can obey, each with the reason. There is none that no test can prove.
var unobeyed = map[string]string{
	"P-8.1": "it says how to read the conformance files, and nothing but their test reads them",
}

// named lists the rules that some files of the tree name, each with one of the files.
func named(t *testing.T, takes func(path string) bool) map[string]string {
	t.Helper()
	names := map[string]string{}
	rule := regexp.MustCompile(`P-\d+\.\d+`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !takes(path) {
			return err
		}
		content, err := os.ReadFile(path)
		for _, name := range rule.FindAllString(string(content), -1) {
			names[name] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func isText(path string) bool {
	return slices.Contains([]string{".go", ".proto", ".md", ".txt"}, filepath.Ext(path))
}

func isProof(path string) bool {
	vector := filepath.Ext(path) == ".txt" && strings.HasPrefix(path, "../protocol/testdata/vectors/")
	return vector || strings.HasSuffix(path, "_test.go") && path != "../protocol/doc_test.go"
}

// isSource leaves out the rig that the server's tests are made of.
func isSource(path string) bool {
	part := strings.HasPrefix(path, "../protocol/") || strings.HasPrefix(path, "../server/") && !strings.HasPrefix(path, "../server/servertest/")
	return part && (filepath.Ext(path) == ".proto" || filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"))
}

// Every rule of the document is named where it is obeyed, in the codec, the client or the server, and where it is proven,
// in a test or a vector. Nothing in the tree names a rule that is not there.
func TestDocumentRules(t *testing.T) {
	text := readDocument(t)
	defined := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^- \*\*\[(P-\d+\.\d+)\]\*\*`).FindAllStringSubmatch(text, -1) {
		if defined[match[1]] {
			t.Errorf("%s is defined twice", match[1])
		}
		defined[match[1]] = true
	}
	if len(defined) < 80 {
		t.Fatalf("only %d rules found", len(defined))
	}
	for name, file := range named(t, isText) {
		if !defined[name] {
			t.Errorf("%s names %s, which the document does not define", file, name)
		}
	}
	obeyed, proven := named(t, isSource), named(t, isProof)
	for name := range defined {
		if (obeyed[name] == "") != (unobeyed[name] != "") {
			t.Errorf("%s is obeyed in %q, and excused because %q", name, obeyed[name], unobeyed[name])
		}
		if proven[name] == "" {
			t.Errorf("%s is proven by no test and no vector", name)
		}
	}
}
