package pgnode

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"callgate/tool"
)

// ConvertError gives an error of the server or of the connection a kind, and words that say what to do. Nil stays nil.
func ConvertError(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *tool.Error
	if errors.As(err, &known) {
		return known
	}
	e := &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
		Message: "the connection to the database server was lost, or cannot be made",
		Hint:    "see that the server runs and can be reached; the next use connects again by itself"}
	var cause *pgconn.PgError
	switch {
	case Unsettled(err) != nil:
		e.Message = "the connection was lost while the database committed, and it is not known yet whether it did"
	case errors.As(err, &cause):
		e.Kind, e.Message, e.Hint = serverError(cause.Code)
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message, e.Hint = tool.Cancelled, "the database was not waited for", ""
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message, e.Hint = tool.Timeout, "the database did not answer in time", ""
	}
	return e
}

// serverError is the kind, the words and the advice of an error of the server, by its code or the class of it.
func serverError(code string) (kind tool.Kind, message, hint string) {
	for _, known := range []struct {
		code, message, hint string
		kind                tool.Kind
	}{
		{"23505", "it is already there", "", tool.Conflict},
		{"40", "another transaction was in the way", "nothing was changed; try again", tool.Conflict},
		{"53100", "the disk of the database server is full",
			"free some space there; writing goes on by itself when there is room", tool.Unavailable},
		{"53300", "the database server has no connection left",
			"raise max_connections there, or lower pool_max_conns in the URL", tool.Unavailable},
		{"53", "the database server has too little of something", "look at its log", tool.Unavailable},
		{"54", "it is larger than the database takes", "", tool.Invalid},
		{"57014", "the database did not answer in time", "", tool.Timeout},
		{"57P", "the database server is starting or ending", "try again in a moment", tool.Unavailable},
		{"58", "the disk of the database server cannot be read or written", "look at its log", tool.Unavailable},
		{"08", "the connection to the database server was lost", "the next use connects again", tool.Unavailable},
		{"28", "the database server does not let this user in",
			"check the user and the password in the URL, and pg_hba.conf", tool.Unavailable},
		{"3D000", "the server has no such database", "make it (createdb), or name another in the URL", tool.Unavailable},
		{"3F000", "the server has no such schema", "it was there when this was opened: look who removed it", tool.Unavailable},
		{"42501", "the database server does not permit this to the user",
			"make the user owner of the schema, or of the database", tool.Unavailable},
		{"25006", "the database can only be read", "name the primary server, not a standby", tool.Unavailable},
		{"42P01", "a table is gone", "restore the database from a copy", tool.Internal},
		{"XX00", "the database is damaged", "restore it from a copy", tool.Internal},
	} {
		if strings.HasPrefix(code, known.code) {
			return known.kind, known.message, known.hint
		}
	}
	return tool.Internal, "the database failed", ""
}

// isKnown reports an error that has its kind and its words already.
func isKnown(err error) bool {
	var known *tool.Error
	return errors.As(err, &known)
}

// wasEnded reports a connection that somebody ended at the server, be it while it was made.
func wasEnded(err error) bool {
	var cause *pgconn.PgError
	return errors.As(err, &cause) && cause.Code == "57P01"
}

// isForbidden reports what the server does not permit to its user.
func isForbidden(err error) bool {
	var cause *pgconn.PgError
	return errors.As(err, &cause) && cause.Code == "42501"
}

// inTheWay reports a transaction that the server undid because of another one.
func inTheWay(err error) bool {
	var cause *pgconn.PgError
	return errors.As(err, &cause) && (cause.Code == "40001" || cause.Code == "40P01")
}
