package rag_test

import (
	"encoding/json"
	"net/http"
)

// answer answers as an embeddings endpoint does: a vector of the letters of each text.
func answer(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Input []string }
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	type vector struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var data []vector
	for i, text := range asked.Input {
		v := make([]float32, 27)
		for _, c := range text {
			if v[26] += 0.1; c >= 'a' && c <= 'z' {
				v[c-'a']++
			}
		}
		data = append(data, vector{i, v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}
