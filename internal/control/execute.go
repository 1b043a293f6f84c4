package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"callgate/tool"
)

// The keys by which models name a tool, and its parameters.
var (
	nameKeys  = []string{"name", "tool_name", "tool"}
	paramKeys = []string{"params", "arguments", "args", "parameters", "input"}
)

// executeOp is the operation of errors about a call of execute_tool.
const executeOp = "execute_tool"

// executor is the handler of execute_tool.
type executor struct{ *discovery }

// Execute answers a call of execute_tool.
func (x executor) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	return x.execute(ctx, call, grant)
}

// Targets reads which call it will make, so that the gate knows what that touches
// before it is made.
func (executor) Targets(args json.RawMessage) (calls []tool.Call, inPlace bool) {
	name, params, err := target(executeOp, args)
	if err != nil {
		return nil, true
	}
	return []tool.Call{{Name: name, Args: params}}, true
}

// execute answers execute_tool: the target goes through the gate, and its
// result is the result.
func (d *discovery) execute(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	name, args, err := target(executeOp, call.Args)
	if err != nil {
		return nil, err
	}
	s, err := d.sessions(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	seen, err := s.Tool(ctx, name)
	if tool.KindOf(err) == tool.NotFound {
		// The gate says whether the tool is denied or does not exist, and records
		// the request.
		return s.CallChild(ctx, call.ID, name, args), nil
	}
	if err != nil {
		return nil, err
	}
	if seen.ID == call.Tool {
		return nil, tool.Errorf("execute_tool", tool.Invalid, "execute_tool cannot call itself").
			WithHint("name the tool that is meant")
	}
	return s.CallChild(ctx, call.ID, seen.ID.String(), args), nil
}

// target reads which tool is meant, and its arguments: in params or a key that
// models write instead, as an object or as the text of one, or flattened
// beside the name.
func target(op string, raw json.RawMessage) (name string, args json.RawMessage, err error) {
	var fields map[string]json.RawMessage
	if err := tool.DecodeArgs(op, raw, &fields); err != nil {
		return "", nil, err
	}
	rest := maps.Clone(fields)
	for _, key := range nameKeys {
		var text string
		if json.Unmarshal(fields[key], &text) == nil && strings.TrimSpace(text) != "" {
			name = text
			delete(rest, key)
			break
		}
	}
	if name == "" {
		return "", nil, tool.Errorf(op, tool.Invalid, "no tool is named").
			WithHint(`give its name and its parameters: {"name":"…","params":{…}}`)
	}
	for _, key := range paramKeys {
		value, ok := fields[key]
		if !ok {
			continue
		}
		delete(rest, key)
		if args, err = object(op, key, value); err != nil {
			return "", nil, err
		}
		if len(rest) == 0 || len(args) > len("{}") {
			return name, args, nil
		}
		break // empty, and other keys beside it: those are meant
	}
	args, err = json.Marshal(rest)
	if err != nil {
		return "", nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the parameters cannot be read", Err: err}
	}
	return name, args, nil
}

// object reads parameters that are an object, or the text of one.
func object(op, key string, value json.RawMessage) (json.RawMessage, error) {
	value = bytes.TrimSpace(value)
	var text string
	if json.Unmarshal(value, &text) == nil {
		value = bytes.TrimSpace([]byte(text))
	}
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return json.RawMessage("{}"), nil
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(value, &fields)
	if err == nil {
		compact, err := json.Marshal(fields)
		return compact, err
	}
	e := tool.Errorf(op, tool.Invalid, "%s is not a JSON object", key)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at := int(syntax.Offset)
		from, to := max(0, at-20), min(len(value), at+20)
		near := strings.ToValidUTF8(string(value[from:to]), "�")
		e.Message = fmt.Sprintf("%s is text that is not JSON: see byte %d, near %q", key, at, near)
	}
	return nil, e.WithHint(`give an object: {"name":"…","params":{…}}`)
}
