package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/sandbox"
	"callgate/llm"
	"callgate/tool"
)

// textTool is a tool that answers with a text.
func textTool(name string, r tool.Runtime, text func() string) *tool.Tool {
	id, action, _ := strings.Cut(name, ".")
	t := &tool.Tool{
		ID:      tool.ID{Namespace: id, Name: action, Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: "A tool of the test.", Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: r,
		Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			return &tool.Result{Status: tool.Success, Summary: "done", Content: []tool.Content{tool.Text(text())}}, nil
		}),
	}
	t.Spec.Name = t.ID.Dotted()
	return t
}

// longText has 5,000 lines.
func longText() string {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "row %d of the long text\n", i+1)
	}
	return b.String()
}

// app writes an app whose model is scripted.
func app(t *testing.T, m *kerneltest.Model, more string) string {
	t.Helper()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "app: {app_id: results}\nagents: [{id: main, brain: "+
		m.Brain("openai", "gpt-4o")+"}]\nruntime: {tool_injection: direct}\n"+
		"tools:\n  modules: {filesystem: {}, shell: {}}\n  capabilities: {default_policy: auto}\n"+more)
	return folder
}

// told returns what the model was told last, of its last calls, oldest first.
func told(t *testing.T, m *kerneltest.Model) (texts []string) {
	t.Helper()
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(m.Last()), &request); err != nil {
		t.Fatal(err)
	}
	for _, message := range request.Messages {
		var text string
		if message.Role == "tool" && json.Unmarshal(message.Content, &text) == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

// lastTold is the last of them.
func lastTold(t *testing.T, m *kerneltest.Model) string {
	t.Helper()
	all := told(t, m)
	if len(all) == 0 {
		t.Fatalf("the model was told nothing of its calls: %s", m.Last())
	}
	return all[len(all)-1]
}

func lastLine(text string) string {
	return text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:]
}

var refOf = regexp.MustCompile(`continue with artifact__read ref=(\S+) offset=(\d+)\]$`)

// A model whose result was cut is told so in its last line, with the call that reads on
// as it would make it, and reads the rest in pieces: after its kernel was restarted too,
// and nobody else does.
func TestModelReadsTheRestOfACutResult(t *testing.T) {
	t.Parallel()
	reads := tool.Runtime{SideEffect: tool.None, Risk: tool.Low}
	masked := reads
	masked.PromptMask = true
	tools := []*tool.Tool{
		textTool("demo.long", reads, longText), textTool("demo.masked", masked, longText),
	}
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`demo__long {}`}}, kerneltest.Answer{Text: "ok"})
	state, folder := kerneltest.StateDir(t), app(t, model, "")
	k := kerneltest.OpenWith(t, kernel.Config{State: state, Tools: tools})
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "go")
	line := lastLine(lastTold(t, model))
	found := refOf.FindStringSubmatch(line)
	if !strings.HasPrefix(line, "[lines 1–") || !strings.Contains(line, " of 5000; ") || found == nil {
		t.Fatalf("the last line is %q", line)
	}
	if first := model.Asked()[0]; !strings.Contains(string(first), `"name":"artifact__read"`) {
		t.Errorf("the model was not shown artifact__read: %s", first)
	}
	ref, offset := found[1], found[2]
	ok(t, k.Close())

	k = kerneltest.OpenWith(t, kernel.Config{State: state, Tools: tools})
	read := func(talk *conversation.Conversation, args string) string {
		t.Helper()
		model.Play(kerneltest.Answer{Calls: []string{"artifact__read " + args}}, kerneltest.Answer{Text: "ok"})
		if end := kerneltest.Send(t, talk, "go on"); end.Reason != history.Done {
			t.Fatalf("%+v", end)
		}
		return lastTold(t, model)
	}
	talk = kerneltest.Resume(t, k, talk.ID())
	said := read(talk, `{"ref":"`+ref+`","offset":`+offset+`}`)
	if !strings.Contains(said, "  "+offset+"\trow "+offset+" of the long text\n") ||
		!strings.HasPrefix(lastLine(said), "[lines "+offset+"–") || !strings.Contains(lastLine(said), "continue with offset=") {
		t.Errorf("%.200q … %q", said, lastLine(said))
	}
	if said = read(talk, `{"ref":"`+ref+`","offset":4999}`); !strings.HasSuffix(said,
		"  4999\trow 4999 of the long text\n  5000\trow 5000 of the long text\n[lines 4999–5000 of 5000; this is the end]") {
		t.Errorf("%q", said)
	}
	if said = read(talk, `{"ref":"`+ref+`","pattern":"row 4[0-9]00 "}`); !strings.Contains(said, "  4500\trow 4500") ||
		strings.Contains(said, "row 4501") {
		t.Errorf("%q", said)
	}
	if said = read(talk, `{"ref":"`+ref+`","pattern":"no such row"}`); !strings.Contains(said, `nothing matches "no such row"`) {
		t.Errorf("%q", said)
	}
	if said = read(talk, `{"ref":"`+ref+`","offset":5001}`); !strings.Contains(said, "there are 5000") {
		t.Errorf("%q", said)
	}

	other := kerneltest.OpenConversation(t, k, folder)
	if said = read(other, `{"ref":"`+ref+`"}`); !strings.Contains(said, "nothing of yours") || strings.Contains(said, "row") {
		t.Errorf("another conversation reads %q", said)
	}
	model.Play(kerneltest.Answer{Calls: []string{`demo__masked {}`}}, kerneltest.Answer{Text: "ok"})
	kerneltest.Send(t, other, "go")
	if said = lastTold(t, model); strings.Contains(said, "artifact__read") || strings.Contains(said, "row") {
		t.Errorf("of a masked result the model is told %q", said)
	}
	calls := kerneltest.History(t, k, other.ID())
	for _, e := range calls {
		if e.Type == history.CallMade && e.Call.Name == "demo__masked" {
			if said = read(other, `{"ref":"`+e.Call.ID+`"}`); !strings.Contains(said, "nothing of yours") {
				t.Errorf("what was withheld is read: %.100q", said)
			}
		}
	}
}

