package hooks_test

import (
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// What a hook tells a model is of no higher class than the model may be given.
func TestHookTellsNoDataOfAHigherClass(t *testing.T) {
	t.Parallel()
	p := in(t, kerneltest.Open(t, kerneltest.StateDir(t)), map[string]string{"callgate.yaml": `
app: {app_id: demo}
tools:
  capabilities:
    default_policy: auto
    max_data_classification: public
runtime:
  hooks:
  - id: show
    on: tool_end
    condition: {type: tool_name, match: "*search_tools"}
    action: {type: module_action_inject, module: filesystem, action: read, params: {path: a.txt}}
`, "a.txt": "the text\n"})
	if r := p.call(t, "filesystem.read", `{"path":"a.txt"}`); r.Err() == nil {
		t.Fatalf("it may read: %+v", r)
	}
	r := p.call(t, "search_tools", `{"query":"read"}`)
	if strings.Contains(told(r), "the text") {
		t.Errorf("the model was told %q", told(r))
	}
}
