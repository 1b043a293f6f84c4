// Command knownrequests makes the file of known requests that the program carries, from the
// requests for tools of a catalog and from our own:
//
//	go run ./scripts/knownrequests -catalog ../shared/bench/mcp-catalog/tools.jsonl \
//	    -requests ../shared/model/requests/requests.tsv.zst -own internal/search/known/own.tsv \
//	    -out internal/search/known/known.bin
//
// With -measure it writes nothing, and measures instead what carried requests give: those of the
// kinds A and C are carried, those of B and D are asked.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"callgate/internal/search/known/build"
)

func main() {
	catalog := flag.String("catalog", "", "tools.jsonl of the catalog")
	requests := flag.String("requests", "", "requests.tsv.zst: tool, kind, language and request")
	own := flag.String("own", "", "our own requests: server, tool, description, language and request")
	out := flag.String("out", "", "the file to write")
	measure := flag.Int("measure", 0, "ask so many requests of each kind instead")
	strangers := flag.Bool("strangers", false, "of -measure: ask for tools of which nothing is carried")
	flag.Parse()
	if err := run(*catalog, *requests, *own, *out, *measure, *strangers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(catalog, requests, own, out string, measure int, strangers bool) error {
	tools, err := readCatalog(catalog)
	if err != nil {
		return err
	}
	asked, err := readRequests(requests)
	if err != nil {
		return err
	}
	if measure > 0 {
		return compare(tools, asked, measure, strangers)
	}
	f, err := os.Open(own)
	if err != nil {
		return err
	}
	defer f.Close()
	list, err := build.ReadOwn(f)
	if err != nil {
		return fmt.Errorf("%s: %w", own, err)
	}
	data, err := build.Encode(append(list, carried(tools, asked, "ABCD")...))
	if err != nil {
		return err
	}
	fmt.Printf("%d bytes\n", len(data))
	return os.WriteFile(out, data, 0o644)
}

// catalogTool is a tool of the catalog.
type catalogTool struct {
	ID, Name, Description, Server string
	Parameters                    json.RawMessage
}

func readCatalog(path string) ([]catalogTool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var tools []catalogTool
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var t catalogTool
		if err := d.Decode(&t); err == io.EOF {
			return tools, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tools = append(tools, t)
	}
}

// request is one request, for the tool of an ID.
type request struct{ id, kind, text string }

func readRequests(path string) ([]request, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := zstd.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var list []request
	scanner := bufio.NewScanner(d)
	for scanner.Scan() {
		if columns := strings.Split(scanner.Text(), "\t"); len(columns) == 4 {
			list = append(list, request{columns[0], columns[1], columns[3]})
		}
	}
	return list, scanner.Err()
}

// carried returns the tools of the catalog with their requests of some kinds.
func carried(tools []catalogTool, asked []request, kinds string) []build.Tool {
	byID := map[string][]string{}
	for _, r := range asked {
		if strings.Contains(kinds, r.kind) {
			byID[r.id] = append(byID[r.id], r.text)
		}
	}
	var list []build.Tool
	for _, t := range tools {
		if len(byID[t.ID]) > 0 {
			list = append(list, build.Tool{Server: t.Server, Name: t.Name, Description: t.Description, Requests: byID[t.ID]})
		}
	}
	return list
}
