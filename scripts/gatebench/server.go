//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	look = "look"
	note = "note"
)

// serve is an MCP server that does nothing, as cheaply as can be. An argument says how many more tools it has than two.
func serve(in io.Reader, out io.Writer, args []string) error {
	more := 0
	if len(args) > 0 {
		more, _ = strconv.Atoi(args[0])
	}
	const schema = `"inputSchema":{"type":"object","properties":{"word":{"type":"string","description":"what to say"},` +
		`"limit":{"type":"integer","description":"how much of it"}}}`
	tools := []string{
		`{"name":"` + look + `","description":"Looks.",` + schema + `,"annotations":{"readOnlyHint":true}}`,
		`{"name":"` + note + `","description":"Notes.",` + schema + `}`,
	}
	for i := range more {
		tools = append(tools, fmt.Sprintf(
			`{"name":"tool_%d","description":"Does the thing number %d, and says what became of it.",%s}`, i, i, schema))
	}
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the other side has ended
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Word string } }
		}
		if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 {
			continue
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
				`"serverInfo":{"name":"bench","version":"1"}}`
		case "tools/list":
			answer = `"result":{"tools":[` + strings.Join(tools, ",") + `]}`
		case "tools/call":
			answer = `"result":{"content":[{"type":"text","text":` + strconv.Quote(m.Params.Arguments.Word) + `}]}`
		}
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer); err != nil {
			return err
		}
	}
}

// forward is a forwarder: it shows the tools of a server, and hands calls to it.
func forward(ctx context.Context, command []string) error {
	self := &sdk.Implementation{Name: "forward", Version: "1"}
	behind, err := sdk.NewClient(self, nil).Connect(
		ctx, &sdk.CommandTransport{Command: exec.CommandContext(ctx, command[0], command[1:]...)}, nil)
	if err != nil {
		return err
	}
	defer behind.Close()
	list, err := behind.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	server := sdk.NewServer(self, nil)
	for _, t := range list.Tools {
		server.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return behind.CallTool(ctx, &sdk.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return server.Run(ctx, &sdk.StdioTransport{})
}
