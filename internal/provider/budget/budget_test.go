package budget_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/provider/budget"
	"callgate/internal/provider/queue"
	"callgate/llm"
	"callgate/tool"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func noon() *clock { return &clock{time.Date(2026, 11, 17, 12, 0, 0, 0, time.FixedZone("CET", 3600))} }

// scripted is a model that answers as its function does.
type scripted func() (*llm.Response, error)

func (s scripted) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return s()
}

// answers says what each answer took.
func answers(u llm.Usage) scripted {
	return func() (*llm.Response, error) { return &llm.Response{Usage: u}, nil }
}

// model is a model whose requests may take a hundred tokens and ten cents.
func model(l *budget.Ledger, inner llm.Model, accounts ...budget.Account) *budget.Model {
	return &budget.Model{
		Model: inner, Ledger: l, Accounts: accounts, Provider: "openai", Name: "m",
		Estimate: func(llm.Request) llm.Usage { return llm.Usage{Input: 60, Output: 40, Cost: 100_000, Priced: true} },
	}
}

func account(name string, b budget.Budget) budget.Account {
	return budget.Account{Name: name, Label: name, Budget: b}
}

func dollars(n int64) budget.Budget { return budget.Budget{Total: budget.Limit{Cost: n * 1_000_000}} }

// ask asks until it is refused, and returns how often that went well.
func ask(t *testing.T, m llm.Model) (n int, refusal *budget.Refusal) {
	t.Helper()
	for range 1000 {
		_, err := m.Generate(t.Context(), llm.Request{}, nil)
		if errors.As(err, &refusal) {
			return n, refusal
		}
		n++
	}
	t.Fatal("nothing was refused")
	return n, nil
}

// TestRefusal refuses what does not fit into what is left, and says what was spent, what is left and
// when it begins anew.
func TestRefusal(t *testing.T) {
	t.Parallel()
	c := noon()
	l := &budget.Ledger{Now: c.Now}
	m := model(l, answers(llm.Usage{Input: 30, Output: 10, Cost: 70_000, Priced: true}), account("this app", dollars(1)))
	n, _ := ask(t, m)
	if n != 13 { // thirteen cost 91 cents, and the next may take ten
		t.Errorf("%d requests were sent", n)
	}
	_, err := m.Generate(t.Context(), llm.Request{}, nil)
	var failure *llm.Error
	if !errors.As(err, &failure) || failure.Kind != llm.OverBudget || tool.KindOf(err) != tool.Limited {
		t.Fatalf("error %#v", err)
	}
	const want = "openai: over budget: the budget of this app for today is used up: $0.91 of $1.00 are spent, " +
		"$0.09 are left and the request may take $0.10; it begins anew at 2026-11-18 00:00"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	c.now = time.Date(2026, 11, 18, 0, 0, 0, 0, c.now.Location())
	if n, _ := ask(t, m); n != 13 {
		t.Errorf("on the next day %d requests were sent", n)
	}
}

// TestTokens counts tokens, also those of a model without a price.
func TestTokens(t *testing.T) {
	t.Parallel()
	l := &budget.Ledger{Now: noon().Now}
	m := model(l, answers(llm.Usage{Input: 90, Output: 10}), account("a", budget.Budget{Total: budget.Limit{Tokens: 1000}}))
	m.Estimate = func(llm.Request) llm.Usage { return llm.Usage{Input: 60, Output: 40} }
	n, refusal := ask(t, m)
	if n != 10 || !strings.Contains(refusal.Error(), "1000 of 1000 tokens are spent, 0 are left") {
		t.Errorf("%d requests, then %v", n, refusal)
	}
}

