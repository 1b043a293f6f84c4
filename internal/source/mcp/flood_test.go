package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/source/mcp"
)

const noiseVariable = "CALLGATE_MCP_TEST_NOISE"

// noisy answers like a server of the old protocol, and from the first list on it sends
// without end what its variable says.
func noisy() {
	noise := map[string]string{
		"log":      `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"noise"}}`,
		"progress": `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`,
		"changed":  `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		"stray":    `noise`,
		"unknown":  `{"jsonrpc":"2.0","method":"notifications/whatever"}`,
	}[os.Getenv(noiseVariable)]
	in := bufio.NewScanner(os.Stdin)
	lists := 0
	for in.Scan() {
		var m message
		json.Unmarshal(in.Bytes(), &m)
		if m.Method == "tools/list" {
			if lists++; lists == 1 {
				answer(m, old("error"))
				go func() {
					out := os.Stdout
					if noise == "" {
						out, noise = os.Stderr, "a line of a log that never ends"
					}
					for {
						fmt.Fprintln(out, noise)
					}
				}()
				continue
			}
			fmt.Fprintln(os.Stderr, "listed again")
		}
		answer(m, old("error"))
	}
}

// TestFloodsAreSlowedDown: a server that sends without end is read slowly, is shown as
// such, still answers, and is not asked for its tools at each notice.
func TestFloodsAreSlowedDown(t *testing.T) {
	t.Parallel()
	for _, noise := range []string{"log", "progress", "changed", "stray", "unknown", "stderr"} {
		t.Run(noise, func(t *testing.T) {
			t.Parallel()
			cfg := local("noisy")
			cfg.Env[noiseVariable] = noise
			var changes atomic.Int32
			s, byName := refreshed(t, cfg, mcp.Options{OnToolsChanged: func(*mcp.Server) { changes.Add(1) }})
			eventually(t, "the slowing down", func() bool {
				want := "500 messages a second"
				if noise == "stderr" {
					want = "5000 lines a second to its standard error"
				}
				return strings.Contains(s.Status().LastError, want)
			})
			if st := s.Status(); st.State != mcp.Running {
				t.Errorf("status %+v", st)
			}
			if _, err := call(t.Context(), byName["tell"], ""); err != nil {
				t.Errorf("it no longer answers: %v", err)
			}
			again := 0
			for _, line := range s.Logs(-1) {
				if line.Text == "listed again" {
					again++
				}
			}
			if again > 10 {
				t.Errorf("its tools were fetched %d times", again)
			}
		})
	}
}

// TestRemoteFloodsAreSlowedDown: so is a remote server that fills the stream of its
// events, or the answer to a call, with what nobody asked for.
func TestRemoteFloodsAreSlowedDown(t *testing.T) {
	t.Parallel()
	const event = "event: message\ndata: %s\n\n"
	for name, noise := range map[string]string{
		"log": fmt.Sprintf(event, `{"jsonrpc":"2.0","method":"notifications/message",`+
			`"params":{"level":"info","data":"noise","result":{}}}`),
		"changed": fmt.Sprintf(event, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
		"answers": fmt.Sprintf(event, `{"jsonrpc":"2.0","id":77777,"result":{}}`),
		"comment": ": ping\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := streamable(false)
			url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					handler.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				var err error
				for err == nil && r.Context().Err() == nil {
					_, err = io.WriteString(w, noise)
				}
			}))
			s, byName := refreshed(t, remote(url), mcp.Options{})
			eventually(t, "the slowing down", func() bool {
				return strings.Contains(s.Status().LastError, "500 messages a second")
			})
			r, err := call(t.Context(), byName["echo"], `{"text":"still here"}`)
			if got := textOf(t, r, err); got != "still here" {
				t.Errorf("it said %q", got)
			}
		})
	}
}

// changing says after each list of its tools that they have changed.
func changing() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m message
		json.Unmarshal(in.Bytes(), &m)
		answer(m, old("error"))
		if m.Method == "tools/list" {
			fmt.Fprintln(os.Stderr, "listed")
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	}
}

// TestToolsThatAlwaysChange: a server whose tools change whenever they are fetched is
// asked for them again at once, after a second, and then ever more seldom.
func TestToolsThatAlwaysChange(t *testing.T) {
	t.Parallel()
	s, byName := refreshed(t, local("changing"), mcp.Options{})
	lists := func() (n int) {
		for _, line := range s.Logs(-1) {
			if line.Text == "listed" {
				n++
			}
		}
		return n
	}
	eventually(t, "the second fetch after a change", func() bool { return lists() >= 3 })
	if _, err := call(t.Context(), byName["tell"], ""); err != nil {
		t.Error(err)
	}
	if n := lists(); n > 4 {
		t.Errorf("its tools were fetched %d times", n)
	}
}
