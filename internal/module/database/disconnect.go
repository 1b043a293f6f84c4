package database

import (
	"cmp"
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/tool"
)

//go:embed disconnect.md
var disconnectDoc string

func (s *service) disconnectTool() definition {
	return definition{
		Name: "disconnect", Doc: disconnectDoc,
		Input:  `{"type": "object", "properties": {` + connectionArg + `}, "additionalProperties": false}`,
		Output: `{"type": "object", "properties": {"connection_id": {"type": "string"}}, "required": ["connection_id"]}`,
		Examples: []tool.Example{
			module.Example("the usual one", `{}`),
			module.Example("another", `{"connection_id": "shop"}`),
		},
		Aliases: []string{
			"close_database", "db_disconnect", "close a database connection", "disconnect from a database",
			"fermer la connexion", "se déconnecter de la base de données",
		},
		Tags:    []string{"database", "sql", "connection", "close", "base de données", "fermer"},
		Runtime: tool.Runtime{Effects: lockEffects(tool.X), Risk: tool.Low, SideEffect: tool.Write, Idempotent: true},
		Handler: handler(s, "disconnect", disconnect),
	}
}

func disconnect(_ context.Context, c *call, in connectionArgs) (*tool.Result, error) {
	id := cmp.Or(in.Connection, mainConnection)
	if err := c.conns.Remove(c.session, id); err != nil {
		return nil, err
	}
	return tool.OK("closed the connection "+id, map[string]string{"connection_id": id})
}
