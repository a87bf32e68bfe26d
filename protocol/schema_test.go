package protocol

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// schema is lifeline.proto as the official runtime sees it.
var schema = sync.OnceValues(func() (protoreflect.FileDescriptor, error) {
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := compiler.Compile(context.Background(), "lifeline.proto")
	if err != nil {
		return nil, err
	}
	return files[0], nil
})

func messages(t testing.TB) protoreflect.MessageDescriptors {
	t.Helper()
	file, err := schema()
	if err != nil {
		t.Fatalf("compile lifeline.proto: %v", err)
	}
	return file.Messages()
}

// descriptor is the message of the schema that is a frame's body.
func descriptor(t testing.TB, typ Type) protoreflect.MessageDescriptor {
	t.Helper()
	list := messages(t)
	for i := range list.Len() {
		if strings.EqualFold(string(list.Get(i).Name()), typ.String()) {
			return list.Get(i)
		}
	}
	t.Fatalf("no message for %s", typ)
	return nil
}

// defined lists the types whose bodies exist.
func defined() []Type {
	var list []Type
	for _, typ := range Types() {
		if New(typ) != nil {
			list = append(list, typ)
		}
	}
	return list
}

// fieldNames appends the names of all fields of a message and of the messages in it.
func fieldNames(m protoreflect.MessageDescriptor, names []string) []string {
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		names = append(names, string(field.Name()))
		if field.Message() != nil {
			names = fieldNames(field.Message(), names)
		}
	}
	return names
}
