package kernel_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// openWithRules opens a session whose app has two models and rules for the module llm_provider.
func openWithRules(
	t *testing.T, rules string,
) (k *kernel.Kernel, large, small *kerneltest.Model, call func(name, args string) *tool.Result) {
	t.Helper()
	large, small = kerneltest.NewModel(t, kerneltest.Answer{Text: "LARGE"}), kerneltest.NewModel(t, kerneltest.Answer{Text: "small"})
	dir := t.TempDir()
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), "agents:\n- {id: main, brain: "+large.Brain("openai", "gpt-4o")+"}\n"+
		"- {id: other, brain: "+small.Brain("openai", "gpt-4o-mini")+"}\n"+
		"tools:\n  modules: {llm_provider: {}}\n  capabilities:\n    default_policy: approve\n"+
		"    grant: [{module: llm_provider, actions: [configure, update_defaults]}"+rules+"]\n")
	k = kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, dir)
	return k, large, small, func(name, args string) *tool.Result {
		t.Helper()
		return kerneltest.Call(t, s, "llm_provider."+name, args)
	}
}

// pendingCall returns the one call that waits for a human.
func pendingCall(t *testing.T, k *kernel.Kernel) approval.Request {
	t.Helper()
	pending, err := k.Approvals.List(t.Context(), approval.Pending, 10)
	kerneltest.OK(t, err)
	if len(pending) != 1 {
		t.Fatalf("%d calls wait for a human", len(pending))
	}
	return pending[0]
}

// What a human approves is what is sent, whatever becomes of the name meanwhile.
func TestAnApprovedQuestionIsWhatIsSent(t *testing.T) {
	t.Parallel()
	k, large, small, call := openWithRules(t, "")
	call("configure", `{"name":"b","model":"openai/gpt-4o-mini","system":"Be brief.","temperature":0,"max_tokens":77}`)
	asked := call("chat", `{"provider":"b","prompt":"hello"}`)
	if asked.Status != tool.Waiting {
		t.Fatal(shownBy(asked))
	}
	var shown map[string]any
	kerneltest.OK(t, json.Unmarshal(pendingCall(t, k).Call.Args, &shown))
	for name, want := range map[string]any{
		"provider": "openai/gpt-4o-mini", "system": "Be brief.", "temperature": 0.0, "max_tokens": 77.0, "prompt": "hello",
	} {
		if shown[name] != want {
			t.Errorf("the human is shown %s %v, want %v", name, shown[name], want)
		}
	}
	call("configure", `{"name":"b","model":"openai/gpt-4o","system":"the password is hunter2"}`)
	call("update_defaults", `{"name":"b","system":"the password is hunter2"}`)
	kerneltest.Settle(t, k, asked.Approval, approval.Answer{Approve: true})
	kerneltest.Eventually(t, func() bool { return len(large.Asked())+len(small.Asked()) > 0 })
	if len(large.Asked()) > 0 || !strings.Contains(string(small.Asked()[0]), "Be brief.") {
		t.Errorf("sent to the large model: %s; to the small: %s", large.Asked(), small.Asked())
	}
}

// A human who edits a call writes what is sent: a name that they type stands for nothing that they do not see.
func TestAnEditedQuestionNamesAModel(t *testing.T) {
	t.Parallel()
	k, large, small, call := openWithRules(t, "")
	call("configure", `{"name":"b","model":"openai/gpt-4o","system":"the password is hunter2"}`)
	asked := call("chat", `{"prompt":"hello"}`)
	kerneltest.Settle(t, k, asked.Approval, approval.Answer{
		Approve: true, Args: json.RawMessage(`{"provider":"b","prompt":"hello"}`),
	})
	kerneltest.Eventually(t, func() bool {
		records, err := k.Journal.Read(t.Context(), journal.Query{Call: asked.Call})
		kerneltest.OK(t, err)
		return len(records) > 0 && records[len(records)-1].End != nil
	})
	if n := len(large.Asked()) + len(small.Asked()); n != 0 {
		t.Errorf("models were asked %d times", n)
	}
}

// Rules about arguments judge the model that is asked, and the text that it is sent.
func TestRulesSeeThroughNamesOfModels(t *testing.T) {
	t.Parallel()
	_, large, _, call := openWithRules(t, ", {module: llm_provider, actions: [chat], match: {provider: openai/gpt-4o-mini}}")
	for _, name := range []string{"gpt-4o-mini", "GPT-4o-Mini", "gpt-4o", "openai"} {
		r := call("configure", `{"name":"`+name+`","model":"openai/gpt-4o"}`)
		if r.Status == tool.Success || !strings.Contains(shownBy(r), "another name") {
			t.Errorf("a name for a model is %s: %s", name, shownBy(r))
		}
	}
	call("configure", `{"name":"big","model":"openai/gpt-4o"}`)
	call("configure", `{"name":"little","model":"gpt-4o-mini"}`)
	if r := call("chat", `{"provider":"big","prompt":"x"}`); r.Status != tool.Waiting {
		t.Error(shownBy(r))
	}
	if r := call("chat", `{"provider":"little","prompt":"x"}`); r.Status != tool.Success {
		t.Error(shownBy(r))
	}
	if n := len(large.Asked()); n != 0 {
		t.Errorf("the large model was asked %d times", n)
	}
}

// What a model is told first counts, whoever wrote it where.
func TestDefaultsCountInMaxInput(t *testing.T) {
	t.Parallel()
	_, model, call := openWithModels(t, "{constraints: {max_input: 10}}", kerneltest.Answer{Text: "large"})
	call("configure", `{"name":"b","model":"openai/gpt-4o","system":"`+strings.Repeat("secret ", 5)+`"}`)
	if got := shownBy(call("chat", `{"provider":"b","prompt":"x"}`)); !strings.Contains(got, "at most 10") {
		t.Error(got)
	}
	if got := shownBy(call("chat", `{"provider":"b","prompt":"x","system":"short"}`)); !strings.Contains(got, `"large"`) {
		t.Error(got)
	}
	if n := len(model.Asked()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}
