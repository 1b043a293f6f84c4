package contract

import (
	"encoding/json"
	"errors"
	"strings"

	"callgate/internal/gate/schema"
	"callgate/tool"
)

// Fit returns an error that says where a value does not fit a schema; what names the value.
func Fit(what string, wants, value json.RawMessage) error {
	s, err := schema.Compile(wants)
	if err != nil {
		return err
	}
	if err = s.CheckResult(value); err == nil {
		return nil
	}
	var e *tool.Error
	if !errors.As(err, &e) {
		return err
	}
	return tool.Errorf("contract.Fit", tool.Invalid, "%s %s", what, strings.TrimPrefix(e.Message, "the result ")).
		WithHint("its schema is %s", tool.TruncateTo(string(wants), 1000))
}

// Typed reads the answer of a model by a schema; nil: it is a text. A fence around JSON is
// taken off.
func Typed(what string, wants json.RawMessage, answer string) (json.RawMessage, error) {
	whole, err := json.Marshal(answer)
	if err != nil || wants == nil {
		return whole, err
	}
	text := strings.TrimSpace(answer)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		inner = strings.TrimPrefix(inner, "json")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "```"))
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), Fit(what, wants, json.RawMessage(text))
	}
	if Fit(what, wants, whole) == nil { // a schema may want a text
		return whole, nil
	}
	return nil, tool.Errorf("contract.Typed", tool.Invalid, "%s is not JSON: %s", what, tool.Truncate(answer))
}

// Words tell a model which answer is wanted; "": any.
func Words(wants json.RawMessage) string {
	if wants == nil {
		return ""
	}
	return "\n\n(Your last answer is read by a program: it is JSON and nothing else, and fits this schema: " +
		string(wants) + ")"
}

// Again tells a model that its answer did not fit.
func Again(why error) string {
	return why.Error() + "\nAnswer again: with JSON that fits the schema, and nothing else."
}
