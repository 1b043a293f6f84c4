package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"callgate/internal/module/web/document"
	"callgate/internal/module/web/pagecache"
	"callgate/tool"
)

// load gets a page: the one that is kept, if it is fresh or the server says
// that it has not changed, or else a new one, which is kept in turn.
func (e httpCall) load(ctx context.Context, u *url.URL) (page *loaded, cached bool, err error) {
	key := pagecache.Key{User: e.user, Rules: e.settings.rules, URL: u.String()}
	usual := time.Duration(e.settings.CacheMinutes * float64(time.Minute))
	var kept *pagecache.Entry
	if usual > 0 {
		if found, ok := e.desk.pages.Get(key); ok {
			now := time.Now()
			if now.Before(found.Fresh) && now.Before(found.Stored.Add(usual)) {
				return &loaded{found}, true, nil
			}
			if found.CanRevalidate() {
				kept = found
			}
		}
	}
	r, err := e.get(ctx, u)
	if err != nil {
		return nil, false, err
	}
	if kept != nil {
		if kept.ETag != "" {
			r.Header.Set("If-None-Match", kept.ETag)
		}
		if kept.Modified != "" {
			r.Header.Set("If-Modified-Since", kept.Modified)
		}
	}
	resp, err := e.do(r, true)
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && kept != nil {
		e.keep(kept, resp.Header, usual)
		return &loaded{kept}, true, nil
	}
	if resp.StatusCode >= 300 {
		e.desk.pages.Drop(key)
		return nil, false, e.statusError(resp)
	}
	got, err := readBody(resp, e.settings.MaxBytes)
	if err != nil {
		return nil, false, e.fail(r, err)
	}
	entry := &pagecache.Entry{
		Key: key, URL: tool.TruncateTo(resp.Request.URL.Redacted(), 4000), Type: resp.Header.Get("Content-Type"),
		ETag: resp.Header.Get("ETag"), Modified: resp.Header.Get("Last-Modified"), Truncated: got.truncated, Body: got.raw,
	}
	if resp.StatusCode == http.StatusOK {
		e.keep(entry, resp.Header, usual)
	}
	return &loaded{entry}, false, nil
}

// keep keeps a page for a later call, if its server lets it. That it cannot be
// kept does not matter to anybody now.
func (e httpCall) keep(entry *pagecache.Entry, h http.Header, usual time.Duration) {
	now := time.Now()
	may, fresh := pagecache.Cacheability(h, now, usual)
	if !may || usual == 0 {
		e.desk.pages.Drop(entry.Key)
		return
	}
	entry.Stored, entry.Fresh = now, fresh
	_ = e.desk.pages.Put(entry)
}

// loaded is a page that was got, from wherever.
type loaded struct{ *pagecache.Entry }

// source is the page as documents are read from.
func (l *loaded) source() (document.Source, error) {
	u, err := url.Parse(l.URL)
	if err != nil {
		return document.Source{}, &tool.Error{Op: Namespace, Kind: tool.Internal, Message: "the address of the page cannot be read again", Err: err}
	}
	return document.Source{URL: u, Type: l.Type, Body: l.Body, Truncated: l.Truncated}, nil
}
