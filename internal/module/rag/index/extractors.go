package index

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"

	"callgate/internal/module"
	"callgate/internal/module/rag/library"
	"callgate/tool"
)

//go:embed register_extractor.md
var extractorDoc string

const extractorInput = `{
  "type": "object",
  "properties": {
    ` + sourceProperty + `,
    "pattern": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The files, in the source's folder, as **/*.tf."},
    "definition": {"type": "string", "minLength": 1, "maxLength": 500,
      "description": "A regular expression (RE2) for the lines that begin a definition. Its first group is the name."},
    "comments": {"type": "array", "maxItems": 8, "items": {"type": "string", "minLength": 1, "maxLength": 10},
      "description": "How a line of a comment begins, which belongs to the definition below it."}
  },
  "required": ["source", "pattern", "definition"],
  "additionalProperties": false
}`

const extractorOutput = `{
  "type": "object",
  "properties": {
    "source": {"type": "string"}, "replaced": {"type": "boolean"},
    "extractors": {"type": "array", "items": {"type": "object", "properties": {
      "pattern": {"type": "string"}, "definition": {"type": "string"}, "comments": {"type": "array", "items": {"type": "string"}}
    }, "required": ["pattern", "definition"]}}
  },
  "required": ["source", "replaced", "extractors"]
}`

// maxExtractors bounds those of a source.
const maxExtractors = 16

type extractorArgs struct {
	Source string `json:"source"`
	library.Extractor
}

func (s *service) extractorTool() module.Definition {
	return module.Definition{
		Name: "register_extractor", Doc: extractorDoc, Input: extractorInput, Output: extractorOutput,
		Examples: []tool.Example{
			module.Example("blocks of Terraform",
				`{"source": "infra", "pattern": "**/*.tf", "definition": "^(?:resource|module|data) .*\"([\\w-]+)\"", "comments": ["#"]}`),
			module.Example("messages of Protocol Buffers",
				`{"source": "api", "pattern": "**/*.proto", "definition": "^(?:message|service|enum) (\\w+)", "comments": ["//"]}`),
		},
		Aliases: []string{
			"add_extractor", "teach the index a language", "divide files by a regular expression", "custom chunking",
			"apprendre un langage à l'index", "dem Index eine Sprache beibringen", "enseñar un lenguaje al índice",
			"注册提取器", "добавить правило разбора",
		},
		Tags: tags, Runtime: writes(), Handler: handler(s, "register_extractor", true, registerExtractor),
	}
}

func registerExtractor(ctx context.Context, c *indexCall, in extractorArgs) (*tool.Result, error) {
	if _, err := in.Compile(c.op); err != nil {
		return nil, err
	}
	base, err := c.Base(ctx, in.Source)
	if err != nil {
		return nil, noSource(err)
	}
	f, err := folderOf(base)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(f.Extractors, func(x library.Extractor) bool { return x.Pattern == in.Pattern })
	switch {
	case at >= 0:
		f.Extractors[at] = in.Extractor
	case len(f.Extractors) == maxExtractors:
		return nil, tool.Errorf(c.op, tool.Limited, "the source %s has %d extractors already", in.Source, maxExtractors).
			WithHint("give one for several patterns: **/*.{tf,hcl}")
	default:
		f.Extractors = append(f.Extractors, in.Extractor)
	}
	stored, err := json.Marshal(f)
	if err == nil {
		err = c.Describe(ctx, base, string(stored))
	}
	if err != nil {
		return nil, err
	}
	return module.InWords("the next scan of "+in.Source+" reads "+in.Pattern+" by this",
		map[string]any{"source": in.Source, "replaced": at >= 0, "extractors": f.Extractors})
}
