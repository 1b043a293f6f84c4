package mysql

import (
	"context"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

// interrupted reports whether the server stopped a statement.
func interrupted(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && (e.Number == 1317 || e.Number == 1969 || e.Number == 3024)
}

// convertError converts an error of the server or of the connection to one that
// says what to do next.
func (c *conn) convertError(ctx context.Context, writing bool, err error) error {
	var e *mysql.MySQLError
	var done *tool.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &done):
		return err
	case !errors.As(err, &e):
		c.drop()
		if !writing && ctx.Err() != nil {
			return ctx.Err()
		}
		if strings.Contains(err.Error(), "local file") {
			return engine.Fail(tool.Denied, "files of this machine are not sent to the server").
				WithHint("use database.bulk_insert")
		}
		return engine.ConnectionLost(writing, err)
	case interrupted(err):
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return context.DeadlineExceeded
	}
	return serverError(e)
}

// serverError converts an error of the server by its number.
func serverError(e *mysql.MySQLError) error {
	message := e.Error()
	switch e.Number {
	case 1792, 1290:
		return engine.ReadOnly(message)
	case 1146, 1051:
		return engine.Fail(tool.NotFound, "%w", engine.NoTableError{Name: tableIn(e.Message)})
	case 1044, 1045, 1142, 1143, 1227, 1370:
		return engine.Fail(tool.Denied, "the server does not permit this: %s", message)
	case 1062:
		return engine.Fail(tool.Conflict, "%s", message).
			WithHint("nothing was changed; look at what is there, or use on_conflict of database.bulk_insert")
	case 1048, 1216, 1217, 1364, 1451, 1452, 3819, 4025:
		return engine.Fail(tool.Conflict, "%s", message).
			WithHint("nothing was changed; database.describe shows the table's keys and constraints")
	case 1205:
		return engine.Fail(tool.Busy, "%s", message).WithHint("try again in a moment")
	case 1213, 1020:
		return engine.Fail(tool.Conflict, "another transaction was in the way: %s", message).
			WithHint("nothing was changed; try again")
	case 1040, 1203, 1226:
		return engine.Fail(tool.Unavailable, "%s", message).WithHint("try again in a moment")
	case 1064:
		return engine.Fail(tool.Invalid, "%s", message).
			WithHint("send one statement at a time; several that belong together go to database.transaction")
	default:
		return engine.Fail(tool.Invalid, "%s", message).WithHint("database.describe shows a table's columns")
	}
}

// tableIn returns the name in a message such as: Table 'shop.clients' doesn't exist.
func tableIn(message string) string {
	_, rest, _ := strings.Cut(message, "'")
	name, _, _ := strings.Cut(rest, "'")
	if _, after, ok := strings.Cut(name, "."); ok {
		return after
	}
	return name
}
