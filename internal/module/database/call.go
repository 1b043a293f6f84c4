package database

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/connpool"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// call is one call of a tool.
type call struct {
	*service
	op       string
	session  string
	daemon   bool // the call is a setup step of the app file
	grant    tool.Grant
	settings *settings
}

// connectionArgs are the arguments that most tools share.
type connectionArgs struct {
	Connection string `json:"connection_id"`
	Timeout    int    `json:"timeout_seconds"`
}

// withConnection finds the call's connection and limits its time. The context
// that it returns ends with the call's context, with the connection, or when the
// time is up.
func (c *call) withConnection(
	ctx context.Context, in connectionArgs,
) (context.Context, context.CancelFunc, *connpool.Conn, error) {
	conn, err := c.conns.Find(c.session, cmp.Or(in.Connection, mainConnection))
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, release := conn.Bind(ctx)
	limit := c.timeLimit(in.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timeoutError{limit})
	return ctx, func() { cancel(); release() }, conn, nil
}

// withWriter is withConnection for a tool that writes.
func (c *call) withWriter(
	ctx context.Context, in connectionArgs,
) (context.Context, context.CancelFunc, *connpool.Conn, error) {
	ctx, done, conn, err := c.withConnection(ctx, in)
	if err != nil {
		return nil, nil, nil, err
	}
	if c.settings.ReadOnly || conn.ReadOnly {
		done()
		return nil, nil, nil, tool.Errorf(c.op, tool.Denied, "this app only reads databases, so nothing is changed").
			WithHint("the app file says constraints.read_only; database.fetch_results works")
	}
	return ctx, done, conn, nil
}

func (c *call) timeLimit(seconds int) time.Duration {
	if seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return time.Duration(float64(c.settings.Timeout) * float64(time.Second))
}

// timeoutError is the cause of a context whose time ran out.
type timeoutError struct{ limit time.Duration }

func (t timeoutError) Error() string { return "longer than " + t.limit.String() }

// withCause returns the cause of a context's end in place of the context's
// error, so that fail can tell a timeout from a closed connection.
func withCause(ctx context.Context, err error) error {
	if engine.IsContextEnd(err) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// fail names the tool in an error and adds what to do next.
func (c *call) fail(ctx context.Context, err error) error {
	var e *tool.Error
	var late timeoutError
	serverTimeout := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	switch {
	case errors.As(err, &e):
		e.Op = c.op
		return err
	case errors.As(err, &late), serverTimeout:
		return tool.Errorf(c.op, tool.Timeout, "the database took too long (%v), and what ran there was cancelled",
			cmp.Or(late, timeoutError{c.timeLimit(0)})).
			WithHint("ask for less, or give timeout_seconds up to %d", maxSeconds)
	case errors.Is(err, connpool.ErrClosed):
		return tool.Errorf(c.op, tool.Cancelled,
			"the connection was closed while the call ran; what ran in the database was cancelled")
	case engine.IsContextEnd(err):
		return tool.Errorf(c.op, tool.Cancelled, "the call was cancelled, and so was what ran in the database")
	default:
		return &tool.Error{Op: c.op, Kind: tool.Failed, Message: "the database could not be asked", Err: err}
	}
}

// withSimilarTables adds the names of similar tables to an error about a table
// that does not exist.
func withSimilarTables(ctx context.Context, conn *connpool.Conn, err error) error {
	var missing engine.NoTableError
	var e *tool.Error
	if !errors.As(err, &missing) || !errors.As(err, &e) || len(e.Similar) > 0 || e.Hint != "" {
		return err
	}
	all, lookup := catalog.Tables(ctx, conn.Engine, "")
	if lookup != nil {
		return err
	}
	found := catalog.NotFoundError(missing.Name, all)
	e.Similar, e.Hint = found.Similar, found.Hint
	return e
}

// statement binds the values of a query to its placeholders.
func statement(conn *connpool.Conn, query string, params json.RawMessage) (engine.Statement, error) {
	if strings.TrimSpace(query) == "" {
		return engine.Statement{}, tool.Errorf("", tool.Invalid, "the query is empty")
	}
	values, err := sqltext.ParseParams(params)
	if err != nil {
		return engine.Statement{}, tool.Errorf("", tool.Invalid, "params cannot be read: %w", err)
	}
	text, args, err := sqltext.Bind(conn.Engine.Info().Dialect, query, values)
	if err != nil {
		return engine.Statement{}, tool.Errorf("", tool.Invalid, "%v", err)
	}
	return engine.Statement{SQL: text, Args: args}, nil
}

// change is statement for a tool that writes: what the app file blocks is refused.
func (c *call) change(conn *connpool.Conn, query string, params json.RawMessage) (engine.Statement, error) {
	if !c.daemon && slices.Contains(c.settings.BlockedStatements, dropTable) {
		if why := sqltext.MayDropTable(conn.Engine.Info().Dialect, query); why != "" {
			return engine.Statement{}, tool.Errorf(c.op, tool.Denied, "this app drops no tables, and %s", why).
				WithHint("the app file says so in constraints.blocked_actions or constraints.blocked_statements of the " +
					"module database; nobody can approve it here")
		}
	}
	return statement(conn, query, params)
}

// dropTable is a kind of statements that an app file may block.
const dropTable = "drop_table"

const defaultRows = 200

// rowLimits returns the limits of a call that returns rows.
func (c *call) rowLimits(rows, offset int) rowset.Limits {
	if rows <= 0 {
		rows = defaultRows
	}
	return rowset.Limits{Rows: min(rows, c.settings.MaxRows), Offset: offset, Bytes: c.settings.MaxBytes}
}

// borrowWriter returns a writer of rows. The caller gives it to returnWriter and
// then uses nothing of it.
func (s *service) borrowWriter(l rowset.Limits) *rowset.Writer {
	select {
	case w := <-s.spare:
		w.Reset(l)
		return w
	default:
		return rowset.New(l)
	}
}

func (s *service) returnWriter(w *rowset.Writer) {
	select {
	case s.spare <- w:
	default:
	}
}

// addRows puts rows into a result: as data, and as a table for people.
func addRows(r *tool.Result, out *rowset.Writer, took time.Duration) {
	b := make([]byte, 0, out.Size())
	b = out.AppendJSON(append(b, '{'))
	r.Data = append(appendElapsed(append(b, ','), took), '}')
	if out.HasColumns() {
		r.Content = []tool.Content{tool.Text(out.Table())}
	}
	if out.Cut() {
		r.Cut = &tool.Cut{Unit: "rows", Last: out.Rows(), Advice: "raise limit, or ask for less"}
	}
	r.Warnings = append(r.Warnings, clippedWarning(out)...)
}

func appendElapsed(b []byte, took time.Duration) []byte {
	return strconv.AppendFloat(append(b, `"elapsed_ms":`...), milliseconds(took), 'f', -1, 64)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func clippedWarning(out *rowset.Writer) []string {
	switch n := out.Clipped(); n {
	case 0:
		return nil
	case 1:
		return []string{"1 value is too long and was cut; select a part of it, with substr for example"}
	default:
		return []string{strconv.Itoa(n) + " values are too long and were cut; select a part of them, with substr for example"}
	}
}

// label returns the prefix of a summary: nothing for the main connection.
func label(conn *connpool.Conn) string {
	if conn.ID == mainConnection {
		return ""
	}
	return conn.ID + ": "
}
