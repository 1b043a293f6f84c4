package tasks_test

import (
	"log/slog"

	"callgate/internal/kernel/tasks"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/riverjobs"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// carried has River tell a runner of its tasks.
func carried(db *postgres.DB, o tasks.Options) tasks.Options {
	o.Carrier = riverjobs.NewCarrier(db.Jobs(), nil)
	return o
}
