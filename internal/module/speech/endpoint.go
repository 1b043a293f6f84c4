package speech

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/tool"
)

// apiCall is one call of a tool that asks the endpoint.
type apiCall struct {
	fetch.Call
	settings *endpointSettings
	client   *http.Client
}

func callOf(op string, g tool.Grant, s *endpointSettings, client *http.Client) apiCall {
	return apiCall{fetch.Call{Op: op, Grant: g, Settings: &s.Settings}, s, client}
}

// send posts a body to the endpoint, and returns an answer that is a success. The caller closes it.
func (c apiCall) send(ctx context.Context, path, contentType string, content io.Reader) (*http.Response, error) {
	if c.Grant.Credential != "" && !c.settings.MaySendSecrets(c.settings.endpoint) {
		return nil, tool.Errorf(c.Op, tool.Denied, "the key would travel in the open: the endpoint is plain http").
			WithHint("use https, or let the app file list the host: %s", c.settings.Key("constraints.private_hosts"))
	}
	u := c.settings.endpoint.JoinPath(path)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), content)
	if err != nil {
		return nil, tool.Errorf(c.Op, tool.Invalid, "the request cannot be made: %w", err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", c.settings.UserAgent)
	if c.Grant.Credential != "" {
		r.Header.Set("Authorization", "Bearer "+c.Grant.Credential)
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, c.refused(resp)
	}
	return resp, nil
}

func (c apiCall) failure(ctx context.Context, err error) error {
	return c.Failure(ctx, c.settings.endpoint.Host, err, c.settings.TimeLimit(0))
}

// maxSaid bounds what is read of an answer that is an error or a text.
const maxSaid = 4 << 20

// refused makes an error of a status that is not a success.
func (c apiCall) refused(resp *http.Response) error {
	content, _, _ := body.ReadAll(resp, maxSaid)
	var said struct{ Error struct{ Message string } }
	message := fmt.Sprintf("%d %s", resp.StatusCode, fetch.StatusText(resp))
	if json.Unmarshal(content, &said) == nil && said.Error.Message != "" {
		message = said.Error.Message
	}
	out := tool.Errorf(c.Op, tool.Failed, "%s says: %s", c.settings.endpoint.Host, tool.Truncate(message))
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		out.Kind, out.Hint = tool.Denied, "the key is missing or not accepted: the user stores a valid one with "+
			"callgate secrets set NAME, and names it in "+c.settings.Key("credential")
	case status == http.StatusNotFound:
		out.Hint = "check " + c.settings.Key("config.endpoint") + " (it ends with /v1 at most servers) and " +
			c.settings.Key("config.model")
	case status == http.StatusTooManyRequests:
		out.Kind, out.Hint = tool.Limited, fetch.RetryAfter(resp.Header)
	case status < 500:
		out.Kind, out.Hint = tool.Invalid, "mend the arguments, or the model and the voice in the app file"
	default:
		out.Hint = "the server failed: " + fetch.RetryAfter(resp.Header)
	}
	return out
}
