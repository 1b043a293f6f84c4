package apiclient

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/llm"
)

// The words by which providers say what they have no common code for. They are
// looked for in the code, the type and the message, in lower case.
var (
	overflowWords = []string{
		"context_length_exceeded", "context length exceeded", "maximum context length", "exceeds the context window", // OpenAI, DeepSeek, Groq, Mistral, vLLM, OpenRouter
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
		"request too large for", // a request beyond the tokens of a whole minute: no waiting makes it fit
	}
	refusedWords = []string{"content_policy_violation", "content_filter", "responsibleaipolicy", "content management policy",
		"flagged by moderation", "requires moderation", "input was flagged", "safety system"}
	billingWords = []string{"insufficient_quota", "insufficient balance", "insufficient credits", "billing_error", "billing_hard_limit",
		"billing_not_active", "credit balance is too low", "exceeded your current quota, please check your plan and billing", "out of credits", "spending limit"}
	authWords = []string{"invalid_api_key", "incorrect api key", "api key not valid", "api_key_invalid", "authentication_error",
		"permission_error", "permission_denied", "invalid api key", "no auth credentials"}
	limitWords    = []string{"rate_limit", "rate limit", "resource_exhausted", "too many requests"}
	overloadWords = []string{"overloaded", "server is busy", "over capacity", "at capacity", "capacity_exceeded"}
)

// kind says what sort of failure a apiError is. What the words say goes before
// the status, which several providers share between very different failures.
func (p apiError) kind(status int) llm.Kind {
	all := strings.ToLower(p.code + "\n" + p.kindName + "\n" + p.message)
	says := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(all, w) })
	}
	switch {
	case p.failed != "" || p.code == "tool_use_failed":
		return llm.FailedGeneration
	case says(overflowWords) || status == http.StatusRequestEntityTooLarge:
		return llm.ContextOverflow
	case says(refusedWords):
		return llm.Refused
	case status == http.StatusPaymentRequired || says(billingWords):
		return llm.Billing
	case status == http.StatusUnauthorized || status == http.StatusForbidden || says(authWords):
		return llm.Auth
	case status == http.StatusTooManyRequests || status < 500 && says(limitWords):
		return llm.RateLimited
	case status == http.StatusServiceUnavailable || status == 529 || status == 498 || says(overloadWords):
		return llm.Overloaded
	case status >= 300 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooEarly:
		return llm.BadRequest
	case p.kindName == "invalid_request_error" || p.kindName == "not_found_error":
		return llm.BadRequest
	default:
		return llm.Unavailable
	}
}

var tryAgain = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:[0-9.]+(?:h|ms|m|s))+)`)

// wait is how long the apiError's own words ask to wait.
func (p apiError) wait() time.Duration {
	text := p.delay
	if m := tryAgain.FindStringSubmatch(p.message); text == "" && m != nil {
		text = m[1]
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// retryAfter reads how long a response asks to wait: milliseconds, seconds, or a
// date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	const longest = 365 * 24 * time.Hour // more is no time any more
	for _, in := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(h.Get(in.name), 64)
		if err == nil && n >= 0 && n < float64(longest/in.unit) {
			return time.Duration(n * float64(in.unit)), true
		}
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
