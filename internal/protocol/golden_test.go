package protocol_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"callgate/internal/agent/surface"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/protocol"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestWire holds the JSON of every body against its golden file, so that a
// refactoring cannot change what kernels and clients of one version exchange.
func TestWire(t *testing.T) {
	bodies := map[string]any{
		"answer":            protocol.Answer{},
		"approval":          approval.Request{},
		"call":              protocol.CallRequest{},
		"compaction":        history.Compaction{},
		"conversation":      protocol.Conversation{},
		"delete_secret":     protocol.DeleteSecret{},
		"error":             tool.Error{},
		"event":             protocol.Event{},
		"history":           protocol.History{},
		"locks":             protocol.Locks{},
		"login":             protocol.Login{},
		"open_conversation": protocol.OpenConversation{},
		"open_session":      protocol.OpenSession{},
		"prompt":            protocol.Prompt{},
		"prune":             protocol.Prune{},
		"prune_result":      protocol.PruneResult{},
		"resolve":           protocol.ResolveDoubt{},
		"result":            tool.Result{},
		"search":            protocol.Search{},
		"search_result":     protocol.SearchResult{},
		"secret":            protocol.Secret{},
		"send_message":      protocol.SendMessage{},
		"server":            protocol.Server{},
		"server_item":       protocol.ServerItem{},
		"server_log_line":   mcp.LogLine{},
		"server_status":     mcp.Status{},
		"session":           protocol.Session{},
		"set_secret":        protocol.SetSecret{},
		"status":            protocol.Status{},
		"surface":           surface.Plan{},
		"tool":              protocol.Tool{},
		"trust":             protocol.Trust{},
		"turn_event":        protocol.TurnEvent{},
		"verify_report":     journal.Report{},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			full := reflect.New(reflect.TypeOf(body))
			fill(full.Elem(), 0)
			got, err := json.MarshalIndent(full.Interface(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			file := filepath.Join("testdata", "wire", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the wire form changed:\n%s\nwant:\n%s", got, want)
			}
			again := reflect.New(reflect.TypeOf(body))
			if err := json.Unmarshal(got, again.Interface()); err != nil {
				t.Fatalf("the body cannot be read back: %v", err)
			}
			if back, err := json.MarshalIndent(again.Interface(), "", "  "); err != nil || !bytes.Equal(append(back, '\n'), got) {
				t.Errorf("reading back loses something (%v):\n%s\nwant:\n%s", err, back, got)
			}
		})
	}
}

// fill gives every field of a value something to say.
func fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"key":"value"}`)))
		return
	case tool.Mode:
		v.Set(reflect.ValueOf(tool.U))
		return
	case tool.ID:
		v.Set(reflect.ValueOf(tool.ID{Namespace: "filesystem", Name: "read", Version: tool.Version{Major: 1, Minor: 2, Patch: 3}}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		if depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), depth+1)
			}
		}
	}
}
