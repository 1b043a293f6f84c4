package library

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/search/embedapi"
	"callgate/tool"
)

// Settings are what an app file may say about a module that keeps knowledge bases.
type Settings struct {
	Endpoint   string `config:"endpoint" help:"where an OpenAI-compatible embeddings API is reached; empty: the built-in model is used"`
	Model      string `config:"model" help:"the model that the endpoint is asked for"`
	Dimensions int    `config:"dimensions" range:"0,8192" help:"how many numbers a vector of the endpoint has; 0: as the model likes"`
	ChunkBytes int    `config:"chunk_bytes" range:"200,8000" help:"about how long a chunk is"`

	fetch.Settings

	MaxFile   int  `constraint:"max_file_bytes" range:"1,268435456" help:"the largest document that is read"`
	MaxChunks int  `constraint:"max_chunks" range:"1,1000000" help:"how many chunks a knowledge base has at most"`
	ReadOnly  bool `constraint:"read_only" help:"nothing is ingested and nothing deleted"`

	namespace string   // of the module
	endpoint  *url.URL // made by Check; nil: none
}

// Defaults returns the settings of an app file that says nothing of a module.
func Defaults(namespace string) *Settings {
	return &Settings{
		namespace:  namespace,
		ChunkBytes: 1200, MaxFile: 32 << 20, MaxChunks: 200_000,
		Settings: fetch.Settings{Timeout: 60, UserAgent: "callgate", MaxDownload: 64 << 20},
	}
}

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *Settings) Check() error {
	if err := s.Settings.Prepare(s.namespace, false); err != nil {
		return err
	}
	if s.endpoint = nil; s.Endpoint == "" {
		if s.Model != "" || s.Dimensions != 0 {
			return errors.New("config.model and config.dimensions are those of config.endpoint, which is missing")
		}
		return nil
	}
	u, err := fetch.ParseEndpoint(s.Endpoint)
	if err != nil {
		return err
	}
	s.endpoint = u
	_, err = embedapi.New(embedapi.Options{URL: s.Endpoint, Model: s.Model, Dimensions: s.Dimensions})
	return err
}

// embedder turns texts into vectors.
type embedder interface {
	ID() string // of the model: equal IDs, comparable vectors
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// builtin is the model in the program.
type builtin struct{ module.Embedder }

// ID names the model and its version.
func (b builtin) ID() string {
	if m, ok := b.Embedder.(interface{ ID() string }); ok {
		return "builtin " + m.ID()
	}
	return "builtin"
}

// Embed computes vectors on two cores.
func (b builtin) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	const workers = 2
	if len(texts) < 2*workers {
		return b.Vectors(texts)
	}
	all := make([][]float32, len(texts))
	problems := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		from, to := w*len(texts)/workers, (w+1)*len(texts)/workers
		wg.Go(func() {
			got, err := b.Vectors(texts[from:to])
			if err == nil && len(got) != to-from {
				err = fmt.Errorf("the model gave %d vectors for %d texts", len(got), to-from)
			}
			copy(all[from:to], got)
			problems[w] = err
		})
	}
	wg.Wait()
	return all, errors.Join(append(problems, ctx.Err())...)
}

// remote is a model behind an endpoint.
type remote struct{ *embedapi.Endpoint }

// Embed asks the endpoint.
func (r remote) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return r.EmbedAll(ctx, texts)
}

// embedder returns the model that a call uses, nil where there is none, and what ends its connections.
func (l *Library) embedder() (e embedder, release func(), err error) {
	release = func() {}
	s := l.settings
	switch {
	case s.endpoint == nil && l.service.host.Embedder == nil:
		return nil, release, nil
	case s.endpoint == nil:
		return builtin{l.service.host.Embedder}, release, nil
	case l.grant.Credential != "" && !s.MaySendSecrets(s.endpoint):
		return nil, release, tool.Errorf(l.op, tool.Denied, "the key would travel in the open: the endpoint is plain http").
			WithHint("use https, or let the app file list the host: %s", s.Key("constraints.private_hosts"))
	}
	client := s.Guard().Client(0)
	endpoint, err := embedapi.New(embedapi.Options{
		URL: s.Endpoint, Model: s.Model, Dimensions: s.Dimensions, Key: l.grant.Credential, Timeout: s.TimeLimit(0),
		Client: client,
	})
	if err != nil {
		return nil, release, err
	}
	return remote{endpoint}, client.CloseIdleConnections, nil
}
