package llmtools

import (
	"path/filepath"

	"callgate/internal/app/node"
	"callgate/internal/provider/catalog"
)

// Catalog is a file of models.
type Catalog struct {
	Path     string
	Models   *catalog.Overlay
	FromUser bool // it is named in the user's own file: its prices count as they are
}

// Table returns what is known of models: the embedded table, with the app's files laid over it.
func (b Block) Table() *catalog.Catalog {
	table := catalog.Default()
	for _, c := range b.Catalogs {
		table = table.With(c.Models, c.FromUser)
	}
	return table
}

// readCatalog reads a file of models.
func readCatalog(r *node.Reader, e node.Entry, folder string) (Catalog, bool) {
	text, path := r.File(e, folder, catalog.MaxFile)
	if path == "" {
		return Catalog{}, false
	}
	models, err := catalog.ParseOverlay([]byte(text))
	if err != nil {
		const remedy = `write {"models": [{"provider": "openai", "model": "gpt-5.4-nano", "price": {"in": 0.05, "out": 0.4}}]}`
		r.Fail(e.At, remedy, "%s is no file of models: %v", node.Quote(filepath.Base(path)), err)
		return Catalog{}, false
	}
	return Catalog{Path: path, Models: models}, true
}
