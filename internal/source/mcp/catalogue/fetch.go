package catalogue

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"callgate/tool"
)

// The bounds of asking a registry.
const (
	fetchTimeout = 30 * time.Second
	maxPages     = 50
)

// Open reads the catalogue at a place: a file, or the address of a file or of a registry, which is asked for what has
// a word.
func Open(ctx context.Context, place, word string) (entries []Entry, bad int, err error) {
	if !strings.Contains(place, "://") {
		f, err := os.Open(place)
		if err != nil {
			return nil, 0, tool.Errorf(op, tool.NotFound, "the catalogue cannot be opened: %w", err)
		}
		defer f.Close()
		return Read(f)
	}
	u, err := url.Parse(place)
	if err != nil || u.Host == "" || u.User != nil ||
		u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, 0, tool.Errorf(op, tool.Invalid, "%s is no address of a catalogue", quote(place)).
			WithHint("write https://…, or the path of a file")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	isFile := path.Ext(u.Path) == ".json"
	if !isFile && !strings.HasSuffix(u.Path, "/servers") {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/v0/servers"
	}
	query := u.Query()
	if !isFile {
		query.Set("limit", "100")
		if word != "" {
			query.Set("search", word)
		}
	}
	for range maxPages {
		u.RawQuery = query.Encode()
		some, wrong, next, err := fetch(ctx, u.String())
		if err != nil {
			return nil, 0, err
		}
		entries, bad = append(entries, some...), bad+wrong
		if next == "" || isFile || len(entries) > maxEntries {
			return entries, bad, nil
		}
		query.Set("cursor", next)
	}
	return entries, bad, nil
}

func fetch(ctx context.Context, address string) (entries []Entry, bad int, next string, err error) {
	client := &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 || r.URL.Scheme != "https" && !loopback(r.URL.Hostname()) {
			return errors.New("it leads elsewhere than a catalogue may")
		}
		return nil
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, "", tool.Errorf(op, tool.Invalid, "the address cannot be asked: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, "", tool.Errorf(op, tool.Unavailable, "the catalogue cannot be reached: %w", err).
			WithHint("this machine may be offline: name a copy with --catalog FILE")
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, 0, "", tool.Errorf(op, tool.Unavailable, "the catalogue answers %d", response.StatusCode).
			WithHint("look at the address, or name a copy with --catalog FILE")
	}
	return read(response.Body)
}
