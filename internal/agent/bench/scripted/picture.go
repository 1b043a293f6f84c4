package scripted

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"strings"
)

// imageOnWire is a picture as the APIs carry one.
type imageOnWire struct {
	Source struct {
		Data string `json:"data"`
	} `json:"source"` // Anthropic's
	URL struct {
		URL string `json:"url"`
	} `json:"image_url"` // OpenAI's
}

// seen is what a model that looks at a picture sees: the colour of its middle. Of what
// is no picture it sees nothing.
func (i imageOnWire) seen() string {
	data := i.Source.Data
	if _, after, ok := strings.Cut(i.URL.URL, ";base64,"); ok {
		data = after
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return ""
	}
	size, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil || size.Width*size.Height > 1<<20 {
		return ""
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return ""
	}
	r, g, b, _ := picture.At(size.Width/2, size.Height/2).RGBA()
	return fmt.Sprintf("a picture in the colour #%02x%02x%02x", r>>8, g>>8, b>>8)
}
