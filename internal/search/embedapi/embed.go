package embedapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"callgate/tool"
)

const op = "endpoint.EmbedAll"

// The number of tries, and the time between them.
const (
	tries     = 3
	firstWait = 250 * time.Millisecond
	maxWait   = 10 * time.Second // if the server asks for more, there is no further try
)

// The limits of an answer: about 8,000 numbers in JSON for each text.
const (
	bytesPerText = 256 << 10
	bytesBeside  = 1 << 20
)

type request struct {
	Model      string   `json:"model,omitempty"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// EmbedAll returns a vector of length one for each text, in their order. It sends
// batches, one after another, and tries again if the server is busy or cannot be
// reached. A batch that is too large for the server is halved.
//
// With an error it returns the vectors of the batches before it, for
// texts[:len(vectors)]. It refuses an empty text before it sends anything.
func (e *Endpoint) EmbedAll(ctx context.Context, texts []string) ([][]float32, error) {
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, tool.Errorf(op, tool.Invalid, "text %d of %d is empty: there is nothing to embed", i+1, len(texts))
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, stopped(ctx).err
	}
	vectors := make([][]float32, 0, len(texts))
	for size := e.batch; len(vectors) < len(texts); {
		part := texts[len(vectors):min(len(vectors)+size, len(texts))]
		rows, f := e.try(ctx, part)
		if f == nil && len(vectors) > 0 && len(rows[0]) != len(vectors[0]) {
			f = e.malformedError("the vectors have %d numbers now, and had %d in the batch before",
				len(rows[0]), len(vectors[0]))
		}
		switch {
		case f == nil:
			e.health.succeeded()
			vectors = append(vectors, rows...)
		case f.splitBatch && len(part) > 1:
			size = len(part) / 2
		default:
			if f.unhealthy {
				e.health.failed(time.Now(), f.after)
			}
			return vectors, f.err
		}
	}
	return vectors, nil
}

// try sends one batch, several times if that may help and there is time.
func (e *Endpoint) try(ctx context.Context, texts []string) ([][]float32, *failure) {
	wait := firstWait
	for n := 1; ; n++ {
		rows, f := e.post(ctx, texts)
		if f == nil || !f.retry || n == tries {
			return rows, f
		}
		pause := wait
		if f.asked {
			pause = f.after
		}
		if deadline, ok := ctx.Deadline(); pause > maxWait || ok && time.Until(deadline) <= pause {
			return nil, f // there is no time to wait
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			s := stopped(ctx)
			s.unhealthy, s.after = f.unhealthy, f.after // the server failed before the caller cancelled
			return nil, s
		}
		wait *= 2
	}
}

// post sends one request.
func (e *Endpoint) post(ctx context.Context, texts []string) ([][]float32, *failure) {
	body, err := json.Marshal(request{e.model, texts, "float", e.dimensions})
	if err != nil {
		return nil, &failure{err: tool.Errorf(op, tool.Internal, "the texts cannot be written as JSON: %w", err)}
	}
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, &failure{err: tool.Errorf(op, tool.Internal, "no request can be made for %s: %w", e.url, err)}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	// Embedding is idempotent. With this header, which it does not send, the
	// transport may repeat the request on a new connection if the old one broke.
	req.Header["Idempotency-Key"] = nil
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	res, err := e.client.Do(req)
	if err != nil {
		return nil, e.unreachableError(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, e.refused(res)
	}
	limit := int64(bytesBeside + bytesPerText*len(texts))
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, e.unreachableError(ctx, err)
	case int64(len(data)) > limit:
		return nil, e.malformedError("it is longer than %d bytes for %d texts", limit, len(texts))
	}
	return e.read(data, len(texts))
}