// TestUnpriced refuses a model by name whose price nobody knows, where dollars are limited.
func TestUnpriced(t *testing.T) {
	t.Parallel()
	l := &budget.Ledger{Now: noon().Now}
	b := dollars(1)
	m := model(l, answers(llm.Usage{Input: 1}), account("this app", b))
	m.Estimate = func(llm.Request) llm.Usage { return llm.Usage{Input: 1} }
	if n, refusal := ask(t, m); n != 0 || !strings.Contains(refusal.Error(), "nobody knows the price of openai/m") {
		t.Errorf("%d requests, then %v", n, refusal)
	}
	b.Unpriced, b.Total.Tokens = true, 5
	m.Accounts = []budget.Account{account("this app", b)}
	if n, _ := ask(t, m); n != 5 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestProviders limits one provider by itself.
func TestProviders(t *testing.T) {
	t.Parallel()
	l := &budget.Ledger{Now: noon().Now}
	b := dollars(1)
	b.Providers = map[string]budget.Limit{"openai": {Cost: 300_000}}
	m := model(l, answers(llm.Usage{Cost: 100_000, Input: 1, Priced: true}), account("this app", b))
	other := *m
	other.Provider = "anthropic"
	if n, refusal := ask(t, m); n != 3 || !strings.Contains(refusal.Error(), "this app for openai") {
		t.Errorf("%d requests, then %v", n, refusal)
	}
	if n, _ := ask(t, &other); n != 7 {
		t.Errorf("of the other provider %d requests were sent", n)
	}
}

// TestAccountsTogether charges all accounts or none: what one refuses is not spent in the other.
func TestAccountsTogether(t *testing.T) {
	t.Parallel()
	l := &budget.Ledger{Now: noon().Now}
	inner := answers(llm.Usage{Cost: 100_000, Input: 1, Priced: true})
	user, first, second := account("user", dollars(1)), account("first", dollars(9)), account("second", dollars(9))
	second.Total.Cost = 300_000
	if n, refusal := ask(t, model(l, inner, user, second)); n != 3 || refusal.Account != "second" {
		t.Errorf("%d requests, then %v", n, refusal)
	}
	if n, refusal := ask(t, model(l, inner, user, first)); n != 7 || refusal.Account != "user" {
		t.Errorf("%d requests, then %v", n, refusal)
	}
}

// TestManyAtOnce lets no more run than fit: each holds its estimate while it runs.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	l := &budget.Ledger{Now: noon().Now}
	release := make(chan struct{})
	var sent, refused atomic.Int32
	arrived := make(chan struct{}, 100)
	m := model(l, scripted(func() (*llm.Response, error) {
		sent.Add(1)
		arrived <- struct{}{}
		<-release
		return &llm.Response{Usage: llm.Usage{Input: 1, Cost: 1, Priced: true}}, nil
	}), account("a", dollars(1)))
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if _, err := m.Generate(context.Background(), llm.Request{}, nil); err != nil {
				refused.Add(1)
				arrived <- struct{}{}
			}
		})
	}
	for range 100 {
		<-arrived
	}
	if sent.Load() != 10 || refused.Load() != 90 {
		t.Errorf("%d were sent and %d refused", sent.Load(), refused.Load())
	}
	close(release)
	all.Wait()
}

// TestFailures charges what is known: nothing for what was not answered, and the estimate where
// nobody knows.
func TestFailures(t *testing.T) {
	t.Parallel()
	partial := &llm.Response{Usage: llm.Usage{Input: 5, Cost: 500_000, Priced: true}}
	for name, c := range map[string]struct {
		err  *llm.Error
		want int // requests until two dollars are spent
	}{
		"not answered":    {&llm.Error{Kind: llm.RateLimited, Status: 429}, 1000},
		"not sent":        {&llm.Error{Kind: llm.RateLimited, Err: &queue.Refusal{}}, 1000},
		"broken off":      {&llm.Error{Kind: llm.BrokenStream, Partial: partial}, 4},
		"nobody knows it": {&llm.Error{Kind: llm.Timeout}, 20},
	} {
		l := &budget.Ledger{Now: noon().Now}
		m := model(l, scripted(func() (*llm.Response, error) { return nil, c.err }), account("a", dollars(2)))
		n := 0
		for ; n < 1000; n++ {
			_, err := m.Generate(t.Context(), llm.Request{}, nil)
			if errors.As(err, new(*budget.Refusal)) {
				break
			}
		}
		if n != c.want {
			t.Errorf("%s: %d requests were sent, want %d", name, n, c.want)
		}
	}
}

