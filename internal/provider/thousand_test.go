package provider_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/provider"
	"callgate/internal/provider/queue"
	"callgate/llm"
)

// arrival is one request: when it came, and when it was sent.
type arrival struct {
	priority   llm.Priority
	came, sent time.Time
}

// transport answers each request after a while, and notes when it was sent.
type transport []*arrival

func (tr transport) RoundTrip(req *http.Request) (*http.Response, error) {
	i, err := strconv.Atoi(req.Header.Get("X-Call"))
	if err != nil {
		return nil, err
	}
	tr[i].sent = time.Now()
	<-time.After(10 * time.Millisecond)
	w := httptest.NewRecorder()
	hello(w, req)
	return w.Result(), nil
}

// thousand are limits of three providers, which allow so many requests in a minute: each takes twelve tokens.
var thousand = []struct {
	provider  string
	limits    queue.Limits
	perMinute int
}{{"openai", queue.Limits{RPM: 120}, 120}, {"mistral", queue.Limits{RPM: 90}, 90}, {"groq", queue.Limits{TPM: 1200}, 100}}

// TestThousandCalls has a thousand calls over three providers hold their limits: never more than allowed in
// any minute, and at least 98 % of that as long as requests wait. It starves no priority: what came ninety
// seconds after another is not sent before it, however urgent it is.
func TestThousandCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := sendThousand(t)
		for p, provider := range thousand {
			var mine []*arrival
			for i := p; i < len(calls); i += len(thousand) {
				mine = append(mine, calls[i])
			}
			slices.SortFunc(mine, func(a, b *arrival) int { return a.sent.Compare(b.sent) })
			first, most, last := mine[0].sent, 0, mine[len(mine)-1].sent
			for i, a := range mine {
				n := 0
				for _, b := range mine[i:] {
					if b.sent.Sub(a.sent) < time.Minute {
						n++
					}
				}
				most = max(most, n)
				for _, later := range mine[i+1:] {
					if later.sent.After(a.sent) && a.came.Sub(later.came) > 90*time.Second {
						t.Errorf("%s: %s waited %v, and one that came %v later was sent before", provider.provider,
							later.priority, later.sent.Sub(later.came), a.came.Sub(later.came))
					}
				}
			}
			if limit := float64(provider.perMinute); float64(most) > 1.02*limit || float64(most) < 0.98*limit {
				t.Errorf("%s: %d requests began in a minute of %v", provider.provider, most, limit)
			}
			ideal := time.Duration(len(mine)) * time.Minute / time.Duration(provider.perMinute)
			if took := last.Sub(first); float64(took) > float64(ideal)/0.98 {
				t.Errorf("%s: %d requests took %v, and %v would do", provider.provider, len(mine), took, ideal)
			}
		}
	})
}

// sendThousand sends half of the calls at once and the others one after the other, a priority each.
func sendThousand(t testing.TB) []*arrival {
	priorities := []llm.Priority{
		llm.PriorityInteractive, llm.PriorityLow, llm.PriorityInteractive, llm.PriorityBackground, llm.PriorityRetry,
	}
	calls := make(transport, 1000)
	pool := provider.Pool{Transport: calls}
	req := llm.Request{Messages: []llm.Message{llm.TextMessage(llm.User, "hello, how are you?")}, MaxTokens: 7}
	var all sync.WaitGroup
	for i := range calls {
		to := thousand[i%len(thousand)]
		calls[i] = &arrival{priority: priorities[i/len(thousand)%len(priorities)]}
		m, _, err := pool.Open(provider.Config{
			Provider: to.provider, Model: "m", Key: "k", BaseURL: "http://provider.test/v1", Env: env(), Retry: once,
			Headers: map[string]string{"X-Call": strconv.Itoa(i)}, MaxConcurrent: 100,
			Turns: provider.Turns{Key: []queue.Limits{to.limits}, Priority: calls[i].priority},
		})
		if err != nil {
			t.Fatal(err)
		}
		if i >= len(calls)/2 {
			<-time.After(250 * time.Millisecond)
		}
		all.Go(func() {
			calls[i].came = time.Now()
			if _, err := m.Generate(t.Context(), req, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return calls
}
