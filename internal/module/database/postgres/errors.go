package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

// convertError turns an error of the server, or of the way to it, into words that say
// what to do next. A statement that was cancelled is the end of its context.
func (c *conn) convertError(ctx context.Context, writing bool, err error) error {
	if err == nil {
		return nil
	}
	var e *pgconn.PgError
	var done *tool.Error
	switch {
	case errors.As(err, &done):
		return err
	case !errors.As(err, &e):
		if writing && !pgconn.SafeToRetry(err) {
			return engine.ConnectionLost(true, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return engine.ConnectionLost(false, err)
	}
	said := "ERROR " + e.Code + ": " + e.Message
	if e.Detail != "" {
		said += " (" + e.Detail + ")"
	}
	switch {
	case e.Code == "57014":
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return context.DeadlineExceeded
	case e.Code == "25006":
		return engine.ReadOnly(said)
	case e.Code == "42P01":
		return engine.Fail(tool.NotFound, "%w", engine.NoTableError{Name: quotedIn(e.Message)})
	case e.Code == "42501":
		return engine.Fail(tool.Denied, "the server does not permit this: %s", said)
	case e.Code == "23505":
		return engine.Fail(tool.Conflict, "%s", said).WithHint("nothing was changed; look at what is there, or use on_conflict of database.bulk_insert")
	case strings.HasPrefix(e.Code, "23"):
		return engine.Fail(tool.Conflict, "%s", said).WithHint("nothing was changed; database.describe shows the table's keys and constraints")
	case strings.HasPrefix(e.Code, "40"):
		return engine.Fail(tool.Conflict, "another transaction was in the way: %s", said).WithHint("nothing was changed; try again")
	case e.Code == "55P03":
		return engine.Fail(tool.Busy, "%s", said).WithHint("try again in a moment")
	case strings.HasPrefix(e.Code, "57P"), strings.HasPrefix(e.Code, "53"):
		return engine.Fail(tool.Unavailable, "%s", said).WithHint("try again in a moment")
	}
	f := engine.Fail(tool.Invalid, "%s", said)
	switch {
	case e.Hint != "":
		return f.WithHint("%s", e.Hint)
	case e.Code == "42601" && strings.Contains(e.Message, "multiple commands"):
		return f.WithHint("send one statement at a time; several that belong together go to database.transaction")
	case e.Code == "42P18" || e.Code == "42804":
		return f.WithHint("say what a placeholder is, as in $1::int")
	case e.Position > 0:
		return f.WithHint("at character %d of the query", e.Position)
	default:
		return f.WithHint("database.describe shows a table's columns")
	}
}

// quotedIn returns the first name that stands in quotes in a message.
func quotedIn(message string) string {
	_, rest, _ := strings.Cut(message, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}