// What is secret stays out of what is read back, though it became secret only later and
// lies across the border of two pieces.
func TestReadingBackIsRedacted(t *testing.T) {
	const value = "kW8q5tB2mYx7Lp9v\nD4sGh6JQz1Rf3Xc8Nn"
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "row %d of the text\n", i+1)
		if i == 2999 {
			text.WriteString("token " + value + "\n")
		}
	}
	reads := tool.Runtime{SideEffect: tool.None, Risk: tool.Low}
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`demo__long {}`}}, kerneltest.Answer{Text: "ok"})
	k := kerneltest.OpenWith(t, kernel.Config{
		State: kerneltest.StateDir(t), Tools: []*tool.Tool{textTool("demo.long", reads, text.String)},
	})
	talk := kerneltest.OpenConversation(t, k, app(t, model, ""))
	kerneltest.Send(t, talk, "go")
	ref := refOf.FindStringSubmatch(lastLine(lastTold(t, model)))
	if ref == nil {
		t.Fatal(lastLine(lastTold(t, model)))
	}
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "LATE", []byte(value)))
	for _, args := range []string{`"offset":2990,"limit":12`, `"offset":3002`, `"pattern":"."`, `"pattern":"Gh6J","offset":2000`} {
		model.Play(kerneltest.Answer{Calls: []string{`artifact__read {"ref":"` + ref[1] + `",` + args + `}`}}, kerneltest.Answer{Text: "ok"})
		kerneltest.Send(t, talk, "go on")
		if said := lastTold(t, model); strings.Contains(said, "kW8q5tB2") || strings.Contains(said, "D4sGh6JQ") {
			t.Errorf("%s: %q", args, said)
		}
	}
}

