package schema_test

import (
	"encoding/json"
	"sync"
	"testing"

	"callgate/internal/gate/schema"
	"callgate/tool"
)

func TestCacheCompilesATextOnce(t *testing.T) {
	t.Parallel()
	var c schema.Cache
	raw := json.RawMessage(`{"type":"object"}`)
	first, err := c.Get(raw)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.Get(raw); again != first {
		t.Error("the same slice was compiled twice")
	}
	for range 10 { // more generations than the cache remembers addresses
		if copied, _ := c.Get(append(json.RawMessage(nil), raw...)); copied != first {
			t.Error("the same text was compiled twice")
		}
	}
	if again, _ := c.Get(raw); again != first {
		t.Error("the first slice was forgotten")
	}
	if other, _ := c.Get(raw[:len(raw):len(raw)]); other != first {
		t.Error("the same slice with another capacity was compiled twice")
	}
	if longer, _ := c.Get(json.RawMessage(`{"type":"object" }`)); longer == first {
		t.Error("another text gave the same schema")
	}
}

func TestCacheReturnsACopyOfItsError(t *testing.T) {
	t.Parallel()
	var c schema.Cache
	raw := json.RawMessage(`{"type":"float"}`)
	_, first := c.Get(raw)
	_, second := c.Get(raw)
	one, ok := first.(*tool.Error)
	two, ok2 := second.(*tool.Error)
	if !ok || !ok2 || one.Kind != tool.Invalid {
		t.Fatalf("errors %v, %v", first, second)
	}
	one.Hint = "mine"
	if one == two || two.Hint == "mine" {
		t.Error("two callers were given one error")
	}
	if _, err := c.Get(nil); tool.KindOf(err) != tool.Invalid {
		t.Errorf("no schema at all: %v", err)
	}
}

func TestCacheServesConcurrentCallers(t *testing.T) {
	t.Parallel()
	var c schema.Cache
	raws := []json.RawMessage{[]byte(`{"type":"object"}`), []byte(`{"type":"object"}`), []byte(`{"type":"array"}`)}
	var wg sync.WaitGroup
	got := make([]*schema.Schema, 30)
	for i := range got {
		wg.Go(func() {
			s, err := c.Get(raws[i%3])
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Check(json.RawMessage(`"x"`), schema.Lenient); (err != nil) != (i%3 < 2) {
				t.Errorf("Check under schema %d: %v", i%3, err)
			}
			_, _ = s.Example(), s.Signature()
			got[i] = s
		})
	}
	wg.Wait()
	for i, s := range got {
		if want := got[i%3/2*2]; s != want {
			t.Errorf("schema %d was compiled twice", i)
		}
	}
}
