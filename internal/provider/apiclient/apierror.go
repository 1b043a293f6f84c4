package apiclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/llm"
)

// apiError is an error as a provider wrote it.
type apiError struct {
	message, code, typeName, failed, delay, requestID string
	status                                            int // where the code is an HTTP status
}

// wireError has the names that providers give to the fields of an error.
type wireError struct {
	Message   json.RawMessage `json:"message"`
	Msg       json.RawMessage `json:"msg"`
	Detail    json.RawMessage `json:"detail"`
	Type      json.RawMessage `json:"type"`
	Code      json.RawMessage `json:"code"`
	Status    json.RawMessage `json:"status"`
	Error     json.RawMessage `json:"error"`
	Errors    json.RawMessage `json:"errors"`
	RequestID string          `json:"request_id"`
	Failed    string          `json:"failed_generation"`
	Details   []struct {
		Delay string `json:"retryDelay"`
	} `json:"details"`
}

// readAPIError finds the error in a body: {"error": {…}}, {"error": "…"}, {"message": …}, {"detail": …},
// any of these in a list, plain text, or a web page.
func readAPIError(body []byte) apiError {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '<' {
		return apiError{message: "the server answered with a web page, not with the API's JSON; check the base URL"}
	}
	var a apiError
	if !a.read(body, 4) {
		a.message = string(body)
	}
	return a
}

// read reads one level of an error's JSON and those inside it, and reports whether it was an error at all.
func (a *apiError) read(raw json.RawMessage, depth int) bool {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 && depth > 0 {
		return a.read(list[0], depth-1)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		a.message = text
		return true
	}
	var w wireError
	err := json.Unmarshal(raw, &w)
	if err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) { // a field of another type is left out
		return false
	}
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	a.message = cmp.Or(a.message, plainText(w.Message), plainText(w.Msg))
	a.code = cmp.Or(plainText(w.Code), a.code)
	a.typeName = cmp.Or(plainText(w.Type), plainText(w.Status), a.typeName)
	a.failed, a.requestID = cmp.Or(w.Failed, a.failed), cmp.Or(w.RequestID, a.requestID)
	for _, d := range w.Details {
		a.delay = cmp.Or(a.delay, d.Delay)
	}
	if n, err := strconv.Atoi(a.code); err == nil && n >= 300 && n < 600 {
		a.status = n
	}
	for _, inner := range []json.RawMessage{w.Error, w.Detail, w.Errors} {
		if len(inner) > 0 && depth > 0 && string(inner) != "null" {
			outer := a.message
			a.message = ""
			a.read(inner, depth-1)
			a.message = cmp.Or(a.message, outer)
		}
	}
	a.message = cmp.Or(a.message, string(raw))
	return true
}

// plainText returns a JSON string as text, null as "", and anything else as it is written.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil || string(raw) == "null" {
		return s
	}
	return string(raw)
}

// Phrases by which providers say what they have no common code for. They are looked for in the code, the
// type and the message, in lower case.
var (
	overflowPhrases = []string{
		"context_length_exceeded", "context length exceeded", "maximum context length", // OpenAI, DeepSeek, Groq, vLLM
		"exceeds the context window",                                // OpenAI, OpenRouter
		"reduce the length of the messages",                         // Groq, Cerebras
		"exceed_context_size", "exceeds the available context size", // llama.cpp
		"prompt too long", "exceeds the context length", "exceeds maximum context length", // Ollama
		"context size has been exceeded", "context the overflows", "greater than the context length", // LM Studio
		"longer than the maximum model length",                            // vLLM
		"prompt is too long", "exceed context limit", "request_too_large", // Anthropic, Fireworks
		"maximum prompt length",                                     // xAI
		"exceeds the maximum number of tokens",                      // Gemini
		"`inputs` tokens + `max_new_tokens`",                        // Together
		"model_max_prompt_tokens_exceeded", "prompt token count of", // Copilot
		"request too large for", // more than the tokens of a whole minute: waiting does not make it fit
	}
	refusedPhrases = []string{
		"content_policy_violation", "content_filter", "responsibleaipolicy", "content management policy",
		"flagged by moderation", "requires moderation", "input was flagged", "safety system",
	}
	billingPhrases = []string{
		"insufficient_quota", "insufficient balance", "insufficient credits", "billing_error", "billing_hard_limit",
		"billing_not_active", "credit balance is too low", "out of credits", "spending limit",
		"exceeded your current quota, please check your plan and billing",
	}
	authPhrases = []string{
		"invalid_api_key", "incorrect api key", "api key not valid", "api_key_invalid", "authentication_error",
		"permission_error", "permission_denied", "invalid api key", "no auth credentials",
	}
	limitPhrases    = []string{"rate_limit", "rate limit", "resource_exhausted", "too many requests"}
	overloadPhrases = []string{"overloaded", "server is busy", "over capacity", "at capacity", "capacity_exceeded"}
)

