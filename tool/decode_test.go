package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/tool"
)

func TestDecodeArgs(t *testing.T) {
	t.Parallel()
	type inner struct {
		Line int `json:"line"`
	}
	type Page struct {
		Skip int `json:"skip"`
	}
	type args struct {
		Page
		Limit int64   `json:"limit"`
		Small uint8   `json:"small"`
		Ratio float64 `json:"ratio"`
		Name  *string `json:"name"`
		Edits []inner `json:"edits"`
		Mode  tool.Mode
	}
	for text, want := range map[string]string{
		`{"limit": 9007199254740993}`: "",
		`{"limit": 1e400}`:            "limit must be a whole number from -9223372036854775808 to 9223372036854775807",
		`{"limit": 2.5}`:              "limit must be a whole number",
		`{"small": 256}`:              "small must be a whole number from 0 to 255, and is a number 256",
		`{"ratio": 1e400}`:            "ratio must be a number that 64 bits can hold",
		`{"name": 3}`:                 "name must be text",
		`{"edits": [{"line": "x"}]}`:  "line must be a whole number",
		`{"skip": "x"}`:               "fit: skip must be a whole number",
		`{"edits": 1}`:                "edits must be a list",
		`{"Mode": "Q"}`:               `lock mode "Q" is not one of`,
		`[]`:                          "the whole must be an object",
		`{`:                           "the arguments do not fit t.x",
	} {
		err := tool.DecodeArgs("t.x", json.RawMessage(text), new(args))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "json:") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
