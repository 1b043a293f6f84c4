package database

import (
	"context"
	_ "embed"

	"callgate/tool"
)

//go:embed disconnect.md
var disconnectDoc string

func (r *room) disconnectTool() definition {
	return definition{
		name: "disconnect", doc: disconnectDoc,
		input:    `{"type": "object", "properties": {` + connectionArg + `}, "additionalProperties": false}`,
		output:   `{"type": "object", "properties": {"connection_id": {"type": "string"}}, "required": ["connection_id"]}`,
		examples: []tool.Example{example("the usual one", `{}`), example("another", `{"connection_id": "shop"}`)},
		aliases: []string{
			"close_database", "db_disconnect", "close a database connection", "disconnect from a database",
			"fermer la connexion", "se déconnecter de la base de données",
		},
		tags:    []string{"database", "sql", "connection", "close", "base de données", "fermer"},
		runtime: tool.Runtime{Effects: held(tool.X), Risk: tool.Low, SideEffect: tool.Write, Idempotent: true},
		handler: handler(r, "disconnect", disconnect),
	}
}

func disconnect(_ context.Context, c *call, in on) (*tool.Result, error) {
	if in.Connection == "" {
		in.Connection = mainConnection
	}
	if err := c.room.drop(c.session, in.Connection); err != nil {
		return nil, err
	}
	return tool.Done("closed the connection "+in.Connection, map[string]string{"connection_id": in.Connection})
}
