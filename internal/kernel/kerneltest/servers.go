package kerneltest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
)

// serverVariable names the folder whose files say how a program plays an MCP
// server: tools.json is what it lists.
const serverVariable = "CALLGATE_TEST_SERVER"

// Main runs the tests of a package whose test program plays other programs too:
// an MCP server (see Server), and what parts are given, by the name of the
// environment variable that asks for it. A part receives the variable's value.
func Main(m *testing.M, parts map[string]func(value string)) {
	for name, play := range parts {
		if value := os.Getenv(name); value != "" {
			play(value)
			return
		}
	}
	if folder := os.Getenv(serverVariable); folder != "" {
		playServer(folder)
		return
	}
	_ = os.Setenv("CALLGATE_KEYRING", "off") // no test touches the keyring of its machine
	os.Exit(Postgres.Main(m))
}

// Server is an MCP server that the test program plays, if its TestMain calls
// Main.
type Server struct {
	Name   string
	Folder string            // its own
	Tools  map[string]string // descriptions by name
}

// Write has the server list its tools from now on.
func (s Server) Write(t testing.TB) {
	t.Helper()
	schema := map[string]any{
		"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}},
	}
	list := []map[string]any{}
	for name, text := range s.Tools {
		list = append(list, map[string]any{"name": name, "description": text, "inputSchema": schema})
	}
	slices.SortFunc(list, func(x, y map[string]any) int {
		return strings.Compare(x["name"].(string), y["name"].(string))
	})
	data, err := json.Marshal(list)
	OK(t, err)
	Write(t, filepath.Join(s.Folder, "tools.json"), string(data))
}

// NewServer makes a server with a folder of its own.
func NewServer(t testing.TB, name string, tools map[string]string) Server {
	return Server{Name: name, Folder: t.TempDir(), Tools: tools}
}

// AppWithServers makes a folder with an app that has servers behind it. rest is
// added to the app file's block tools.
func AppWithServers(t testing.TB, rest string, all ...Server) (workspace string) {
	t.Helper()
	self, err := os.Executable()
	OK(t, err)
	workspace = t.TempDir()
	text := "tools:\n  modules:\n    filesystem:\n    mcp:\n      config:\n        servers:\n"
	for _, s := range all {
		s.Write(t)
		const form = "          %s: {command: %q, isolation: contained, env: {%s: %q}}\n"
		text += fmt.Sprintf(form, s.Name, self, serverVariable, s.Folder)
	}
	Write(t, filepath.Join(workspace, "callgate.yaml"), text+rest)
	return workspace
}

// ServersOf returns the servers of a session's app.
func ServersOf(k *kernel.Kernel, s *session.Session) servers.Scoped {
	return k.Servers.In(s.Loaded().Scope)
}

// ServersByName describes the servers of a session's app.
func ServersByName(t testing.TB, k *kernel.Kernel, s *session.Session) map[string]servers.Server {
	t.Helper()
	list, err := ServersOf(k, s).List(t.Context())
	OK(t, err)
	by := map[string]servers.Server{}
	for _, one := range list {
		by[one.Name] = one
	}
	return by
}

// AcceptServers gives a human's yes to starting the servers of a session's app,
// and starts them.
func AcceptServers(t testing.TB, k *kernel.Kernel, s *session.Session) {
	t.Helper()
	for name, one := range ServersByName(t, k, s) {
		OK(t, k.AcceptServer(Human(t, k), s, name, servers.Word{Launch: one.Launch}))
		server, err := ServersOf(k, s).Get(name)
		OK(t, err)
		OK(t, server.Refresh(t.Context()))
	}
	ServersByName(t, k, s) // what is seen is pinned
}

// playServer is a small MCP server on standard input and output. One that has the tool
// touch has a resource besides, test://note, which each call of it changes, and one that has the tool compose has
// the prompt letter.
func playServer(folder string) {
	var note noteResource
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m serverRequest
		if json.Unmarshal(in.Bytes(), &m) == nil && m.ID != nil && !note.answer(&m, folder) && !m.answerPrompt(folder) {
			m.answer(folder)
		}
	}
}

type serverRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
}

// noteResource is the resource of a server.
type noteResource struct {
	touched int
	watched bool // a client is told when it changes
}

// answer answers what is about the resource.
func (r *noteResource) answer(m *serverRequest, folder string) bool {
	tools, _ := os.ReadFile(filepath.Join(folder, "tools.json"))
	if !strings.Contains(string(tools), `"touch"`) {
		return false
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{"subscribe":true}},` +
			`"serverInfo":{"name":"test","version":"1"}}`
	case "resources/list":
		result = `{"resources":[{"uri":"test://note","name":"note"}]}`
	case "resources/templates/list":
		result = `{"resourceTemplates":[]}`
	case "resources/read":
		const read = `{"contents":[{"uri":"test://note","mimeType":"text/plain","text":"touched %d times"}]}`
		result = fmt.Sprintf(read, r.touched)
	case "resources/subscribe", "resources/unsubscribe":
		r.watched = m.Method == "resources/subscribe"
	case "tools/call":
		if m.Params.Name != "touch" {
			return false
		}
		if r.touched++; r.watched {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://note"}}`)
		}
		result = `{"content":[{"type":"text","text":"touched"}]}`
	default:
		return false
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	return true
}

// answerPrompt answers what is about the prompt.
func (m *serverRequest) answerPrompt(folder string) bool {
	tools, _ := os.ReadFile(filepath.Join(folder, "tools.json"))
	if !strings.Contains(string(tools), `"compose"`) {
		return false
	}
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},` +
			`"serverInfo":{"name":"test","version":"1"}}`,
		"prompts/list": `{"prompts":[{"name":"letter","description":"A letter.","arguments":[{"name":"to"}]}]}`,
		"prompts/get": fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":%q}}]}`,
			"write to "+string(m.Params.Arguments)),
	}[m.Method]
	if result != "" {
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
	return result != ""
}

func (m *serverRequest) answer(folder string) {
	answer := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
	switch m.Method {
	case "initialize":
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) // some speak before they answer
		answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"}}`)
	case "tools/list":
		tools, _ := os.ReadFile(filepath.Join(folder, "tools.json"))
		answer(`{"tools":` + string(tools) + `}`)
	case "tools/call":
		said := fmt.Sprintf("%s of %s with %s", m.Params.Name, filepath.Base(folder), m.Params.Arguments)
		switch m.Params.Name {
		case "die":
			os.Exit(3)
		case "long":
			said = strings.Repeat("a row of the server\n", 5000)
		case "where":
			said, _ = os.Getwd()
			said += " for " + os.Getenv("CALLGATE_WORKSPACE")
		}
		text, _ := json.Marshal(said)
		answer(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
	default:
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
	}
}
