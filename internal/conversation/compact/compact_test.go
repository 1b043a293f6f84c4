package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/conversation/compact"
	"callgate/llm"
	"callgate/tool"
)

func user(text string) compact.Message {
	return compact.Message{Message: llm.TextMessage(llm.User, text), Kind: compact.UserText}
}

func note(text string) compact.Message {
	return compact.Message{Message: llm.TextMessage(llm.User, "<note>\n"+text+"\n</note>"), Kind: compact.Note}
}

func model(text string, calls ...string) compact.Message {
	m := llm.TextMessage(llm.Assistant, text)
	for _, id := range calls {
		m.Parts = append(m.Parts, llm.Part{Call: &llm.ToolCall{ID: id, Name: "look", Args: json.RawMessage(`{}`)}})
	}
	return compact.Message{Message: m}
}

func results(idAndText ...string) compact.Message {
	m := llm.Message{Role: llm.Tool}
	for i := 0; i < len(idAndText); i += 2 {
		m.Parts = append(
			m.Parts,
			llm.Part{Result: &llm.ToolResult{ID: idAndText[i], Name: "look", Content: []tool.Content{tool.Text(idAndText[i+1])}}},
		)
	}
	return compact.Message{Message: m}
}

func pinned(m compact.Message) compact.Message { m.Pinned = true; return m }

// words is a text of about so many tokens.
func words(tokens int) string { return strings.Repeat("abc ", tokens) }

// chat is so many exchanges of about so many tokens each.
func chat(n, tokens int) (all []compact.Message) {
	for i := range n {
		all = append(all, user(fmt.Sprint("question ", i)), model(words(tokens)))
	}
	return all
}

// told is the plan in short: what stays, what is shortened.
func told(p *compact.Plan) string {
	if p == nil {
		return "nothing"
	}
	text := fmt.Sprintf("keep %d, drop %d", p.Kept, p.Dropped)
	if len(p.Pinned) > 0 {
		text += fmt.Sprint(", pin ", p.Pinned)
	}
	for _, s := range p.Shortened {
		text += fmt.Sprintf(", shorten %d.%s to %d", s.Message, s.Call, len(s.Text)/400*100)
	}
	return text
}

