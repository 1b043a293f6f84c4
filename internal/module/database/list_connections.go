package database

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/tool"
)

//go:embed list_connections.md
var listConnectionsDoc string

const listConnectionsOutput = `{
  "type": "object",
  "properties": {
    "connections": {"type": "array", "items": {
      "type": "object",
      "properties": {
        "connection_id": {"type": "string"}, "driver": {"type": "string"}, "product": {"type": "string"},
        "place": {"type": "string"}, "read_only": {"type": "boolean"}
      }
    }}
  },
  "required": ["connections"]
}`

func (s *service) listConnectionsTool() definition {
	return definition{
		Name: "list_connections", Doc: listConnectionsDoc,
		Input: `{"type": "object", "properties": {}, "additionalProperties": false}`, Output: listConnectionsOutput,
		Examples: []tool.Example{module.Example("what is open", `{}`)},
		Aliases: []string{
			"list_databases", "open connections", "which databases are connected", "show database connections",
			"lister les connexions", "quelles bases de données sont ouvertes",
		},
		Tags: []string{"database", "sql", "connection", "list", "base de données", "connexions"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "db:", Mode: tool.IS}}, // after a connect of the same answer
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true,
		},
		Handler: handler(s, "list_connections", listConnections),
	}
}

func listConnections(_ context.Context, c *call, _ struct{}) (*tool.Result, error) {
	all := []connectionInfo{}
	var lines []string
	for _, conn := range c.conns.List(c.session) {
		info := infoOf(conn)
		all = append(all, info)
		lines = append(lines, fmt.Sprintf("%s: %s at %s", info.ID, info.Product, info.Place))
	}
	summary := amount.Of(len(all), "connection")
	if len(all) == 0 {
		summary = "no connection is open; use database.connect"
	}
	r, err := tool.OK(summary, map[string]any{"connections": all})
	if err == nil && len(lines) > 0 {
		r.Content = []tool.Content{tool.Text(strings.Join(lines, "\n"))}
	}
	return r, err
}
