// Package database is the module of databases: SQLite files of the workspace,
// PostgreSQL, MySQL and MariaDB.
//
// # Connections
//
// A connection belongs to a session and has an id in it, main unless the call
// says otherwise. An app file opens one by a setup step, with its password
// from a secret; a model may open others, to files of the workspace and to
// servers that the app file allows by name. They are closed when the session
// ends.
//
// # Reading and writing
//
// fetch_results and everything that looks at a catalog read, and that they
// only read is enforced by the database; room engine says how. execute_query,
// transaction and bulk_insert write. Values go beside the SQL, never into it,
// by one rule of placeholders for all databases, which is in room sqltext.
//
// # Limits
//
// Rows, bytes and time are bounded. What takes too long is cancelled in the
// database itself.
//
// # Rooms
//
// engine is what is asked of a database; sqlite, postgres and mysql answer it;
// reach decides which of them a call may open; sqltext finds placeholders,
// rowset writes rows, catalog asks what tables there are.
package database

import (
	"context"
	"encoding/json"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/database/access"
	"callgate/tool"
)

const namespace = "database"

// Module is the module as the kernel opens it.
func Module() module.Module {
	return module.Module{
		Name:       namespace,
		Summary:    "SQL databases (SQLite, PostgreSQL, MySQL, MariaDB): look at tables, query, change and load data",
		Settings:   func() any { return defaults() },
		Credential: true,
		Open: func(h module.Host) (*module.Instance, error) {
			r := newConnPool(h.Hidden)
			return &module.Instance{Tools: r.tools(), OnSessionEnd: r.ended, Close: r.close}, nil
		},
	}
}

// settings is what an app file may say of the module.
type settings struct {
	Timeout        module.Seconds `config:"timeout_seconds" range:"1,600" help:"how long a query may take unless its call says otherwise"`
	MaxRows        int            `config:"max_rows" range:"1,10000" help:"the most rows that one call returns"`
	MaxBytes       int            `config:"max_bytes" range:"1024,16777216" help:"the most bytes of rows that one call returns"`
	MaxConnections int            `config:"max_connections" range:"1,64" help:"how many connections a session may have"`
	AllowedHosts   []string       `constraint:"allowed_hosts" help:"servers that a model may connect to: db.example.com, localhost:5432, 10.1.0.0/16, or the path of a socket; setup steps may connect anywhere"`
	AllowedDrivers []string       `constraint:"allowed_drivers" help:"the only drivers: sqlite, postgres, mysql"`
	ReadOnly       bool           `constraint:"read_only" help:"refuse everything that writes"`
}

func defaults() *settings {
	return &settings{Timeout: 10, MaxRows: 10_000, MaxBytes: 1 << 20, MaxConnections: 8}
}

// Check reports what is wrong with the settings as a whole.
func (s *settings) Check() (err error) {
	for i, name := range s.AllowedDrivers {
		if s.AllowedDrivers[i], err = access.Driver(name); err != nil {
			return err
		}
	}
	return access.CheckHosts(s.AllowedHosts)
}

// tools makes the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func (r *connPool) tools() []*tool.Tool {
	definitions := []definition{
		r.connectTool(), r.disconnectTool(), r.listConnectionsTool(),
		r.listTablesTool(), r.describeTool(), r.schemaTool(), r.relationsTool(),
		r.fetchResultsTool(), r.searchDataTool(),
		r.executeQueryTool(), r.transactionTool(), r.bulkInsertTool(),
	}
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		d.Runtime.Timeout = (maxSeconds + 30) * time.Second // the module's own limit comes first
		all[i] = d.Tool(namespace)
	}
	return all
}

// definition is one tool as its file writes it down.
type definition = module.Definition

// What several schemas say.
const (
	mainConnection = "main"
	maxSeconds     = 600
	connectionArg  = `"connection_id": {"type": "string", "minLength": 1, "maxLength": 64, "default": "main", "description": "Which connection. Default: main."}`
	timeoutArg     = `"timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 600, "description": "Seconds after which it is cancelled in the database. Default: what the app says, else 10."}`
	paramsArg      = `"params": {"anyOf": [{"type": "array", "items": {}}, {"type": "object"}], "description": "Values of the placeholders: a list for ? or $1, $2 …, an object for :name. {\"base64\": \"…\"} is bytes."}`
)

// lockEffects is what a call locks: its connection, in mode m.
func lockEffects(m tool.Mode) []tool.Effect {
	return []tool.Effect{
		{Resource: "db:" + mainConnection, Mode: m, Unless: []string{"connection_id"}},
		{Resource: "db:{connection_id}", Mode: m},
	}
}

func reads() tool.Runtime {
	return tool.Runtime{Effects: lockEffects(tool.S), Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Network: true}
}

func writes(r tool.Risk) tool.Runtime {
	return tool.Runtime{Effects: lockEffects(tool.X), Risk: r, SideEffect: tool.External, Network: true}
}

// call is one call of a tool.
type call struct {
	op      string
	session string
	daemon  bool
	grant   tool.Grant
	set     *settings
	room    *connPool
}

// handler makes a tool's function a handler: it decodes the arguments, which
// the kernel has already held against the schema, and gives every error the
// tool's name.
func handler[In any](r *connPool, name string, run func(context.Context, *call, In) (*tool.Result, error)) tool.Handler {
	op := namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, asked tool.Call, grant tool.Grant) (*tool.Result, error) {
		c := &call{op: op, session: asked.Principal.Session, daemon: asked.Principal.Daemon, grant: grant, set: module.SettingsOf(grant, defaults), room: r}
		var in In
		if err := json.Unmarshal(asked.Args, &in); err != nil {
			return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the arguments do not fit " + op, Err: err}
		}
		result, err := run(ctx, c, in)
		if err != nil {
			return nil, c.fail(ctx, err)
		}
		return result, nil
	})
}
