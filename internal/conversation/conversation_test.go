package conversation_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/provider"
	"callgate/internal/storage/sqlite"
	"callgate/llm"
	"callgate/tool"
)

// The tutorial of seed 002: the agent finds a tool and describes it with two
// calls, and goes on to run it when it is asked to.
func TestAgentDescribesAToolAndThenRunsIt(t *testing.T) {
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`browse_category {"category":"filesystem"}`}},
		kerneltest.Answer{Calls: []string{`get_tool {"name":"filesystem.grep"}`}},
		kerneltest.Answer{Text: "**Tool:** `filesystem.grep`: it searches file contents for a regex pattern. Only `pattern` is required."},
		kerneltest.Answer{Calls: []string{`execute_tool {"name":"filesystem.grep","params":{"pattern":"pong","path":"."}}`}},
		kerneltest.Answer{Text: "It is in ping.txt."},
	)
	t.Setenv(provider.BaseURLVariable("deepseek"), model.URL+"/v1")
	t.Setenv("DEEPSEEK_API_KEY", "key-of-the-test")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "ping.txt"), "ping\npong\n")
	bot, err := filepath.Abs("../app/testdata/apps/discovery-bot.yaml")
	if err != nil {
		t.Fatal(err)
	}
	talk := kerneltest.OpenConversationWith(t, k, conversation.Spec{Workspace: folder, AppFile: bot})
	end := kerneltest.Send(
		t,
		talk,
		"Find a tool that can grep file contents and tell me what it requires. Do not run it; just discover and describe.",
	)
	info := talk.Info()
	if end.Reason != history.Done || info.ToolCalls != 2 {
		t.Fatalf("%+v, tool_calls_count: %d", end, info.ToolCalls)
	}
	want := []string{`browse_category {"category":"filesystem"}`, `get_tool {"name":"filesystem.grep"}`}
	if diff := cmp.Diff(want, kerneltest.CallsMade(t, k, talk.ID())); diff != "" {
		t.Error(diff)
	}
	var first struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(model.Asked()[0], &first); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range first.Tools {
		names[f.Function.Name] = true
	}
	for _, meta := range []string{"list_categories", "browse_category", "search_tools", "get_tool", "execute_tool"} {
		if !names[meta] {
			t.Errorf("the model was not offered %s: %v", meta, names)
		}
	}
	if names["filesystem__grep"] || !strings.Contains(string(model.Asked()[2]), `\"pattern\"`) {
		t.Error("the schema came before it was asked for, or not at all")
	}
	kerneltest.Send(t, talk, "search for the word 'pong' in this folder")
	if calls := kerneltest.CallsMade(t, k, talk.ID()); len(calls) != 3 || !strings.Contains(string(model.Asked()[4]), "ping.txt") {
		t.Errorf("%v\n%s", calls, model.Asked()[4])
	}
}

