package openapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/durable"
	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Fetched is a document that was reached over the network, as it is kept on disk.
type Fetched struct {
	URL  string    `json:"url"`
	ETag string    `json:"etag,omitempty"`
	At   time.Time `json:"at"` // when its server last said that it is so
	Data []byte    `json:"-"`
}

// fetchTime is how long a document may take to come.
const fetchTime = 30 * time.Second

// Kept returns the copy of a document that lies in a folder, or nil.
func Kept(folder, address string) *Fetched {
	path := keptPath(folder, address)
	meta, err := os.ReadFile(path + ".json")
	if err != nil {
		return nil
	}
	var f Fetched
	if json.Unmarshal(meta, &f) != nil || f.URL != address {
		return nil
	}
	if f.Data, err = os.ReadFile(path + ".document"); err != nil || len(f.Data) == 0 || len(f.Data) > MaxDocument {
		return nil
	}
	return &f
}

func keptPath(folder, address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(folder, hex.EncodeToString(sum[:12]))
}

// Fetch asks for the document of an API. What was kept before is returned, with a new time, where
// its server says that it has not changed.
func Fetch(ctx context.Context, cfg Config, kept *Fetched) (*Fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	guard, err := netguard.New(netguard.Rules{Private: cfg.PrivateHosts, Setting: Setting + cfg.Name})
	if err != nil {
		return nil, err
	}
	client := guard.Client(maxRedirects)
	defer client.CloseIdleConnections()
	return get(ctx, client, cfg.Document, kept)
}

func get(ctx context.Context, client *http.Client, address string, kept *Fetched) (*Fetched, error) {
	const op = "openapi.Fetch"
	u, err := url.Parse(address)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "%q is not a URL", tool.Truncate(address))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the document %s cannot be asked for: %w", u.Redacted(), err)
	}
	req.Header.Set("User-Agent", "callgate")
	req.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.8")
	req.Header.Set("Accept-Encoding", body.Accepted)
	if kept != nil && kept.ETag != "" {
		req.Header.Set("If-None-Match", kept.ETag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fetch.Call{Op: op}.Failure(ctx, u.Host, err, fetchTime)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && kept != nil:
		return &Fetched{URL: kept.URL, ETag: kept.ETag, At: time.Now(), Data: kept.Data}, nil
	case resp.StatusCode != http.StatusOK:
		return nil, tool.Errorf(op, tool.Failed, "%s answered %d %s to the request for the document %s",
			u.Host, resp.StatusCode, fetch.StatusText(resp), u.Redacted()).WithHint("check the address")
	}
	data, truncated, err := body.ReadAll(resp, MaxDocument)
	switch {
	case err != nil:
		return nil, fetch.Call{Op: op}.Failure(ctx, u.Host, err, fetchTime)
	case truncated:
		return nil, tool.Errorf(op, tool.Limited, "the document %s is longer than %d MiB", u.Redacted(), MaxDocument>>20).
			WithHint("name a smaller one")
	}
	return &Fetched{URL: address, ETag: resp.Header.Get("ETag"), At: time.Now(), Data: data}, nil
}

// Keep writes the copy into a folder; changed says that the document itself is another than the one there.
func (f *Fetched) Keep(folder string, changed bool) error {
	path := keptPath(folder, f.URL)
	meta, err := json.Marshal(f)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil && changed {
		err = durable.Write(path+".document", f.Data, 0o600)
	}
	if err == nil {
		err = durable.Write(path+".json", meta, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the copy of %s cannot be kept: %w", f.URL, err)
	}
	return nil
}
