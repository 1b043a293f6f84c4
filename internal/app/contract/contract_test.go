package contract_test

import (
	"encoding/json"
	"testing"

	"callgate/internal/app"
)

// FuzzApps reads apps and schemas out of any text: a file is right, or says where it is wrong.
func FuzzApps(f *testing.F) {
	f.Add("lint: ../lint/callgate.yaml", "{type: object}")
	f.Add("a: x.yml\nb: /y.yaml", "{type: [object, 'null'], properties: {a: {$ref: '#/properties/b'}}}")
	f.Add("{}", "true")
	f.Add("[a", "{{input}}")
	f.Fuzz(func(t *testing.T, apps, schema string) {
		quoted, err := json.Marshal(apps)
		if err != nil {
			t.Skip()
		}
		for _, text := range []string{
			"tools: {apps: {lint: " + string(quoted) + "}}\n", "tools:\n  apps:\n    " + apps + "\n",
			"runtime: {input: " + schema + "}\n",
		} {
			a, err := app.Parse("callgate.yaml", []byte(text), nil)
			if (a == nil) == (err == nil) {
				t.Fatalf("neither an app nor an error: %q", text)
			}
			if a != nil && a.Runtime.Contract.Input != nil && !json.Valid(a.Runtime.Contract.Input) {
				t.Errorf("the schema is no JSON: %s", a.Runtime.Contract.Input)
			}
		}
	})
}
