package quota_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/document"
	"callgate/internal/quota"
	"callgate/internal/quota/quotatest"
	"callgate/internal/storage/sqlite"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) document.Store{
		"memory": func(*testing.T) document.Store { return nil },
		"sqlite": func(t *testing.T) document.Store {
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			return db.Stores().Documents
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quotatest.Run(t, func(t *testing.T) quotatest.Place {
				docs := open(t)
				var passed atomic.Int64
				now := func() time.Time {
					return time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC).AddDate(0, int(passed.Load()), 0)
				}
				made := &quota.Local{Documents: docs, Now: now}
				return quotatest.Place{
					Kernels: []quota.Counters{made},
					Pass:    func(*testing.T) { passed.Add(2) },
					Restart: func() quota.Counters {
						if docs == nil {
							t.Skip("what is kept in memory goes with it")
						}
						return &quota.Local{Documents: docs, Now: now}
					},
				}
			})
		})
	}
}

// A clock that goes back gives nothing back.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 18, 0, 0, 5, 0, time.UTC)
	l := &quota.Local{Now: func() time.Time { return now }}
	one := []quota.Charge{{Account: "user/a", Label: "the user a", Kind: quota.CallsPerDay, Amount: 1, Most: 1}}
	if _, err := l.Add(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	now = now.Add(-10 * time.Second)
	_, err := l.Add(t.Context(), one)
	if err == nil || !strings.Contains(err.Error(), "the user a is over the limit calls_per_day: 1 of 1 calls are made") {
		t.Error(err)
	}
}
