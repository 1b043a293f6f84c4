package anthropic

import "encoding/json"

// event is the data of one event of a stream; its type says which fields it has.
type event struct {
	Type         string        `json:"type"`
	Index        int           `json:"index"`         // content_block_*
	Message      response      `json:"message"`       // message_start
	ContentBlock responseBlock `json:"content_block"` // content_block_start
	Delta        delta         `json:"delta"`         // content_block_delta, message_delta
	Usage        usage         `json:"usage"`         // message_delta
	failure
}

// response is the beginning of a streamed response, or a whole one of a server that does not stream.
type response struct {
	Type    string          `json:"type"`
	Model   string          `json:"model"`
	Usage   usage           `json:"usage"`
	Content []responseBlock `json:"content"` // empty in a stream, where the blocks follow
	ending
	failure
}

// failure is the error that may come in place of an event or a response. Gateways leave out its type.
type failure struct {
	Error json.RawMessage `json:"error"`
}

func (f *failure) failed() bool { return len(f.Error) > 0 && string(f.Error) != "null" }

// ending is how a response ended.
type ending struct {
	StopReason  string `json:"stop_reason"`
	StopDetails struct {
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// responseBlock is a block of the response, which deltas may extend; its type says which fields it has.
type responseBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`      // text
	Thinking  string          `json:"thinking"`  // thinking
	Signature string          `json:"signature"` //
	Data      string          `json:"data"`      // redacted_thinking
	ID        string          `json:"id"`        // tool_use
	Name      string          `json:"name"`      //
	Input     json.RawMessage `json:"input"`     //
}

// delta extends a block, or ends the response; its type says which fields it has.
type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	ending
}

type usage struct {
	InputTokens         int `json:"input_tokens"`
	CacheReadTokens     int `json:"cache_read_input_tokens"`
	CacheWriteTokens    int `json:"cache_creation_input_tokens"`
	OutputTokens        int `json:"output_tokens"`
	OutputTokensDetails struct {
		ThinkingTokens int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}