// One app, two providers: the same calls, in the same order, with the same
// results.
func TestSameCallsOnBothProviders(t *testing.T) {
	t.Parallel()
	lines := []kerneltest.Answer{
		{
			Text:  "two at once",
			Calls: []string{`filesystem__write {"path":"a.txt","content":"one"}`, `filesystem__write {"path":"b.txt","content":"two"}`},
		},
		{Calls: []string{`filesystem__read {"path":"a.txt"}`, `filesystem__glob {"pattern":"*.txt"}`, `filesystem__read {"path":"none.txt"}`}},
		{Text: "done"},
	}
	var stories []string
	for _, of := range [][2]string{{"openai", "gpt-4o"}, {"anthropic", "claude-sonnet-4-5"}} {
		model := kerneltest.NewModel(t, lines...)
		brain := model.Brain(of[0], of[1])
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		folder := t.TempDir()
		write(
			t,
			filepath.Join(folder, "callgate.yaml"),
			"app: {app_id: both}\nagents: [{id: main, brain: "+brain+"}]\nruntime: {tool_injection: direct}\ntools:\n  modules: {filesystem: {}}\n  capabilities: {default_policy: auto}\n",
		)
		talk := kerneltest.OpenConversation(t, k, folder)
		if end := kerneltest.Send(t, talk, "go"); end.Reason != history.Done {
			t.Fatalf("%s: %+v", brain, end)
		}
		_, events, err := k.Conversations.History(t.Context(), talk.ID(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var story strings.Builder
		for _, m := range history.Replay(events).Messages {
			for _, p := range m.Parts {
				data, _ := json.Marshal(p)
				story.Write(append(data, '\n'))
			}
		}
		stories = append(stories, strings.ReplaceAll(story.String(), folder, "/ws"))
		if info := talk.Info(); info.ToolCalls != 5 || info.Usage.Input != 300 || info.Usage.Output != 30 {
			t.Errorf("%s: %+v", brain, info)
		}
	}
	if diff := cmp.Diff(stories[0], stories[1]); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(stories[0], "there is no") && !strings.Contains(stories[0], "not_found") {
		t.Error("the failed read was not told:", stories[0])
	}
}

// An agent sees only the modules it was given, and a call that needs a human
// waits for one.
func TestAgentIsHeldToItsModules(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(
		t,
		kerneltest.Answer{
			Calls: []string{
				`shell__bash {"command":"true"}`,
				`filesystem__write {"path":"a","content":"x"}`,
				`filesystem__delete {"path":"gone.txt"}`,
			},
		},
		kerneltest.Answer{Text: "well"},
	)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "gone.txt"), "x")
	write(
		t,
		filepath.Join(folder, "callgate.yaml"),
		`agents: [{id: main, brain: `+model.Brain("openai", "gpt-4o")+`, modules: [{filesystem: [read, delete]}]}]
tools:
  modules: {filesystem: {}, shell: {}}
  capabilities: {default_policy: auto, approve: [{module: filesystem, actions: [delete]}]}
`,
	)
	talk := kerneltest.OpenConversation(t, k, folder)
	key, err := k.State().HumanKey()
	if err != nil {
		t.Fatal(err)
	}
	human := approval.Credential{Key: key, By: "ada", PID: approval.Unknown}
	end, err := talk.Send(
		t.Context(),
		llm.TextMessage(llm.User, "go"),
		conversation.Watch{Observer: agent.Observer{}, Asked: func(r approval.Request) {
			if r.State != approval.Pending {
				return // what became of the answer
			}
			go func() {
				if err := k.Approvals.Answer(context.WithoutCancel(t.Context()), human, r.ID, approval.Answer{Approve: true}); err != nil {
					t.Error(err)
				}
			}()
		}},
	)
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	_, events, err := k.Conversations.History(t.Context(), talk.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tool.Status{}
	for _, e := range events {
		if e.Type == history.CallEnded {
			got[e.Call.Name] = e.Result.Status
		}
	}
	want := map[string]tool.Status{"shell__bash": tool.Failure, "filesystem__write": tool.Failure, "filesystem__delete": tool.Success}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(folder, "gone.txt")); err == nil {
		t.Error("the approved call did not run")
	}
}

// A conversation is taken up by another client, in another life of the kernel.
func TestConversationIsResumedInAnotherKernel(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "alpha\n")
	k := kerneltest.Open(t, state)
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "read a.txt")
	id := talk.ID()
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = kerneltest.Open(t, state)
	again, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id})
	if err != nil {
		t.Fatal(err)
	}
	kerneltest.Send(t, again, "list the files here")
	if calls := kerneltest.CallsMade(t, k, id); len(calls) != 2 || again.Info().Turns != 2 ||
		again.Session().Workspace() != talk.Session().Workspace() {
		t.Errorf("%v %+v", calls, again.Info())
	}
	other, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Send(t.Context(), llm.TextMessage(llm.User, "x"), conversation.Watch{}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("the first client goes on though another took over: %v", err)
	}
	if err := k.Conversations.Delete(t.Context(), other.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a deleted one: %v", err)
	}
}

func TestCancelStopsTheTurn(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t)
	model.StopAt(1)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	talk := kerneltest.OpenConversation(t, k, folder)
	ended := make(chan history.End)
	begun := make(chan struct{})
	go func() {
		end, err := talk.Send(
			context.WithoutCancel(t.Context()),
			llm.TextMessage(llm.User, "go"),
			conversation.Watch{Observer: agent.Observer{Event: func(e history.Event) {
				if e.Type == history.User {
					close(begun)
				}
			}}, Asked: nil},
		)
		if err != nil {
			t.Error(err)
		}
		ended <- end
	}()
	<-begun
	if _, err := talk.Send(t.Context(), llm.TextMessage(llm.User, "me too"), conversation.Watch{}); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second turn at once: %v", err)
	}
	if _, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: talk.ID()}); tool.KindOf(err) != tool.Conflict {
		t.Errorf("taken over in the middle of a turn: %v", err)
	}
	done := make(chan bool)
	go func() { done <- talk.Cancel() }()
	if end := <-ended; end.Reason != history.Cancelled {
		t.Errorf("%+v", end)
	}
	if !<-done || talk.Cancel() {
		t.Error("whether something was cancelled is told wrongly")
	}
}

