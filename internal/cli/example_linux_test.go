package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/channel/webhook"
)

// received is what a webhook was sent, and why it is not believed.
type received struct {
	body string
	err  error
}

// TestExampleWatchFolder runs examples/watch-folder as its README says, with a kernel in a
// process of its own, a folder and a server of the test's: what came to the folder, changed
// and went is written down, and reported to the file and the webhook when that is due. All
// of it goes on under the next kernel.
func TestExampleWatchFolder(t *testing.T) {
	t.Parallel()
	posts := make(chan received, 10)
	ops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- received{string(body), webhook.Verify("correct-horse", r.Header, body, time.Now())}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(ops.Close)
	state, folder := newState(t), copyExample(t, "watch-folder", map[string]string{
		"http://127.0.0.1:8099": ops.URL, "runtime:\n": "runtime:\n  sandbox: relaxed\n",
	})
	if code, out, errs := inProcess(t, state, "correct-horse\n", "secrets", "set", "OPS_KEY"); code != 0 {
		t.Fatal(out, errs)
	}
	person(t, state, "-C", folder, "app", "trust", "--yes")
	kernel := up(t, state)
	said := runOK(t, state, folder, "run", "-p", readFile(t, folder, "start.txt"))
	if strings.Contains(said, "failed") || strings.Contains(said, "would fit") {
		t.Fatal(said)
	}
	list := runOK(t, state, folder, "schedules", "list")
	if strings.Count(list, "filesystem.read at */5 * * * * UTC") != 2 {
		t.Errorf("the schedules are\n%s", list)
	}
	write(t, filepath.Join(folder, "inbox", "second.txt"), "the second\n")
	untilFile(t, folder, "changes.txt", "came: second.txt (11 bytes)")
	write(t, filepath.Join(folder, "inbox", "second.txt"), "the second, longer\n")
	untilFile(t, folder, "changes.txt", "changed: second.txt (19 bytes)")
	kill(t, kernel.Process.Pid)
	up(t, state)
	if err := os.Remove(filepath.Join(folder, "inbox", "first.txt")); err != nil {
		t.Fatal(err)
	}
	untilFile(t, folder, "changes.txt", "went: first.txt")

	for _, channel := range []string{"report", "ops"} {
		runOK(t, state, folder, "run", "-p", "schedule when=`in 1s` action=filesystem.read "+
			"args=`{\"path\":\"changes.txt\",\"line_numbers\":false}` output_channel="+channel)
	}
	untilFile(t, folder, "report.txt", "went: first.txt")
	for whole := false; !whole; { // a report of the example's own schedule may come before
		got := <-posts
		if got.err != nil || !strings.Contains(got.body, "came: second.txt") {
			t.Fatalf("the webhook was sent %s, %v", got.body, got.err)
		}
		whole = strings.Contains(got.body, "changed: second.txt") && strings.Contains(got.body, "went: first.txt")
	}
	if text := readFile(t, folder, "changes.txt"); strings.Count(text, "came: second.txt") != 1 {
		t.Errorf("it was written down twice:\n%s", text)
	}
}

// copyExample copies an example, with other words in its app file.
func copyExample(t *testing.T, name string, words map[string]string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("..", "..", "examples", name))); err != nil {
		t.Fatal(err)
	}
	app := readFile(t, folder, "callgate.yaml")
	for old, word := range words {
		if !strings.Contains(app, old) {
			t.Fatalf("the app file has no %q", old)
		}
		app = strings.Replace(app, old, word, 1)
	}
	write(t, filepath.Join(folder, "callgate.yaml"), app)
	return folder
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// untilFile waits until a file has a text in it.
func untilFile(t *testing.T, folder, name, text string) {
	t.Helper()
	var data []byte
	if !poll(time.Minute, func() bool {
		data, _ = os.ReadFile(filepath.Join(folder, name))
		return strings.Contains(string(data), text)
	}) {
		t.Fatalf("%s never says %q, but\n%s", name, text, data)
	}
}