// TestHugeEstimates refuses what no budget has room for, also where the numbers do not fit into what
// counts them, and never writes an account down for it.
func TestHugeEstimates(t *testing.T) {
	t.Parallel()
	tokens := budget.Budget{Total: budget.Limit{Tokens: 100}}
	for name, c := range map[string]struct {
		limit    budget.Budget
		estimate llm.Usage
	}{
		"a negative cost":      {dollars(1), llm.Usage{Input: 1, Cost: math.MinInt64, Priced: true}},
		"the highest cost":     {dollars(1), llm.Usage{Input: 1, Cost: math.MaxInt64, Priced: true}},
		"tokens that overflow": {tokens, llm.Usage{Input: 10, Output: math.MaxInt - 5}},
		"negative tokens":      {tokens, llm.Usage{Input: 10, Output: math.MinInt}},
	} {
		l := &budget.Ledger{Now: noon().Now}
		usual := model(l, answers(llm.Usage{Input: 60, Output: 40, Cost: 1_000_000, Priced: true}), account("a", c.limit))
		if _, err := usual.Generate(t.Context(), llm.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		huge := *usual
		huge.Estimate = func(llm.Request) llm.Usage { return c.estimate }
		if _, err := huge.Generate(t.Context(), llm.Request{}, nil); !errors.As(err, new(*budget.Refusal)) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
		if n, _ := ask(t, usual); n != 0 {
			t.Errorf("%s: after it %d requests are sent, and all was spent before", name, n)
		}
	}
}

// TestStrangeUsage does not believe a provider that says that it gave something back.
func TestStrangeUsage(t *testing.T) {
	t.Parallel()
	for _, u := range []llm.Usage{
		{Input: 1, Cost: -9_000_000, Priced: true}, {Input: -9_000_000, Cost: 100_000, Priced: true},
		{Input: math.MaxInt, Output: math.MaxInt, Cost: 100_000, Priced: true},
	} {
		l := &budget.Ledger{Now: noon().Now}
		b := dollars(1)
		b.Total.Tokens = 1000
		if n, _ := ask(t, model(l, answers(u), account("a", b))); n > 10 {
			t.Errorf("%+v: %d requests were sent", u, n)
		}
	}
}

// TestClockGoesBack begins no day anew, and forgets none, when the clock or the zone goes back over midnight.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	c := noon()
	l := &budget.Ledger{Now: c.Now}
	m := model(l, answers(llm.Usage{Input: 1, Cost: 100_000, Priced: true}), account("a", dollars(1)))
	if n, _ := ask(t, m); n != 10 {
		t.Fatalf("%d requests were sent", n)
	}
	today := c.now
	c.now = today.AddDate(0, 0, -1)
	n, refusal := ask(t, m)
	if n != 0 {
		t.Errorf("on the day before %d requests were sent", n)
	}
	if until := time.Date(2026, 11, 18, 0, 0, 0, 0, today.Location()); !refusal.Until.Equal(until) {
		t.Errorf("it begins anew at %v, want %v", refusal.Until, until)
	}
	c.now = today
	if n, _ := ask(t, m); n != 0 {
		t.Errorf("back on its day %d requests were sent", n)
	}
	c.now = today.AddDate(0, 0, 1)
	if n, _ := ask(t, m); n != 10 {
		t.Errorf("on the next day %d requests were sent", n)
	}
}

// broken is a model whose first answers break off and are begun again.
type broken []*llm.Usage // what each says that it took

func (b broken) Generate(_ context.Context, _ llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	for i, usage := range b {
		watch(llm.Delta{Kind: llm.DeltaText, Text: "half", Usage: usage})
		watch(llm.Delta{Kind: llm.DeltaRetry, Retry: &llm.Retry{Attempt: i + 2, Kind: llm.BrokenStream, Replaces: true}})
	}
	watch(llm.Delta{Kind: llm.DeltaRetry, Retry: &llm.Retry{Attempt: len(b) + 2, Kind: llm.Overloaded}})
	return &llm.Response{Usage: llm.Usage{Input: 1, Cost: 100_000, Priced: true}}, nil
}

// TestEveryAttempt charges also what broke off and was begun again, as far as it is known, and nothing for
// what the provider did not begin to answer.
func TestEveryAttempt(t *testing.T) {
	t.Parallel()
	known := &llm.Usage{Input: 60, Output: 1, Cost: 300_000, Priced: true}
	for name, c := range map[string]struct {
		inner broken
		want  int
	}{
		"none":             {nil, 20},
		"one":              {broken{known}, 5},
		"two, one unknown": {broken{known, nil}, 4}, // of which the estimate is ten cents
	} {
		l := &budget.Ledger{Now: noon().Now}
		if n, _ := ask(t, model(l, c.inner, account("a", dollars(2)))); n != c.want {
			t.Errorf("%s: %d requests were sent, want %d", name, n, c.want)
		}
	}
}
