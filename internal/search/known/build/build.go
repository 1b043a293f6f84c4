// Package build makes the file of known requests.
package build

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"callgate/internal/search/known"
	"callgate/tool"
)

// Tool is a tool, and requests that it answers.
type Tool struct {
	Server, Name, Description string
	Requests                  []string
}

const (
	// blockTools is how many tools are compressed together. Those of a server are neighbours, so
	// that a server's tools need few blocks.
	blockTools  = 256
	maxRequests = 16 // what a search reads of a tool
)

// Encode makes the file. A tool that cannot be recognised is left out, and of two that cannot be
// told apart the second adds its requests to the first's.
func Encode(tools []Tool) ([]byte, error) {
	tools = merged(tools)
	order := make([]int, len(tools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(known.NameHash(tools[a].Name), known.NameHash(tools[b].Name))
	})
	file := []byte(known.Magic)
	blocks := (len(tools) + blockTools - 1) / blockTools
	file = binary.LittleEndian.AppendUint32(file, uint32(len(tools)))
	file = binary.LittleEndian.AppendUint32(file, uint32(blocks))
	for _, i := range order {
		sketch, _ := known.NewSketch(tools[i].Description)
		file = known.Entry(file, known.NameHash(tools[i].Name), i/blockTools, i%blockTools, sketch)
	}
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, tool.Errorf("known/build.Encode", tool.Internal, "the requests cannot be compressed: %w", err)
	}
	var content []byte
	for group := range slices.Chunk(tools, blockTools) {
		var text []string
		for _, t := range group {
			text = append(text, strings.Join(t.Requests, "\n"))
		}
		content = packer.EncodeAll([]byte(strings.Join(text, "\x00")), content)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(content)))
	}
	return append(file, content...), nil
}

// merged returns the tools that can be recognised, in the order of their servers, each once.
func merged(tools []Tool) []Tool {
	byName := map[uint32][]int{}
	var list []Tool
	for _, t := range tools {
		sketch, ok := known.NewSketch(t.Description)
		if t.Requests = readable(t.Requests); !ok || len(t.Requests) == 0 {
			continue
		}
		hash := known.NameHash(t.Name)
		same := slices.IndexFunc(byName[hash], func(i int) bool {
			other, _ := known.NewSketch(list[i].Description)
			return other == sketch
		})
		if same >= 0 {
			twin := &list[byName[hash][same]]
			twin.Requests = readable(append(twin.Requests, t.Requests...))
			continue
		}
		byName[hash] = append(byName[hash], len(list))
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b Tool) int { return cmp.Compare(a.Server, b.Server) })
	return list
}

// readable returns the requests that a search reads, each once and on one line.
func readable(requests []string) []string {
	var list []string
	for _, s := range requests {
		s = strings.Join(strings.Fields(strings.ReplaceAll(s, "\x00", " ")), " ")
		if s != "" && !slices.Contains(list, s) && len(list) < maxRequests {
			list = append(list, s)
		}
	}
	return list
}

// ReadOwn reads a file of our own requests, in the order of its lines: server, tool, description,
// language and request, with a tab between them.
func ReadOwn(in io.Reader) ([]Tool, error) {
	const op = "known/build.ReadOwn"
	var tools []Tool
	at := map[[3]string]int{}
	scanner := bufio.NewScanner(in)
	for line := 1; scanner.Scan(); line++ {
		columns := strings.Split(scanner.Text(), "\t")
		if len(columns) != 5 || slices.Contains(columns, "") {
			return nil, tool.Errorf(op, tool.Invalid, "line %d has not the five columns server, tool, description, "+
				"language and request", line)
		}
		id := [3]string(columns[:3])
		i, ok := at[id]
		if !ok {
			i = len(tools)
			at[id] = i
			tools = append(tools, Tool{Server: columns[0], Name: columns[1], Description: columns[2]})
		}
		tools[i].Requests = append(tools[i].Requests, columns[4])
	}
	if err := scanner.Err(); err != nil {
		return nil, tool.Errorf(op, tool.Failed, "the requests cannot be read: %w", err)
	}
	return tools, nil
}
