package providers_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/app/providers"
	"callgate/internal/provider/queue"
)

func parse(t *testing.T, text string) *app.App {
	t.Helper()
	a, err := app.Parse("callgate.yaml", []byte(text), app.KnownModules{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const project = `providers:
  OpenAI:
    rpm: 500
    tpm: 200000
    max_concurrent: 8
    max_queue: 200
    max_wait: 5m
    cool_down: 10s
    models:
      gpt-4o: {rpm: 100, tpm: 5000, max_concurrent: 2}
  ollama: {cool_down_after: 2}
`

const user = `providers:
  openai: {rpm: 9, max_wait: 1m, max_queue: 900, cool_down: 1s, cool_down_after: 9}
`

func TestOf(t *testing.T) {
	t.Parallel()
	both := inforce.Combine(parse(t, project), parse(t, user)).Providers
	large := queue.Limits{RPM: 500, TPM: 200000, MaxConcurrent: 8}
	for name, c := range map[string]struct {
		all        providers.All
		of         string
		key, model []queue.Limits
		bounds     queue.Bounds
	}{
		"a model with limits of its own": {parse(t, project).Providers, "openai/gpt-4o",
			[]queue.Limits{large}, []queue.Limits{{RPM: 100, TPM: 5000, MaxConcurrent: 2}},
			queue.Bounds{Length: 200, Wait: 5 * time.Minute, CoolDown: 10 * time.Second, CoolDownAfter: 5}},
		"another model": {parse(t, project).Providers, "openai/o3", []queue.Limits{large}, []queue.Limits{{}},
			queue.Bounds{Length: 200, Wait: 5 * time.Minute, CoolDown: 10 * time.Second, CoolDownAfter: 5}},
		"both files count, each for itself": {both, "openai/o3",
			[]queue.Limits{{RPM: 9}, large}, []queue.Limits{{}, {}},
			queue.Bounds{Length: 200, Wait: time.Minute, CoolDown: time.Second, CoolDownAfter: 5}},
		"a cool-down with its default": {both, "ollama/x", []queue.Limits{{}}, []queue.Limits{{}},
			queue.Bounds{CoolDown: 30 * time.Second, CoolDownAfter: 2}},
		"a provider of which nothing is said": {both, "anthropic/x", nil, nil, queue.Bounds{}},
	} {
		provider, model, _ := strings.Cut(c.of, "/")
		key, own, bounds := c.all.Of(strings.ToLower, provider, model)
		if !reflect.DeepEqual(key, c.key) || !reflect.DeepEqual(own, c.model) || bounds != c.bounds {
			t.Errorf("%s: %+v, %+v, %+v", name, key, own, bounds)
		}
	}
}
