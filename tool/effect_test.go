package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"callgate/tool"
)

// A condition on a parameter that a tool does not have would never hold.
func TestConditionsNameParameters(t *testing.T) {
	for name, c := range map[string]struct {
		effect tool.Effect
		errHas string
	}{
		"unless":             {tool.Effect{Resource: "workspace", Mode: tool.U, Unless: []string{"writes"}}, ""},
		"when":               {tool.Effect{Resource: "workspace", Mode: tool.S, When: "writes"}, ""},
		"unless no such one": {tool.Effect{Resource: "workspace", Mode: tool.U, Unless: []string{"writes", "write"}}, `"write"`},
		"when no such one":   {tool.Effect{Resource: "workspace", Mode: tool.S, When: "reads"}, `"reads"`},
	} {
		made := tool.Tool{
			ID:      tool.ID{Namespace: "t", Name: "run", Version: tool.Version{Major: 1}},
			Spec:    tool.Spec{Description: "runs", Input: json.RawMessage(`{"type":"object","properties":{"writes":{"type":"array"}}}`)},
			Runtime: tool.Runtime{SideEffect: tool.Write, Effects: []tool.Effect{c.effect}},
			Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return nil, nil }),
		}
		err := made.Validate()
		if (err == nil) != (c.errHas == "") || err != nil && !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
