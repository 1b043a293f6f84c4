package tool

import (
	"encoding/json"
	"strings"
	"time"
)

// Status is how a call ended, in the one envelope that every tool shares.
type Status string

// The statuses.
const (
	Success Status = "success"
	Failure Status = "error"
	Refused Status = "denied"
	Waiting Status = "waiting" // a human has been asked
)

// Result is what comes back from a call: always these fields, whatever ran.
type Result struct {
	Status      Status          `json:"status"`
	Summary     string          `json:"summary"`
	Content     []Content       `json:"content,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	Cut         *Cut            `json:"cut,omitempty"` // set when the content is a part of what there is
	ArtifactRef string          `json:"artifact_ref,omitempty"`
	Warnings    []string        `json:"warnings,omitempty"`
	Error       *Error          `json:"error,omitempty"`
	Call        string          `json:"call,omitempty"`     // the call's id in the journal
	Approval    string          `json:"approval,omitempty"` // what a waiting call waits for
	// Attempts are what an LLM-backed tool asked of models, in order, the failed ones too.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Again says that the call was cut off and goes on when it is made again under its ID: it is
	// not over for who asked.
	Again bool `json:"-"`
	// Took is how long the tool ran, without what the call waited for before; 0: it did not
	// run, or that is not known.
	Took time.Duration `json:"-"`
}

// Attempt is one request that a tool sent to a language model.
type Attempt struct {
	Model   string `json:"model"`            // provider/model
	Outcome string `json:"outcome"`          // ok, or what went wrong in one word
	Repair  int    `json:"repair,omitempty"` // the model was shown a mistake of its answer: how often
	Error   string `json:"error,omitempty"`
	// The tokens, and the cost in millionths of a US dollar where it is known. What a cache
	// read or wrote is part of Input.
	Input       int           `json:"input,omitempty"`
	CachedInput int           `json:"cached_input,omitempty"`
	CacheWrite  int           `json:"cache_write,omitempty"`
	Output      int           `json:"output,omitempty"`
	Cost        int64         `json:"cost,omitempty"`
	Priced      bool          `json:"priced,omitempty"`
	Took        time.Duration `json:"took,omitempty"`
}

// Err returns the failure inside the result as an error, or nil.
func (r *Result) Err() error {
	if r.Error == nil {
		return nil
	}
	return r.Error
}

// Content is one piece of a result meant for a model: text, an image, a sound,
// or something with an address. A reader that cannot use the type reads
// Text, which says the same in words; only an image has none.
type Content struct {
	Type string `json:"type"` // "text", "image", "audio" or "resource"
	Text string `json:"text,omitempty"`
	MIME string `json:"mime,omitempty"`
	Data []byte `json:"data,omitempty"`
	URI  string `json:"uri,omitempty"` // where a resource, or an image that is one, came from
}

// Text makes a text content.
func Text(s string) Content { return Content{Type: "text", Text: s} }

// Image makes an image content.
func Image(mime string, data []byte) Content { return Content{Type: "image", MIME: mime, Data: data} }

// Audio makes a sound content; words describe it to a reader that has no sound.
func Audio(mime string, data []byte, words string) Content {
	return Content{Type: "audio", MIME: mime, Data: data, Text: words}
}

// Resource makes a text that has an address. Its words begin with that.
func Resource(uri, mime, text string) Content {
	return Content{Type: "resource", URI: uri, MIME: mime, Text: uri + "\n" + text}
}

// Body is the text of a resource without its address.
func (c Content) Body() string { return strings.TrimPrefix(c.Text, c.URI+"\n") }

// OK is a successful result with a one-line summary and, unless nil, a
// structured value.
func OK(summary string, value any) (*Result, error) {
	r := &Result{Status: Success, Summary: summary}
	if value == nil {
		return r, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, &Error{Op: "tool.Done", Kind: Internal, Message: "the tool's value cannot be written as JSON", Err: err}
	}
	r.Data = data
	return r, nil
}
