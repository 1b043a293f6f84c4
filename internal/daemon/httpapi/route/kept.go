package route

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// Kept is an answer that is kept, for whoever asks the API itself and looks at what it says.
type Kept struct {
	Status int
	Body   bytes.Buffer
	header http.Header
}

// NewKept makes one to which nothing was written.
func NewKept() *Kept { return &Kept{header: http.Header{}, Status: http.StatusOK} }

// Header is the answer's header.
func (k *Kept) Header() http.Header { return k.header }

// WriteHeader keeps the status.
func (k *Kept) WriteHeader(status int) { k.Status = status }

// Write keeps the body.
func (k *Kept) Write(p []byte) (int, error) { return k.Body.Write(p) }

// ID is that of what was opened; empty: nothing was.
func (k *Kept) ID() string {
	var opened struct {
		ID string `json:"id"`
	}
	if k.Status >= http.StatusMultipleChoices || json.Unmarshal(k.Body.Bytes(), &opened) != nil {
		return ""
	}
	return opened.ID
}

// CopyTo gives the answer to whoever asked.
func (k *Kept) CopyTo(w http.ResponseWriter) {
	for name, values := range k.header {
		w.Header()[name] = values
	}
	w.WriteHeader(k.Status)
	_, _ = w.Write(k.Body.Bytes()) // the client may have left
}
