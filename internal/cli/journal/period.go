package journal

import (
	"context"
	"sort"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

// ReadTime reads a time as people say it: today, yesterday, a day, an instant, or a span
// back from now. A day is that of now's place, from midnight.
func ReadTime(words string, now time.Time) (time.Time, error) {
	words = strings.TrimSpace(words)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch words {
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	if span, ok := amount.ParseSpan(words); ok {
		return now.Add(-span), nil
	}
	layouts := []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}
	for _, layout := range layouts {
		if at, err := time.ParseInLocation(layout, words, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, tool.Errorf("cli.log", tool.Invalid, "%q is no time", tool.Truncate(words)).
		WithHint("write it as today, yesterday, 12h, 7d, 2026-01-31 or 2026-01-31T09:00")
}

// within reads --since and --until.
func (t *tail) within() (since, until time.Time, err error) {
	if t.since != "" {
		if since, err = ReadTime(t.since, t.Now()); err != nil {
			return since, until, err
		}
	}
	if t.until != "" {
		until, err = ReadTime(t.until, t.Now())
	}
	return since, until, err
}

// firstSince returns the number before that of the first record at a time or later. Records
// are numbered in the order they were made, so a few of them tell where that is.
func firstSince(ctx context.Context, k *command.Kernel, since time.Time) (uint64, error) {
	last, err := k.Journal(ctx, protocol.JournalQuery{Newest: true, Limit: 1})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	at := sort.Search(int(last[0].Seq), func(seq int) bool {
		records, failed := k.Journal(ctx, protocol.JournalQuery{After: uint64(seq), Limit: 1})
		if failed != nil {
			err = failed
		}
		return len(records) == 0 || !records[0].Time.Before(since)
	})
	return uint64(at), err
}