// What the app masks stays out of what is read back, though it lies across the border of two
// pieces, and though the app masks it only since the result was kept.
func TestReadingBackIsMasked(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "row %d of the text\n", i+1)
		if i == 2999 {
			text.WriteString("badge BADGE-4711\n0815-END\n")
		}
	}
	reads := tool.Runtime{SideEffect: tool.None, Risk: tool.Low}
	tools := []*tool.Tool{textTool("demo.long", reads, text.String)}
	const masks = `, middleware: [{mask_secrets: {patterns: ['BADGE-\d+\s+\d+-END']}}]}`
	for name, since := range map[string]string{"from the beginning": masks, "since then": "}"} {
		model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`demo__long {}`}}, kerneltest.Answer{Text: "ok"})
		state, folder := kerneltest.StateDir(t), app(t, model, "")
		file := filepath.Join(folder, "callgate.yaml")
		plain, err := os.ReadFile(file)
		ok(t, err)
		with := func(end string) {
			write(t, file, strings.Replace(string(plain), "tool_injection: direct}", "tool_injection: direct"+end, 1))
		}
		with(since)
		k := kerneltest.OpenWith(t, kernel.Config{State: state, Tools: tools})
		talk := kerneltest.OpenConversation(t, k, folder)
		kerneltest.Send(t, talk, "go")
		ref := refOf.FindStringSubmatch(lastLine(lastTold(t, model)))
		if ref == nil {
			t.Fatal(lastLine(lastTold(t, model)))
		}
		ok(t, k.Close())
		with(masks)
		k = kerneltest.OpenWith(t, kernel.Config{State: state, Tools: tools})
		talk = kerneltest.Resume(t, k, talk.ID())
		for _, args := range []string{
			`"offset":2990,"limit":12`, `"offset":3002`, `"pattern":"badge"`, `"pattern":"0815"`, `"pattern":"4711|0815","offset":2000`,
		} {
			model.Play(kerneltest.Answer{Calls: []string{`artifact__read {"ref":"` + ref[1] + `",` + args + `}`}}, kerneltest.Answer{Text: "ok"})
			kerneltest.Send(t, talk, "go on")
			// an error quotes the pattern, which the model wrote itself
			if said := lastTold(t, model); strings.Contains(said, "BADGE-4711") || strings.Contains(said, "0815-END") ||
				!strings.Contains(said, "row 300") && !strings.Contains(said, "badge") && !strings.Contains(said, "nothing matches") {
				t.Errorf("%s, %s: %q", name, args, said)
			}
		}
		ok(t, k.Close())
	}
}

// Of a command a model is told its output in order and its exit code; of one that said
// nothing just that; of one that the user stopped, by whom, after how long, and its
// output so far.
func TestModelIsToldHowACommandEnded(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().Level != sandbox.Full {
		t.Skip("this machine cannot confine a command as this test needs it")
	}
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{
		`shell__bash {"command":"echo one; echo two >&2; echo three; exit 3"}`, `shell__bash {"command":"true"}`,
		`shell__bash {"command":"seq 100000; echo the end"}`,
	}}, kerneltest.Answer{Text: "ok"})
	folder := app(t, model, "")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "go")
	said := told(t, model)
	if len(said) != 3 {
		t.Fatalf("%q", said)
	}
	if said[0] != "failed: the command failed with exit code 3\none\ntwo\nthree\nexit code 3\n" {
		t.Errorf("a failure: %q", said[0])
	}
	if !strings.HasPrefix(said[1], "exit code 0 after ") || !strings.HasSuffix(said[1], " (no output)") {
		t.Errorf("no output: %q", said[1])
	}
	if long := said[2]; !strings.Contains(long, "\n1\n2\n3\n") || !strings.Contains(long, "\n100000\nthe end\n[lines 1–") ||
		!strings.Contains(long, " are left out]\n") || !refOf.MatchString(lastLine(long)) {
		t.Errorf("long output: %.100q … %q", long, long[len(long)-200:])
	}

	model.Play(kerneltest.Answer{Calls: []string{`shell__bash {"command":"echo so far; touch began; sleep 600"}`}},
		kerneltest.Answer{Text: "ok"})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := talk.Send(ctx, llm.TextMessage(llm.User, "wait"), conversation.Watch{})
		done <- err
	}()
	kerneltest.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(folder, "began"))
		return err == nil
	})
	stop()
	ok(t, <-done)
	kerneltest.Send(t, talk, "and now?")
	stopped := regexp.MustCompile(`^cancelled: stopped by the user after [0-9.m]+s; output so far:\nso far\n`)
	if said := lastTold(t, model); !stopped.MatchString(said) {
		t.Errorf("stopped: %q", said)
	}
}

