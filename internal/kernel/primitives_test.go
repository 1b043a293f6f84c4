package kernel_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// primitives is an app with everything that lets work go on by itself.
const primitives = `
app: {app_id: primitives}
runtime: {watchers: true, scheduler: true}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
  channels: {report: {type: file, path: report.txt, format: text}}
`

// openPrimitives opens a session of an app in a folder with a file.
func openPrimitives(t *testing.T, app string) *session.Session {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), app)
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "hello\n")
	return kerneltest.OpenAccepted(t, kerneltest.Open(t, kerneltest.StateDir(t)), folder)
}

// answer is what the tools of lasting work say, under the names of seeds 000 and 001.
type answer struct {
	Task    string `json:"task_id"`
	Watcher string `json:"watcher_id"`
	Job     string `json:"job_id"`
	Status  string `json:"status"`
	Next    string `json:"next_run"`
	Type    string `json:"schedule_type"`
	Checks  int    `json:"check_count"`
	Total   int    `json:"total"`
	Good    int    `json:"succeeded"`
	Results []struct {
		Index   int  `json:"index"`
		Success bool `json:"success"`
	} `json:"results"`
	Tasks    []answer `json:"tasks"`
	Watchers []answer `json:"watchers"`
}

// says makes a call that succeeds, and reads its answer.
func says(t *testing.T, s *session.Session, name, args string) (a answer) {
	t.Helper()
	r := kerneltest.Call(t, s, "context_builder."+name, args)
	if r.Status != tool.Success {
		t.Fatalf("%s %s: %s", name, args, r.Summary)
	}
	kerneltest.OK(t, json.Unmarshal(r.Data, &a))
	return a
}

// The primitives of seeds 000 and 001 are there under their names, and only where the
// app file asks for them.
func TestPrimitivesAreThere(t *testing.T) {
	t.Parallel()
	always := "search_tools get_tool execute_tool list_categories browse_category run_parallel background_run use_skill"
	watchers := "watch_start watch_stop watch_pause watch_resume watch_status watch_list watch_history"
	scheduler := "schedule cancel_schedule remind"
	whole, bare := openPrimitives(t, primitives), openPrimitives(t, "app: {app_id: bare}\n")
	for _, name := range strings.Fields(always + " " + watchers + " " + scheduler + " send_message reply") {
		if !knows(t, whole, name) {
			t.Errorf("%s is not there", name)
		}
	}
	for _, name := range strings.Fields(always) {
		if !knows(t, bare, name) {
			t.Errorf("%s is not there without any key", name)
		}
	}
	for name, args := range map[string]string{
		"watch_start": `{"name":"filesystem.read","params":{"path":"a.txt"}}`, "send_message": `{"message":"x"}`,
		"schedule": `{"when":"in 2h","action":"filesystem.read","args":{"path":"a.txt"}}`,
	} {
		if r := kerneltest.Call(t, bare, name, args); r.Status == tool.Success {
			t.Errorf("%s runs without its key: %s", name, r.Summary)
		}
	}
}

// knows reports whether a session has a tool.
func knows(t *testing.T, s *session.Session, name string) bool {
	t.Helper()
	r := kerneltest.Call(t, s, "get_tool", `{"name":"`+name+`"}`)
	if r.Status != tool.Success && tool.KindOf(r.Err()) != tool.NotFound {
		t.Errorf("%s: %s", name, r.Summary)
	}
	return r.Status == tool.Success
}

