// Package pipeline runs the steps of an app whose runtime.mode is pipeline, as the model of
// its conversation.
//
// Law: it answers a request with the call of the next step, and at the end with what the
// last step gave. What was done is read from the calls of the turn, so a turn that is resumed
// goes on with the step that is missing, and the same calls give the same answer. A step that
// fails ends the turn, with an error that names it.
package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"callgate/internal/app"
	"callgate/internal/app/contract"
	"callgate/internal/app/pipeline"
	"callgate/llm"
	"callgate/tool"
)

const op = "pipeline"

// Made is what a turn has done so far.
type Made struct {
	Input string
	Calls []Call
}

// Call is a call of a step.
type Call struct {
	ID     string       // of the model's: see name
	Result *tool.Result // nil: it is not known, and the call touched nothing
}

// name names a call of a step: the first, and the one by which an agent answers again.
// Another one that is made because the result of one is not known has a number more.
func name(step pipeline.Step, again bool) string {
	if again {
		return step.ID + ":again"
	}
	return step.ID + ":first"
}

// result is what became of a call; nil: it is to be made.
func (m Made) result(name string) (found *tool.Result) {
	for _, c := range m.Calls {
		if id, _, _ := strings.Cut(c.ID, "#"); id == name && c.Result != nil {
			found = c.Result
		}
	}
	return found
}

// Model runs steps. All fields are required.
type Model struct {
	Contract app.Contract
	Made     func(ctx context.Context) (Made, error)
}

var _ llm.Model = Model{}

// given is what a step gave.
type given struct {
	output any
	text   string
}

// Generate answers with the call of the next step, or with what the last one gave.
func (m Model) Generate(ctx context.Context, _ llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	made, err := m.Made(ctx)
	if err != nil {
		return nil, err
	}
	input, err := m.input(made.Input)
	if err != nil {
		return nil, err
	}
	values := map[string]given{}
	var last given
	for i, s := range m.Contract.Steps {
		where := fmt.Sprintf("step %d of %d (%s)", i+1, len(m.Contract.Steps), s.ID)
		call, value, err := step(s, input, values, made)
		if err != nil {
			return nil, tool.Errorf(op, tool.KindOf(err), "%s failed: %v", where, err)
		}
		if call != nil {
			call.ID += "#" + strconv.Itoa(len(made.Calls)+1)
			return respond(watch, where, call), nil
		}
		last = *value
		values[s.ID] = last
	}
	if wants := m.Contract.Output; wants != nil {
		data, err := json.Marshal(last.output)
		if err == nil {
			err = contract.Fit("the output of the app", wants, data)
		}
		if err != nil {
			return nil, err
		}
	}
	return respond(watch, pipeline.Words(last.output), nil), nil
}

// input is what the app was given, read by its schema.
func (m Model) input(text string) (any, error) {
	if m.Contract.Input == nil {
		return text, nil
	}
	data, err := contract.Typed("the input", m.Contract.Input, text)
	if err != nil {
		return nil, err
	}
	var value any
	return value, json.Unmarshal(data, &value)
}

// step returns the call of a step that was not made yet, or what it gave.
func step(s pipeline.Step, input any, values map[string]given, made Made) (*llm.ToolCall, *given, error) {
	result := made.result(name(s, false))
	if result == nil {
		call, err := first(s, input, values)
		return call, nil, err
	}
	if err := failed(result); err != nil {
		return nil, nil, err
	}
	if s.Action != "" {
		value, err := gave(result)
		return nil, value, err
	}
	value, agent, err := answered(s, result)
	if err == nil || agent == "" {
		return nil, value, err
	}
	if result = made.result(name(s, true)); result == nil { // its answer does not fit: it is told so, once
		call, err := callOf(name(s, true), "agent_spawn.agent", map[string]any{
			"agent_id": agent, "reassign": true, "prompt": contract.Again(err) + contract.Words(s.Output), "wait": true,
		})
		return call, nil, err
	}
	if err := failed(result); err != nil {
		return nil, nil, err
	}
	value, _, err = answered(s, result)
	return nil, value, err
}

// first is the call of a step.
func first(s pipeline.Step, input any, values map[string]given) (*llm.ToolCall, error) {
	look := func(r pipeline.Reference) (any, error) {
		value := input
		if r.Step != "" {
			if value = values[r.Step].output; r.Part == pipeline.Text {
				value = values[r.Step].text
			}
		}
		found, err := pipeline.Find(value, r.Path)
		if err != nil {
			err = tool.Errorf(op, tool.Invalid, "{{%s}}: %v", r, err)
		}
		return found, err
	}
	if s.Action != "" {
		params, err := pipeline.Render(s.Params, look)
		if err != nil {
			return nil, err
		}
		return callOf(name(s, false), s.Action, params)
	}
	prompt, err := pipeline.Render(s.Prompt, look)
	if err != nil {
		return nil, err
	}
	return callOf(name(s, false), "agent_spawn.agent", map[string]any{
		"specialist": s.Agent, "prompt": pipeline.Words(prompt) + contract.Words(s.Output), "wait": true,
	})
}

func callOf(id, name string, params any) (*llm.ToolCall, error) {
	if m, ok := params.(map[string]any); !ok || m == nil {
		params = map[string]any{}
	}
	args, err := json.Marshal(params)
	return &llm.ToolCall{ID: id, Name: name, Args: args}, err
}

// failed returns why a call gave nothing.
func failed(r *tool.Result) error {
	switch {
	case r.Err() != nil:
		return r.Err()
	case r.Status != tool.Success:
		return tool.Errorf(op, tool.Failed, "%s", r.Summary)
	case r.Cut != nil:
		return tool.Errorf(op, tool.Limited, "it gave more than can be handed on")
	}
	return nil
}

// gave is what a tool gave: its data, or else its text.
func gave(r *tool.Result) (*given, error) {
	var texts []string
	for _, c := range r.Content {
		if c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	g := &given{text: strings.Join(texts, "\n")}
	if g.output = g.text; len(r.Data) > 0 && string(r.Data) != "null" {
		if err := json.Unmarshal(r.Data, &g.output); err != nil {
			return nil, err
		}
	}
	if g.text == "" {
		g.text = pipeline.Words(g.output)
	}
	return g, nil
}

// answered is what an agent gave. Where that does not fit, the agent is named.
func answered(s pipeline.Step, r *tool.Result) (value *given, agent string, err error) {
	var record struct {
		ID     string `json:"agent_id"`
		Status string `json:"status"`
		Result string `json:"result"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(r.Data, &record); err != nil {
		return nil, "", tool.Errorf(op, tool.Internal, "what became of the agent cannot be read: %w", err)
	}
	if record.Status != "completed" {
		return nil, "", tool.Errorf(op, tool.Failed, "the agent %s: %s %s", s.Agent, record.Status, record.Error)
	}
	data, err := contract.Typed("what the agent "+s.Agent+" gave", s.Output, record.Result)
	if err != nil {
		return nil, record.ID, err
	}
	value = &given{text: record.Result}
	return value, "", json.Unmarshal(data, &value.output)
}

// respond says something, and makes a call.
func respond(watch func(llm.Delta), text string, call *llm.ToolCall) *llm.Response {
	message := llm.TextMessage(llm.Assistant, text)
	r := &llm.Response{Message: message, Stop: llm.StopEnd, Model: pipeline.Mode}
	if watch != nil {
		watch(llm.Delta{Kind: llm.DeltaText, Text: text})
	}
	if call != nil {
		r.Message.Parts = append(r.Message.Parts, llm.Part{Call: call})
		r.Stop = llm.StopTools
	}
	return r
}