// A result says each thing once, in words where words say it all: no data beside them, no
// summary that says what the line about the cut says, tools by the names that the model calls.
func TestModelIsToldEachThingOnce(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t)
	folder := app(t, model, "")
	write(t, filepath.Join(folder, "a.txt"), "one\ntwo\nthree\n")
	write(t, filepath.Join(folder, "empty.txt"), "")
	write(t, filepath.Join(folder, "many", "a"), "x")
	write(t, filepath.Join(folder, "many", "b"), "x")
	steps := []struct{ call, want string }{
		{`filesystem__read {"path":"empty.txt"}`, "empty.txt is empty\n"},
		{`filesystem__read {"path":"a.txt","offset":2,"limit":1}`, "     2\ttwo\n[line 2 of 3; continue with offset=3]"},
		{`filesystem__grep {"pattern":"nothinglikeit"}`, "nothing matches \"nothinglikeit\"\n"},
		{`filesystem__grep {"pattern":"o","path":"a.txt","limit":1}`, "a.txt\n1:one\n" +
			"[the first match; there are more: continue with offset=1, or narrow pattern, path or glob]"},
		{`filesystem__glob {"pattern":"**/*.rs"}`, "nothing matches **/*.rs\n"},
		{`filesystem__glob {"pattern":"many/*","limit":1}`,
			"many/a\n[the first match; there are more: continue with offset=1, or narrow pattern or path]"},
		{`filesystem__write {"path":"new.txt","content":"x\n"}`, "created new.txt: 1 line, 2 bytes"},
		{`filesystem__move {"from":"new.txt","to":"newer.txt"}`, "moved the file new.txt to newer.txt"},
		{`filesystem__delete {"path":"newer.txt"}`, "deleted the file newer.txt"},
	}
	var script []kerneltest.Answer
	for _, s := range steps {
		script = append(script, kerneltest.Answer{Calls: []string{s.call}})
	}
	model.Play(append(script, kerneltest.Answer{Text: "ok"})...)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.Send(t, kerneltest.OpenConversation(t, k, folder), "go")
	said := told(t, model)
	for i, s := range steps {
		if i >= len(said) || said[i] != s.want {
			t.Errorf("%s: %q, want %q", s.call, said[min(i, len(said)-1)], s.want)
		}
	}
}

// Wrong arguments are told once, with the schema once, and an example that could be
// meant; a hint names the tools that the model has, as it calls them, and no others.
func TestModelIsToldWhatToMend(t *testing.T) {
	t.Parallel()
	reads := tool.Runtime{SideEffect: tool.None, Risk: tool.Low}
	plain := textTool("demo.open", reads, longText)
	plain.Spec.Input = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)
	own := textTool("demo.kept", reads, longText)
	own.Spec.Input = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	own.Spec.Examples = []tool.Example{{Args: json.RawMessage(`{"n":"none"}`)}, {Args: json.RawMessage(`{"n":42}`)}}
	sent := textTool("demo.sent", reads, longText)
	sent.Handler = tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return nil, tool.Errorf("demo.sent", tool.Failed, "it is closed").
			WithHint("open it with demo.open; read it with web.browse.read; see get_tool, or approvals.collect")
	})
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{
		`demo__open {}`, `demo__kept {}`, `demo__sent {}`, `demo__ope {"path":"x"}`, `nothing_like_it {}`,
	}}, kerneltest.Answer{Text: "ok"})
	k := kerneltest.Open(t, kerneltest.StateDir(t), plain, own, sent)
	kerneltest.Send(t, kerneltest.OpenConversation(t, k, app(t, model, "")), "go")
	for i, want := range []string{
		"invalid: the arguments do not fit: path: want a string (required), got nothing\n" +
			"hint: nothing was changed and nothing was run; mend these and call again\n" +
			`schema: {"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}` + "\n" +
			`example: {"path":"notes.txt"}`,
		"invalid: the arguments do not fit: n: want an integer (required), got nothing\n" +
			"hint: nothing was changed and nothing was run; mend these and call again\n" +
			`schema: {"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}` + "\n" +
			`example: {"n":42}`,
		"failed: it is closed\nhint: open it with demo__open",
		"not_found: there is no tool \"demo__ope\"\nhint: did you mean demo__open?",
		"not_found: there is no tool \"nothing_like_it\"\nhint: call one of the tools there are",
	} {
		if got := told(t, model)[i]; got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}
