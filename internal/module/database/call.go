package database

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// connectionArgs is what most calls say first.
type connectionArgs struct {
	Connection string `json:"connection_id"`
	Timeout    int    `json:"timeout_seconds"`
}

// errClosed is the cause of a context that ended because the connection did.
var errClosed = errors.New("the connection was closed")

// withConnection finds the call's connection and bounds its time. The context that it
// returns ends with the call's, with the connection, or when time is up.
func (c *call) withConnection(ctx context.Context, o connectionArgs) (context.Context, func(), *connection, error) {
	id := o.Connection
	if id == "" {
		id = mainConnection
	}
	l, err := c.room.find(c.session, id)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, ended := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { ended(errClosed) })
	limit := c.limit(o.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timeoutError{limit})
	return ctx, func() { cancel(); stop(); ended(nil) }, l, nil
}

func (c *call) limit(seconds int) time.Duration {
	if seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return time.Duration(float64(c.set.Timeout) * float64(time.Second))
}

// timeoutError is the cause of a context whose time ran out.
type timeoutError struct{ limit time.Duration }

func (t timeoutError) Error() string { return "longer than " + t.limit.String() }

// stopped puts the cause of a context's end in the place of its error, where
// the handler can see it.
func stopped(ctx context.Context, err error) error {
	if engine.IsContextEnd(err) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// write is use for tools that change something.
func (c *call) write(ctx context.Context, o connectionArgs) (context.Context, func(), *connection, error) {
	ctx, done, l, err := c.withConnection(ctx, o)
	if err != nil {
		return nil, nil, nil, err
	}
	if c.set.ReadOnly || l.readOnly {
		done()
		return nil, nil, nil, tool.Errorf(c.op, tool.Denied, "this app only reads databases, so nothing is changed").
			WithHint("the app file says constraints.read_only; database.fetch_results works")
	}
	return ctx, done, l, nil
}

// fail gives an error the tool's name and, where it can, the next step.
func (c *call) fail(ctx context.Context, err error) error {
	var e *tool.Error
	var late timeoutError
	switch {
	case errors.As(err, &e):
		e.Op = c.op
		return err
	case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // the second is the server's own clock
		return tool.Errorf(c.op, tool.Timeout, "the database took too long (%v), and what ran there was cancelled", cmp.Or(late, timeoutError{c.limit(0)})).
			WithHint("ask for less, or give timeout_seconds up to %d", maxSeconds)
	case errors.Is(err, errClosed):
		return tool.Errorf(c.op, tool.Cancelled, "the connection was closed while the call ran; what ran in the database was cancelled")
	case engine.IsContextEnd(err):
		return tool.Errorf(c.op, tool.Cancelled, "the call was cancelled, and so was what ran in the database")
	default:
		return &tool.Error{Op: c.op, Kind: tool.Failed, Message: "the database could not be asked", Err: err}
	}
}

// withSimilarTables adds the names of tables to an error about one that does not exist.
func withSimilarTables(ctx context.Context, l *connection, err error) error {
	var missing engine.NoTableError
	var e *tool.Error
	if !errors.As(err, &missing) || !errors.As(err, &e) || len(e.Similar) > 0 || e.Hint != "" {
		return err
	}
	all, lookup := catalog.Tables(ctx, l.engine, "")
	if lookup != nil {
		return err
	}
	found := catalog.NotFoundError(missing.Name, all)
	e.Similar, e.Hint = found.Similar, found.Hint
	return e
}

// statement reads a query and its values.
func statement(l *connection, query string, params json.RawMessage) (engine.Statement, error) {
	if strings.TrimSpace(query) == "" {
		return engine.Statement{}, tool.Errorf("", tool.Invalid, "the query is empty")
	}
	values, err := readParams(params)
	if err != nil {
		return engine.Statement{}, tool.Errorf("", tool.Invalid, "params cannot be read: %w", err)
	}
	text, args, err := sqltext.Bind(l.engine.Info().Dialect, query, values)
	if err != nil {
		return engine.Statement{}, tool.Errorf("", tool.Invalid, "%v", err)
	}
	return engine.Statement{SQL: text, Args: args}, nil
}

// readParams reads values; their numbers stay as they are written.
func readParams(raw json.RawMessage) (p sqltext.Params, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return p, nil
	case raw[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return p, err
		}
		p.List, err = readValues(list)
		return p, err
	default:
		var named map[string]json.RawMessage
		if err := json.Unmarshal(raw, &named); err != nil {
			return p, err
		}
		p.Named = make(map[string]any, len(named))
		for name, v := range named {
			if p.Named[name], err = readValue(v); err != nil {
				return p, err
			}
		}
		return p, nil
	}
}

func readValues(list []json.RawMessage) ([]any, error) {
	values := make([]any, len(list))
	for i, v := range list {
		var err error
		if values[i], err = readValue(v); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// readValue reads one value, as engine.Statement has it.
func readValue(raw json.RawMessage) (any, error) {
	raw = bytes.TrimSpace(raw)
	switch raw[0] {
	case 'n':
		return nil, nil
	case 't', 'f':
		return raw[0] == 't', nil
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case '{':
		var blob struct {
			Base64 *string `json:"base64"`
			Bytes  int     `json:"bytes"`
		}
		strict := json.NewDecoder(bytes.NewReader(raw))
		strict.DisallowUnknownFields()
		if strict.Decode(&blob) == nil && blob.Base64 != nil {
			return base64.StdEncoding.DecodeString(*blob.Base64)
		}
		return json.RawMessage(raw), nil
	case '[':
		return json.RawMessage(raw), nil
	default:
		return json.Number(raw), nil
	}
}

// limits are those of a call that returns rows.
func (c *call) limits(rows, offset int) rowset.Limits {
	if rows <= 0 {
		rows = defaultRows
	}
	return rowset.Limits{Rows: min(rows, c.set.MaxRows), Offset: offset, Bytes: c.set.MaxBytes}
}

const defaultRows = 200

// table puts rows into a result: as data, and as a table for eyes.
func table(r *tool.Result, out *rowset.Writer, took time.Duration) {
	b := make([]byte, 0, out.Size())
	b = out.AppendJSON(append(b, '{'))
	b = append(b, `,"elapsed_ms":`...)
	b = strconv.AppendFloat(b, float64(took.Microseconds())/1000, 'f', -1, 64)
	r.Data = append(b, '}')
	if out.HasColumns() {
		r.Content = []tool.Content{tool.Text(out.Table())}
	}
	r.Warnings = append(r.Warnings, clippedWarning(out)...)
}

func clippedWarning(out *rowset.Writer) []string {
	if n := out.Clipped(); n > 0 {
		return []string{fmt.Sprintf("%s too long and cut; select a part of it, with substr for example", count(n, "value"))}
	}
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