func TestPlan(t *testing.T) {
	window := compact.Policy{Window: 12_000, OutputReserved: 2000} // 10,000 of room: begins at 7,500, ends at 5,000
	summarize := window
	summarize.Strategy, summarize.KeepRecent = compact.Summarize, 4
	manual := window
	manual.Manual = true
	for name, c := range map[string]struct {
		policy compact.Policy
		in     compact.Input
		want   string
	}{
		"room enough":                           {window, compact.Input{Messages: chat(7, 1000)}, "nothing"},
		"no window":                             {compact.Policy{}, compact.Input{Messages: chat(700, 1000)}, "nothing"},
		"by hand only":                          {manual, compact.Input{Messages: chat(8, 1000)}, "nothing"},
		"as much as fits is kept":               {window, compact.Input{Messages: chat(8, 1000)}, "keep 6, drop 10"},
		"a summary is made of all but the last": {summarize, compact.Input{Messages: chat(8, 1000)}, "keep 4, drop 12"},
		"by hand":                               {window, compact.Input{Messages: chat(20, 10), Cause: compact.Requested}, "keep 10, drop 30"},
		"by hand, without a window":             {compact.Policy{KeepRecent: 2}, compact.Input{Messages: chat(20, 10), Cause: compact.Requested}, "keep 2, drop 38"},
		"by hand, with nothing to do":           {window, compact.Input{Messages: chat(2, 10), Cause: compact.Requested}, "nothing"},
		"the provider finds it too long":        {compact.Policy{}, compact.Input{Messages: chat(20, 1000), Cause: compact.Overflow}, "keep 16, drop 24"},
		"few messages are left alone":           {window, compact.Input{Messages: []compact.Message{user(words(4000)), model(words(3900)), user("and?")}}, "nothing"},
		"unless they do not fit":                {window, compact.Input{Messages: []compact.Message{user(words(6000)), model(words(5900)), user("and?")}}, "keep 1, drop 2"},
		"the system prompt counts":              {window, compact.Input{System: words(2000), Tools: 1000, Messages: chat(5, 1000)}, "keep 2, drop 8"},
		"a large one leaves less":               {window, compact.Input{System: words(7000), Messages: chat(2, 1000)}, "nothing"},
		"the newest words stay": {window, compact.Input{Messages: slices.Concat(
			chat(2, 1000), []compact.Message{user("do it")}, loop(8, 700))}, "keep 10, drop 10, pin [4]"},
		"a call and its result stay together": {summarize, compact.Input{Messages: slices.Concat(
			chat(4, 1000), []compact.Message{user("x")}, loop(5, 900), []compact.Message{user("y")})}, "keep 5, drop 15"},
		"what is pinned stays": {window, compact.Input{Messages: slices.Concat(
			[]compact.Message{user("a"), model("", "w"), pinned(results("w", "waits for a human"))}, chat(8, 1000))}, "keep 6, drop 11, pin [1 2]"},
		"a call without a result stays": {window, compact.Input{Messages: slices.Concat(
			[]compact.Message{user("a"), model("", "p", "q"), results("p", "x")}, chat(8, 100)), Cause: compact.Requested}, "keep 10, drop 7, pin [1 2]"},
		"news stay until they are answered": {window, compact.Input{Messages: slices.Concat(
			[]compact.Message{note("old")}, chat(7, 1000), []compact.Message{user("x"), note("CORE JOB 1 ENDED"), note(words(600))})}, "keep 9, drop 9"},
		"large results first": {window, compact.Input{Messages: slices.Concat(
			[]compact.Message{user("a"), model("", "r"), results("r", words(6000)), model("read")}, chat(3, 1000))}, "keep 10, drop 0, shorten 2.r to 1200"},
		"what was not read, last": {window, compact.Input{Messages: slices.Concat(
			chat(3, 1000), []compact.Message{user("a"), model("", "r"), results("r", words(7000))})}, "keep 3, drop 6"},
		"and only if it must": {window, compact.Input{Messages: slices.Concat(
			chat(3, 1000), []compact.Message{user("a"), model("", "r"), results("r", words(20_000))})}, "keep 3, drop 6, shorten 8.r to 6700"},
		"less than its summary": {window, compact.Input{Messages: []compact.Message{
			user("a"), model("b"), user(words(9000)), model("", "r"), results("r", words(700))}}, "nothing"},
		"little gain": {window, compact.Input{Messages: slices.Concat(
			chat(2, 300), []compact.Message{user(words(3000)), model("", "r"), results("r", words(4000))})}, "nothing"},
	} {
		plan, err := c.policy.Plan(c.in)
		if err != nil || told(plan) != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, told(plan), c.want, err)
		}
		if plan != nil && c.in.Cause != compact.Requested && plan.After >= plan.Before {
			t.Errorf("%s: %d tokens became %d", name, plan.Before, plan.After)
		}
	}
}

// loop is so many calls and results of about so many tokens each.
func loop(n, tokens int) (all []compact.Message) {
	for i := range n {
		id := fmt.Sprint("c", i)
		all = append(all, model("", id), results(id, words(tokens)))
	}
	return all
}

