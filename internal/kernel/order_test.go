package kernel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// answerOf makes the calls of one answer, each written "name {arguments}".
func answerOf(t *testing.T, s *session.Session, calls ...string) []*tool.Result {
	t.Helper()
	requests := make([]gate.CallRequest, len(calls))
	for i, text := range calls {
		name, args, _ := strings.Cut(text, " ")
		requests[i] = gate.CallRequest{Name: name, Args: json.RawMessage(args)}
	}
	results := s.CallAll(t.Context(), requests, nil)
	for i, r := range results {
		if r.Status != tool.Success {
			t.Errorf("%s: %s", calls[i], r.Summary)
		}
	}
	return results
}

// through makes the same call by way of execute_tool.
func through(call string) string {
	name, args, _ := strings.Cut(call, " ")
	return `execute_tool {"name":"` + name + `","params":` + args + `}`
}

const bash = "shell.bash "

// What a call of an answer does, the later calls of the same answer see: for every
// module, and whether the model calls a tool by its name or through execute_tool.
func TestLaterCallsOfAnAnswerSeeTheEarlier(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for name, c := range map[string]struct {
		before []string // made one after another, to prepare
		calls  []string
		want   string // is in what the last call says
	}{
		"write, read": {
			calls: []string{`filesystem.write {"path":"a.txt","content":"new"}`, `filesystem.read {"path":"a.txt"}`}, want: "new",
		},
		"edit, read": {
			calls: []string{`filesystem.edit {"path":"old.txt","old":"old","new":"new"}`, `filesystem.read {"path":"old.txt"}`}, want: "new",
		},
		"edit, edit, read": {
			calls: []string{
				`filesystem.edit {"path":"old.txt","old":"old","new":"mid"}`, `filesystem.edit {"path":"old.txt","old":"mid","new":"new"}`,
				`filesystem.read {"path":"old.txt"}`,
			}, want: "new",
		},
		"move, read": {
			calls: []string{`filesystem.move {"from":"old.txt","to":"moved.txt"}`, `filesystem.read {"path":"moved.txt"}`}, want: "old",
		},
		"write, list": {
			calls: []string{`filesystem.write {"path":"sub/a.txt","content":"new"}`, `filesystem.list {"recursive":true}`}, want: "a.txt",
		},
		"write, grep": {
			calls: []string{`filesystem.write {"path":"sub/a.txt","content":"needle"}`, `filesystem.grep {"pattern":"needle"}`}, want: "a.txt",
		},
		"a file makes way for a folder": {
			calls: []string{`filesystem.delete {"path":"old.txt"}`, `filesystem.write {"path":"old.txt/a.txt","content":"new"}`,
				`filesystem.read {"path":"old.txt/a.txt"}`}, want: "new",
		},
		"shell, read": {
			calls: []string{bash + `{"command":"echo new > made.txt"}`, `filesystem.read {"path":"made.txt"}`}, want: "new",
		},
		"write, shell": {
			calls: []string{`filesystem.write {"path":"a.txt","content":"new"}`, bash + `{"command":"cat a.txt","reads_only":true}`}, want: "new",
		},
		"write, shell that writes elsewhere": {
			calls: []string{`filesystem.write {"path":"a.txt","content":"new"}`, bash + `{"command":"cat a.txt","writes":["dist/"]}`}, want: "new",
		},
		"shell makes a link, write through it, read what it leads to": {
			calls: []string{
				bash + `{"command":"ln -s old.txt link.txt"}`, `filesystem.write {"path":"link.txt","content":"new"}`,
				`filesystem.read {"path":"old.txt"}`,
			}, want: "new",
		},
		"upsert, query": {
			calls: []string{`memory.upsert {"key":"door","content":"the door is green"}`, `memory.query {"query":"which colour has the door?"}`}, want: "green",
		},
		"insert, select": {
			before: []string{`database.connect {"driver":"sqlite","database":"data.db"}`, `database.execute_query {"query":"CREATE TABLE notes (body TEXT)"}`},
			calls: []string{
				`database.execute_query {"query":"INSERT INTO notes VALUES ('new')"}`, `database.fetch_results {"query":"SELECT body FROM notes"}`,
			}, want: "new",
		},
		"connect, list connections": {
			calls: []string{`database.connect {"driver":"sqlite","database":"other.db","connection_id":"other"}`, `database.list_connections {}`}, want: "other",
		},
		"write, status": {
			before: repository, calls: []string{`filesystem.write {"path":"a.txt","content":"new"}`, `git.status {}`}, want: "a.txt",
		},
		"write, add, commit, log": {
			before: repository, calls: []string{
				`filesystem.write {"path":"a.txt","content":"new"}`, `git.add {"paths":["a.txt"]}`, `git.commit {"message":"the new one"}`, `git.log {}`,
			}, want: "the new one",
		},
		"commit, shell that looks": {
			before: append(repository, bash+`{"command":"touch a && git add a"}`),
			calls:  []string{`git.commit {"message":"the new one"}`, bash + `{"command":"git log","reads_only":true}`}, want: "the new one",
		},
		"shell that commits, log": {
			before: repository,
			calls: []string{
				bash + `{"command":"touch a && git add a && git -c user.name=a -c user.email=a@b.c commit -qm 'the new one'"}`, `git.log {}`,
			}, want: "the new one",
		},
	} {
		for way, each := range map[string]func(i int, call string) string{
			"by name":              func(_ int, call string) string { return call },
			"through execute_tool": func(_ int, call string) string { return through(call) },
			"mixed": func(i int, call string) string {
				if i%2 == 0 {
					return through(call)
				}
				return call
			},
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				workspace := t.TempDir()
				write(t, filepath.Join(workspace, "callgate.yaml"), freeHand)
				write(t, filepath.Join(workspace, "old.txt"), "old\n")
				s := kerneltest.OpenAccepted(t, k, workspace)
				for _, call := range c.before {
					if r := answerOf(t, s, call); r[0].Status != tool.Success {
						t.FailNow()
					}
				}
				calls := make([]string, len(c.calls))
				for i, call := range c.calls {
					calls[i] = each(i, call)
				}
				results := answerOf(t, s, calls...)
				if said, err := json.Marshal(results[len(results)-1]); err != nil || !strings.Contains(string(said), c.want) {
					t.Errorf("the last says %s, %v", said, err)
				}
			})
		}
	}
}

