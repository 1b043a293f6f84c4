package amount_test

import (
	"testing"

	"callgate/internal/amount"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0 files": amount.Of(0, "file"), "1 file": amount.Of(1, "file"), "2 files": amount.Of(int64(2), "file"),
		"1 branch": amount.Of(1, "branch"), "3 branches": amount.Of(3, "branch"), "2 stashes": amount.Of(2, "stash"),
		"1 entry": amount.Of(1, "entry"), "4 entries": amount.Of(uint64(4), "entry"), "2 keys": amount.Of(2, "key"),
		"2 days": amount.Of(2, "day"), "2 paths": amount.Of(2, "path"), "1 open task": amount.Of(1, "open task"),
		"1 table was": amount.As(1, "table was", "tables were"), "0 tables were": amount.As(0, "table was", "tables were"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 3 << 30: "3.0 GiB", 1<<20 - 1: "1024.0 KiB",
		1 << 20: "1.0 MiB", 5 << 30: "5.0 GiB", 3 << 40: "3.0 TiB", 5000 << 40: "5000.0 TiB",
	} {
		if got := amount.Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for digits, want := range map[string]string{
		"": "", "0": "0", "999": "999", "1000": "1,000", "-1234567": "-1,234,567", "1.5": "1.5", "a": "a",
	} {
		if got := amount.Thousands(digits); got != want {
			t.Errorf("%q is %q, not %q", digits, got, want)
		}
	}
}
