package child

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Plan is what a prompt has the model propose, all of it in one answer.
type Plan struct {
	ID    string     `json:"id"`
	Calls []PlanCall `json:"calls"`
}

// PlanCall is one call of a plan.
type PlanCall struct {
	Tool string         `json:"tool"` // as the model is shown it
	Args map[string]any `json:"args"`
}

// Prompt is the prompt that has a plan proposed.
func (p Plan) Prompt() string {
	data, _ := json.Marshal(p) // it holds strings and numbers
	return "PLAN" + string(data) + "END"
}

var planned = regexp.MustCompile(`PLAN(\{.*?\})END`)

// Heard is one line of a model's log: the results that came back for a plan, in the
// order of its calls, and the notes of the conversation so far.
type Heard struct {
	ID           string   `json:"id"`
	Conversation string   `json:"conversation"` // the ID of its first plan
	Results      []string `json:"results"`
	Notes        []Note   `json:"notes"` // that the kernel wrote
}

// Note is what a note is about.
type Note struct {
	ID     string `json:"id"`
	Update bool   `json:"update,omitempty"` // a watcher saw something; else something ended
}

// noted finds what a note is about.
var noted = regexp.MustCompile(`T\d{3}-\d{7}`)

// Model answers like a chat completions API. It keeps nothing: how far a plan is
// follows from the messages.
type Model struct{ Log io.Writer }

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Call    string          `json:"tool_call_id"`
}

func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Stream   bool      `json:"stream"`
		Messages []message `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	plan, heard, ok := read(q.Messages)
	delta, reason := map[string]any{"role": "assistant", "content": "done"}, "stop"
	switch {
	case ok && heard.Results == nil:
		delta, reason = map[string]any{"role": "assistant", "content": nil, "tool_calls": calls(plan)}, "tool_calls"
	case ok:
		line, _ := json.Marshal(heard)
		if _, err := m.Log.Write(append(line, '\n')); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{
		{"index": 0, "delta": delta, "finish_reason": nil}, {"index": 0, "delta": map[string]any{}, "finish_reason": reason},
	} {
		chunk, _ := json.Marshal(map[string]any{"id": "chat", "object": "chat.completion.chunk", "created": 1,
			"model": "soak", "choices": []any{choice}})
		fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func calls(p Plan) (list []any) {
	for i, c := range p.Calls {
		args, _ := json.Marshal(c.Args)
		list = append(list, map[string]any{"index": i, "id": fmt.Sprintf("%s_%d", p.ID, i), "type": "function",
			"function": map[string]any{"name": c.Tool, "arguments": string(args)}})
	}
	return list
}

// read finds the last plan, the results that follow it, and all notes.
func read(messages []message) (plan Plan, heard Heard, ok bool) {
	for _, m := range messages {
		switch m.Role {
		case "user":
			words := text(m.Content)
			if strings.HasPrefix(words, "<note>") {
				heard.Notes = append(heard.Notes, notes(words)...)
				continue
			}
			if found := planned.FindStringSubmatch(words); found != nil {
				plan = Plan{}
				ok = json.Unmarshal([]byte(found[1]), &plan) == nil
				heard.ID, heard.Results, heard.Conversation = plan.ID, nil, cmp.Or(heard.Conversation, plan.ID)
			}
		case "tool":
			if heard.Results == nil {
				heard.Results = make([]string, len(plan.Calls))
			}
			at, err := strconv.Atoi(strings.TrimPrefix(m.Call, plan.ID+"_"))
			if err == nil && at >= 0 && at < len(heard.Results) {
				heard.Results[at] = text(m.Content)
			}
		}
	}
	return plan, heard, ok
}

// notes reads what one note is about.
func notes(words string) (list []Note) {
	about := noted.FindAllString(words, -1)
	slices.Sort(about)
	for _, id := range slices.Compact(about) {
		list = append(list, Note{id, strings.Contains(words, "WATCHER UPDATE")})
	}
	return list
}

// text reads the words of a message, which are a string or a list of parts.
func text(raw json.RawMessage) string {
	var words string
	if json.Unmarshal(raw, &words) == nil {
		return words
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // nothing else has words
	for _, p := range parts {
		words += p.Text
	}
	return words
}

// ReadHeard reads what a model heard, line by line. Half a last line is passed over.
func ReadHeard(name string) ([]Heard, error) {
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var all []Heard
	for line := range strings.Lines(string(data)) {
		var h Heard
		if json.Unmarshal([]byte(line), &h) == nil {
			all = append(all, h)
		}
	}
	return all, nil
}
