package apiclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// TestErrorBodies reads the errors of many providers, with bodies from their documentation and from reports.
func TestErrorBodies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status int
		body   string
		kind   llm.Kind
		says   string
	}{
		{"openai overflow", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.ContextOverflow, "maximum context"},
		{"openai overflow, newer", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.ContextOverflow, "exceeds"},
		{"deepseek overflow", 400, `{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (136000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, llm.ContextOverflow, ""},
		{"groq overflow", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.ContextOverflow, ""},
		{"groq too large for a minute", 413, `{"error":{"message":"Request too large for model x in organization y on tokens per minute (TPM): Limit 6000, Requested 7000","type":"tokens","code":"rate_limit_exceeded"}}`, llm.ContextOverflow, ""},
		{"vllm overflow", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}`, llm.ContextOverflow, "4096"},
		{"vllm overflow, nested", 400, `{"error":{"message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","type":"BadRequestError","code":400}}`, llm.ContextOverflow, ""},
		{"llama.cpp overflow", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, llm.ContextOverflow, ""},
		{"ollama overflow", 400, `{"error":"prompt too long; exceeded max context length by 123 tokens"}`, llm.ContextOverflow, "123"},
		{"ollama overflow, server error", 500, `{"error":{"message":"the input length exceeds the context length","type":"api_error","param":null,"code":null}}`, llm.ContextOverflow, ""},
		{"lm studio overflow", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, llm.ContextOverflow, ""},
		{"mistral overflow", 400, `{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":3051}`, llm.ContextOverflow, ""},
		{"gemini overflow", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, llm.ContextOverflow, "1200000"},
		{"xai overflow", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, llm.ContextOverflow, "537812"},
		{"together overflow", 422, "{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097.\",\"type\":\"invalid_request_error\"}}", llm.ContextOverflow, ""},
		{"fireworks overflow", 400, `{"error":{"object":"error","type":"invalid_request_error","message":"The prompt is too long: 200000, model maximum context length: 131071"}}`, llm.ContextOverflow, ""},
		{"copilot overflow", 400, `{"error":{"message":"prompt token count of 150000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, llm.ContextOverflow, ""},
		{"anthropic overflow", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"},"request_id":"req_1"}`, llm.ContextOverflow, "210000"},
		{"anthropic overflow with answer", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000\"}}", llm.ContextOverflow, ""},
		{"anthropic too large", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.ContextOverflow, ""},

		{"ollama without tools", 400, `{"error":{"message":"registry.example/library/gemma:2b does not support tools","type":"api_error","param":null,"code":null}}`, llm.NoTools, "gemma"},
		{"vllm without a parser", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`, llm.NoTools, ""},
		{"llama.cpp without templates", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, llm.NoTools, "jinja"},
		{"llama.cpp, tools in a stream", 500, `{"error":{"code":500,"message":"Cannot use tools with stream","type":"server_error"}}`, llm.NoTools, ""},
		{"openrouter without tools", 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit …","code":404}}`, llm.NoTools, ""},
		{"groq without tools", 400, "{\"error\":{\"message\":\"`tool calling` is not supported with this model\",\"type\":\"invalid_request_error\"}}", llm.NoTools, ""},
		{"openai without tools", 400, `{"error":{"message":"Unsupported parameter: 'tools' is not supported with this model.","type":"invalid_request_error","param":"tools","code":"unsupported_parameter"}}`, llm.NoTools, ""},
		{"an old openai", 400, `{"error":{"message":"Unrecognized request argument supplied: tools","type":"invalid_request_error"}}`, llm.NoTools, ""},
		{"together without tools", 400, `{"error":{"message":"mistralai/x does not support function calling.","type":"invalid_request_error"}}`, llm.NoTools, ""},
		{"a strict proxy", 422, `{"detail":[{"loc":["body","tools"],"msg":"tools: Extra inputs are not permitted","type":"extra_forbidden"}]}`, llm.NoTools, ""},
		{"a tool that is missing", 400, `{"error":{"message":"tools[3].function.name: string does not match pattern","type":"invalid_request_error"}}`, llm.BadRequest, ""},
		{"too many tools", 400, `{"error":{"message":"Invalid 'tools': array too long. Expected at most 128, got 200.","type":"invalid_request_error"}}`, llm.BadRequest, ""},
		{"a schema that is refused", 400, `{"error":{"message":"Invalid schema for function 'a': the keyword oneOf is not supported","type":"invalid_request_error"}}`, llm.BadRequest, ""},
		{"another parameter", 400, `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error"}}`, llm.BadRequest, ""},
		{"parallel calls", 400, `{"error":{"message":"Unsupported parameter: 'parallel_tool_calls' is not supported with this model.","type":"invalid_request_error"}}`, llm.BadRequest, ""},

		{"openai limit", 429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on requests per min (RPM): Limit 3, Used 3. Please try again in 20s.","type":"requests","code":"rate_limit_exceeded"}}`, llm.RateLimited, ""},
		{"anthropic limit", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`, llm.RateLimited, ""},
		{"gemini limit", 429, `[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}]`, llm.RateLimited, ""},
		{"limit inside a stream", 0, `{"message":"too many requests","code":429}`, llm.RateLimited, ""},
		{"openai quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.Billing, "quota"},
		{"deepseek balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, llm.Billing, ""},
		{"anthropic credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.Billing, ""},
		{"openrouter credit", 402, `{"error":{"code":402,"message":"Insufficient credits"}}`, llm.Billing, ""},

		{"openai key", 401, `{"error":{"message":"Incorrect API key provided: sk-abcd************wxyz. You can find your API key at …","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.Auth, "[key]"},
		{"gemini key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llm.Auth, ""},
		{"anthropic key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.Auth, ""},
		{"anthropic permission", 403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, llm.Auth, ""},
		{"our key repeated", 401, `{"error":"the key hunter2-secret is wrong"}`, llm.Auth, "the key [key] is wrong"},

		{"anthropic overload", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded, "Overloaded"},
		{"anthropic overload inside a stream", 0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded, ""},
		{"deepseek overload", 503, `{"error":{"message":"Server is overloaded"}}`, llm.Overloaded, ""},
		{"groq capacity", 498, `{"error":{"message":"flex tier capacity exceeded"}}`, llm.Overloaded, ""},
		{"server error", 500, `{"error":{"message":"The server had an error","type":"server_error"}}`, llm.Unavailable, ""},
		{"anthropic api error", 500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, llm.Unavailable, ""},
		{"gateway, a page", 502, "<html><body>502 Bad Gateway</body></html>", llm.Unavailable, "web page"},
		{"gateway, nothing", 504, ``, llm.Unavailable, "gateway timeout"},
		{"gateway, words", 503, `upstream connect error`, llm.Overloaded, "upstream connect error"},
		{"their timeout", 408, `{}`, llm.Unavailable, ""},

		{"openai filter", 400, `{"error":{"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.Refused, ""},
		{"openrouter moderation", 403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged"}}`, llm.Refused, ""},
		{"no such model", 404, `{"error":{"message":"The model 'x' does not exist","code":"model_not_found"}}`, llm.BadRequest, "does not exist"},
		{"fastapi", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}`, llm.BadRequest, "field required"},
		{"fastapi, words", 400, `{"detail":"Not like this"}`, llm.BadRequest, "Not like this"},
		{"redirect", 307, ``, llm.BadRequest, "redirect"},
		{"a code that is a number, a message that is not text", 400, `{"error":{"message":{"deep":["er"]},"code":7}}`, llm.BadRequest, "deep"},
		{"groq failed generation", 400, `{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=read{\"path\":\"a\"}</function>"}}`, llm.FailedGeneration, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := apiclient.ErrorReader{Provider: "p", Secrets: []string{"hunter2-secret", ""}}
			e := f.Body(tc.status, []byte(tc.body))
			if e.Kind != tc.kind || !strings.Contains(e.Message, tc.says) {
				t.Errorf("%s: %q, want %s that says %q", e.Kind, e.Message, tc.kind, tc.says)
			}
			if strings.Contains(e.Error(), "hunter2") || strings.Contains(e.Error(), "sk-") {
				t.Errorf("a key in the error: %s", e)
			}
			if tc.kind == llm.FailedGeneration && !strings.HasPrefix(e.Failed, "<function=read") {
				t.Errorf("the failed generation is %q", e.Failed)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inAMinute := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
		for _, tc := range []struct {
			name   string
			header http.Header
			body   string
			want   time.Duration
		}{
			{"seconds", http.Header{"Retry-After": {"7"}}, "", 7 * time.Second},
			{"parts of seconds", http.Header{"Retry-After": {"0.5"}}, "", 500 * time.Millisecond},
			{"milliseconds", http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"250"}}, "", 250 * time.Millisecond},
			{"a date", http.Header{"Retry-After": {inAMinute}}, "", time.Minute},
			{"a date gone by", http.Header{"Retry-After": {"Wed, 21 Oct 1998 07:28:00 GMT"}}, "", 0},
			{"nonsense", http.Header{"Retry-After": {"soon"}}, "", 0},
			{"negative", http.Header{"Retry-After": {"-5"}}, "", 0},
			{"endless", http.Header{"Retry-After": {"1e300"}}, "", 0},
			{"not a number", http.Header{"Retry-After": {"NaN"}}, "", 0},
			{"in words", nil, `{"error":{"message":"Please try again in 7.66s. Visit …"}}`, 7660 * time.Millisecond},
			{"in longer words", nil, `{"error":{"message":"Please try again in 1m2.5s"}}`, 62500 * time.Millisecond},
			{"in details", nil, `[{"error":{"message":"quota","details":[{"@type":"x"},{"retryDelay":"34s"}]}}]`, 34 * time.Second},
			{"the header goes first", http.Header{"Retry-After": {"2"}}, `{"error":{"message":"try again in 9s"}}`, 2 * time.Second},
			{"none", nil, `{}`, 0},
			{"the limit that is used up", http.Header{
				"X-Ratelimit-Reset-Requests": {"1s"}, "X-Ratelimit-Remaining-Requests": {"59"},
				"X-Ratelimit-Reset-Tokens": {"6m0s"}, "X-Ratelimit-Remaining-Tokens": {"0"},
			}, "", 6 * time.Minute},
			{"the longest of two that are used up", http.Header{
				"Anthropic-Ratelimit-Requests-Reset":     {time.Now().Add(10 * time.Second).Format(time.RFC3339)},
				"Anthropic-Ratelimit-Tokens-Reset":       {time.Now().Add(time.Minute).Format(time.RFC3339)},
				"Anthropic-Ratelimit-Requests-Remaining": {"0"}, "Anthropic-Ratelimit-Tokens-Remaining": {"0"},
			}, "", time.Minute},
			{"no count says which", http.Header{
				"X-Ratelimit-Reset-Requests": {"20ms"}, "X-Ratelimit-Reset-Tokens": {"8s"},
			}, "", 20 * time.Millisecond},
			{"milliseconds since 1970", http.Header{
				"X-Ratelimit-Reset": {fmt.Sprint(time.Now().Add(30 * time.Second).UnixMilli())},
			}, "", 30 * time.Second},
			{"seconds since 1970", http.Header{
				"X-Ratelimit-Reset": {fmt.Sprint(time.Now().Add(40 * time.Second).Unix())},
			}, "", 40 * time.Second},
			{"limits that are not used up", http.Header{
				"X-Ratelimit-Reset-Tokens": {"6m0s"}, "X-Ratelimit-Remaining-Tokens": {"5"},
			}, "", 0},
			{"a reset that is nonsense", http.Header{"X-Ratelimit-Reset": {"-1h"}, "X-Ratelimit-Reset-Tokens": {"1e99"}}, "", 0},
			{"Retry-After goes before resets", http.Header{"Retry-After": {"3"}, "X-Ratelimit-Reset": {"9"}}, "", 3 * time.Second},
		} {
			res := &http.Response{StatusCode: 429, Header: tc.header, Body: io.NopCloser(strings.NewReader(tc.body))}
			if got := (apiclient.ErrorReader{}).Response(res).RetryAfter; got != tc.want {
				t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
			}
		}
	})
}

func TestTransport(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	refused := &url.Error{Op: "Post", URL: "https://h/?key=hunter2-secret", Err: errors.New("connection refused")}
	f := apiclient.ErrorReader{Provider: "p", Secrets: []string{"hunter2-secret"}}
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		want llm.Kind
	}{
		{"no connection", t.Context(), refused, llm.Unavailable},
		{"cancelled", gone, context.Canceled, llm.Cancelled},
		{"late", late, context.DeadlineExceeded, llm.Timeout},
		{"idle", t.Context(), &url.Error{Op: "Post", URL: "https://h", Err: apiclient.ErrIdle}, llm.Timeout},
		{"known", t.Context(), &url.Error{Err: &llm.Error{Kind: llm.Billing}}, llm.Billing},
	} {
		e := f.Transport(tc.ctx, tc.err)
		if e.Kind != tc.want || strings.Contains(e.Error(), "hunter2") || strings.Contains(e.ToolError().Error(), "hunter2") {
			t.Errorf("%s: %v", tc.name, e)
		}
	}
}

func FuzzErrorBody(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"m","type":"t","code":7,"details":[{"retryDelay":"3s"}]}}`))
	f.Add(429, []byte(`[[[[{"detail":["a"]}]]]]`))
	f.Add(0, []byte(`{"error":{"error":{"error":{"error":{"error":"deep"}}}}}`))
	f.Add(500, []byte("<html>"))
	f.Add(200, []byte(`{"message":"hunter2-secret \xff"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := apiclient.ErrorReader{Provider: "p", Secrets: []string{"hunter2-secret"}}.Body(status, body)
		if e.Kind == "" || e.RetryAfter < 0 || len(e.Message) > 700 {
			t.Errorf("%+v", e)
		}
		if bytes.Contains([]byte(e.Error()), []byte("hunter2-secret")) {
			t.Error("the secret is in the error")
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("Retry-After", "7", "X-Ratelimit-Reset-Tokens", "6m0s")
	f.Add("X-Ratelimit-Reset", "1700000000000", "X-Ratelimit-Remaining", "0")
	f.Add("Anthropic-Ratelimit-Tokens-Reset", "2026-01-01T00:00:00Z", "Anthropic-Ratelimit-Tokens-Remaining", "0")
	f.Fuzz(func(t *testing.T, name, value, other, also string) {
		res := &http.Response{StatusCode: 429, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}
		res.Header.Set(name, value)
		res.Header.Set(other, also)
		if d := (apiclient.ErrorReader{}).Response(res).RetryAfter; d < 0 {
			t.Errorf("a wait of %v", d)
		}
	})
}
