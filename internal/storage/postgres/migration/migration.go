// Package migration brings a schema of PostgreSQL to the present version. Its steps are files that only go forward; a
// database notes the name and the checksum of each that it had. One whose steps are not those of this Callgate is
// refused and left as it was. So is one that a newer Callgate migrated, unless its newer steps only add: then nodes of
// both versions work beside each other, and each may be started again, until the last one is replaced.
package migration

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"

	"callgate/tool"
)

// files are the steps, in the order of their names. A released one is never changed again.
//
//go:embed steps/*.sql
var files embed.FS

// Step is one step of the schema.
type Step struct {
	Name     string // of the file
	Text     string
	Checksum string
	// Adds says that a Callgate that does not know the step works with what it leaves: it makes tables, or columns that
	// have a default, and changes nothing that was there. A file says so with its first line.
	Adds bool

	river int // the version of River's tables that are made first; 0: none
}

// addsLine begins a step that only adds.
const addsLine = "-- This step only adds."

// Steps are the steps of this Callgate.
func Steps() []Step { return read(files) }

func read(from fs.FS) []Step {
	names, _ := fs.Glob(from, "steps/*.sql") // sorted
	var all []Step
	for _, name := range names {
		content, err := fs.ReadFile(from, name)
		if err != nil {
			panic(err) // the files are part of the program
		}
		all = append(all, NewStep(path.Base(name), string(content)))
	}
	return all
}

// NewStep makes a step of a text.
func NewStep(name, text string) Step {
	sum := sha256.Sum256([]byte(text))
	return Step{
		Name: name, Text: text, Checksum: hex.EncodeToString(sum[:]), Adds: strings.HasPrefix(text, addsLine),
		river: riverVersion(name),
	}
}

// Apply makes the steps that a schema has not had, all or none. Processes that do it at once do it one after the other.
// A step may give rows to the node that makes it, which is its setting callgate.node.
func Apply(ctx context.Context, conn *pgx.Conn, schema, node string, steps []Step) error {
	left, err := missing(ctx, conn, schema, steps)
	if err != nil || len(left) == 0 {
		return err
	}
	if needRiver(left) {
		err := locked(ctx, conn, schema, func(t pgx.Tx) error { return makeRiverTables(ctx, t, riverAlone) })
		if err != nil {
			return err
		}
	}
	return locked(ctx, conn, schema, func(t pgx.Tx) error {
		left, err := missing(ctx, conn, schema, steps) // another process may have been here
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, "SELECT set_config('callgate.node', $1, true)", node); err != nil {
			return err
		}
		for _, step := range left {
			if step.river > 0 {
				if err := makeRiverTables(ctx, t, step.river); err != nil {
					return err
				}
			}
			if _, err := t.Exec(ctx, step.Text, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
			const note = "INSERT INTO migrations (name, checksum, adds) VALUES ($1, $2, $3)"
			if _, err := t.Exec(ctx, note, step.Name, step.Checksum, step.Adds); err != nil {
				return err
			}
		}
		return nil
	})
}

// locked runs f in a transaction that no other that migrates the schema runs beside. The schema is there then.
func locked(ctx context.Context, conn *pgx.Conn, schema string, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(t pgx.Tx) error {
		const lock = "SELECT pg_advisory_xact_lock(hashtextextended('callgate migrations of ' || $1, 0))"
		if _, err := t.Exec(ctx, lock, schema); err != nil {
			return err
		}
		if err := makeSchema(ctx, t, schema); err != nil {
			return err
		}
		return f(t)
	})
}

// makeSchema makes the schema and the list of its migrations, unless they are there: a user who may not make a schema
// can use one that was made for it.
func makeSchema(ctx context.Context, t pgx.Tx, schema string) error {
	var there bool
	const look = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)"
	if err := t.QueryRow(ctx, look, schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := t.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize()); err != nil {
			return err
		}
	}
	_, err := t.Exec(ctx, "CREATE TABLE IF NOT EXISTS migrations ("+
		"name text PRIMARY KEY, checksum text NOT NULL, applied timestamptz NOT NULL DEFAULT now());"+
		"ALTER TABLE migrations ADD COLUMN IF NOT EXISTS adds boolean NOT NULL DEFAULT false",
		pgx.QueryExecModeSimpleProtocol)
	return err
}

// applied is a step that a database had.
type applied struct {
	name, checksum string
	adds           bool
}

// missing returns the steps that a database has not had. One that had others, or changed ones, is refused.
func missing(ctx context.Context, conn *pgx.Conn, schema string, steps []Step) ([]Step, error) {
	had, err := listApplied(ctx, conn)
	if err != nil {
		return nil, err
	}
	for i, step := range had {
		switch {
		case i >= len(steps) && step.adds:
		case i >= len(steps):
			return nil, tool.Errorf("postgres.Open", tool.Unavailable,
				"the schema %s has the migration %s, and this Callgate knows none after %s",
				schema, step.name, steps[len(steps)-1].Name).
				WithHint("it was migrated by a newer Callgate: run that one, or name another database")
		case step.name != steps[i].Name || step.checksum != steps[i].Checksum:
			return nil, tool.Errorf("postgres.Open", tool.Unavailable,
				"the migration %s of the schema %s is not the %s of this Callgate", step.name, schema, steps[i].Name).
				WithHint("it was made by another program, or by a Callgate that was never released: " +
					"run that one, or name another database")
		}
	}
	return steps[min(len(had), len(steps)):], nil
}

// listApplied reads which migrations a database had; none if it has no list.
func listApplied(ctx context.Context, conn *pgx.Conn) ([]applied, error) {
	// By the schema's own name: a table of another schema in the path is not ours.
	var there bool
	const look = "SELECT to_regclass(quote_ident(current_schema()) || '.migrations') IS NOT NULL"
	if err := conn.QueryRow(ctx, look).Scan(&there); err != nil || !there {
		return nil, err
	}
	// A list of before the column has it not; that of a step that is not known says nothing then.
	rows, err := conn.Query(ctx, `SELECT name, checksum, coalesce((to_jsonb(m) ->> 'adds')::boolean, false)
		FROM migrations m ORDER BY name COLLATE "C"`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (a applied, err error) {
		err = row.Scan(&a.name, &a.checksum, &a.adds)
		return a, err
	})
}
