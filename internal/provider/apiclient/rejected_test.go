package apiclient_test

import (
	"testing"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

func TestRejectedParams(t *testing.T) {
	t.Parallel()
	rejection := func(message string) *llm.Error { return &llm.Error{Kind: llm.BadRequest, Message: message} }
	sent := []string{"stream_options", "temperature", "max_tokens"}
	var r apiclient.RejectedParams
	for message, want := range map[string]bool{
		"Unsupported value: 'temperature' does not support 0 with this model.": true,
		"Invalid temperature value, the valid range of temperature is [0, 2]":  false,
		"unknown field stream_options_of_mine":                                 false,
		"top_p is not supported":                                               false, // it was not sent
		"messages: temperature-controlled rooms are nice":                      false,
	} {
		if got := r.Learn(rejection(message), sent); got != want {
			t.Errorf("%q: learned %v, want %v", message, got, want)
		}
	}
	if r.Learn(rejection("Unsupported value: 'temperature'"), sent) {
		t.Error("a known parameter was learned again: the request would be sent for ever")
	}
	if !r.Has("temperature") || r.Has("stream_options") {
		t.Error("the wrong parameter is rejected")
	}
	if r.Learn(&llm.Error{Kind: llm.Auth, Message: "unsupported stream_options"}, sent) {
		t.Error("learned from an error that does not reject a parameter")
	}
	other := rejection("Unsupported parameter: 'max_tokens' is not supported with this model. " +
		"Use 'max_completion_tokens' instead.")
	if !r.Learn(other, sent) || !r.Has("max_tokens") {
		t.Error("max_tokens was not learned")
	}
}
