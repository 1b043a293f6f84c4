package database

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/database/access"
	"callgate/internal/module/database/connpool"
	"callgate/tool"
)

//go:embed connect.md
var connectDoc string

const connectInput = `{
  "type": "object",
  "properties": {
    "connection_id": {"type": "string", "minLength": 1, "maxLength": 64, "default": "main",
      "description": "What to call it; one that is open under that name is replaced."},
    "driver": {"type": "string", "enum": ["sqlite", "sqlite3", "postgres", "postgresql", "mysql", "mariadb"],
      "description": "Which kind of database. Not needed with dsn."},
    "database": {"type": "string",
      "description": "sqlite: a file of the workspace, made when it is not there, or :memory:. Else: the name ` +
	`of the database on the server."},
    "host": {"type": "string", "description": "The server, or the path of its unix socket (postgres: of the socket's folder)."},
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "user": {"type": "string"},
    "password": {"type": "string", "description": "Leave it out where the app file names a credential."},
    "tls": {"type": "string", "enum": ["disable", "prefer", "require", "verify-ca", "verify-full"], "default": "prefer",
      "description": "Whether the connection is encrypted, and the server's certificate verified."},
    "dsn": {"type": "string",
      "description": "All of that as one URL: postgres://user@host:5432/name, mysql://user@host/name, ` +
	`sqlite:data.db."},
    "options": {"type": "object", "additionalProperties": {"type": "string"},
      "description": "Of the session: timezone; postgres also search_path, role and application_name."},
    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 600}
  },
  "additionalProperties": false
}`

const connectOutput = `{
  "type": "object",
  "properties": {
    "connection_id": {"type": "string"},
    "driver": {"type": "string"},
    "product": {"type": "string", "description": "What answers, with its version."},
    "place": {"type": "string", "description": "Where it is."},
    "read_only": {"type": "boolean", "description": "Whether the app only reads."},
    "replaced": {"type": "boolean"}
  },
  "required": ["connection_id", "driver", "product", "place", "read_only"]
}`

func (s *service) connectTool() definition {
	return definition{
		Name: "connect", Doc: connectDoc, Input: connectInput, Output: connectOutput,
		Examples: []tool.Example{
			module.Example("a file of the workspace", `{"driver": "sqlite", "database": "data.db"}`),
			module.Example("a server that the app file allows",
				`{"connection_id": "shop", "driver": "postgres", "host": "localhost", "user": "reader", "database": "shop"}`),
		},
		Aliases: []string{
			"open_database", "db_connect", "connect_database", "sqlite", "psql", "mysql",
			"connect to a database", "open a sqlite file", "create a database file", "log in to postgres",
			"se connecter à une base de données", "ouvrir une base de données", "connexion à la base",
		},
		Tags: []string{"database", "sql", "connection", "sqlite", "postgres", "mysql", "mariadb", "base de données", "connexion"},
		Runtime: tool.Runtime{
			Effects: append(lockEffects(tool.X), // rules about files see the file of a SQLite database
				tool.Effect{Resource: "file:{database|sqlite}", Mode: tool.S, Unless: []string{"host", "dsn"}},
				tool.Effect{Resource: "file:{dsn|sqlite}", Mode: tool.S}),
			Risk: tool.Medium, SideEffect: tool.External, Network: true,
		},
		Handler: handler(s, "connect", connect),
	}
}

type connectArgs struct {
	connectionArgs
	access.Target
}

func connect(ctx context.Context, c *call, in connectArgs) (*tool.Result, error) {
	in.Connection = cmp.Or(in.Connection, mainConnection)
	if err := in.Normalize(); err != nil {
		return nil, err
	}
	if len(c.settings.AllowedDrivers) > 0 && !slices.Contains(c.settings.AllowedDrivers, in.Driver) {
		return nil, tool.Errorf(c.op, tool.Denied, "this app does not connect to %s", in.Driver).
			WithHint("the app file allows: %s (constraints.allowed_drivers)", strings.Join(c.settings.AllowedDrivers, ", "))
	}
	limit := c.timeLimit(in.Timeout)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, timeoutError{limit})
	defer cancel()
	opener := access.Opener{
		Grant: c.grant, Author: c.daemon, Hosts: c.settings.AllowedHosts, Hidden: c.hidden, ReadOnly: c.settings.ReadOnly,
	}
	opened, err := opener.Open(bounded, in.Target)
	if err != nil {
		return nil, withCause(bounded, err)
	}
	conn := &connpool.Conn{ID: in.Connection, Driver: in.Driver, Engine: opened, ReadOnly: c.settings.ReadOnly}
	replaced, err := c.conns.Add(c.session, conn, c.settings.MaxConnections)
	if err != nil {
		return nil, err
	}
	info := opened.Info()
	return tool.OK(fmt.Sprintf("connected to %s at %s as %s", info.Product, info.Place, in.Connection), struct {
		connectionInfo
		Replaced bool `json:"replaced"`
	}{infoOf(conn), replaced})
}

// connectionInfo describes a connection in a result.
type connectionInfo struct {
	ID       string `json:"connection_id"`
	Driver   string `json:"driver"`
	Product  string `json:"product"`
	Place    string `json:"place"`
	ReadOnly bool   `json:"read_only"`
}

func infoOf(conn *connpool.Conn) connectionInfo {
	info := conn.Engine.Info()
	return connectionInfo{conn.ID, conn.Driver, info.Product, info.Place, conn.ReadOnly}
}
