// Package blocktext writes the blocks and properties of the Notion API as Markdown.
package blocktext

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Block is one block of a page.
type Block struct {
	ID          string
	Type        string
	HasChildren bool
	Children    []Block // that were read
	Left        bool    // there is more inside than was read

	content content
}

// content is what a block of any type may hold.
type content struct {
	RichText   []RichText      `json:"rich_text"`
	Caption    []RichText      `json:"caption"`
	Checked    bool            `json:"checked"`
	Language   string          `json:"language"`
	Title      string          `json:"title"`
	Expression string          `json:"expression"`
	URL        string          `json:"url"`
	Name       string          `json:"name"`
	Cells      [][]RichText    `json:"cells"`
	External   link            `json:"external"`
	File       link            `json:"file"`
	Icon       json.RawMessage `json:"icon"`
}

type link struct {
	URL string `json:"url"`
}

// UnmarshalJSON reads a block, whose content stands under the name of its type.
func (b *Block) UnmarshalJSON(data []byte) error {
	var head struct {
		ID          string `json:"id"`
		Type        string `json:"type"`
		HasChildren bool   `json:"has_children"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	*b = Block{ID: head.ID, Type: head.Type, HasChildren: head.HasChildren}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if raw, ok := fields[head.Type]; ok {
		_ = json.Unmarshal(raw, &b.content) // a type that is not known is named, not shown
	}
	return nil
}

// RichText is a piece of text with its form.
type RichText struct {
	PlainText   string `json:"plain_text"`
	Href        string `json:"href"`
	Annotations struct {
		Bold          bool `json:"bold"`
		Italic        bool `json:"italic"`
		Strikethrough bool `json:"strikethrough"`
		Code          bool `json:"code"`
	} `json:"annotations"`
}

// Plain is a text without its form.
func Plain(text []RichText) string {
	var b strings.Builder
	for _, t := range text {
		b.WriteString(t.PlainText)
	}
	return b.String()
}

// markdown is a text with its form.
func markdown(text []RichText) string {
	var b strings.Builder
	for _, t := range text {
		b.WriteString(t.markdown())
	}
	return b.String()
}

func (t RichText) markdown() string {
	inner := strings.TrimSpace(t.PlainText)
	if inner == "" {
		return t.PlainText
	}
	before, after, _ := strings.Cut(t.PlainText, inner)
	is := t.Annotations
	for _, form := range []struct {
		on   bool
		mark string
	}{{is.Code, "`"}, {is.Strikethrough, "~~"}, {is.Italic, "*"}, {is.Bold, "**"}} {
		if form.on {
			inner = form.mark + inner + form.mark
		}
	}
	if t.Href != "" && t.Href != t.PlainText {
		inner = fmt.Sprintf("[%s](%s)", inner, t.Href)
	}
	return before + inner + after
}