func TestUnknownAgentOpensNothing(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: reader}, {id: writer}]\n")
	_, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder, Agent: "raeder"})
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "reader, writer") {
		t.Errorf("%v", err)
	}
	if n := k.Sessions.Len(); n != 0 {
		t.Errorf("%d sessions are left open", n)
	}
}

// What an agent remembers lasts with its conversation, and goes with it.
func TestMemoryLastsAsLongAsItsConversation(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), t.TempDir()
	k := kerneltest.Open(t, state)
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, `remember that the door is blue; set the goal "paint it"`)
	id := talk.ID()
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	again, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id})
	ok(t, err)
	told := again.Presentation()
	if !strings.Contains(told.Note, "the door is blue") || !strings.Contains(told.Note, "paint it") || told.Memory != told.Note {
		t.Errorf("the note after a restart: %s", told.Note)
	}
	if text := told.System.Text(); !strings.Contains(text, "memory__task_create") {
		t.Errorf("the prompt after a restart: %s", text)
	}
	other := kerneltest.OpenConversation(t, k, folder)
	if told := other.Presentation(); strings.Contains(told.Note+told.System.Text(), "the door is blue") {
		t.Error("another conversation has its facts")
	}
	session, err := k.Sessions.Get(id)
	ok(t, err)
	by := session.Principal()
	if found := remembered(t, state, by); !strings.Contains(found, "door is blue") {
		t.Errorf("it is not stored: %s", found)
	}
	ok(t, k.Conversations.Delete(t.Context(), id))
	if found := remembered(t, state, by); found != "" {
		t.Errorf("it is still stored: %s", found)
	}
}

// remembered returns the documents of a session's memory.
func remembered(t *testing.T, state string, by tool.Principal) string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(state, "callgate.db"))
	ok(t, err)
	docs, err := document.ListAll(t.Context(), db.Stores().Documents,
		"module/memory/"+document.Join(by.User, by.App, "session", by.Session), "")
	ok(t, err)
	ok(t, db.Close())
	var text strings.Builder
	for _, d := range docs {
		text.Write(d.Data)
	}
	return text.String()
}

// The calls of one answer that touch the same thing are made in the model's
// order, also through execute_tool.
func TestCallsOfOneAnswerKeepTheirOrder(t *testing.T) {
	t.Parallel()
	var direct, inside []string
	for i := range 8 {
		args := `{"path":"a.txt","content":"` + string(rune('a'+i)) + `"}`
		direct = append(direct, "filesystem__write "+args)
		inside = append(inside, `execute_tool {"name":"filesystem.write","params":`+args+`}`)
	}
	for mode, calls := range map[string][]string{"direct": direct, "discovery": inside} {
		for range 5 {
			model := kerneltest.NewModel(t, kerneltest.Answer{Calls: calls}, kerneltest.Answer{Text: "done"})
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			folder := t.TempDir()
			write(
				t,
				filepath.Join(folder, "callgate.yaml"),
				"agents: [{id: main, brain: "+model.Brain(
					"openai",
					"gpt-4o",
				)+"}]\nruntime: {tool_injection: "+mode+"}\ntools: {capabilities: {default_policy: auto}}\n",
			)
			kerneltest.Send(t, kerneltest.OpenConversation(t, k, folder), "go")
			data, err := os.ReadFile(filepath.Join(folder, "a.txt"))
			if err != nil || string(data) != "h" {
				t.Errorf("%s: the last write is %q, %v", mode, data, err)
			}
			ok(t, k.Close())
		}
	}
}

