package schema_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
)

// The schema of a typical edit tool of a coding agent, and calls of it.
const (
	benchSchema = `{"type":"object","additionalProperties":false,"required":["path","edits"],"properties":{
		"path":{"type":"string","minLength":1,"description":"File to change, relative to the workspace"},
		"edits":{"type":"array","minItems":1,"items":{"type":"object","required":["line","text"],"properties":{
			"line":{"type":"integer","minimum":1},"text":{"type":"string"},"mode":{"enum":["replace","insert","delete"]}}}},
		"encoding":{"type":"string","enum":["utf-8","latin-1"]},
		"dry_run":{"type":"boolean"},
		"limit":{"type":["integer","null"],"minimum":0}}}`
	benchArgs = `{"path":"internal/gate/schema/check.go","edits":[` +
		`{"line":12,"text":"func main() {\n\tfmt.Println(\"hello\")\n}","mode":"replace"},` +
		`{"line":40,"text":"// done"}],"dry_run":false,"limit":40}`
	benchCoerced = `{"path":"internal/gate/schema/check.go","edits":[` +
		`{"line":"12","text":"func main() {\n\tfmt.Println(\"hello\")\n}","mode":"Replace"},` +
		`{"line":40,"text":"// done"}],"dry_run":"false","limit":"40"}`
	benchWrong = `{"file":"internal/gate/schema/check.go","edits":[{"line":"twelve","text":"func main() {}"}]}`
)

func withDefaults() string {
	s := bytes.Replace([]byte(benchSchema), []byte(`"dry_run":{"type":"boolean"}`),
		[]byte(`"dry_run":{"type":"boolean","default":false}`), 1)
	return string(bytes.Replace(s, []byte(`"encoding":{`), []byte(`"encoding":{"default":"utf-8",`), 1))
}

// BenchmarkLibrary measures decoding and validating alone; the rest of the cost of
// Check is our own.
func BenchmarkLibrary(b *testing.B) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(benchSchema)))
	if err != nil {
		b.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("bench:///", doc); err != nil {
		b.Fatal(err)
	}
	s := c.MustCompile("bench:///")
	args := []byte(benchArgs)
	b.ReportAllocs()
	for b.Loop() {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
		if err != nil || s.Validate(v) != nil {
			b.Fatal("not valid")
		}
	}
}

func benchmarkCheck(b *testing.B, text, args string, ok bool) {
	s := schematest.Compile(b, text)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Check(json.RawMessage(args), schema.Lenient); (err == nil) != ok {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckValid(b *testing.B)    { benchmarkCheck(b, benchSchema, benchArgs, true) }
func BenchmarkCheckDefaults(b *testing.B) { benchmarkCheck(b, withDefaults(), benchArgs, true) }
func BenchmarkCheckCoerced(b *testing.B)  { benchmarkCheck(b, benchSchema, benchCoerced, true) }
func BenchmarkCheckRefused(b *testing.B)  { benchmarkCheck(b, benchSchema, benchWrong, false) }

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		schematest.Compile(b, benchSchema)
	}
}

func BenchmarkCacheGet(b *testing.B) {
	var c schema.Cache
	raw := json.RawMessage(benchSchema)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Get(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignature(b *testing.B) {
	s := schematest.Compile(b, benchSchema)
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Signature()
		}
	})
	b.Run("with compiling", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = schematest.Compile(b, benchSchema).Signature()
		}
	})
}
