package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"callgate/internal/module/fetch/body"
	"callgate/internal/module/web/document"
	"callgate/internal/module/web/pagecache"
	"callgate/tool"
)

// load returns a page. A page that is kept is used if it is fresh, or if the
// server says that it has not changed; otherwise the page is fetched, and kept.
func (c webCall) load(ctx context.Context, u *url.URL) (page *pagecache.Entry, cached bool, err error) {
	key := pagecache.Key{User: c.user, Rules: c.settings.rules, URL: u.String()}
	kept, fresh := c.findKept(key)
	if fresh {
		return kept, true, nil
	}
	r, err := c.pageRequest(ctx, u)
	if err != nil {
		return nil, false, err
	}
	if kept != nil && kept.ETag != "" {
		r.Header.Set("If-None-Match", kept.ETag)
	}
	if kept != nil && kept.Modified != "" {
		r.Header.Set("If-Modified-Since", kept.Modified)
	}
	resp, err := c.do(r, true)
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && kept != nil {
		c.keep(kept, resp.Header)
		return kept, true, nil
	}
	if resp.StatusCode >= 300 {
		c.kernel.pages.Drop(key)
		return nil, false, c.statusError(resp)
	}
	content, truncated, err := body.ReadAll(resp, c.settings.MaxBytes)
	if err != nil {
		return nil, false, c.failure(r, err)
	}
	page = &pagecache.Entry{
		Key: key, URL: tool.TruncateTo(resp.Request.URL.Redacted(), 4000), Type: resp.Header.Get("Content-Type"),
		ETag: resp.Header.Get("ETag"), Modified: resp.Header.Get("Last-Modified"), Truncated: truncated, Body: content,
	}
	if resp.StatusCode == http.StatusOK {
		c.keep(page, resp.Header)
	}
	return page, false, nil
}

// findKept returns a page that is kept, if it is fresh or if the server can tell
// whether it has changed; otherwise nil.
func (c webCall) findKept(key pagecache.Key) (page *pagecache.Entry, fresh bool) {
	if c.settings.cacheTime() == 0 {
		return nil, false
	}
	page, ok := c.kernel.pages.Get(key)
	if !ok {
		return nil, false
	}
	if now := time.Now(); now.Before(page.Fresh) && now.Before(page.Stored.Add(c.settings.cacheTime())) {
		return page, true
	}
	if !page.CanRevalidate() {
		return nil, false
	}
	return page, false
}

// keep keeps a page for a later call, if its server permits. A page that cannot
// be stored is only slower to read again, so that is not an error.
func (c webCall) keep(page *pagecache.Entry, h http.Header) {
	now, usual := time.Now(), c.settings.cacheTime()
	may, fresh := pagecache.Cacheability(h, now, usual)
	if !may || usual == 0 {
		c.kernel.pages.Drop(page.Key)
		return
	}
	page.Stored, page.Fresh = now, fresh
	_ = c.kernel.pages.Put(page)
}

// sourceOf returns a page as a source of documents.
func sourceOf(page *pagecache.Entry) (document.Source, error) {
	u, err := url.Parse(page.URL)
	if err != nil {
		return document.Source{}, &tool.Error{
			Op: Namespace, Kind: tool.Internal, Message: "the address of the page cannot be parsed again", Err: err,
		}
	}
	return document.Source{URL: u, Type: page.Type, Body: page.Body, Truncated: page.Truncated}, nil
}