// What a user typed, and an app's filter refuses or masks, is nowhere to be read.
func TestHistoryHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = "value-of-a-planted-secret"
	model := kerneltest.NewModel(
		t,
		kerneltest.Answer{Text: "the key is sk-abcdefghijklmnop1234, and " + secret},
		kerneltest.Answer{Text: "never"},
	)
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "PLANTED_TOKEN", []byte(secret)))
	folder := t.TempDir()
	write(
		t,
		filepath.Join(folder, "callgate.yaml"),
		"agents: [{id: main, brain: "+model.Brain(
			"openai",
			"gpt-4o",
		)+"}]\nruntime: {middleware: [mask_secrets, {content_filter: {block: [classified], where: input}}]}\n",
	)
	talk := kerneltest.OpenConversation(t, k, folder)
	var shown strings.Builder
	_, err := talk.Send(
		t.Context(),
		llm.TextMessage(llm.User, "what is "+secret+"?"),
		conversation.Watch{Observer: agent.Observer{Delta: func(d llm.Delta) { shown.WriteString(d.Text) }}, Asked: nil},
	)
	ok(t, err)
	if strings.Contains(shown.String(), "sk-abc") || !strings.Contains(shown.String(), "[masked]") {
		t.Errorf("shown: %s", shown.String())
	}
	if _, err := talk.Send(t.Context(), llm.TextMessage(llm.User, "classified"), conversation.Watch{}); tool.KindOf(err) != tool.Denied {
		t.Errorf("what the filter refuses: %v", err)
	}
	_, events, err := k.Conversations.History(t.Context(), talk.ID(), 0)
	ok(t, err)
	data, _ := json.Marshal(events)
	if strings.Contains(string(data), secret) || strings.Contains(string(data), "sk-abc") {
		t.Errorf("kept: %s", data)
	}
	ok(t, k.Close())
	if strings.Contains(allText(t, state), secret) {
		t.Error("it is in the state directory")
	}
}

// allText is what all files below a folder hold.
func allText(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	ok(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			b.Write(data)
		}
		return err
	}))
	return b.String()
}

// One app, a model that is given tools by its provider and one that writes its
// calls into its words: the same calls, with the same results.
func TestCallsInTextAreTheSameCalls(t *testing.T) {
	t.Parallel()
	calls := [][]string{
		{`filesystem__write {"path":"a.txt","content":"one"}`, `filesystem__write {"path":"b.txt","content":"<two>"}`},
		{`filesystem__read {"path":"b.txt"}`, `filesystem__glob {"pattern":"*.txt"}`},
	}
	var native, words []kerneltest.Answer
	for _, batch := range calls {
		native = append(native, kerneltest.Answer{Text: "let me see", Calls: batch})
		text := "let me see\n"
		for _, c := range batch {
			name, args, _ := strings.Cut(c, " ")
			text += `<tool_call>{"name": "` + name + `", "arguments": ` + args + "}</tool_call>\n"
		}
		words = append(words, kerneltest.Answer{Text: text})
	}
	var stories []string
	for mode, lines := range map[string][]kerneltest.Answer{"true": native, "false": words} {
		model := kerneltest.NewModel(t, append(lines, kerneltest.Answer{Text: "done"})...)
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		folder := t.TempDir()
		write(
			t,
			filepath.Join(folder, "callgate.yaml"),
			"agents: [{id: main, brain: "+model.Brain(
				"openai",
				"gpt-4o",
				"native_tool_use: "+mode,
			)+"}]\nruntime: {tool_injection: direct}\ntools:\n  modules: {filesystem: {}}\n  capabilities: {default_policy: auto}\n",
		)
		talk := kerneltest.OpenConversation(t, k, folder)
		if end := kerneltest.Send(t, talk, "go"); end.Reason != history.Done {
			t.Fatalf("native %s: %+v", mode, end)
		}
		_, events, err := k.Conversations.History(t.Context(), talk.ID(), 0)
		ok(t, err)
		var story strings.Builder
		for _, e := range events {
			switch e.Type {
			case history.CallMade:
				story.WriteString(e.Call.Name + " " + string(e.Call.Args) + "\n")
			case history.CallEnded:
				story.WriteString(string(e.Result.Status) + " " + e.Result.Summary + "\n")
			case history.Assistant:
				story.WriteString(strings.TrimSpace(e.Message.Text()) + "\n")
			}
		}
		stories = append(stories, sortedLines(story.String()))
		asked := string(model.Asked()[0])
		if strings.Contains(asked, `"tools":[`) != (mode == "true") || strings.Contains(asked, "tool_call") != (mode == "false") {
			t.Errorf("native %s: the model was asked %s", mode, asked)
		}
		ok(t, k.Close())
	}
	if diff := cmp.Diff(stories[0], stories[1]); diff != "" {
		t.Error(diff)
	}
}

