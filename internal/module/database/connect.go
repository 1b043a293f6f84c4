package database

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/database/access"
	"callgate/tool"
)

//go:embed connect.md
var connectDoc string

const connectInput = `{
  "type": "object",
  "properties": {
    "connection_id": {"type": "string", "minLength": 1, "maxLength": 64, "default": "main", "description": "What to call it; one that is open under that name is replaced."},
    "driver": {"type": "string", "enum": ["sqlite", "sqlite3", "postgres", "postgresql", "mysql", "mariadb"], "description": "Which kind of database. Not needed with dsn."},
    "database": {"type": "string", "description": "sqlite: a file of the workspace, made when it is not there, or :memory:. Else: the name of the database on the server."},
    "host": {"type": "string", "description": "The server, or the path of its unix socket (postgres: of the socket's folder)."},
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "user": {"type": "string"},
    "password": {"type": "string", "description": "Leave it out where the app file names a credential."},
    "tls": {"type": "string", "enum": ["disable", "prefer", "require", "verify-ca", "verify-full"], "default": "prefer", "description": "Whether the connection is encrypted, and the server's certificate verified."},
    "dsn": {"type": "string", "description": "All of that as one URL: postgres://user@host:5432/name, mysql://user@host/name, sqlite:data.db."},
    "options": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Of the session: timezone; postgres also search_path, role and application_name."},
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

func (r *connPool) connectTool() definition {
	return definition{
		Name: "connect", Doc: connectDoc, Input: connectInput, Output: connectOutput,
		Examples: []tool.Example{
			module.Example("a file of the workspace", `{"driver": "sqlite", "database": "data.db"}`),
			module.Example("a server that the app file allows", `{"connection_id": "shop", "driver": "postgres", "host": "localhost", "user": "reader", "database": "shop"}`),
		},
		Aliases: []string{
			"open_database", "db_connect", "connect_database", "sqlite", "psql", "mysql",
			"connect to a database", "open a sqlite file", "create a database file", "log in to postgres",
			"se connecter à une base de données", "ouvrir une base de données", "connexion à la base",
		},
		Tags: []string{"database", "sql", "connection", "sqlite", "postgres", "mysql", "mariadb", "base de données", "connexion"},
		Runtime: tool.Runtime{
			Effects: lockEffects(tool.X), Risk: tool.Medium, SideEffect: tool.External, Network: true,
		},
		Handler: handler(r, "connect", connect),
	}
}

type connectArgs struct {
	connectionArgs
	access.Target
}

func connect(ctx context.Context, c *call, in connectArgs) (*tool.Result, error) {
	if in.Connection == "" {
		in.Connection = mainConnection
	}
	if err := in.Normalize(); err != nil {
		return nil, err
	}
	if len(c.set.AllowedDrivers) > 0 && !slices.Contains(c.set.AllowedDrivers, in.Driver) {
		return nil, tool.Errorf(c.op, tool.Denied, "this app does not connect to %s", in.Driver).
			WithHint("the app file allows: %s (constraints.allowed_drivers)", strings.Join(c.set.AllowedDrivers, ", "))
	}
	limit := c.limit(in.Timeout)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, timeoutError{limit})
	defer cancel()
	asker := access.Opener{Grant: c.grant, Author: c.daemon, Hosts: c.set.AllowedHosts, Hidden: c.room.hidden, ReadOnly: c.set.ReadOnly}
	opened, err := asker.Open(bounded, in.Target)
	if err != nil {
		return nil, stopped(bounded, err)
	}
	l := &connection{id: in.Connection, driver: in.Driver, engine: opened, readOnly: c.set.ReadOnly}
	replaced, err := c.room.keep(c.session, l, c.set.MaxConnections)
	if err != nil {
		return nil, err
	}
	a := opened.Info()
	return tool.OK(fmt.Sprintf("connected to %s at %s as %s", a.Product, a.Place, in.Connection), struct {
		connectionInfo
		Replaced bool `json:"replaced"`
	}{l.shown(), replaced})
}

// connectionInfo is a connection as everybody may see it.
type connectionInfo struct {
	ID       string `json:"connection_id"`
	Driver   string `json:"driver"`
	Product  string `json:"product"`
	Place    string `json:"place"`
	ReadOnly bool   `json:"read_only"`
}

func (l *connection) shown() connectionInfo {
	a := l.engine.Info()
	return connectionInfo{l.id, l.driver, a.Product, a.Place, l.readOnly}
}
