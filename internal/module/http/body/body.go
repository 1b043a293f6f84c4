// Package body reads the bodies of HTTP responses: out of their compression,
// into UTF-8, and into one of the few sorts that matter to a reader.
package body

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// Accepted are the encodings that Unpack knows, for the header Accept-Encoding.
const Accepted = "gzip, deflate, br, zstd"

const (
	maxLayers = 3       // encodings around one body; a real one has one
	maxWindow = 8 << 20 // of memory that a compressed body may ask for, as browsers have it
)

// Decompress reads a body as it was before it was compressed. It bounds memory,
// not length: whoever reads must stop. known is false where an encoding is not
// one of ours, and the body is then given as it is. done lets go of what the
// reading took.
func Decompress(resp *http.Response) (body io.Reader, done func(), known bool, err error) {
	body, done = resp.Body, func() {}
	var names []string
	for _, name := range strings.Split(strings.Join(resp.Header.Values("Content-Encoding"), ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
			names = append(names, name)
		}
	}
	if len(names) > maxLayers {
		return nil, done, false, fmt.Errorf("the body is compressed %d times over", len(names))
	}
	for i := len(names) - 1; i >= 0; i-- {
		var next io.Reader
		switch names[i] {
		case "gzip", "x-gzip":
			next, err = gzip.NewReader(body)
		case "deflate":
			next, err = inflate(body)
		case "br":
			next = brotli.NewReader(body)
		case "zstd":
			var z *zstd.Decoder
			z, err = zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderLowmem(true))
			if err == nil {
				before := done
				done = func() { z.Close(); before() }
				next = z
			}
		default:
			return resp.Body, done, i < len(names)-1, nil
		}
		if err == io.EOF && i == len(names)-1 {
			return strings.NewReader(""), done, true, nil // an empty body says that it is compressed
		}
		if err != nil {
			return nil, done, true, fmt.Errorf("the body is not the %s it says it is: %w", names[i], err)
		}
		body = next
	}
	return body, done, true, nil
}

// inflate reads deflate, with the wrapping that the standard asks for or
// without it, as some servers send it.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9_.:-]+)["']`)

// Text takes a text to UTF-8: from what its mark says, or else the header, or
// the document itself. name is the encoding where it was another, and lossy
// tells that some bytes meant nothing in it.
func Text(body []byte, contentType string) (text string, name string, lossy bool) {
	enc, label, certain := charset.DetermineEncoding(body, contentType)
	if !certain {
		if m := xmlEncoding.FindSubmatch(body[:min(len(body), 1024)]); m != nil {
			if e, n := charset.Lookup(string(m[1])); e != nil {
				enc, label = e, n
			}
		}
		if label == "windows-1252" && utf8.Valid(body) {
			enc, label = encoding.Nop, "utf-8" // the fallback of browsers, where nothing asks for it
		}
	}
	if label == "utf-8" || enc == encoding.Nop {
		body = bytes.TrimPrefix(body, []byte("\ufeff"))
		if utf8.Valid(body) {
			return string(body), "", false
		}
		return strings.ToValidUTF8(string(body), "\ufffd"), "", true
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\ufffd"), "", true
	}
	text = strings.TrimPrefix(strings.ToValidUTF8(string(out), "\ufffd"), "\ufeff")
	return text, label, false
}

// Kind is what sort of body one is.
type Kind int

// The sorts.
const (
	Binary  Kind = iota // bytes that mean nothing to a reader
	Plain               // text
	JSON                // text that says it is JSON
	Picture             // of a type that models can see
)

// KindOf judges by what the response says, and by the bytes where it says
// nothing that helps.
func KindOf(contentType string, body []byte) Kind {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	switch {
	case kind == "application/json", strings.HasSuffix(kind, "+json"), kind == "text/json":
		return JSON
	case kind == "image/png", kind == "image/jpeg", kind == "image/gif", kind == "image/webp":
		return Picture
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+xml"), strings.HasSuffix(kind, "+yaml"), strings.HasSuffix(kind, "/xml"), textual[kind]:
		return Plain
	case kind != "" && kind != "application/octet-stream" && kind != "binary/octet-stream" && kind != "unknown/unknown":
		return Binary
	}
	head := body[:min(len(body), 4096)]
	switch {
	case strings.HasPrefix(http.DetectContentType(head), "text/") && !bytes.ContainsRune(head, 0):
		return Plain
	default:
		return Binary
	}
}

// textual are types that are text though their names do not begin so.
var textual = map[string]bool{
	"application/xml": true, "application/javascript": true, "application/ecmascript": true, "application/x-javascript": true,
	"application/x-ndjson": true, "application/ndjson": true, "application/jsonl": true, "application/jsonlines": true, "application/json-seq": true, "application/json5": true,
	"application/yaml": true, "application/x-yaml": true, "application/toml": true, "application/x-sh": true, "application/sql": true,
	"application/graphql": true, "application/x-www-form-urlencoded": true, "application/csv": true, "application/x-tex": true,
	"application/pgp-signature": true, "application/x-pem-file": true, "application/mbox": true, "message/rfc822": true,
}