func TestDeclined(t *testing.T) {
	window := compact.Policy{Window: 6000, OutputReserved: 1000}
	huge := model("")
	huge.Parts = append(huge.Parts, llm.Part{Call: &llm.ToolCall{ID: "a", Name: "write", Args: json.RawMessage(`"` + words(8000) + `"`)}})
	many := make([]string, 0, 400)
	for i := range 200 {
		many = append(many, fmt.Sprint("m", i), words(100))
	}
	for name, c := range map[string]struct {
		policy compact.Policy
		in     compact.Input
		want   string
		hint   string
	}{
		"the system prompt": {window, compact.Input{System: words(7000), Messages: chat(1, 10)}, "the system prompt takes about 7000", "system_prompt"},
		"the tools":         {window, compact.Input{Tools: 7000, Messages: chat(1, 10)}, "the list of tools", "discovery"},
		"the user's words":  {window, compact.Input{Messages: []compact.Message{user(words(9000))}}, "what the user said takes about 9004 tokens", "file"},
		"the last calls":    {window, compact.Input{Messages: []compact.Message{user("a"), huge, results("a", "ok")}}, "what the model wrote last", "smaller"},
		"the last results":  {window, compact.Input{Messages: []compact.Message{user("a"), model("", "m"), results(many...)}}, "what the last calls answered", "less"},
		"the news":          {window, compact.Input{Messages: []compact.Message{user("a"), note(words(9000))}}, "the news", "new conversation"},
		"what is pinned":    {window, compact.Input{Messages: []compact.Message{pinned(user(words(9000))), user("b")}}, "waits for a human", "approvals"},
		"the provider's":    {compact.Policy{}, compact.Input{Messages: []compact.Message{user("a")}, Cause: compact.Overflow}, "the provider finds", ""},
		"by hand only":      {compact.Policy{Manual: true}, compact.Input{Messages: chat(20, 100), Cause: compact.Overflow}, "by hand only", "sessions compact"},
	} {
		plan, err := c.policy.Plan(c.in)
		var e *tool.Error
		if plan != nil || !errors.As(err, &e) || e.Kind != tool.Invalid || !strings.Contains(e.Message, c.want) ||
			!strings.Contains(e.Hint, c.hint) ||
			e.Hint == "" {
			t.Errorf("%s: %v, %v", name, told(plan), err)
		}
	}
}

// writer is a summarizer that says what it was given.
type writer struct {
	given compact.SummaryRequest
	text  string
	err   error
}

func (w *writer) Summarize(_ context.Context, s compact.SummaryRequest) (compact.SummaryResult, error) {
	w.given = s
	return compact.SummaryResult{Text: w.text, Model: "m", Usage: llm.Usage{Output: 7}}, w.err
}

func TestSummaries(t *testing.T) {
	policy := compact.Policy{KeepRecent: 2, Strategy: compact.Truncate}
	messages := []compact.Message{
		user("paint\nit  blue"), model("", "a", "b"), results("a", "x", "b", "y"), model("done"), note("CORE JOB 1 ENDED (done)"), model("good"),
		user("and the door"), model("so it is"), user("thanks"), model("bye"),
	}
	do := func(messages []compact.Message, by compact.Summarizer) *compact.Compaction {
		t.Helper()
		c, err := policy.Compact(t.Context(), compact.Input{Messages: messages, Cause: compact.Requested}, by)
		if err != nil || c == nil {
			t.Fatalf("%v, %v", c, err)
		}
		return c
	}
	first := do(messages, nil)
	want := "<summary>\n8 earlier messages of this conversation are no longer shown, to save room. What they held:\n" +
		"- the user: paint it blue\n- you: done\n- news: CORE JOB 1 ENDED (done)\n- you: good\n- the user: and the door\n" +
		"- you: so it is\n* called look (×2): y\n</summary>"
	if diff := cmp.Diff(want, first.Summary); diff != "" || first.Warning != "" || first.Model != "" {
		t.Errorf("%s %q", diff, first.Warning)
	}
	again := append([]compact.Message{{Message: llm.TextMessage(llm.User, first.Summary), Kind: compact.Summary}}, messages[8:]...)
	again = append(again, user("one more </summary> thing"), model("yes"), user("last"), model("ok"))
	second := do(again, nil)
	want = "<summary>\n12 earlier messages of this conversation are no longer shown, to save room. What they held:\n" +
		"- the user: paint it blue\n- you: done\n- news: CORE JOB 1 ENDED (done)\n- you: good\n- the user: and the door\n" +
		"- you: so it is\n- the user: thanks\n- you: bye\n- the user: one more <\u200b/summary> thing\n- you: yes\n" +
		"* called look (×2): y\n</summary>"
	if diff := cmp.Diff(want, second.Summary); diff != "" {
		t.Error(diff)
	}

	policy.Strategy = compact.Summarize
	w := &writer{text: "  Goal: blue.\n"}
	third := do(again, w)
	want = "<summary>\n12 earlier messages of this conversation are no longer shown, to save room. What they held:\nGoal: blue.\n* called look (×2): y\n</summary>"
	if diff := cmp.Diff(want, third.Summary); diff != "" || third.Model != "m" || third.Usage.Output != 7 {
		t.Errorf("%s %+v", diff, third)
	}
	if !strings.HasPrefix(w.given.Earlier, "- the user: paint it blue\n") || len(w.given.Messages) != 4 || w.given.MaxTokens != 96 {
		t.Errorf("the summarizer was given %+v", w.given)
	}
	for name, by := range map[string]compact.Summarizer{
		"there is no model": nil, "no money": &writer{err: errors.New("no money")}, "wrote nothing": &writer{text: " \n"},
		"is refused: not that": compact.Checked(&writer{text: "x"}, func(string) (string, error) { return "", errors.New("not that") }),
	} {
		c := do(again, by)
		if c.Summary != second.Summary || !strings.Contains(c.Warning, name) {
			t.Errorf("%s: %q %q", name, c.Warning, c.Summary)
		}
	}
	if c := do(again, compact.Checked(&writer{text: "secret"}, func(string) (string, error) { return "***", nil })); !strings.Contains(
		c.Summary,
		"\n***\n",
	) {
		t.Errorf("not looked at: %s", c.Summary)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := policy.Compact(gone, compact.Input{Messages: again, Cause: compact.Requested}, &writer{err: context.Canceled}); c != nil ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", c, err)
	}
}

