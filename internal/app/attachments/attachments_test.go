package attachments_test

import (
	"strings"
	"testing"

	"callgate/internal/app/attachments"
	"callgate/llm"
	"callgate/tool"
)

const png = "\x89PNG\r\n\x1a\n"

// message is one with pictures.
func message(all ...string) llm.Message {
	m := llm.TextMessage(llm.User, "look")
	for _, data := range all {
		m.Parts = append(m.Parts, llm.Part{Image: &llm.Image{MIME: "image/png", Data: []byte(data)}})
	}
	return m
}

func TestCheck(t *testing.T) {
	t.Parallel()
	large := png + strings.Repeat("x", 9<<20)
	eleven := strings.Split(strings.Repeat(png+",", 11), ",")[:11]
	images := attachments.Rules{Said: true, Image: true}
	for _, c := range []struct {
		name  string
		rules attachments.Rules
		m     llm.Message
		want  string // in the error; "": none
	}{
		{"nothing is said", attachments.Rules{}, message(append(eleven, "no picture")...), ""},
		{"words", attachments.Rules{Said: true}, message(), ""},
		{"a picture", images, message(png), ""},
		{"the other forms", images, message("\xff\xd8\xff\xe0", "GIF89a", "RIFF....WEBPVP8 "), ""},
		{"a sound", images, message("RIFF....WAVEfmt "), "no picture"},
		{"a picture where none is taken", attachments.Rules{Said: true}, message(png), "takes no pictures"},
		{"something else by that name", images, message("%PDF-1.7 ..."), "attachment 1 is called image/png and is no picture"},
		{"a page by that name", images, message(png, "<html><script>"), "attachment 2"},
		{"nothing by that name", images, message(""), "no picture"},
		{"too many", images, message(eleven...), "11 attachments"},
		{"too large", images, message(png + strings.Repeat("x", 10<<20)), "attachment 1 has"},
		{"too large together", images, message(large, large, large), "together"},
	} {
		err := c.rules.Check(c.m)
		if c.want == "" && err != nil || c.want != "" &&
			(tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if both := images.And(attachments.Rules{Said: true}); both.Image || !both.Said {
		t.Errorf("of two files the stricter counts: %+v", both)
	}
}
