package notion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/tool"
)

// version is the version of the API that is spoken: the first in which a database has sources.
const version = "2025-09-03"

// maxAnswer bounds one answer of the server; a hundred rows are far below it.
const maxAnswer = 8 << 20

type lease = fetch.Lease[settings, *http.Client]

// apiCall is one call of the tool.
type apiCall struct {
	fetch.Call
	settings *settings
	client   *http.Client
	requests int // that were sent
	left     int // blocks with more inside than was read
}

// maxRequests bounds what one call asks of the server, which allows about three a second.
const maxRequests = 40

func (c *apiCall) checkToken() error {
	switch {
	case c.Grant.Credential == "":
		return tool.Errorf(c.Op, tool.Failed, "Notion needs a token, and there is none").
			WithHint("the user makes an internal integration in Notion, stores its token with "+
				"callgate secrets set NOTION_TOKEN, writes %s: NOTION_TOKEN, and shares the pages with the integration", c.settings.Key("credential"))
	case !c.settings.MaySendSecrets(c.settings.endpoint):
		return tool.Errorf(c.Op, tool.Denied, "the token for Notion would travel in the open: its endpoint is plain http").
			WithHint("use https, or let the app file list the host: %s", c.settings.Key("constraints.private_hosts"))
	}
	return nil
}

var idPattern = lazyregexp.New(`(?i)(?:^|[^0-9a-f])([0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})/?$`)

// id finds the ID in what a model gives: an ID, with or without dashes, or a link. In a link
// it ends the path; the query of a link names the view of a database.
func (c *apiCall) id(what, given string) (string, error) {
	text := strings.TrimSpace(given)
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		text = u.Path
		if open := u.Query().Get("p"); what == "page" && open != "" {
			text = open // the page that is shown above a database
		}
	}
	found := idPattern.FindStringSubmatch(text)
	if found == nil {
		return "", tool.Errorf(c.Op, tool.Invalid, "%q is not the ID or the link of a %s", tool.Truncate(given), what).
			WithHint("find it with search; an ID is 32 hexadecimal digits")
	}
	return strings.ToLower(strings.ReplaceAll(found[1], "-", "")), nil
}

// apiError is how the server says what is wrong.
type apiError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// do sends a request, and decodes what comes back.
func (c *apiCall) do(ctx context.Context, method, path string, query url.Values, send, into any) error {
	if c.requests++; c.requests > maxRequests {
		return tool.Errorf(c.Op, tool.Limited, "the call needs more than %d requests to Notion", maxRequests).
			WithHint("ask for less at a time")
	}
	u := c.settings.endpoint.JoinPath("v1", path)
	u.RawQuery = query.Encode()
	var content []byte
	if send != nil {
		var err error
		if content, err = json.Marshal(send); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(content))
	if err != nil {
		return tool.Errorf(c.Op, tool.Invalid, "the request cannot be made: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Grant.Credential)
	r.Header.Set("Notion-Version", version)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", c.settings.UserAgent)
	resp, err := c.client.Do(r)
	if err != nil {
		return c.Failure(ctx, u.Host, err, c.settings.TimeLimit(0))
	}
	defer resp.Body.Close()
	got, truncated, err := body.ReadAll(resp, maxAnswer)
	switch {
	case err != nil:
		return c.Failure(ctx, u.Host, err, c.settings.TimeLimit(0))
	case resp.StatusCode != http.StatusOK:
		return c.refused(resp, got)
	case truncated:
		return tool.Errorf(c.Op, tool.Failed, "Notion's answer is too large").WithHint("ask for less: a smaller limit")
	}
	if err := json.Unmarshal(got, into); err != nil {
		return tool.Errorf(c.Op, tool.Failed, "%s answered what is not of the Notion API: %v", u.Host, err).
			WithHint("check %s", c.settings.Key("config.endpoint"))
	}
	return nil
}

// refused makes an error of a status that is not a success.
func (c *apiCall) refused(resp *http.Response, content []byte) *tool.Error {
	var said apiError
	if json.Unmarshal(content, &said) != nil || said.Message == "" {
		said.Message = fmt.Sprintf("%d %s", resp.StatusCode, fetch.StatusText(resp))
	}
	out := tool.Errorf(c.Op, tool.Failed, "Notion says: %s", tool.Truncate(said.Message))
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		out.Kind = tool.Denied
		out.Hint = "the token is not accepted: the user stores a valid one with callgate secrets set"
	case resp.StatusCode == http.StatusForbidden:
		out.Kind, out.Hint = tool.Denied, "the integration may not read this: the user gives it the capability in Notion"
	case resp.StatusCode == http.StatusNotFound:
		out.Kind = tool.NotFound
		out.Hint = "check the ID, or find it with search; the user may have to share it with the integration"
	case resp.StatusCode == http.StatusBadRequest:
		out.Kind = tool.Invalid
		out.Hint = "mend the arguments; a database without a filter shows the names of its properties"
	case resp.StatusCode == http.StatusTooManyRequests:
		out.Kind, out.Hint = tool.Limited, fetch.RetryAfter(resp.Header)
	case resp.StatusCode >= 500:
		out.Hint = "Notion failed: " + fetch.RetryAfter(resp.Header)
	}
	return out
}
