package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/durable"
	"callgate/internal/signing"
	"callgate/tool"
)

// kept is a catalog as it was sent.
type kept struct {
	URL       string `json:"url"`
	ETag      string `json:"etag,omitempty"`
	Data      []byte `json:"data"`
	Signature []byte `json:"signature"`
}

// accepted is a catalog that counts.
type accepted struct {
	kept
	signed  time.Time
	tools   []*tool.Tool
	digests map[tool.ID]string
}

// accept checks a catalog, and only then reads it. last is what was accepted before; nil: nothing.
func (c *Catalog) accept(ctx context.Context, k kept, last *accepted) (*accepted, error) {
	v, err := signing.Verify(c.file(), k.Data, k.Signature, c.keys)
	if err != nil {
		return nil, err
	}
	if last != nil {
		if err := v.CheckNewer(last.signed); err != nil {
			return nil, err
		}
	}
	tools, digests, err := parse(c.file(), k.Data)
	if err != nil {
		return nil, err
	}
	if c.opt.Accept != nil {
		if err := c.opt.Accept(ctx, Sent{c.file(), k.Data, k.Signature}); err != nil {
			return nil, err
		}
	}
	return &accepted{k, v.Time, tools, digests}, nil
}

// fetch asks the server; nil: it has what was accepted last.
func (c *Catalog) fetch(ctx context.Context, last *accepted) (*accepted, error) {
	etag := ""
	if last != nil {
		etag = last.ETag
	}
	data, now, err := c.get(ctx, c.url.String(), etag, maxCatalog)
	if err != nil || data == nil {
		return nil, err
	}
	signature, _, err := c.get(ctx, c.url.String()+signing.Suffix, "", signing.MaxSignature)
	if err != nil {
		return nil, err
	}
	return c.accept(ctx, kept{URL: c.url.String(), ETag: now, Data: data, Signature: signature}, last)
}

// get fetches an address; no data: it is still what the ETag says.
func (c *Catalog) get(ctx context.Context, at, etag string, most int64) (data []byte, now string, err error) {
	const op = "remote.List"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, "", err
	}
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the catalog cannot be fetched", Err: err}
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotModified && etag != "":
		return nil, etag, nil
	case answer.StatusCode != http.StatusOK:
		return nil, "", tool.Errorf(op, tool.Unavailable, "the server answers %d for %s",
			answer.StatusCode, tool.Truncate(at))
	}
	data, err = io.ReadAll(io.LimitReader(answer.Body, most+1))
	switch {
	case err != nil:
		return nil, "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the catalog cannot be read", Err: err}
	case int64(len(data)) > most:
		return nil, "", tool.Errorf(op, tool.Invalid, "%s has more than %d bytes", tool.Truncate(at), most)
	case len(data) == 0:
		return nil, "", tool.Errorf(op, tool.Invalid, "%s is empty", tool.Truncate(at))
	}
	if now = answer.Header.Get("ETag"); len(now) > 256 {
		now = ""
	}
	return data, now, nil
}

// path is where the catalog is kept.
func (c *Catalog) path() string {
	sum := sha256.Sum256([]byte(c.url.String()))
	return filepath.Join(c.opt.Cache, hex.EncodeToString(sum[:12])+".json")
}

// touch says that what is kept is what the server has now. Where it cannot, the server is asked sooner.
func (c *Catalog) touch() {
	if c.opt.Cache != "" {
		now := time.Now()
		_ = os.Chtimes(c.path(), now, now)
	}
}

// touched is when the server was last asked for what is kept.
func (c *Catalog) touched() (asked time.Time) {
	if c.opt.Cache == "" {
		return asked
	}
	if info, err := os.Stat(c.path()); err == nil {
		asked = info.ModTime()
	}
	return asked
}

// load returns what was accepted last, or else what was kept, if it counts: whoever can write the
// folder signs nothing.
func (c *Catalog) load(ctx context.Context) *accepted {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if last != nil || c.opt.Cache == "" {
		return last
	}
	f, err := os.Open(c.path())
	if err != nil {
		return nil
	}
	defer f.Close()
	var k kept
	if err := json.NewDecoder(io.LimitReader(f, 2*maxCatalog)).Decode(&k); err != nil || k.URL != c.url.String() {
		return nil
	}
	a, err := c.accept(ctx, k, nil)
	if err != nil {
		return nil
	}
	return a
}

// keep keeps a catalog on disk, and reports why it cannot.
func (c *Catalog) keep(a *accepted) error {
	if c.opt.Cache == "" {
		return nil
	}
	data, err := json.Marshal(a.kept)
	if err == nil {
		err = os.MkdirAll(c.opt.Cache, 0o700)
	}
	if err == nil {
		err = durable.Write(c.path(), data, 0o600)
	}
	if err != nil {
		return &tool.Error{Op: "remote.List", Kind: tool.Failed, Message: "the catalog cannot be kept", Err: err}
	}
	return nil
}
