package web

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"callgate/internal/module/web/politeness"
)

// acceptedEncodings are the compressions that are unpacked.
const acceptedEncodings = "gzip, deflate, br, zstd"

const (
	maxLayers   = 3       // compressions around one body; a real one has one
	maxWindow   = 8 << 20 // of memory that a compressed body may ask for, as browsers have it
	robotsBytes = politeness.MaxRobots
)

// body is what a server sent, unpacked.
type body struct {
	raw       []byte
	truncated bool // there was more
}

// readBody reads a body, most bytes of it when unpacked.
func readBody(resp *http.Response, most int) (body, error) {
	r, done, err := unpack(resp)
	defer done()
	if err != nil {
		return body{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return body{}, fmt.Errorf("the body broke off after %s: %w", size(int64(len(raw))), err)
	}
	if len(raw) > most {
		return body{raw[:most], true}, nil
	}
	return body{raw, false}, nil
}

// unpack reads a body as it was before it was compressed. It bounds memory, not
// length: whoever reads must stop. done lets go of what the reading took.
func unpack(resp *http.Response) (r io.Reader, done func(), err error) {
	r, done = resp.Body, func() {}
	var names []string
	for name := range strings.SplitSeq(strings.Join(resp.Header.Values("Content-Encoding"), ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
			names = append(names, name)
		}
	}
	if len(names) > maxLayers {
		return nil, done, fmt.Errorf("the body is compressed %d times over", len(names))
	}
	for i := len(names) - 1; i >= 0; i-- {
		var next io.Reader
		switch names[i] {
		case "gzip", "x-gzip":
			next, err = gzip.NewReader(r)
		case "deflate":
			next, err = inflate(r)
		case "br":
			next = brotli.NewReader(r)
		case "zstd":
			var z *zstd.Decoder
			z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderLowmem(true))
			if err == nil {
				before := done
				done = func() { z.Close(); before() }
				next = z
			}
		default:
			err = fmt.Errorf("nobody here knows the compression")
		}
		if err == io.EOF && i == len(names)-1 {
			return strings.NewReader(""), done, nil // an empty body says that it is compressed
		}
		if err != nil {
			return nil, done, fmt.Errorf("the body is not the %s it says it is: %w", names[i], err)
		}
		r = next
	}
	return r, done, nil
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