func TestParallelAsTheSeedsHaveIt(t *testing.T) {
	t.Parallel()
	s := openPrimitives(t, primitives)
	for name, args := range map[string]string{
		"actions": `{"actions":[{"name":"filesystem.read","params":{"path":"a.txt"}},{"name":"filesystem.read","params":{"path":"no"}}]}`,
		"tasks":   `{"tasks":[{"tool":"filesystem.read","args":{"path":"a.txt"}},{"tool":"filesystem.read","args":{"path":"no"}}]}`,
	} {
		got := says(t, s, "run_parallel", args)
		if got.Total != 2 || got.Good != 1 || len(got.Results) != 2 || !got.Results[0].Success || got.Results[1].Success {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// background_run has five modes, by its parameters, in both spellings.
func TestBackgroundAsTheSeedsHaveIt(t *testing.T) {
	kerneltest.OnEachStorage(t, testBackgroundAsTheSeedsHaveIt)
}

func testBackgroundAsTheSeedsHaveIt(t *testing.T) {
	t.Parallel()
	s := openPrimitives(t, primitives)
	for _, launch := range []string{
		`{"tool":"filesystem.read","params":{"path":"a.txt"}}`, `{"name":"filesystem.read","params":{"path":"a.txt"}}`,
	} {
		begun := says(t, s, "background_run", launch)
		of := func(more string) string { return `{"task_id":"` + begun.Task + `"` + more + `}` }
		if ended := says(t, s, "background_run", of(`,"wait":true`)); ended.Task != begun.Task || ended.Status != "completed" {
			t.Errorf("%s: %+v", launch, ended)
		}
		if status := says(t, s, "background_run", of("")); status.Status != "completed" {
			t.Errorf("status: %+v", status)
		}
		if over := says(t, s, "background_run", of(`,"cancel":true`)); over.Status != "completed" {
			t.Errorf("cancelling what is over: %+v", over)
		}
	}
	for _, list := range []string{`{"list":true}`, `{"list_tasks":true}`} {
		if got := says(t, s, "background_run", list); len(got.Tasks) != 2 {
			t.Errorf("%s: %+v", list, got)
		}
	}
}

func TestWatchersAsTheSeedsHaveThem(t *testing.T) {
	kerneltest.OnEachStorage(t, testWatchersAsTheSeedsHaveThem)
}

func testWatchersAsTheSeedsHaveThem(t *testing.T) {
	t.Parallel()
	s := openPrimitives(t, primitives)
	begun := says(t, s, "watch_start", `{"name":"filesystem.read","params":{"path":"a.txt"},"interval":5,"label":"the file",
		"notify_when":"on_change","actions":[{"name":"filesystem.write","params":{"path":"seen.txt","content":"x"}}]}`)
	id := `{"watcher_id":"` + begun.Watcher + `"}`
	for _, step := range []struct{ tool, status string }{
		{"watch_status", "running"}, {"watch_pause", "paused"}, {"watch_resume", "running"}, {"watch_history", ""},
	} {
		if got := says(t, s, step.tool, id); step.status != "" && got.Status != step.status {
			t.Errorf("%s: %+v", step.tool, got)
		}
	}
	if got := says(t, s, "watch_list", `{}`); len(got.Watchers) != 1 || got.Watchers[0].Watcher != begun.Watcher {
		t.Errorf("watch_list: %+v", got)
	}
	says(t, s, "watch_stop", id)
}

func TestSchedulesAsTheSeedsHaveThem(t *testing.T) {
	kerneltest.OnEachStorage(t, testSchedulesAsTheSeedsHaveThem)
}

func testSchedulesAsTheSeedsHaveThem(t *testing.T) {
	t.Parallel()
	s := openPrimitives(t, primitives)
	cron := says(t, s, "schedule", `{"when":"0 9 * * 1-5","action":"filesystem.read","args":{"path":"a.txt"},"name":"morning","output_channel":"report"}`)
	if cron.Type != "cron" || cron.Next == "" || cron.Job == "" {
		t.Errorf("schedule: %+v", cron)
	}
	const remind = `{"when":"in 2h","message":"look at the build"}`
	if r := kerneltest.Call(t, s, "context_builder.remind", remind); !strings.Contains(r.Summary, "no conversation") {
		t.Errorf("remind, where there is nobody to be reminded: %s", r.Summary)
	}
	says(t, s, "cancel_schedule", `{"job_id":"`+cron.Job+`"}`)
	if r := kerneltest.Call(t, s, "send_message", `{"channel":"report","message":"done"}`); r.Status != tool.Success {
		t.Errorf("send_message: %s", r.Summary)
	}
}
