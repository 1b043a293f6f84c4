package locks_test

import (
	"testing"
	"time"
)

// Any node tells who holds what and who waits for whom, and each counts its own requests.
func TestClaims(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.open(t, "a"), c.open(t, "b")
	hold := acquire(t, a, "c1", "X db:main, S account:ada")
	done, _ := start(t, b, "c2", "U db:main/t")
	if s := a.Stats(); s.Held != 1 || s.Waiting != 0 || s.Waits.Count != 1 {
		t.Errorf("of a: %+v", s)
	}
	if s := b.Stats(); s.Held != 0 || s.Waiting != 1 || s.Waits.Count != 0 {
		t.Errorf("of b: %+v", s)
	}
	all, err := a.Claims(t.Context(), 10)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	w := all[0]
	if !w.Waits || w.Node != "b-name" || w.Resource != "db:main/t" || w.Holder.Call != "c2" || w.Behind.Call != "c1" ||
		w.AtNode != "a-name" || time.Since(w.Since) > time.Minute {
		t.Errorf("the one that waits is %+v", w)
	}
	for _, h := range all[1:] {
		if h.Waits || h.Node != "a-name" || h.Holder.Call != "c1" || h.Behind.Call != "" || h.AtNode != "" {
			t.Errorf("one that is held is %+v", h)
		}
	}
	if few, err := b.Claims(t.Context(), 1); err != nil || len(few) != 1 || few[0] != w {
		t.Errorf("the first alone: %+v, %v", few, err)
	}
	hold.Release(nil)
	if got := <-done; got.err != nil {
		t.Fatal(got.err)
	}
	if s := b.Stats(); s.Held != 1 || s.Waiting != 0 || s.Waits.Count != 1 || s.NotGranted != 0 {
		t.Errorf("of b then: %+v", s)
	}
	if s := a.Stats(); s.Held != 0 {
		t.Errorf("of a then: %+v", s)
	}
}
