// Command searchchart draws what `callgate bench search --json` measured, for
// the documentation:
//
//	callgate bench search --json SET ... | go run ./scripts/searchchart -svg docs/pictures/search-quality.svg
//	callgate bench search --json SET ... | go run ./scripts/searchchart -markdown
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"callgate/internal/search/eval"
)

const op = "searchchart"

func main() {
	picture := flag.String("svg", "", "draw nDCG@10 into this file")
	markdown := flag.Bool("markdown", false, "write a table in Markdown to standard output")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *picture, *markdown); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, picture string, markdown bool) error {
	var reports []eval.Named
	if err := json.NewDecoder(in).Decode(&reports); err != nil {
		return fmt.Errorf("standard input is not what callgate bench search --json writes: %w", err)
	}
	if markdown {
		if err := writeMarkdown(out, reports); err != nil {
			return err
		}
	}
	if picture == "" {
		return nil
	}
	f, err := os.Create(picture)
	if err != nil {
		return err
	}
	return errors.Join(writeSVG(f, reports), f.Close())
}

// writeMarkdown writes a table in Markdown, with the best in bold.
func writeMarkdown(w io.Writer, reports []eval.Named) error {
	escapes := strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;")
	var b strings.Builder
	for n, row := range eval.Rows(reports) {
		for _, c := range row {
			text := escapes.Replace(c.Text)
			if c.Best {
				text = "**" + text + "**"
			}
			b.WriteString("| " + text + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			b.WriteString(strings.Repeat("|---", eval.NameColumns) + strings.Repeat("|--:", len(row)-eval.NameColumns) + "|\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
