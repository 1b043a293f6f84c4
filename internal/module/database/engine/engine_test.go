package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

func TestDriverValue(t *testing.T) {
	for name, c := range map[string]struct{ in, want any }{
		"null":              {nil, nil},
		"bool":              {true, true},
		"text":              {"7", "7"},
		"bytes":             {[]byte{1}, []byte{1}},
		"object":            {json.RawMessage(`{"a":1}`), `{"a":1}`},
		"whole":             {json.Number("-9223372036854775808"), int64(-9223372036854775808)},
		"too large":         {json.Number("9223372036854775808"), "9223372036854775808"},
		"exact fraction":    {json.Number("0.25"), 0.25},
		"exponent":          {json.Number("1e+21"), 1e+21},
		"odd exponent":      {json.Number("1E21"), "1E21"},
		"too many digits":   {json.Number("12345678901234567890.0123456789"), "12345678901234567890.0123456789"},
		"beyond any float":  {json.Number("1e999"), "1e999"},
		"a zero at the end": {json.Number("1.50"), "1.50"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := engine.DriverValue(c.in)
			if err != nil || fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", c.want, c.want) {
				t.Errorf("%T %v, %v; want %T %v", got, got, err, c.want, c.want)
			}
		})
	}
	if got, err := engine.DriverValue(7); err == nil {
		t.Errorf("an int is %v", got)
	}
}

// A number keeps its exact value, whatever a driver is given.
func FuzzDriverValue(f *testing.F) {
	for _, s := range []string{"0", "-0", "1.10", "1e3", "9223372036854775807", "18446744073709551616", "2.5e-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, digits string) {
		want, ok := new(big.Rat).SetString(digits)
		if !json.Valid([]byte(digits)) || !ok || len(digits) > 40 || strings.ContainsAny(digits, "/_xX\"") {
			return
		}
		got, err := engine.DriverValue(json.Number(digits))
		if err != nil {
			t.Fatal(err)
		}
		var back *big.Rat
		switch v := got.(type) {
		case int64:
			back = new(big.Rat).SetInt64(v)
		case string:
			back, _ = new(big.Rat).SetString(v)
		case float64:
			back, _ = new(big.Rat).SetString(fmt.Sprint(v)) // its shortest decimal
		}
		if back == nil || back.Cmp(want) != 0 {
			t.Fatalf("%s became %T %v", digits, got, got)
		}
	})
}

func TestValidIsolation(t *testing.T) {
	for name, want := range map[string]bool{
		"": true, "read committed": true, "repeatable read": true, "serializable": true,
		"READ COMMITTED": false, "serializable; DROP TABLE t": false, "snapshot": false,
	} {
		if got := engine.ValidIsolation(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// Only a loss during a write leaves the outcome in doubt.
func TestConnectionLost(t *testing.T) {
	cause := errors.New("broken pipe")
	for writing, kind := range map[bool]tool.Kind{true: tool.InDoubt, false: tool.Unavailable} {
		e := engine.ConnectionLost(writing, cause)
		if e.Kind != kind || !errors.Is(e, cause) || e.Hint == "" {
			t.Errorf("writing %v: %s %v, hint %q", writing, e.Kind, e, e.Hint)
		}
	}
}

func TestNoTableError(t *testing.T) {
	var missing engine.NoTableError
	err := engine.Fail(tool.NotFound, "%w", engine.NoTableError{Name: "a\"b"})
	if !errors.As(err, &missing) || missing.Name != "a\"b" || !strings.Contains(err.Error(), `there is no table "a\"b"`) {
		t.Errorf("%v", err)
	}
}

func TestIsContextEnd(t *testing.T) {
	for err, want := range map[error]bool{
		context.Canceled: true, context.DeadlineExceeded: true, fmt.Errorf("x: %w", context.Canceled): true,
		errors.New("context canceled"): false,
	} {
		if got := engine.IsContextEnd(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestConnLockLetsOneIn(t *testing.T) {
	l := engine.NewConnLock()
	users, most := 0, 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := l.Acquire(t.Context()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				users++
				most = max(most, users)
				mu.Unlock()
				mu.Lock()
				users--
				mu.Unlock()
				l.Release()
			}
		})
	}
	if wg.Wait(); most != 1 {
		t.Errorf("%d callers had the lock at once", most)
	}
}

func TestConnLockAndContexts(t *testing.T) {
	l := engine.NewConnLock()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Acquire(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a free lock with an ended context: %v", err)
	}
	if err := l.Acquire(t.Context()); err != nil {
		t.Fatalf("the failed attempt left the lock taken: %v", err)
	}
	if err := l.Acquire(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a lock that is taken: %v", err)
	}
	l.Release()
}

func TestConnLockClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := engine.NewConnLock()
		if err := l.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error)
		calls := 0
		go func() { closed <- l.Close(func() error { calls++; return nil }) }()
		synctest.Wait()
		if calls != 0 {
			t.Error("the connection was closed while a statement had it")
		}
		l.Release()
		if err := <-closed; err != nil || calls != 1 {
			t.Errorf("%v, %d calls", err, calls)
		}
		if err := l.Acquire(t.Context()); tool.KindOf(err) != tool.Cancelled {
			t.Errorf("a closed lock: %v", err)
		}
		if err := l.Close(func() error { calls++; return nil }); err != nil || calls != 1 {
			t.Errorf("a second close: %v, %d calls", err, calls)
		}
	})
}

// Close does not wait forever for a statement that does not end.
func TestConnLockCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := engine.NewConnLock()
		if err := l.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := l.Close(func() error { t.Error("it was closed in use"); return nil })
		if tool.KindOf(err) != tool.Busy || time.Since(start) != 2*engine.Grace {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
