package rag

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/tool"
)

//go:embed list_models.md
var listModelsDoc string

//go:embed migrate_embeddings.md
var migrateDoc string

//go:embed clear_cache.md
var clearDoc string

const modelsOutput = `{
  "type": "object",
  "properties": {
    "models": {"type": "array", "items": {"type": "object", "properties": {
      "model": {"type": "string"}, "current": {"type": "boolean", "description": "Documents are ingested with it now."},
      "bases": {"type": "array", "items": {"type": "string"}, "description": "The knowledge bases that have its vectors."}
    }, "required": ["model", "current", "bases"]}}
  },
  "required": ["models"]
}`

const migrateOutput = `{
  "type": "object",
  "properties": {
    "base": {"type": "string"}, "model": {"type": "string"}, "previous_model": {"type": "string"},
    "chunks": {"type": "integer", "description": "Chunks that have new vectors."}
  },
  "required": ["base", "model", "previous_model", "chunks"]
}`

const clearOutput = `{
  "type": "object",
  "properties": {"dropped": {"type": "integer", "description": "Knowledge bases that were in memory."}},
  "required": ["dropped"]
}`

var modelTags = []string{"embeddings", "model", "vectors", "rag", "knowledge base", "maintenance"}

// modelData is a model of vectors.
type modelData struct {
	Model   string   `json:"model"`
	Current bool     `json:"current"`
	Bases   []string `json:"bases"`
}

func (s *service) listModelsTool() module.Definition {
	r := reads()
	r.Effects = []tool.Effect{{Resource: "rag:", Mode: tool.IS}}
	return module.Definition{
		Name: "list_models", Doc: listModelsDoc, Input: noInput, Output: modelsOutput,
		Examples: []tool.Example{module.Example("all of them", `{}`)},
		Aliases: []string{
			"list_embedding_models", "which embedding model", "embedding models", "modèles d'embeddings",
			"Embedding-Modelle auflisten", "modelos de embeddings", "嵌入模型", "модели эмбеддингов",
		},
		Tags: modelTags, Runtime: r,
		Handler: handler(s, "list_models", false, func(ctx context.Context, c *ragCall, _ struct{}) (*tool.Result, error) {
			current, err := c.ModelID()
			if err != nil {
				return nil, err
			}
			bases, err := c.Bases(ctx)
			if err != nil {
				return nil, err
			}
			all := []modelData{}
			at := map[string]int{}
			place := func(model string) int {
				if _, known := at[model]; !known && model != "" {
					at[model] = len(all)
					all = append(all, modelData{model, model == current, []string{}})
				}
				return at[model]
			}
			place(current)
			for _, b := range bases {
				if b.Model != "" {
					all[place(b.Model)].Bases = append(all[place(b.Model)].Bases, b.Name)
				}
			}
			return module.InWords(modelLines(all), map[string]any{"models": all})
		}),
	}
}

func modelLines(all []modelData) string {
	var lines []string
	for _, m := range all {
		line := m.Model + ": "
		if m.Current {
			line += "in use now; "
		}
		lines = append(lines, line+"knowledge bases: "+cmp.Or(strings.Join(m.Bases, ", "), "none"))
	}
	return cmp.Or(strings.Join(lines, "\n"), "there is no embedding model; words alone count")
}

func (s *service) migrateTool() module.Definition {
	return module.Definition{
		Name: "migrate_embeddings", Doc: migrateDoc, Input: oneBaseInput, Output: migrateOutput,
		Examples: []tool.Example{module.Example("after the app file named another model", `{"base": "contracts"}`)},
		Aliases: []string{
			"migrate", "reembed", "re-embed", "compute the vectors again", "switch the embedding model",
			"migrer les embeddings", "Vektoren neu berechnen", "migrar los embeddings", "迁移嵌入", "пересчитать эмбеддинги",
		},
		Tags: modelTags, Runtime: replaces(),
		Handler: handler(s, "migrate_embeddings", true, migrate),
	}
}

func migrate(ctx context.Context, c *ragCall, in createArgs) (*tool.Result, error) {
	b, err := c.Base(ctx, cmp.Or(in.Base, mainBase))
	if err != nil {
		return nil, err
	}
	model, n, err := c.Migrate(ctx, b)
	if err != nil {
		return nil, err
	}
	words := fmt.Sprintf("%s has vectors of %s for %s", b.Name, model, amount.Of(n, "chunk"))
	if model == "" {
		words = b.Name + " is searched by words alone: there is no embedding model"
	}
	return module.InWords(words, map[string]any{
		"base": b.Name, "model": model, "previous_model": b.Model, "chunks": n,
	})
}

func (s *service) clearTool() module.Definition {
	r := reads()
	r.Effects = []tool.Effect{{Resource: "rag:", Mode: tool.IS}}
	return module.Definition{
		Name: "clear_cache", Doc: clearDoc, Input: noInput, Output: clearOutput,
		Examples: []tool.Example{module.Example("to free memory", `{}`)},
		Aliases: []string{
			"clear", "free the memory of the knowledge bases", "drop the cache", "vider le cache", "Zwischenspeicher leeren",
			"vaciar la caché", "清除缓存", "очистить кэш",
		},
		Tags: modelTags, Runtime: r,
		Handler: handler(s, "clear_cache", false, func(_ context.Context, c *ragCall, _ struct{}) (*tool.Result, error) {
			n := c.Forget()
			return module.InWords(amount.Of(n, "knowledge base")+" dropped from memory; the next question reads it again",
				map[string]any{"dropped": n})
		}),
	}
}
