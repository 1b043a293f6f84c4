// Package body reads the bodies of HTTP responses: out of their compression,
// within a limit, and into UTF-8.
//
// A body is bounded by what it decompresses to, never by what was sent: a few
// kilobytes can hold gigabytes of blanks.
package body

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Accepted lists the compressions that a Reader undoes, as the header
// Accept-Encoding names them.
const Accepted = "gzip, deflate, br, zstd"

const (
	maxLayers = 3       // compressions around one body; a real body has one
	maxWindow = 8 << 20 // memory that a compressed body may ask for; browsers grant as much
)

// Reader reads a body as it was before it was compressed. It must be closed;
// the response's own body stays the caller's to close.
type Reader struct {
	// Encoded reports that the body is in a compression that is not known
	// here. It is then read as it was sent.
	Encoded bool

	content io.Reader
	read    int // bytes so far
	release []func()
}

// NewReader returns a reader of a response's body.
func NewReader(resp *http.Response) (*Reader, error) {
	r := &Reader{content: resp.Body}
	names := compressions(resp.Header)
	if len(names) > maxLayers {
		return nil, fmt.Errorf("the body is compressed %d times over", len(names))
	}
	if slices.ContainsFunc(names, func(name string) bool { return decompressors[name] == nil }) {
		r.Encoded = true
		return r, nil
	}
	for i, name := range slices.Backward(names) { // the last was applied last
		next, release, err := decompressors[name](r.content)
		if err == io.EOF && i == len(names)-1 {
			r.content = strings.NewReader("") // an empty body that calls itself compressed
			return r, nil
		}
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("the body is not the %s it says it is: %w", name, err)
		}
		r.content = next
		if release != nil {
			r.release = append(r.release, release)
		}
	}
	return r, nil
}

// Next returns the next bytes of the body, limit of them or all that are left.
func (r *Reader) Next(limit int) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r.content, int64(limit)))
	if r.read += len(content); err != nil {
		return nil, fmt.Errorf("the body broke off after %d bytes: %w", r.read, err)
	}
	return content, nil
}

// Close releases the memory of the decompression.
func (r *Reader) Close() {
	for _, release := range slices.Backward(r.release) {
		release()
	}
	r.release = nil
}

// ReadAll returns the first limit bytes of a body, and whether there is more. A
// body in an unknown compression is an error.
func ReadAll(resp *http.Response, limit int) (content []byte, truncated bool, err error) {
	r, err := NewReader(resp)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	if r.Encoded {
		return nil, false, fmt.Errorf("the body is compressed in a way that is not known here: %s",
			strings.Join(compressions(resp.Header), ", "))
	}
	if content, err = r.Next(limit + 1); err != nil {
		return nil, false, err
	}
	if len(content) > limit {
		return content[:limit], true, nil
	}
	return content, false, nil
}

// compressions returns the names of a body's compressions, the first applied
// first.
func compressions(h http.Header) []string {
	var names []string
	for name := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
			names = append(names, name)
		}
	}
	return names
}

// decompressor undoes one compression. Release may be nil. None of them bounds
// the length of what it reads; they bound its memory.
type decompressor func(io.Reader) (content io.Reader, release func(), err error)

var decompressors = map[string]decompressor{
	"gzip": gunzip, "x-gzip": gunzip, "deflate": inflate, "br": unbrotli, "zstd": unzstd,
}

func gunzip(r io.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(r)
	return z, nil, err
}

func unbrotli(r io.Reader) (io.Reader, func(), error) { return brotli.NewReader(r), nil, nil }

func unzstd(r io.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

// inflate reads deflate, in the zlib format that the standard asks for or raw,
// as some servers send it.
func inflate(r io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		return nil, nil, err
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		z, err := zlib.NewReader(b)
		return z, nil, err
	}
	return flate.NewReader(b), nil, nil
}