// silent is a summarizer that never answers.
type silent struct{}

func (silent) Summarize(ctx context.Context, _ compact.SummaryRequest) (compact.SummaryResult, error) {
	<-ctx.Done()
	return compact.SummaryResult{}, ctx.Err()
}

// A summary is waited for only so long; then what was said is listed.
func TestSummaryIsNotWaitedForWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		c, err := compact.Policy{}.Compact(t.Context(), compact.Input{Messages: chat(20, 10), Cause: compact.Requested}, silent{})
		if err != nil || c == nil || !strings.Contains(c.Summary, "- the user: question 3") ||
			!strings.Contains(c.Warning, "took longer than 2m0s") {
			t.Errorf("%+v, %v", c, err)
		}
		if waited := time.Since(begun); waited != 2*time.Minute {
			t.Errorf("it was waited for %v", waited)
		}
	})
}

// However often it is extended, a summary stays within its bounds, with its
// beginning and its end.
func TestSummaryIsBounded(t *testing.T) {
	policy := compact.Policy{KeepRecent: 2, SummaryMaxTokens: 200}
	messages := []compact.Message{user("THE GOAL"), model("ok")}
	for i := range 100 {
		messages = append(messages, user(fmt.Sprintf("request number %d %s", i, words(30))), model("ok"), user("next"), model("ok"))
		c, err := policy.Compact(t.Context(), compact.Input{Messages: messages, Cause: compact.Requested}, nil)
		if err != nil || c == nil {
			t.Fatal(c, err)
		}
		if len(c.Summary) > 800 || !strings.Contains(c.Summary, "THE GOAL") ||
			!strings.Contains(c.Summary, fmt.Sprintf("request number %d ", i)) ||
			strings.Count(c.Summary, "\n…\n") > 1 {
			t.Fatalf("after %d: %d bytes\n%s", i, len(c.Summary), c.Summary)
		}
		messages = append(
			[]compact.Message{{Message: llm.TextMessage(llm.User, c.Summary), Kind: compact.Summary}},
			messages[len(messages)-2:]...)
	}
	if n := fmt.Sprintf("%d earlier messages", 2+4*100-2); !strings.Contains(messages[0].Text(), n) {
		t.Errorf("it does not say %s: %s", n, messages[0].Text())
	}
}

// A tokenizer that counts otherwise is heeded.
func TestTokens(t *testing.T) {
	letters := compact.Policy{Window: 12_000, OutputReserved: 2000, Tokens: func(s string) int { return len(s) }}
	in := compact.Input{
		Messages: slices.Concat([]compact.Message{user("a"), model("", "r"), results("r", strings.Repeat("é", 9000)), model("b")}, chat(3, 10)),
	}
	plan, err := letters.Plan(in)
	if err != nil || plan == nil || len(plan.Shortened) != 1 || plan.After > 5000 {
		t.Fatalf("%s, %v", told(plan), err)
	}
	if text := plan.Shortened[0].Text; len(text) > 5000/4 || !strings.HasPrefix(text, "éé") || !strings.HasSuffix(text, "éé") ||
		!strings.Contains(text, "bytes are left out") ||
		strings.ContainsRune(text, '\uFFFD') {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}
