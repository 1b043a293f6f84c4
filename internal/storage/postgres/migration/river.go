package migration

import (
	"context"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverVersion is the version of River's own tables that a step stands on; 0: it needs none. River makes them, at a
// version that is written down here: a River that has newer ones is given them by a later step. What they hold is
// nothing that is not in our tables.
func riverVersion(step string) int {
	if step == "0006_jobs.sql" {
		return 8
	}
	return 0
}

// riverAlone is the version up to which River's tables are made in a transaction of their own, before that of our
// steps: it gives a type another value, and PostgreSQL lets nobody use one in the transaction that made it. Tables that
// nothing followed, because the process ended between the two, are gone on with the next time.
const riverAlone = 4

// riverSchema is where River's texts have the name of a schema, with a dot, or nothing: that of the search path.
const riverSchema = "/* TEMPLATE: schema */"

// riverLines is the version since which River's list of its versions says of what.
const riverLines = 5

// needRiver reports whether a step needs tables of River.
func needRiver(steps []Step) bool {
	for _, s := range steps {
		if s.river > 0 {
			return true
		}
	}
	return false
}

// makeRiverTables has River make its tables up to a version, unless they are there.
func makeRiverTables(ctx context.Context, t pgx.Tx, version int) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	made, err := migrator.ExistingVersionsTx(ctx, t)
	if err != nil {
		return err
	}
	for _, one := range migrator.AllVersions() {
		if one.Version <= len(made) || one.Version > version { // they count from 1, and none is left out
			continue
		}
		text := strings.ReplaceAll(one.SQLUp, riverSchema, "")
		if _, err := t.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		note := "INSERT INTO river_migration (version) VALUES ($1)"
		if one.Version >= riverLines {
			note = "INSERT INTO river_migration (line, version) VALUES ('main', $1)"
		}
		if _, err := t.Exec(ctx, note, one.Version); err != nil {
			return err
		}
	}
	return nil
}
