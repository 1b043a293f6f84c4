package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/condition"
	"callgate/internal/fence"
	"callgate/tool"
)

// Arguments are those of the call that an action makes.
func (a *Action) Arguments(f *Facts) (json.RawMessage, error) {
	object, err := renderObject(a.Params, f.Values())
	if err != nil {
		return nil, err
	}
	if object == nil {
		object = map[string]any{}
	}
	return json.Marshal(object)
}

// Message renders a text of an action; nil is empty.
func Message(t *condition.Template, f *Facts) (string, error) {
	if t == nil {
		return "", nil
	}
	return t.Text(f.Values())
}

// ownFacts are the expressions whose values the kernel itself wrote. The others may be
// what somebody outside wrote.
var ownFacts = []string{
	"event", "agent", "hook.id", "session.id", "turn", "tools", "messages", "tokens", "pressure", "source",
	"tool.name", "tool.fqn", "tool.call", "tool.failed", "error.type", "task.id", "task.kind", "task.state",
	"approval.id", "approval.state",
}

// Told renders a text that a model is told as the hook's word. What may come from outside
// stands in it as data.
func Told(t *condition.Template, f *Facts) (string, error) {
	if t == nil {
		return "", nil
	}
	quoted := false
	text, err := t.TextWith(f.Values(), func(expr, value string) string {
		if slices.Contains(ownFacts, expr) {
			return value
		}
		shown := fence.Value(value)
		quoted = quoted || strings.HasPrefix(shown, "«")
		return shown
	})
	if err == nil && quoted {
		text = strings.TrimSpace(text) + "\n" + fence.Quoted
	}
	return text, err
}

// TransformParams sets and removes arguments, and names those that it changed.
func (a *Action) TransformParams(args json.RawMessage, f *Facts) (made json.RawMessage, changed []string, err error) {
	set, err := renderObject(a.Set, f.Values())
	if err != nil {
		return nil, nil, err
	}
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		value, err := json.Marshal(set[name])
		if err != nil {
			return nil, nil, err
		}
		if !bytes.Equal(value, object[name]) {
			changed = append(changed, name)
			object[name] = value
		}
	}
	for _, name := range a.Remove {
		if _, there := object[name]; there {
			delete(object, name)
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return args, nil, nil
	}
	made, err = json.Marshal(object)
	return made, changed, err
}

// TransformResult marks a result or cuts it, and says what it did; empty: nothing. The
// data of a result stay: they are what its schema says.
func (a *Action) TransformResult(r *tool.Result, f *Facts) (did string, err error) {
	added, err := Message(a.Append, f)
	if err != nil {
		return "", err
	}
	note, err := Told(a.Note, f)
	if err != nil {
		return "", err
	}
	var done []string
	if cut := a.cut(r); cut > 0 {
		done = append(done, fmt.Sprintf("left out %d bytes", cut))
	}
	if added != "" {
		r.Content = append(slices.Clip(r.Content), tool.Text(added))
		done = append(done, "added to it")
	}
	if note != "" {
		r.Warnings = append(slices.Clip(r.Warnings), note)
		done = append(done, "noted: "+note)
	}
	return strings.Join(done, ", "), nil
}

// cut keeps the first bytes of a result's texts, and returns how many it left out. Data
// that are longer are dropped.
func (a *Action) cut(r *tool.Result) (left int) {
	if a.Cut == 0 {
		return 0
	}
	room, content := a.Cut, slices.Clone(r.Content)
	for i, c := range content {
		if keep := min(room, len(c.Text)); keep < len(c.Text) {
			for keep > 0 && !utf8.RuneStart(c.Text[keep]) {
				keep--
			}
			left += len(c.Text) - keep
			content[i].Text = c.Text[:keep] + " […]"
		}
		room = max(0, room-len(c.Text))
	}
	r.Content = content
	if len(r.Data) > a.Cut {
		left += len(r.Data)
		r.Data = nil
		if len(r.Content) == 0 {
			r.Content = []tool.Content{tool.Text("[the data of the result are left out]")}
		}
	}
	return left
}