// A strict app makes no call that stands in the text of a model, whether the model
// is given tools or not, and says so to the model.
func TestStrictRefusesCallsInText(t *testing.T) {
	t.Parallel()
	const call = "let me see\n<tool_call>{\"name\": \"filesystem__write\", " +
		"\"arguments\": {\"path\":\"a.txt\",\"content\":\"one\"}}</tool_call>\n"
	for name, c := range map[string]struct{ native, strict, hint string }{
		"with tools":              {"true", "true", "call it with the interface for tools"},
		"without tools":           {"false", "true", "a model that takes tools"},
		"not strict, with tools":  {"true", "false", ""},
		"not strict, calls count": {"false", "false", ""},
	} {
		model := kerneltest.NewModel(t, kerneltest.Answer{Text: call}, kerneltest.Answer{Text: "done"})
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		folder := t.TempDir()
		write(t, filepath.Join(folder, "callgate.yaml"),
			"agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o", "native_tool_use: "+c.native)+"}]\n"+
				"runtime: {tool_injection: direct, strict: "+c.strict+"}\ntools:\n  modules: {filesystem: {}}\n"+
				"  capabilities: {default_policy: auto}\n")
		conv := kerneltest.OpenConversation(t, k, folder)
		if end := kerneltest.Send(t, conv, "go"); end.Reason != history.Done {
			t.Fatalf("%s: %+v", name, end)
		}
		_, err := os.Stat(filepath.Join(folder, "a.txt"))
		if made := err == nil; made != (name == "not strict, calls count") {
			t.Errorf("%s: the call was made: %v", name, made)
		}
		_, events, err := k.Conversations.History(t.Context(), conv.ID(), 0)
		ok(t, err)
		refusal := ""
		for _, e := range events {
			if e.Type == history.CallEnded && e.Result.Status == tool.Refused {
				refusal += e.Result.Summary
			}
		}
		if c.strict == "true" && !(strings.Contains(refusal, "runtime.strict refuses such calls") &&
			strings.Contains(refusal, c.hint) && len(model.Asked()) == 2) || c.strict == "false" && refusal != "" {
			t.Errorf("%s: refused with %q, asked %d times", name, refusal, len(model.Asked()))
		}
		ok(t, k.Close())
	}
}

// mask_secrets covers what tools return, not only what is said.
func TestMaskSecretsCoversResults(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`filesystem__read {"path":"notes.txt"}`}}, kerneltest.Answer{Text: "done"})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "notes.txt"), "the password = hunter22222, the key sk-abcdefghijklmnop1234, CODE-77\n")
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n"+
		"runtime: {tool_injection: direct, middleware: [{mask_secrets: {patterns: [\"CODE-[0-9]+\"]}}]}\n"+
		"tools:\n  modules: {filesystem: {}}\n  capabilities: {default_policy: auto}\n")
	if end := kerneltest.Send(t, kerneltest.OpenConversation(t, k, folder), "go"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	asked := string(model.Asked()[1])
	for _, value := range []string{"hunter22222", "sk-abcdef", "CODE-77"} {
		if strings.Contains(asked, value) {
			t.Errorf("the model was given %s", value)
		}
	}
	if !strings.Contains(asked, "[masked]") {
		t.Errorf("the model was asked %s", asked)
	}
	ok(t, k.Close())
}

// sortedLines orders lines: of calls side by side, either may end first.
func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// An app file that sends conversations to an address of its own is not run
// before a human has seen that.
func TestModelAtAnotherAddressNeedsConsent(t *testing.T) {
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	write(
		t,
		filepath.Join(folder, "callgate.yaml"),
		"agents: [{id: main, brain: {provider: openai, model: m, credential: MODEL_KEY, config: {base_url: \"http://127.0.0.1:9/v1\"}}}]\n",
	)
	_, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder})
	if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "127.0.0.1:9") ||
		!strings.Contains(err.Error(), "callgate app trust") {
		t.Errorf("%v", err)
	}
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "MODEL_KEY", []byte("key-of-the-test")))
	kerneltest.OpenAccepted(t, k, folder).Close()
	if _, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder}); err != nil {
		t.Errorf("once it was accepted: %v", err)
	}
}
