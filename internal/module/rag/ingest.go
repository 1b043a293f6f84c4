package rag

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/rag/library"
	"callgate/tool"
)

//go:embed ingest_text.md
var ingestTextDoc string

//go:embed ingest_file.md
var ingestFileDoc string

//go:embed ingest_folder.md
var ingestFolderDoc string

const ingestTextInput = `{
  "type": "object",
  "properties": {
    "text": {"type": "string", "minLength": 1, "maxLength": 4000000,
      "description": "The text, as Markdown unless the name says otherwise."},
    "name": {"type": "string", "minLength": 1, "maxLength": 200,
      "description": "What the text is called in citations. The same name again replaces it. An ending such as .csv says what it is."},
    ` + baseProperty + `
  },
  "required": ["text", "name"],
  "additionalProperties": false
}`

const ingestFileInput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace or absolute inside it."},
    ` + baseProperty + `
  },
  "required": ["path"],
  "additionalProperties": false
}`

const ingestFolderInput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "default": ".",
      "description": "The folder, relative to the workspace or absolute inside it."},
    "pattern": {"type": "string", "minLength": 1,
      "description": "Only files that match, as docs/**/*.md; every known kind of document unless given."},
    "ignored": {"type": "boolean", "default": false, "description": "Ingest too what .gitignore and .ignore files name."},
    ` + baseProperty + `
  },
  "additionalProperties": false
}`

var ingestTags = []string{"knowledge base", "documents", "rag", "embeddings", "index", "documentation", "Dokumente"}

func (s *service) ingestTextTool() module.Definition {
	return module.Definition{
		Name: "ingest_text", Doc: ingestTextDoc, Input: ingestTextInput, Output: reportOutput,
		Examples: []tool.Example{
			module.Example("a note", `{"name": "meeting 2026-03-02", "text": "# Decisions\n\nThe quay is rebuilt in May."}`),
		},
		Aliases: []string{
			"add_text", "add_document", "ingest", "add a text to the knowledge base", "remember this document",
			"index this text", "ajouter un texte à la base de connaissances", "Text in die Wissensbasis aufnehmen",
			"añadir texto a la base de conocimiento", "把文本加入知识库", "добавить текст в базу знаний",
		},
		Tags: ingestTags, Runtime: adds(),
		Handler: handler(s, "ingest_text", true, func(ctx context.Context, c *ragCall, in ingestArgs) (*tool.Result, error) {
			return c.ingest(ctx, in.Base, func(ctx context.Context, base library.Base) (*library.Report, error) {
				return c.one(c.IngestText(ctx, base, in.Name, in.Text))
			})
		}),
	}
}

type ingestArgs struct {
	Base    string `json:"base"`
	Text    string `json:"text"`
	Name    string `json:"name"`
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
	Ignored bool   `json:"ignored"`
}

func (s *service) ingestFileTool() module.Definition {
	return module.Definition{
		Name: "ingest_file", Doc: ingestFileDoc, Input: ingestFileInput, Output: reportOutput,
		Examples: []tool.Example{
			module.Example("a manual", `{"path": "docs/manual.pdf"}`),
			module.Example("into another base", `{"path": "contracts/2026.docx", "base": "contracts"}`),
		},
		Aliases: []string{
			"add_file", "index_file", "read a document into the knowledge base", "ingest a PDF", "learn this file",
			"indexer un fichier", "Datei in die Wissensbasis aufnehmen", "indexar un archivo", "索引文件", "проиндексировать файл",
		},
		Tags: ingestTags, Runtime: adds(tool.Effect{Resource: "file:{path}", Mode: tool.S}),
		Handler: handler(s, "ingest_file", true, func(ctx context.Context, c *ragCall, in ingestArgs) (*tool.Result, error) {
			return c.ingest(ctx, in.Base, func(ctx context.Context, base library.Base) (*library.Report, error) {
				return c.one(c.IngestFiles(ctx, base, []string{in.Path}))
			})
		}),
	}
}

func (s *service) ingestFolderTool() module.Definition {
	return module.Definition{
		Name: "ingest_folder", Doc: ingestFolderDoc, Input: ingestFolderInput, Output: reportOutput,
		Examples: []tool.Example{
			module.Example("the documentation of the project", `{"path": "docs"}`),
			module.Example("only the Go files", `{"path": "internal", "pattern": "**/*.go", "base": "code"}`),
		},
		Aliases: []string{
			"ingest_directory", "add_folder", "index_directory", "index the documentation", "learn the whole folder",
			"indexer un dossier", "Ordner in die Wissensbasis aufnehmen", "indexar una carpeta", "索引文件夹",
			"проиндексировать папку",
		},
		// Not S, which would keep every write of the folder waiting for as long as documents are read.
		Tags: ingestTags, Runtime: adds(tool.Effect{Resource: "workspace", Mode: tool.IS}),
		Handler: handler(s, "ingest_folder", true, ingestFolder),
	}
}

func ingestFolder(ctx context.Context, c *ragCall, in ingestArgs) (*tool.Result, error) {
	folder := library.Folder{Path: cmp.Or(in.Path, "."), Pattern: in.Pattern, Ignored: in.Ignored}
	return c.ingest(ctx, in.Base, func(ctx context.Context, base library.Base) (*library.Report, error) {
		return c.IngestFolder(ctx, base, folder)
	})
}

// one is the report of a single document, which is an error where it was skipped.
func (c *ragCall) one(report *library.Report, err error) (*library.Report, error) {
	if err == nil && report.SkippedIn > 0 {
		skipped := report.Skipped[0]
		return nil, tool.Errorf(c.op, tool.Invalid, "%s was not ingested: %s", quoted(skipped.Document), quoted(skipped.Why)).
			WithHint("name another document; what was stored of this one before stays")
	}
	return report, err
}

// reportData is what a program is told of an ingestion.
type reportData struct {
	Base string `json:"base"`
	*library.Report
}

// ingest finds or makes a base, and tells what was done to it.
func (c *ragCall) ingest(
	ctx context.Context, name string, run func(context.Context, library.Base) (*library.Report, error),
) (*tool.Result, error) {
	base, err := c.BaseOrNew(ctx, cmp.Or(name, mainBase))
	if err != nil {
		return nil, err
	}
	report, err := run(ctx, base)
	if err != nil {
		return nil, err
	}
	summary := report.Summary(base.Name)
	text := summary
	for _, s := range report.Skipped {
		text += fmt.Sprintf("\nskipped: %s: %s", quoted(s.Document), quoted(s.Why))
	}
	r, err := tool.OK(summary, reportData{base.Name, report})
	if err != nil {
		return nil, err
	}
	r.Content = []tool.Content{tool.Text(text)}
	for _, w := range report.Warnings {
		r.Warnings = append(r.Warnings, quoted(w))
	}
	return r, nil
}

// quoted writes what a document, or the name of one, says: on one line, and as data.
func quoted(text string) string {
	return fence.Value(tool.TruncateTo(strings.Join(strings.Fields(text), " "), 400))
}
