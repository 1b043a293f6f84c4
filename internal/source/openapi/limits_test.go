package openapi_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/source/openapi"
	"callgate/tool"
)

// repeated is a text with a number in it, many times.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A document that would take all the memory there is, or hours, is refused before it is parsed. It is
// not parallel: what it allocates is measured.
func TestDocumentsThatWouldEndTheKernel(t *testing.T) {
	plainOnly(t)
	const n = 20_000
	get := "paths: {/x: {get: {responses: {}}}}\n"
	for name, c := range map[string]struct{ text, want string }{
		"lists in a line":     {head + "x:\n " + strings.Repeat("- ", n) + "a\n", "levels deep"},
		"brackets":            {head + "x: " + strings.Repeat("[", n) + strings.Repeat("]", n), "levels deep"},
		"braces":              {head + "x: " + strings.Repeat("{a: ", n) + strings.Repeat("}", n), "levels deep"},
		"keys in a line":      {head + strings.Repeat("a: ", n), "levels deep"},
		"marks of keys":       {head + "x:\n " + strings.Repeat("? ", n) + "a\n", "levels deep"},
		"tags":                {head + "x: " + strings.Repeat("!a ", n) + "a\n", "levels deep"},
		"anchors":             {head + "x: " + strings.Repeat("&a ", n) + "a\n", "levels deep"},
		"indents":             {head + "x:\n" + indents(300), "levels deep"},
		"a long key":          {head + strings.Repeat("k", 200_000) + ":\n" + repeated(3000, "  a%d: 1\n"), "longer keys"},
		"a long key in flow":  {head + "x: {" + strings.Repeat("k", 200_000) + ": [" + strings.Repeat("1, ", 3000) + "]}", "longer keys"},
		"keys of one mapping": {head + repeated(30_000, "a%d: 1\n"), "more keys and values"},
		"values":              {head + "x: [" + strings.Repeat("1,", 600_000) + "1]\n", "more keys and values"},
		"signs":               {head + "x: [" + strings.Repeat(",", 8<<20) + "]\n", "more keys and values"},
		"fewer signs":         {head + "x: [" + strings.Repeat(",", 1_900_000) + "]\n", "more keys and values"},
		"documents":           {head + get + strings.Repeat("---\na: 1\n", 3), "second document"},
		"a text by aliases":   {"a: &a '" + strings.Repeat("x", 1<<20) + "'\nb: [" + strings.Repeat("*a, ", 100) + "]\n" + head + get, "repeat too much"},
		"deep JSON":           {`{"openapi":"3.0.0","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`, "levels deep"},
		"deep data in JSON":   {`{"openapi":"3.0.0","example":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, "levels deep"},
		"values in JSON":      {`{"openapi":"3.0.0","x":[` + strings.Repeat("1,", 4_100_000) + `1]}`, "values"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := tried(openapi.Config{}, c.text)
		runtime.ReadMemStats(&after)
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.want) || hint(err) == "" || len(err.Error()) > 1000 {
			t.Errorf("%s: %.300v; hint %s", name, err, hint(err))
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 600 {
			t.Errorf("%s: took %d MiB", name, took)
		}
	}
}

// indents is a mapping of that many levels, one below the other.
func indents(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

// What documents of real APIs hold is within the limits.
func TestLargeDocumentsWithinTheLimits(t *testing.T) {
	plainOnly(t)
	t.Parallel()
	for name, text := range map[string]string{
		"paths": head + "paths:\n" + repeated(3000,
			"  /things/%d/parts:\n    get:\n      summary: |\n        # not a comment - {[\n      responses:\n        '200': {description: OK}\n"),
		"deep": head + "paths: {/x: {get: {responses: {}}}}\nx:\n" + indents(150),
		"data in JSON": `{"openapi":"3.0.0","servers":[{"url":"https://a.example"}],"x":"` + strings.Repeat("[{,", 1000) +
			`\"[","paths":{"/x":{"get":{"responses":{}}}}}`,
	} {
		if api, err := tried(openapi.Config{}, text); err != nil || len(api.Tools) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A large schema that many operations use costs as much as one, and what costs too much is refused. It is
// not parallel: what it allocates is measured.
func TestLargeSchemasOfManyOperations(t *testing.T) {
	plainOnly(t)
	enum := `{"type":"string","enum":[` + strings.TrimSuffix(repeated(60_000, `"value%d",`), ",") + `]}`
	document := func(operation, components string) string {
		return `{"openapi":"3.0.0","info":{"title":"x","version":"1"},"servers":[{"url":"https://api.example.com"}],"paths":{` +
			strings.TrimSuffix(repeated(300, `"/p%d":{"post":{`+operation+`,"responses":{}}},`), ",") +
			`},"components":{` + components + `}}`
	}
	body := `"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/B"}}}}`
	for name, text := range map[string]string{
		"a parameter": document(`"parameters":[{"$ref":"#/components/parameters/P"}]`,
			`"parameters":{"P":{"in":"query","name":"q","description":"What.","schema":`+enum+`}}`),
		"a property of a body": document(body, `"schemas":{"B":{"type":"object","properties":{"q":`+enum+`}}}`),
		"a body": document(`"requestBody":{"$ref":"#/components/requestBodies/B"}`,
			`"requestBodies":{"B":{"content":{"application/json":{"schema":`+enum+`}}}}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		api := made(t, openapi.Config{}, text)
		runtime.ReadMemStats(&after)
		if len(api.Tools) != 300 {
			t.Errorf("%s: %d tools, %v", name, len(api.Tools), api.Problems)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 1000 {
			t.Errorf("%s: took %d MiB", name, took)
		}
	}
	for properties, want := range map[int]string{3000: "too large", 40_000: "too large"} {
		small := `{"type":"object","properties":{` + strings.TrimSuffix(repeated(properties, `"q%d":{"type":"string"},`), ",") + `}}`
		_, err := tried(openapi.Config{}, document(body, `"schemas":{"B":`+small+`}`))
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), want) || !strings.Contains(hint(err), "operations that are") {
			t.Errorf("%d properties: %v", properties, err)
		}
	}
}

// No value begins another cookie, and no argument makes a request one of another method.
func TestArgumentsStayInTheirPlace(t *testing.T) {
	t.Parallel()
	server, last := echo(t)
	api := made(t, local(t, server), head+`
paths:
  /a: {post: {operationId: post, parameters: [{name: c, in: cookie, allowReserved: true, schema: {}},
    {name: x-http-method-override, in: header, schema: {}}, {name: X-HTTP-Method, in: header, schema: {}},
    {name: X-Method-Override, in: header, schema: {}}]}}
`)
	one := find(t, api, "post")
	if mustCall(t, one, `{"c":"x; session=evil"}`, nil); last.Header.Get("Cookie") != "c=x%3B%20session%3Devil" {
		t.Errorf("sent %q", last.Header.Get("Cookie"))
	}
	mustCall(t, one, `{"x-http-method-override":"DELETE","X-HTTP-Method":"DELETE","X-Method-Override":"DELETE"}`, nil)
	if text := fmt.Sprint(last.Header) + string(one.Spec.Input); strings.Contains(strings.ToLower(text), "method") {
		t.Errorf("%s", text)
	}
}
