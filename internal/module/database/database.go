// Package database is the module for databases: SQLite files of the workspace,
// PostgreSQL, MySQL and MariaDB.
//
// # Connections
//
// A connection belongs to a session and has an ID in it, main unless the call
// gives another. A setup step of an app file opens one, with its password from a
// secret. A model may open others, to files of the workspace and to servers that
// the app file lists. They are closed when the session ends.
//
// # Reading and writing
//
// fetch_results and the tools that look at a catalog only read, and the database
// itself enforces it; package engine says how. execute_query, transaction and
// bulk_insert write. Values travel beside the SQL, never in it, with the same
// placeholders for every database; package sqltext describes them.
//
// # Limits
//
// Rows, bytes and time are bounded. A statement that takes too long is cancelled
// in the database.
//
// # Packages
//
// Package engine declares what the module needs of a database; sqlite, postgres
// and mysql implement it, and enginetest tests them. access decides which
// database a call may open, connpool holds the open ones, sqltext reads SQL,
// rowset writes rows, and catalog lists tables.
package database

import (
	"context"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/database/access"
	"callgate/internal/module/database/connpool"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

const namespace = "database"

// Module returns the module for the kernel to open.
func Module() module.Module {
	return module.Module{
		Name:       namespace,
		Summary:    "SQL databases (SQLite, PostgreSQL, MySQL, MariaDB): look at tables, query, change and load data",
		Settings:   func() any { return defaults() },
		Credential: true,
		Open: func(h module.Host) (*module.Instance, error) {
			s := &service{hidden: h.Hidden, conns: connpool.New(), spare: make(chan *rowset.Writer, 1)}
			return &module.Instance{Tools: s.tools(), OnSessionEnd: s.conns.CloseSession, Close: s.conns.Close}, nil
		},
	}
}

// settings declares the module's keys in an app file.
type settings struct {
	Timeout        module.Seconds `config:"timeout_seconds" range:"1,600" help:"how long a query may take unless its call says otherwise"`
	MaxRows        int            `config:"max_rows" range:"1,10000" help:"the most rows that one call returns"`
	MaxBytes       int            `config:"max_bytes" range:"1024,16777216" help:"the most bytes of rows that one call returns"`
	MaxConnections int            `config:"max_connections" range:"1,64" help:"how many connections a session may have"`

	// A setup step may connect to any server.
	AllowedHosts []string `constraint:"allowed_hosts" narrower:"fewer" help:"servers that a model may connect to: a host, host:port, CIDR or socket's path"`

	AllowedDrivers []string `constraint:"allowed_drivers" help:"the only drivers: sqlite, postgres, mysql"`
	ReadOnly       bool     `constraint:"read_only" help:"refuse everything that writes"`

	BlockedStatements []string `constraint:"blocked_statements" narrower:"more" oneof:"drop_table" help:"statements that are refused, by whatever action"`
}

func defaults() *settings {
	return &settings{Timeout: 10, MaxRows: 10_000, MaxBytes: 1 << 20, MaxConnections: 8}
}

// Check validates the settings as a whole.
func (s *settings) Check() (err error) {
	for i, name := range s.AllowedDrivers {
		if s.AllowedDrivers[i], err = access.Driver(name); err != nil {
			return err
		}
	}
	return access.CheckHosts(s.AllowedHosts)
}

// service is the module while it is open.
type service struct {
	hidden []string // the kernel's own files, which no connection may open
	conns  *connpool.Pool
	spare  chan *rowset.Writer // a writer that is not in use, for its memory
}

// tools returns the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func (s *service) tools() []*tool.Tool {
	definitions := []definition{
		s.connectTool(), s.disconnectTool(), s.listConnectionsTool(),
		s.listTablesTool(), s.describeTool(), s.schemaTool(), s.relationsTool(),
		s.fetchResultsTool(), s.browseTool(), s.extractTool(), s.searchDataTool(),
		s.executeQueryTool(), s.transactionTool(), s.bulkInsertTool(),
	}
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		d.Runtime.Timeout = (maxSeconds + 30) * time.Second // the module's own limit ends a call first
		all[i] = d.Tool(namespace)
	}
	return all
}

// definition declares one tool.
type definition = module.Definition

// Parts of several schemas.
const (
	mainConnection = "main"
	maxSeconds     = 600
	connectionArg  = `"connection_id": {"type": "string", "minLength": 1, "maxLength": 64, "default": "main",
      "description": "Which connection. Default: main."}`
	timeoutArg = `"timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 600,
      "description": "Seconds after which it is cancelled in the database. Default: what the app says, else 10."}`
	paramsArg = `"params": {"anyOf": [{"type": "array", "items": {}}, {"type": "object"}],
      "description": "Values of the placeholders: a list for ? or $1, $2 …, an object for :name. ` +
		`{\"base64\": \"…\"} is bytes."}`
)

// lockEffects returns the lock of a call, on its connection.
func lockEffects(m tool.Mode) []tool.Effect {
	return []tool.Effect{
		{Resource: "db:" + mainConnection, Mode: m, Unless: []string{"connection_id"}},
		{Resource: "db:{connection_id}", Mode: m},
	}
}

func reads() tool.Runtime {
	return tool.Runtime{
		Effects: lockEffects(tool.S), Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Network: true,
		Data: tool.DataSensitive,
	}
}

func writes(r tool.Risk) tool.Runtime {
	return tool.Runtime{Effects: lockEffects(tool.X), Risk: r, SideEffect: tool.External, Network: true}
}

// handler returns the handler of a tool. It decodes the arguments, which the
// kernel has already checked against the schema, and names the tool in every
// error.
func handler[In any](s *service, name string, run func(context.Context, *call, In) (*tool.Result, error)) tool.Handler {
	op := namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, asked tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, asked)
		if err != nil {
			return nil, err
		}
		c := &call{
			service: s, op: op, session: asked.Principal.Session, daemon: asked.Principal.Daemon,
			grant: grant, settings: module.SettingsOf(grant, defaults),
		}
		result, err := run(ctx, c, in)
		if err != nil {
			return nil, c.fail(ctx, err)
		}
		return result, nil
	})
}