// repository makes one in the workspace.
var repository = []string{bash + `{"command":"git init -q && git config user.name a && git config user.email a@b.c"}`}

// A model's answer in a conversation is such an answer, also when it comes in parts of
// more calls than run at a time.
func TestAnswerOfAConversationIsInOrder(t *testing.T) {
	kerneltest.OnEachStorage(t, testAnswerOfAConversationIsInOrder)
}

func testAnswerOfAConversationIsInOrder(t *testing.T) {
	t.Parallel()
	var calls []string
	for i := range 20 {
		calls = append(calls, fmt.Sprintf(`filesystem__edit {"path":"log.txt","op":"append","new":"%02d"}`, i))
	}
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: append(calls,
		`filesystem__read {"path":"log.txt","line_numbers":false}`)},
		kerneltest.Answer{Text: "done"})
	workspace := t.TempDir()
	kerneltest.Write(t, filepath.Join(workspace, "log.txt"), "begin")
	kerneltest.Write(t, filepath.Join(workspace, "callgate.yaml"),
		"agents: [{id: main, brain: "+model.Brain("openai", "gpt-4.1-mini")+"}]\n"+freeHand)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, workspace)
	kerneltest.Send(t, c, "write the log, then read it")
	want := `"begin\n00\n01\n02\n03\n04\n05\n06\n07\n08\n09\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19"`
	if last := model.Last(); !strings.Contains(last, want) {
		t.Errorf("the model reads …%s", last[max(0, len(last)-1500):])
	}
}

// A call that an earlier one of its answer leads to the rules of agents does not run
// without a human.
func TestAnswerThatLinksToTheRules(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	rules := filepath.Join(workspace, "callgate.yaml")
	write(t, rules, freeHand)
	s := kerneltest.OpenAccepted(t, kerneltest.Open(t, kerneltest.StateDir(t)), workspace)
	results := s.CallAll(t.Context(), []gate.CallRequest{
		{Name: "shell.bash", Args: json.RawMessage(`{"command":"ln -s callgate.yaml link.txt"}`)},
		{Name: "filesystem.write", Args: json.RawMessage(`{"path":"link.txt","content":"mine"}`)},
	}, nil)
	if results[0].Status != tool.Success || results[1].Error == nil || results[1].Error.Kind != tool.Conflict {
		t.Errorf("%+v, %+v", results[0], results[1])
	}
	if text, err := os.ReadFile(rules); err != nil || string(text) != freeHand {
		t.Errorf("the rules are %q, %v", text, err)
	}
}
