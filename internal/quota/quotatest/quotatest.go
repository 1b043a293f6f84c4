// Package quotatest is the law of counters as tests, for each of their implementations.
package quotatest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/quota"
)

// Place is counters as one or several kernels have them.
type Place struct {
	Kernels []quota.Counters
	Pass    func(t *testing.T)    // has two months pass
	Restart func() quota.Counters // of the first kernel
}

// Run runs the suite. Each test has a place of its own.
func Run(t *testing.T, open func(t *testing.T) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"Exact": exact, "AllOrNone": allOrNone, "Correct": correct, "Anew": anew, "Restart": restarted, "AtOnce": atOnce,
		"AtOnceMany": atOnceMany, "Unlimited": unlimited,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func charge(account string, kind quota.Kind, amount, most int64) quota.Charge {
	return quota.Charge{Account: account, Label: account, Kind: kind, Amount: amount, Most: most}
}

// add counts, and returns why not; nil: it was counted.
func add(t *testing.T, c quota.Counters, charges ...quota.Charge) *quota.Full {
	t.Helper()
	_, err := c.Add(t.Context(), charges)
	return fullOf(t, err)
}

func fullOf(t *testing.T, err error) *quota.Full {
	t.Helper()
	var full *quota.Full
	if err != nil && !errors.As(err, &full) {
		t.Error(err)
	}
	return full
}

// used is what a kind has in an account, of everything that is read.
func used(t *testing.T, c quota.Counters, account string, kind quota.Kind) int64 {
	t.Helper()
	for _, names := range [][]string{{account, "user/nobody"}, nil} {
		list, err := c.Read(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range list {
			if u.Account == account && u.Kind == kind {
				return u.Amount
			}
		}
	}
	return 0
}

// exact: many that count at once at all kernels come to the limit, and not one over it.
func exact(t *testing.T, p Place) {
	const most, workers, each = 50, 6, 20
	var counted, refused atomic.Int64
	var all sync.WaitGroup
	for i := range workers {
		c := p.Kernels[i%len(p.Kernels)]
		all.Go(func() {
			for j := range each {
				who := fmt.Sprintf("user/u%d", (i+j)%2)
				charges := []quota.Charge{charge("team/t", quota.CallsPerDay, 1, most), charge(who, quota.TokensPerDay, 1, 0)}
				if full := add(t, c, charges...); full == nil {
					counted.Add(1)
				} else if refused.Add(1); full.Used != most || full.Account != "team/t" {
					t.Errorf("refused with %d of %d, of %s", full.Used, most, full.Account)
				}
			}
		})
	}
	all.Wait()
	if counted.Load() != most || refused.Load() != workers*each-most {
		t.Errorf("%d were counted and %d refused, of a limit of %d", counted.Load(), refused.Load(), most)
	}
	c := p.Kernels[0]
	if n := used(t, c, "team/t", quota.CallsPerDay); n != most {
		t.Errorf("the team has %d", n)
	}
	if n := used(t, c, "user/u0", quota.TokensPerDay) + used(t, c, "user/u1", quota.TokensPerDay); n != most {
		t.Errorf("the users have %d", n)
	}
}

// allOrNone: what one account refuses is counted in no other.
func allOrNone(t *testing.T, p Place) {
	c := p.Kernels[0]
	for range 3 {
		add(t, c, charge("team/a", quota.CallsPerDay, 1, 2), charge("user/b", quota.CallsPerDay, 1, 9))
	}
	full := add(t, c, charge("team/a", quota.CallsPerDay, 1, 2), charge("user/b", quota.CallsPerDay, 1, 9))
	if full == nil || full.Used != 2 || !full.Until.After(full.Now) || full.Until.Sub(full.Now) > 24*time.Hour {
		t.Errorf("refused with %+v", full)
	}
	if n := used(t, c, "user/b", quota.CallsPerDay); n != 2 {
		t.Errorf("the user has %d", n)
	}
	if full := add(t, c, charge("user/new", quota.TokensPerDay, 11, 10)); full == nil || full.Used != 0 {
		t.Errorf("more than fits at all: %+v", full)
	}
}

// correct puts what was taken in the place of an estimate.
func correct(t *testing.T, p Place) {
	c := p.Kernels[0]
	at, err := c.Add(t.Context(), []quota.Charge{charge("user/a", quota.USDPerDay, 100, 150)})
	if err != nil {
		t.Fatal(err)
	}
	if full := add(t, c, charge("user/a", quota.USDPerDay, 100, 150)); full == nil {
		t.Error("a second estimate fits beside the first")
	}
	if err := c.Correct(t.Context(), at, []quota.Charge{charge("user/a", quota.USDPerDay, -60, 150)}); err != nil {
		t.Fatal(err)
	}
	if full := add(t, c, charge("user/a", quota.USDPerDay, 100, 150)); full != nil {
		t.Error(full)
	}
	if n := used(t, c, "user/a", quota.USDPerDay); n != 140 {
		t.Errorf("it has %d", n)
	}
	if p.Pass(t); used(t, c, "user/a", quota.USDPerDay) != 0 {
		t.Error("it is still counted when the day is over")
	}
	add(t, c, charge("user/a", quota.USDPerDay, 7, 150))
	before := at.AddDate(0, -3, 0)
	if err := c.Correct(t.Context(), before, []quota.Charge{charge("user/a", quota.USDPerDay, -5, 150)}); err != nil {
		t.Fatal(err)
	}
	if n := used(t, c, "user/a", quota.USDPerDay); n != 7 {
		t.Errorf("a day that is over was corrected in another: %d", n)
	}
}

// anew: each period begins anew.
func anew(t *testing.T, p Place) {
	c := p.Kernels[0]
	for _, k := range []quota.Kind{quota.CallsPerMinute, quota.CallsPerDay, quota.TokensPerMonth} {
		if full := add(t, c, charge("user/a", k, 3, 3)); full != nil {
			t.Error(full)
		}
		if full := add(t, c, charge("user/a", k, 1, 3)); full == nil {
			t.Errorf("%s: four of three", k)
		}
	}
	p.Pass(t)
	for _, k := range []quota.Kind{quota.CallsPerMinute, quota.CallsPerDay, quota.TokensPerMonth} {
		if full := add(t, c, charge("user/a", k, 3, 3)); full != nil {
			t.Error(full)
		}
		if n := used(t, c, "user/a", k); n != 3 {
			t.Errorf("%s: %d", k, n)
		}
	}
}

// restarted: what was counted stays counted, and what was held is free.
func restarted(t *testing.T, p Place) {
	c := p.Kernels[0]
	add(t, c, charge("user/a", quota.CallsPerDay, 3, 3))
	if _, err := c.Enter(t.Context(), []quota.Charge{charge("user/a", quota.CallsAtOnce, 1, 1)}); err != nil {
		t.Fatal(err)
	}
	c = p.Restart()
	if full := add(t, c, charge("user/a", quota.CallsPerDay, 1, 3)); full == nil {
		t.Error("four of three")
	}
	leave, err := c.Enter(t.Context(), []quota.Charge{charge("user/a", quota.CallsAtOnce, 1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	leave()
}

// atOnce holds places until they are left, and in all accounts or in none.
func atOnce(t *testing.T, p Place) {
	enter := func(i int, most int64) (func(), *quota.Full) {
		c := p.Kernels[i%len(p.Kernels)]
		leave, err := c.Enter(t.Context(), []quota.Charge{
			charge("team/t", quota.CallsAtOnce, 1, most), charge("user/a", quota.CallsAtOnce, 1, 2),
		})
		return leave, fullOf(t, err)
	}
	first, _ := enter(0, 5)
	second, _ := enter(1, 5)
	if _, full := enter(0, 5); full == nil || full.Used != 2 || full.Account != "user/a" || !full.Until.IsZero() {
		t.Errorf("a third of two: %+v", full)
	}
	if n := used(t, p.Kernels[0], "team/t", quota.CallsAtOnce); n != 2 {
		t.Errorf("the team holds %d", n)
	}
	first()
	first()
	third, full := enter(1, 5)
	if full != nil {
		t.Fatal(full)
	}
	if _, full := enter(0, 5); full == nil {
		t.Error("leaving twice freed two places")
	}
	second()
	third()
	if n := used(t, p.Kernels[0], "user/a", quota.CallsAtOnce); n != 0 {
		t.Errorf("%d are held when all have left", n)
	}
}

// atOnceMany: at no time do more hold a place than there are.
func atOnceMany(t *testing.T, p Place) {
	const most = 3
	var now, entered atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		c := p.Kernels[i%len(p.Kernels)]
		all.Go(func() {
			for range 15 {
				leave, err := c.Enter(t.Context(), []quota.Charge{charge("user/a", quota.CallsAtOnce, 1, most)})
				if fullOf(t, err) != nil || err != nil {
					continue
				}
				if n := now.Add(1); n > most {
					t.Errorf("%d at once", n)
				}
				entered.Add(1)
				now.Add(-1)
				leave()
			}
		})
	}
	all.Wait()
	if entered.Load() == 0 {
		t.Error("nobody had a place")
	}
	if n := used(t, p.Kernels[0], "user/a", quota.CallsAtOnce); n != 0 {
		t.Errorf("%d are held when all have left", n)
	}
}

// unlimited is counted and never refused.
func unlimited(t *testing.T, p Place) {
	for range 3 {
		if full := add(t, p.Kernels[0], charge("user/a", quota.TokensPerDay, 1<<40, 0)); full != nil {
			t.Error(full)
		}
	}
	if n := used(t, p.Kernels[0], "user/a", quota.TokensPerDay); n != 3<<40 {
		t.Errorf("it has %d", n)
	}
}
