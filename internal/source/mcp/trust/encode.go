package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"callgate/internal/source/mcp/trust/definition"
)

const format = 1

// envelope is a document. The sum is of the server's key and its compact JSON,
// so that even one changed letter is noticed, and a document under another key.
type envelope struct {
	Format int             `json:"format"`
	Sum    Hash            `json:"sum"`
	Server json.RawMessage `json:"server"`
}

func sumOf(key string, server []byte) Hash {
	return sha256.Sum256(append([]byte(key+"\x00"), server...))
}

// encode writes a document. The same server gives the same bytes.
func encode(key string, sv *server) ([]byte, error) {
	data, err := json.Marshal(sv)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{format, sumOf(key, data), data})
}

// decode reads only what encode wrote.
func decode(key string, data []byte) (*server, error) {
	var e envelope
	if err := strict(data, &e); err != nil {
		return nil, err
	}
	if e.Format != format {
		return nil, fmt.Errorf("it has format %d, and this program knows %d", e.Format, format)
	}
	if sumOf(key, e.Server) != e.Sum {
		return nil, errors.New("its content does not match its sum")
	}
	var sv *server
	if err := strict(e.Server, &sv); err != nil {
		return nil, err
	}
	if sv == nil {
		return nil, errors.New("it is empty")
	}
	if again, err := encode(key, sv); err != nil || !bytes.Equal(again, data) {
		return nil, errors.New("it is not as it would be written")
	}
	return sv, sv.check(key)
}

// strict decodes one JSON value with no fields that v does not have.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows its end")
	}
	return nil
}

// check compares the definitions with their hashes: a definition that is shown
// as accepted is the one that was accepted.
func (sv *server) check(key string) error {
	if sv.Launch != nil && definition.HashWords(sv.Launch.Line) != sv.Launch.Hash {
		return fmt.Errorf("the command line of %q does not match its hash", key)
	}
	for name, r := range sv.Tools {
		switch {
		case r == nil:
			return fmt.Errorf("the tool %q of %q is empty", name, key)
		case r.Accepted != nil && !matches(r.Accepted.Definition, name, r.Accepted.Hash),
			r.Waiting != nil && !matches(r.Waiting.Definition, name, r.Waiting.Hash):
			return fmt.Errorf("the definition of the tool %q of %q does not match its hash", name, key)
		}
	}
	return nil
}

func matches(d Definition, name string, h Hash) bool { return d.Name == name && d.Hash() == h }
