package browser

import (
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"

	"callgate/tool"
)

// toMarkdown writes what a reader sees of a page as markdown. The HTML comes from our
// script in the page: plain, without scripts, its addresses absolute.
func toMarkdown(html, address string) (string, error) {
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(), table.NewTablePlugin(),
	))
	var options []converter.ConvertOptionFunc
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		options = append(options, converter.WithDomain(u.Scheme+"://"+u.Host))
	}
	text, err := c.ConvertString(html, options...)
	if err != nil {
		return "", tool.Errorf(Namespace, tool.Failed, "the page could not be written as markdown: %w", err).
			WithHint(`read it with format "tree"`)
	}
	return strings.TrimSpace(text), nil
}
