package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// chunk is one event of a stream, or a whole answer of a server that does not
// stream.
type chunk struct {
	Model   string                  `json:"model"`
	Choices []chunkChoice           `json:"choices"`
	Usage   *usage                  `json:"usage"`
	XGroq   *struct{ Usage *usage } `json:"x_groq"`
	Error   json.RawMessage         `json:"error"`
}

type chunkChoice struct {
	Index        int             `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"` // of a whole answer
	FinishReason string          `json:"finish_reason"`
	Usage        *usage          `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

type delta struct {
	Content          contentText       `json:"content"`
	Refusal          string      `json:"refusal"`
	ReasoningContent string      `json:"reasoning_content"` // DeepSeek, xAI, vLLM, llama.cpp
	Reasoning        string      `json:"reasoning"`         // OpenRouter, Groq, Cerebras, Ollama
	ReasoningText    string      `json:"reasoning_text"`    // Copilot
	ToolCalls        []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

// contentText is content: a string, or a list of parts of which some may be thoughts.
type contentText struct{ said, thought string }

// UnmarshalJSON reads either; anything else is no words.
func (w *contentText) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &w.said)
	}
	var parts []struct {
		Text     string `json:"text"`
		Thinking []struct {
			Text string `json:"text"`
		} `json:"thinking"`
	}
	_ = json.Unmarshal(raw, &parts) // null, and what nobody knows
	for _, p := range parts {
		w.said += p.Text
		for _, t := range p.Thinking {
			w.thought += t.Text
		}
	}
	return nil
}

// arguments is a piece of arguments as text; some servers send an object whole.
type arguments string

// UnmarshalJSON reads either.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	switch {
	case string(raw) == "null":
		return nil
	case raw[0] == '"':
		return json.Unmarshal(raw, (*string)(a))
	default:
		*a = arguments(raw)
		return nil
	}
}

// usage is the counts of tokens, under all of their names.
type usage struct {
	PromptTokens         int `json:"prompt_tokens"`
	CompletionTokens     int `json:"completion_tokens"`
	TotalTokens          int `json:"total_tokens"`
	PromptCacheHitTokens int `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptTokensDetails  struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Cost *float64 `json:"cost"` // OpenRouter, in dollars
}

func (u *usage) tokens() llm.Usage {
	out := llm.Usage{
		Input:       u.PromptTokens,
		CachedInput: max(u.PromptCacheHitTokens, u.PromptTokensDetails.CachedTokens),
		CacheWrite:  u.PromptTokensDetails.CacheWriteTokens,
		Output:      u.CompletionTokens,
		Reasoning:   u.CompletionTokensDetails.ReasoningTokens,
	}
	if out.Reasoning > 0 && u.TotalTokens == out.Input+out.Output+out.Reasoning {
		out.Output += out.Reasoning // counted beside the answer, not in it (xAI)
	}
	if u.Cost != nil && *u.Cost >= 0 && *u.Cost < 1e6 {
		out.Cost, out.Priced = int64(math.Round(*u.Cost*1e6)), true
	}
	return out
}

// fault is the error inside a chunk, or nil.
func (c *chunk) fault() []byte {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return c.Error
	}
	for _, ch := range c.Choices {
		if len(ch.Error) > 0 && string(ch.Error) != "null" {
			return ch.Error
		}
	}
	return nil
}

// assembler puts an answer together out of chunks.
//
// The pieces of a call are known by their index. Where a provider leaves that
// out, or gives the same to every call, by their id; and where there is neither,
// a name begins a call and what follows belongs to it.
type assembler struct {
	provider string
	builder  *apiclient.ResponseBuilder
	slots    []*slot
	byIndex  map[int]*slot
	next     int // the order of a call that has none of its own
	finish   string
	refused  bool
	done     bool // the stream said so
}

// slot is a call that is being put together. It begins in the builder once its
// name is known.
type slot struct {
	order    int
	id, name string
	held     string // arguments that came before the name
	extra    json.RawMessage
	call     int // in the builder; -1 before
}

func newAssembler(provider string, builder *apiclient.ResponseBuilder) *assembler {
	return &assembler{provider: provider, builder: builder, byIndex: map[int]*slot{}}
}

// feed adds a chunk.
func (a *assembler) feed(c *chunk) {
	if c.Model != "" {
		a.builder.Model = c.Model
	}
	a.count(c.Usage)
	if c.XGroq != nil {
		a.count(c.XGroq.Usage)
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != 0 {
			continue // one answer was asked for
		}
		a.count(ch.Usage)
		for _, d := range []*delta{ch.Delta, ch.Message} {
			if d != nil {
				a.grow(d)
			}
		}
		if ch.FinishReason != "" {
			a.finish = ch.FinishReason
		}
	}
}

