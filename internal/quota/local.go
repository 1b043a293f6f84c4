package quota

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/tool"
)

const collection = "quotas"

// Local counts for a kernel that is alone on its storage. What runs at once is known as long as it lives. The zero
// value keeps everything in memory.
type Local struct {
	Documents document.Store
	Now       func() time.Time // nil: time.Now

	mu     sync.Mutex
	memory map[string]account
	held   map[place]int64
}

// account is what is counted in one, by kind.
type account map[Kind]counted

type counted struct {
	Begins time.Time `json:"begins"`
	Used   int64     `json:"used"`
}

// place is where something is held.
type place struct {
	account string
	kind    Kind
}

var _ Counters = (*Local)(nil)

func (l *Local) now() time.Time {
	if l.Now != nil {
		return l.Now().UTC()
	}
	return time.Now().UTC()
}

// in is what is counted in the period that it is at a time, or in a later one if the clock went back.
func (a account) in(k Kind, now time.Time) counted {
	is, begins := a[k], k.BeginOf(now)
	if is.Begins.Before(begins) {
		return counted{Begins: begins}
	}
	return is
}

// Add counts all charges, or none.
func (l *Local) Add(ctx context.Context, charges []Charge) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	return now, l.change(ctx, charges, func(a account, c Charge) error {
		is := a.in(c.Kind, now)
		if c.Most > 0 && (c.Amount > c.Most || is.Used > c.Most-c.Amount) {
			return &Full{Charge: c, Used: is.Used, Until: c.Kind.EndOf(is.Begins), Now: now}
		}
		is.Used += c.Amount
		a[c.Kind] = is
		return nil
	})
}

// Correct adds amounts to the periods of a time, as far as they are not over.
func (l *Local) Correct(ctx context.Context, at time.Time, charges []Charge) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.change(ctx, charges, func(a account, c Charge) error {
		if is := a[c.Kind]; is.Begins.Equal(a.in(c.Kind, at).Begins) && !is.Begins.After(at) {
			is.Used = max(0, is.Used+c.Amount)
			a[c.Kind] = is
		}
		return nil
	})
}

// change changes the accounts of charges, all of them or none. The caller holds the lock.
func (l *Local) change(ctx context.Context, charges []Charge, one func(account, Charge) error) error {
	made := map[string]account{}
	prepare := func() (changes []document.Change, err error) {
		clear(made)
		versions := map[string]int64{}
		for _, c := range charges {
			if made[c.Account] == nil {
				if made[c.Account], versions[c.Account], err = l.read(ctx, c.Account); err != nil {
					return nil, err
				}
			}
			if err := one(made[c.Account], c); err != nil {
				return nil, err
			}
		}
		for name, a := range made {
			data, err := json.Marshal(a)
			if err != nil {
				return nil, err
			}
			changes = append(changes, document.Change{Collection: collection, Key: name, If: versions[name], Data: data})
		}
		return changes, nil
	}
	if l.Documents != nil {
		_, err := document.Update(ctx, l.Documents, prepare)
		return err
	}
	if _, err := prepare(); err != nil {
		return err
	}
	if l.memory == nil {
		l.memory = map[string]account{}
	}
	for name, a := range made {
		l.memory[name] = a
	}
	return nil
}

// read returns what is counted in an account, as a copy.
func (l *Local) read(ctx context.Context, name string) (account, int64, error) {
	a := account{}
	if l.Documents == nil {
		for kind, is := range l.memory[name] {
			a[kind] = is
		}
		return a, 0, nil
	}
	found, err := l.Documents.Get(ctx, collection, name)
	if tool.KindOf(err) == tool.NotFound {
		return a, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(found.Data, &a)
	}
	if err != nil {
		return nil, 0, tool.Errorf("quota", tool.Unavailable, "what %s has used cannot be read: %w", name, err)
	}
	return a, found.Version, nil
}

// Enter holds a place in each of the charges, or in none.
func (l *Local) Enter(_ context.Context, charges []Charge) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[place]int64{}
	}
	for _, c := range charges {
		if held := l.held[place{c.Account, c.Kind}]; c.Most > 0 && held >= c.Most {
			return nil, &Full{Charge: c, Used: held, Now: l.now()}
		}
	}
	for _, c := range charges {
		l.held[place{c.Account, c.Kind}]++
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range charges {
			p := place{c.Account, c.Kind}
			if l.held[p]--; l.held[p] == 0 {
				delete(l.held, p)
			}
		}
	}), nil
}

// Read returns what is counted.
func (l *Local) Read(ctx context.Context, accounts []string) (all []Used, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := accounts
	if len(names) == 0 {
		if names, err = l.names(ctx); err != nil {
			return nil, err
		}
	}
	now := l.now()
	for _, name := range names {
		a, _, err := l.read(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, k := range Kinds() {
			if k.Span() == "" {
				if n := l.held[place{name, k}]; n > 0 {
					all = append(all, Used{Account: name, Kind: k, Amount: n})
				}
			} else if is := a.in(k, now); is.Used > 0 {
				all = append(all, Used{Account: name, Kind: k, Amount: is.Used, Until: k.EndOf(is.Begins)})
			}
		}
	}
	return all, nil
}

// names lists the accounts. The caller holds the lock.
func (l *Local) names(ctx context.Context) (names []string, err error) {
	for name := range l.memory {
		names = append(names, name)
	}
	for p := range l.held {
		names = append(names, p.account)
	}
	if l.Documents != nil {
		docs, err := document.ListAll(ctx, l.Documents, collection, "")
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			names = append(names, d.Key)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
