package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/llm"
	"callgate/tool"
)

func TestMessagesSurviveJSON(t *testing.T) {
	t.Parallel()
	want := []llm.Message{
		llm.TextMessage(llm.User, "hello <b>"),
		{Role: llm.User, Parts: []llm.Part{{Image: &llm.Image{MIME: "image/png", Data: []byte{0, 255}}}}},
		{Role: llm.Assistant, Parts: []llm.Part{
			{Reasoning: &llm.Reasoning{Provider: "p", Model: "m", Text: "hm", Signature: "s"}},
			{Text: "I look."},
			{Call: &llm.ToolCall{ID: "1", Name: "fs__read", Args: json.RawMessage(`{"path":"a"}`)}},
		}},
		{Role: llm.Tool, Parts: []llm.Part{{Result: &llm.ToolResult{
			ID: "1", Name: "fs__read", IsError: true,
			Content: []tool.Content{tool.Text("no"), tool.Image("image/png", []byte{1})},
		}}}},
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got []llm.Message
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, want := want[2].Text(), "I look."; got != want {
		t.Errorf("text %q, want %q: reasoning is no text", got, want)
	}
	if calls := want[2].Calls(); len(calls) != 1 || calls[0].ID != "1" {
		t.Errorf("calls %v", calls)
	}
	if got := want[3].Parts[0].Result.Text(); got != "no" {
		t.Errorf("text of the result %q", got)
	}
}

func TestArgsObject(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: `{}`, `null`: `{}`, `{}`: `{}`, ` {"a":1} `: `{"a":1}`,
		`"{\"a\": "`: `{"malformed_arguments":"{\"a\": "}`,
		`[1]`:        `{"malformed_arguments":"[1]"}`,
		`{"a"`:       `{"malformed_arguments":"{\"a\""}`,
	} {
		if got := string(llm.ToolCall{Args: json.RawMessage(in)}.ArgsObject()); got != want {
			t.Errorf("ArgsObject of %s is %s, want %s", in, got, want)
		}
	}
}

func TestUsageAdd(t *testing.T) {
	t.Parallel()
	a := llm.Usage{Input: 10, CachedInput: 5, Output: 3, Reasoning: 1, Cost: 7, Priced: true}
	b := llm.Usage{Input: 1, CacheWrite: 1, Output: 1, Cost: 2, Priced: true}
	want := llm.Usage{Input: 11, CachedInput: 5, CacheWrite: 1, Output: 4, Reasoning: 1, Cost: 9, Priced: true}
	if got := a.Add(b); got != want {
		t.Errorf("sum %+v, want %+v", got, want)
	}
	if got := (llm.Usage{}).Add(a).Add(llm.Usage{}); got != a {
		t.Errorf("with nothing it is %+v, want %+v", got, a)
	}
	if a.Add(llm.Usage{Input: 1}).Priced {
		t.Error("a sum with an unknown cost has a known one")
	}
}

func TestErrorIsAToolError(t *testing.T) {
	t.Parallel()
	for kind, want := range map[llm.Kind]tool.Kind{
		llm.RateLimited: tool.Limited, llm.Overloaded: tool.Unavailable, llm.Unavailable: tool.Unavailable,
		llm.BrokenStream: tool.Unavailable, llm.Timeout: tool.Timeout, llm.Cancelled: tool.Cancelled,
		llm.ContextOverflow: tool.Invalid, llm.Auth: tool.Denied, llm.Billing: tool.Denied,
		llm.BadRequest: tool.Invalid, llm.Refused: tool.Denied, llm.FailedGeneration: tool.Failed,
	} {
		err := fmt.Errorf("turn 3: %w", &llm.Error{Kind: kind, Provider: "p", Message: "words"})
		if got := tool.KindOf(err); got != want {
			t.Errorf("%s is %s among tools, want %s", kind, got, want)
		}
		var te *tool.Error
		if !errors.As(err, &te) || !strings.Contains(te.Message, "words") || te.Op == "" {
			t.Fatalf("%s: tool error %+v", kind, te)
		}
		if te.Hint == "" && kind != llm.Cancelled {
			t.Errorf("%s: tool error %+v", kind, te)
		}
	}
	err := &llm.Error{
		Kind: llm.RateLimited, Provider: "groq", Status: 429, Message: "slow down", RetryAfter: 1500 * time.Millisecond,
		Err: context.Canceled,
	}
	if got, want := err.Error(), "groq: rate limited (429): slow down (asks to wait 1.5s)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	err.RequestID = "req_1"
	if got, want := err.Error(), "groq: rate limited (429): slow down (request req_1) (asks to wait 1.5s)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(err, context.Canceled) {
		t.Error("the cause is lost")
	}
}

// The arguments of a call have the same bytes before and after they were kept as JSON.
func FuzzArgsObject(f *testing.F) {
	for _, args := range []string{
		`{"path": "a.txt"}`, `{"a":"<b>&\u2028"}`, `{"a":"\\u003c \u003C \"\\"}`, "{\n \"n\": 1.50, \"l\": [1, 2]}", `{`, `"x"`, `{"a":"\\\\u0026"}`,
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		if !json.Valid([]byte(args)) {
			return
		}
		call := llm.ToolCall{Args: json.RawMessage(args)}
		before := string(call.ArgsObject())
		data, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		var kept llm.ToolCall
		if err := json.Unmarshal(data, &kept); err != nil {
			t.Fatal(err)
		}
		if after := string(kept.ArgsObject()); after != before {
			t.Errorf("%s became %s", before, after)
		}
		var was, is any
		if strings.HasPrefix(strings.TrimSpace(args), "{") {
			_ = json.Unmarshal([]byte(args), &was)
			if err := json.Unmarshal([]byte(before), &is); err != nil || !reflect.DeepEqual(was, is) {
				t.Errorf("%s means something else than %s: %v", before, args, err)
			}
		}
	})
}
