package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// maxCalls bounds the calls of one response.
const maxCalls = 4096

// maxHeld bounds the arguments of a call whose name has not come.
const maxHeld = 1 << 20

// assembler puts a response together out of chunks.
//
// The pieces of a call have the same index. Where a provider leaves the index out or gives the same one to
// every call, they have the same id; where there is no id either, a name begins a call and the pieces
// after it belong to it.
type assembler struct {
	provider string
	builder  *apiclient.ResponseBuilder
	slots    []*slot
	byIndex  map[int]*slot
	next     int // the order of a call that has no index
	finish   string
	refused  bool
	done     bool // the server said that nothing follows
}

// slot is a call that is being put together. The builder gets it once its name is known.
type slot struct {
	order    int
	id, name string
	held     strings.Builder // arguments that the builder does not have yet
	extra    json.RawMessage
	call     int // index in the builder; -1 before it has one
}

func newAssembler(provider string, builder *apiclient.ResponseBuilder) *assembler {
	return &assembler{provider: provider, builder: builder, byIndex: map[int]*slot{}}
}

// Add reads the data of one event.
func (a *assembler) Add(data []byte) (done bool, err error) {
	if string(data) == "[DONE]" {
		a.done = true
		return true, nil
	}
	return false, a.addChunk(data)
}

// AddWhole reads the response of a server that does not stream.
func (a *assembler) AddWhole(data []byte) error {
	err := a.addChunk(data)
	a.done = a.builder.Started()
	return err
}

func (a *assembler) addChunk(data []byte) error {
	var c chunk
	if err := apiclient.Decode(data, &c); err != nil {
		return err
	}
	if body := c.errorBody(); body != nil {
		return &apiclient.InlineError{Body: body}
	}
	if c.Model != "" {
		a.builder.Model = c.Model
	}
	a.setUsage(c.Usage)
	if c.XGroq != nil {
		a.setUsage(c.XGroq.Usage)
	}
	for i := range c.Choices {
		a.addChoice(&c.Choices[i])
	}
	if len(a.slots) > maxCalls || slices.ContainsFunc(a.slots, func(s *slot) bool { return s.held.Len() > maxHeld }) {
		return apiclient.ErrTooLong
	}
	return nil
}

func (a *assembler) addChoice(c *chunkChoice) {
	if c.Index != 0 {
		return // the request asked for one response
	}
	a.setUsage(c.Usage)
	for _, d := range []*delta{c.Delta, c.Message} {
		if d != nil {
			a.addDelta(d)
		}
	}
	if c.FinishReason != "" {
		a.finish = c.FinishReason
	}
}

func (a *assembler) setUsage(u *usage) {
	if u != nil {
		a.builder.Usage = u.tokens()
	}
}

func (a *assembler) addDelta(d *delta) {
	for _, text := range []string{d.ReasoningContent, d.Reasoning, d.ReasoningText, d.Content.reasoning} {
		if text != "" {
			a.builder.AddReasoning(a.provider, text)
			break // some servers send the same text under two names
		}
	}
	a.builder.Text(d.Content.text)
	if d.Refusal != "" {
		a.refused = true
		a.builder.Text(d.Refusal)
	}
	for i := range d.ToolCalls {
		a.addCall(&d.ToolCalls[i])
	}
}

func (a *assembler) addCall(d *callDelta) {
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
		a.builder.Hold(len(s.extra))
	}
	if s.name == "" {
		s.held.WriteString(string(d.Function.Arguments))
		a.builder.Hold(len(d.Function.Arguments))
		return
	}
	a.flushSlot(s)
	a.builder.Args(s.call, string(d.Function.Arguments))
}

// flushSlot passes what a slot holds to the builder.
func (a *assembler) flushSlot(s *slot) {
	if s.call < 0 {
		s.call = a.builder.Call(s.order, s.id, s.name)
	}
	a.builder.Args(s.call, s.held.String())
	s.held.Reset()
}

// find returns the slot that a piece belongs to, or nil when the piece begins a call.
func (a *assembler) find(d *callDelta) *slot {
	if d.Index == nil {
		return a.guessSlot(d)
	}
	s := a.byIndex[*d.Index]
	named := d.Function.Name != ""
	switch {
	case s == nil:
		return nil
	case d.ID != "" && s.id != "" && d.ID != s.id && named:
		return a.byID(d.ID) // the server gives every call the same index
	case d.ID == "" && named && s.name != "" && (d.Function.Name != s.name || a.hasAllArgs(s)):
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
	if d.Function.Name == last.name && a.hasArgs(last) && !a.hasAllArgs(last) {
		return last // the server repeats the name with every piece
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

func (a *assembler) hasArgs(s *slot) bool {
	return s.held.Len() > 0 || s.call >= 0 && a.builder.HasArgs(s.call)
}

// hasAllArgs reports whether the arguments of a slot are a complete JSON object.
func (a *assembler) hasAllArgs(s *slot) bool {
	if s.call >= 0 {
		return a.builder.HasAllArgs(s.call)
	}
	text := strings.TrimSpace(s.held.String())
	return strings.HasSuffix(text, "}") && json.Valid([]byte(text))
}

// isComplete reports whether the end of the response arrived. Some servers leave out the finish reason and
// some the final [DONE], but none leaves out both.
func (a *assembler) isComplete() bool { return a.finish != "error" && (a.finish != "" || a.done) }

// Finish returns the response, or nil if its end did not arrive.
func (a *assembler) Finish() *llm.Response {
	if !a.isComplete() {
		return nil
	}
	for _, s := range a.slots {
		if s.call < 0 && s.held.Len() == 0 && s.id == "" {
			continue // an empty slot is no call
		}
		a.flushSlot(s)
		if len(s.extra) > 0 && string(s.extra) != "null" {
			a.builder.BeginReasoning(llm.Reasoning{
				Provider: a.provider, Data: string(s.extra), Call: a.builder.CallID(s.call),
			})
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
