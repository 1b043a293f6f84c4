package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

// convertError converts an error of the server or of the connection to one that
// says what to do next. The error of a cancelled statement is that of its context.
//
// writing says that a statement which may change something was sent. What the driver
// says of that is not used: once it has seen the end of a connection, it calls every
// statement on it safe to repeat, also the one whose answer was lost.
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
		if writing {
			return engine.ConnectionLost(true, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return engine.ConnectionLost(false, err)
	}
	if e.Code == "57014" {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return context.DeadlineExceeded
	}
	return serverError(e)
}

// serverError converts an error of the server by its code.
func serverError(e *pgconn.PgError) error {
	message := "ERROR " + e.Code + ": " + e.Message
	if e.Detail != "" {
		message += " (" + e.Detail + ")"
	}
	switch {
	case e.Code == "25006":
		return engine.ReadOnly(message)
	case e.Code == "42P01":
		return engine.Fail(tool.NotFound, "%w", engine.NoTableError{Name: quotedIn(e.Message)})
	case e.Code == "42501":
		return engine.Fail(tool.Denied, "the server does not permit this: %s", message)
	case e.Code == "23505":
		return engine.Fail(tool.Conflict, "%s", message).
			WithHint("nothing was changed; look at what is there, or use on_conflict of database.bulk_insert")
	case strings.HasPrefix(e.Code, "23"):
		return engine.Fail(tool.Conflict, "%s", message).
			WithHint("nothing was changed; database.describe shows the table's keys and constraints")
	case strings.HasPrefix(e.Code, "40"):
		return engine.Fail(tool.Conflict, "another transaction was in the way: %s", message).
			WithHint("nothing was changed; try again")
	case e.Code == "55P03":
		return engine.Fail(tool.Busy, "%s", message).WithHint("try again in a moment")
	case strings.HasPrefix(e.Code, "57P"), strings.HasPrefix(e.Code, "53"):
		return engine.Fail(tool.Unavailable, "%s", message).WithHint("try again in a moment")
	default:
		return engine.Fail(tool.Invalid, "%s", message).WithHint("%s", hintFor(e))
	}
}

// hintFor returns the next step after an error in the statement itself.
func hintFor(e *pgconn.PgError) string {
	switch {
	case e.Hint != "":
		return e.Hint
	case e.Code == "42601" && strings.Contains(e.Message, "multiple commands"):
		return "send one statement at a time; several that belong together go to database.transaction"
	case e.Code == "42P18" || e.Code == "42804":
		return "give the type of a placeholder, as in $1::int"
	case e.Position > 0:
		return "at character " + strconv.Itoa(int(e.Position)) + " of the query"
	default:
		return "database.describe shows a table's columns"
	}
}

// quotedIn returns the first quoted name in a message.
func quotedIn(message string) string {
	_, rest, _ := strings.Cut(message, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}