func (a *assembler) count(u *usage) {
	if u != nil {
		a.builder.Usage = u.tokens()
	}
}

func (a *assembler) grow(d *delta) {
	for _, thought := range []string{d.ReasoningContent, d.Reasoning, d.ReasoningText, d.Content.thought} {
		if thought != "" {
			a.builder.AddReasoning(a.provider, thought)
			break // the same under two names
		}
	}
	a.builder.Text(d.Content.said)
	if d.Refusal != "" {
		a.refused = true
		a.builder.Text(d.Refusal)
	}
	for i := range d.ToolCalls {
		a.growCall(&d.ToolCalls[i])
	}
}

func (a *assembler) growCall(d *callDelta) {
	s := a.find(d)
	if s == nil {
		s = a.open(d)
	}
	if s.id == "" {
		s.id = d.ID
	}
	if s.name == "" {
		s.name = d.Function.Name
	}
	if len(d.ExtraContent) > 0 {
		s.extra = bytes.Clone(d.ExtraContent)
	}
	s.held += string(d.Function.Arguments)
	if s.name != "" {
		a.flushSlot(s)
	}
}

// flushSlot passes on what a slot holds.
func (a *assembler) flushSlot(s *slot) {
	if s.call < 0 {
		s.call = a.builder.Call(s.order, s.id, s.name)
	}
	a.builder.Args(s.call, s.held)
	s.held = ""
}

// find returns the slot that a piece belongs to, or nil when it begins one.
func (a *assembler) find(d *callDelta) *slot {
	if d.Index == nil {
		return a.guessSlot(d)
	}
	s := a.byIndex[*d.Index]
	switch {
	case s == nil:
		return nil
	case d.ID != "" && s.id != "" && d.ID != s.id && d.Function.Name != "":
		return a.byID(d.ID) // an index that is given to every call
	case d.ID == "" && d.Function.Name != "" && s.name != "" && (d.Function.Name != s.name || a.whole(s)):
		return nil
	}
	return s
}

// guessSlot finds the slot of a piece without an index.
func (a *assembler) guessSlot(d *callDelta) *slot {
	if d.ID != "" {
		return a.byID(d.ID)
	}
	if len(a.slots) == 0 {
		return nil
	}
	last := a.slots[len(a.slots)-1]
	if d.Function.Name == "" || last.name == "" {
		return last
	}
	if d.Function.Name == last.name && a.text(last) != "" && !a.whole(last) {
		return last // a name that is said with every piece
	}
	return nil
}

func (a *assembler) byID(id string) *slot {
	for _, s := range a.slots {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (a *assembler) open(d *callDelta) *slot {
	s := &slot{call: -1, order: a.next}
	if d.Index != nil {
		if a.byIndex[*d.Index] == nil {
			s.order = *d.Index
		}
		a.byIndex[*d.Index] = s
	}
	a.next = max(a.next, s.order+1)
	a.slots = append(a.slots, s)
	return s
}

func (a *assembler) text(s *slot) string {
	if s.call < 0 {
		return s.held
	}
	return a.builder.CallText(s.call)
}

// whole reports whether the arguments of a slot are a whole object.
func (a *assembler) whole(s *slot) bool {
	text := strings.TrimSpace(a.text(s))
	return strings.HasSuffix(text, "}") && json.Valid([]byte(text))
}

// isComplete reports whether the answer came to its end. Some servers leave out the
// reason and some the last word, but none both.
func (a *assembler) isComplete() bool { return a.finish != "error" && (a.finish != "" || a.done) }

// build ends the answer.
func (a *assembler) build() *llm.Response {
	for _, s := range a.slots {
		if s.call < 0 && s.held == "" && s.id == "" {
			continue // no call at all
		}
		a.flushSlot(s)
		if len(s.extra) > 0 && string(s.extra) != "null" {
			a.builder.BeginReasoning(llm.Reasoning{Provider: a.provider, Data: string(s.extra), Call: a.builder.CallID(s.call)})
		}
	}
	return a.builder.Finish(a.stop())
}

func (a *assembler) stop() llm.Stop {
	if a.refused {
		return llm.StopRefusal
	}
	switch a.finish {
	case "tool_calls", "function_call", "tool_use":
		return llm.StopTools
	case "length", "max_tokens", "model_length":
		return llm.StopLength
	case "content_filter", "refusal", "safety":
		return llm.StopRefusal
	default:
		return llm.StopEnd
	}
}
