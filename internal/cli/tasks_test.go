package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
	"callgate/tool"
)

// store FILE: the tasks of a file, one JSON value each, are stored as a kernel that is
// gone left them. A task with a lease is held; "in" is when it is due, from now on; "log"
// has the lines of its log.
func (s scripts) store(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.Getenv("CALLGATE_STATE")
	ts.Check(os.MkdirAll(dir, 0o700))
	db, err := sqlite.Open(s.ctx, filepath.Join(dir, "callgate.db"))
	ts.Check(err)
	defer db.Close()
	stores := db.Stores()
	for dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0]))); dec.More(); {
		var in struct {
			task.Task
			In      string   `json:"in"`
			Session string   `json:"session"`
			Log     []string `json:"log"`
		}
		ts.Check(dec.Decode(&in))
		if in.In != "" {
			wait, err := time.ParseDuration(in.In)
			ts.Check(err)
			in.RunAt = time.Now().Add(wait)
		}
		in.Asker.Principal = tool.Principal{User: "ada", App: "notes", Session: in.Session}
		_, _, err := stores.Tasks.Create(s.ctx, in.Task)
		ts.Check(err)
		for _, line := range in.Log {
			entry := task.Entry{Text: line, Data: json.RawMessage(`{"n":1}`)}
			ts.Check(stores.TaskLogs.Append(s.ctx, in.ID, entry, 100))
		}
		if in.State == task.Running {
			_, _, err := stores.Queue.Lease(s.ctx, task.Request{Holder: in.Lease.Holder, ID: in.ID, For: time.Hour})
			ts.Check(err)
		}
	}
}
