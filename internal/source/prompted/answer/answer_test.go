package answer_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"callgate/internal/source/prompted/answer"
)

func TestRead(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain", `{"a": 1}`, `{"a": 1}`},
		{"spaces and a byte order mark", "\ufeff \n{\"a\": 1}\n", `{"a": 1}`},
		{"a list", `[1, 2]`, `[1, 2]`},
		{"a scalar", `42`, `42`},
		{"a text", `"yes"`, `"yes"`},
		{"a fence", "```json\n{\"a\": 1}\n```", `{"a": 1}`},
		{"a fence in capitals", "```JSON\n{\"a\": 1}\n```", `{"a": 1}`},
		{"a bare fence", "```\n[1]\n```", `[1]`},
		{"a fence on one line", "```json {\"a\": 1}```", `{"a": 1}`},
		{"a fence that stays open", "```json\n{\"a\": 1}", `{"a": 1}`},
		{"a scalar in a fence", "```\n7\n```", `7`},
		{"prose around a fence", "Here it is:\n```json\n{\"a\": 1}\n```\nDone.", `{"a": 1}`},
		{"several blocks: the first that is JSON", "```python\nx = {1}\n```\n```json\n{\"a\": 1}\n```", `{"a": 1}`},
		{"prose before", `Sure! {"a": 1}`, `{"a": 1}`},
		{"prose after", `{"a": 1} I hope that helps.`, `{"a": 1}`},
		{"a bracket in the prose", `As asked [note], here: {"a": [1]} [end]`, `{"a": [1]}`},
		{"a brace in the prose", `The set {x} is {"a": 1}.`, `{"a": 1}`},
		{"brackets in strings", `x {"a": "}]{", "b": "\"}"} y`, `{"a": "}]{", "b": "\"}"}`},
		{"a bracket that never closes", `see [1 and {"a": 1}`, `{"a": 1}`},
		{"a quote in the prose", `It's 5" long: {"a": 1}`, `{"a": 1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := answer.Read(test.text, nil)
			if err != nil || string(got) != test.want {
				t.Errorf("%q gives %s, %v; want %s", test.text, got, err, test.want)
			}
		})
	}
}

// TestTakesWhatIsAccepted reads several values, of which one is what was asked for.
func TestTakesWhatIsAccepted(t *testing.T) {
	object := func(v json.RawMessage) (json.RawMessage, error) {
		if v[0] != '{' {
			return nil, errors.New("it is no object")
		}
		return append(json.RawMessage(nil), v...), nil
	}
	got, err := answer.Read(`Of [1, 2] and ["x"] I made {"a": 1}, not {"b": 2}`, object)
	if err != nil || string(got) != `{"a": 1}` {
		t.Errorf("the value is %s, %v", got, err)
	}
	_, err = answer.Read(`[1, 2] or [3]`, object)
	var mismatched *answer.Mismatched
	if !errors.As(err, &mismatched) || string(mismatched.Value) != `[1, 2]` ||
		mismatched.Err.Error() != "it is no object" {
		t.Errorf("the error is %#v", err)
	}
}

func TestMalformed(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", " \n", "the answer is empty"},
		{"prose", "I cannot do that.", "it begins: I cannot do that."},
		{"cut off", `{"a": [1, 2`, "unexpected EOF"},
		{"a mistake", `{"a": 1,}`, "invalid character '}'"},
		{"a mistake in a fence", "so:\n```json\n{\"a\" 1}\n```", "invalid character '1'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := answer.Read(test.text, nil)
			var malformed *answer.Malformed
			if !errors.As(err, &malformed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
	_, err := answer.Read(strings.Repeat("long ", 1000), nil)
	if len(err.Error()) > 700 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

// FuzzRead checks that what is returned is JSON that stands in the text, and that hostile texts
// take no more than a bounded number of tries.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"a": 1}`, "```json\n[1]\n```", `x [note] {"a": "}"}`, strings.Repeat("[", 2000), strings.Repeat(`{"`, 2000), "```",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tries := 0
		got, err := answer.Read(text, func(v json.RawMessage) (json.RawMessage, error) {
			tries++
			if len(v) < 4 {
				return nil, errors.New("too short")
			}
			return v, nil
		})
		if tries > 64 {
			t.Errorf("%d tries", tries)
		}
		if err != nil {
			return
		}
		if !json.Valid(got) || !strings.Contains(text, string(got)) {
			t.Errorf("%q gives %q", text, got)
		}
	})
}
