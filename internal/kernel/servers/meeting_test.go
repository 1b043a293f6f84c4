package servers_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// meetingVariable makes this program a server whose calls wait for each other.
const meetingVariable = "CALLGATE_TEST_MEETING"

// playMeeting is an MCP server that answers calls side by side. meet answers when as
// many calls as its argument n says are under way; touch takes a moment, and writes
// into a log when it begins and ends.
func playMeeting(log string) {
	var mu sync.Mutex
	waiting := map[int][]chan struct{}{}
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	note := func(text string) {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, text)
			f.Close()
		}
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments struct {
					N     int
					Thing string
				}
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
				`"serverInfo":{"name":"meeting","version":"1"}}}`, m.ID)
		case "tools/list":
			const input = `{"type":"object","properties":{"n":{"type":"integer"},"thing":{"type":"string"}}}`
			say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"meet","description":"Meets.","inputSchema":%s},`+
				`{"name":"meet_at","description":"Meets.","inputSchema":{"type":"object","required":["n","thing"],`+
				`"properties":{"n":{"type":"integer"},"thing":{"type":"string"}}}},`+
				`{"name":"touch","description":"Touches.","inputSchema":%[2]s},`+
				`{"name":"get_thing","description":"Gets.","inputSchema":%[2]s}]}}`, m.ID, input)
		case "tools/call":
			go func() {
				done := make(chan struct{})
				if n := m.Params.Arguments.N; strings.HasPrefix(m.Params.Name, "meet") {
					mu.Lock()
					if waiting[n] = append(waiting[n], done); len(waiting[n]) == n {
						for _, one := range waiting[n] {
							close(one)
						}
						waiting[n] = nil
					}
					mu.Unlock()
					<-done
				} else {
					note("begin " + m.Params.Arguments.Thing)
					<-time.After(60 * time.Millisecond)
					note("end " + m.Params.Arguments.Thing)
				}
				say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
			}()
		default:
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}
}