// noTools matches how servers say that they take no tools for a model, or not as they were started: of the
// messages that say that something is not supported, those whose subject is tools as such.
var noTools = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`requires? --enable-auto-tool-choice`,                              // vLLM
	`tools?(?:_choice)? param(?:eter)? requires`,                       // llama.cpp
	`cannot use tools with stream`,                                     // llama.cpp, older
	`(?:not|n't) (?:currently )?support (?:the )?(?:use of )?` + tools, // Ollama, Together
	`no endpoints found that (?:can )?support ` + tools,                // OpenRouter
	tools + `(?: param(?:eter)?s?| field)? (?:is|are) ` + // Groq, OpenAI
		`(?:not|n't|un)[ -]?(?:currently |yet )?(?:supported|enabled|available|allowed|permitted|accepted)`,
	`(?:unsupported|unknown|unrecognized|unexpected)[a-z ]*(?:param\w*|argument|field|key|property)[a-z ]*:? ?` +
		"[\"'`]?tools\\b", // OpenAI, and proxies
	`\btools[\"'` + "`" + `]?(?:: |\s+)extra (?:inputs|fields) (?:are )?not (?:permitted|allowed)`, // pydantic
}, "|"))

// tools are the names of what a server may take no more than text beside.
const tools = "[\"'`]?\\b(?:tools?(?:[ _-](?:us(?:e|age)|call(?:s|ing)?))?|" +
	"function[ _-]call(?:s|ing)?|functions)\\b[\"'`]?"

// Statuses that net/http does not name.
const (
	statusGroqCapacity        = 498
	statusAnthropicOverloaded = 529
)

// kind returns the kind of the failure. The phrases go before the status, which several providers use for
// very different failures.
func (a apiError) kind(status int) llm.Kind {
	all := strings.ToLower(a.code + "\n" + a.typeName + "\n" + a.message)
	says := func(phrases []string) bool {
		return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(all, p) })
	}
	switch {
	case a.failed != "" || a.code == "tool_use_failed":
		return llm.FailedGeneration
	case says(overflowPhrases) || status == http.StatusRequestEntityTooLarge:
		return llm.ContextOverflow
	case status != http.StatusTooManyRequests && noTools.MatchString(a.message):
		return llm.NoTools
	case says(refusedPhrases):
		return llm.Refused
	case status == http.StatusPaymentRequired || says(billingPhrases):
		return llm.Billing
	case status == http.StatusUnauthorized || status == http.StatusForbidden || says(authPhrases):
		return llm.Auth
	case status == http.StatusTooManyRequests || status < 500 && says(limitPhrases):
		return llm.RateLimited
	case status == http.StatusServiceUnavailable || status == statusAnthropicOverloaded ||
		status == statusGroqCapacity || says(overloadPhrases):
		return llm.Overloaded
	case status >= 300 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooEarly:
		return llm.BadRequest
	case a.typeName == "invalid_request_error" || a.typeName == "not_found_error":
		return llm.BadRequest
	default:
		return llm.Unavailable
	}
}

var tryAgain = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:[0-9.]+(?:h|ms|m|s))+)`)

// wait returns the time for which the error itself asks to wait, or 0.
func (a apiError) wait() time.Duration {
	text := a.delay
	if m := tryAgain.FindStringSubmatch(a.message); text == "" && m != nil {
		text = m[1]
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0
	}
	return d
}
