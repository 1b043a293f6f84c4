package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"callgate/internal/document"
	"callgate/internal/durable"
	"callgate/tool"
)

// maxFile bounds the file of earlier versions, in bytes.
const maxFile = 128 << 20

// imported ends the name of a file that was imported.
const imported = ".imported"

// Import brings the file of earlier versions, one JSON file for all servers,
// into documents, and renames it: .imported is added to its name. Without the
// file nothing is done. A server that has a document already keeps it, so an
// import that was interrupted can be repeated. A damaged file is an error and
// stays as it is: without it everything would be trusted on first use again.
func Import(ctx context.Context, docs Documents, path string) error {
	const op = "trust.Import"
	servers, err := readFile(op, path)
	if err != nil || servers == nil {
		return err
	}
	_, err = document.Update(ctx, docs, func() ([]document.Change, error) {
		var changes []document.Change
		for _, key := range slices.Sorted(maps.Keys(servers)) {
			switch _, err := docs.Get(ctx, collection, key); {
			case err == nil:
				continue
			case tool.KindOf(err) != tool.NotFound:
				return nil, err
			}
			data, err := encode(key, servers[key])
			if err != nil {
				return nil, err
			}
			changes = append(changes, document.Change{Collection: collection, Key: key, Data: data})
		}
		return changes, nil
	})
	if err == nil {
		err = durable.Move(path, path+imported)
	}
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: "what was accepted of MCP servers cannot be moved from " + path + " into the database",
			Hint:    "see that there is space and that the state directory can be written"}
	}
	_ = os.Remove(path + ".lock") // earlier versions locked it while they wrote
	_ = durable.RemovePartials(path, 0)
	return nil
}

// readFile reads the file of earlier versions. Without a file there are no
// servers.
func readFile(op, path string) (map[string]*server, error) {
	data, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: "what was accepted of MCP servers cannot be read from " + path,
			Hint:    "let its owner alone read and write it (mode 0600)"}
	}
	servers, err := decodeFile(data)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Err: err,
			Message: "the file " + path + " of what was accepted of MCP servers is damaged",
			Hint:    "restore it from a copy; or move it away, and every server and its tools will be asked about anew"}
	}
	return servers, nil
}

func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a plain file")
	}
	if err := checkPrivate(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return data, err
}

// file is the file of earlier versions. The sum is of the servers' compact
// JSON.
type file struct {
	Format  int             `json:"format"`
	Sum     Hash            `json:"sum"`
	Servers json.RawMessage `json:"servers"`
}

// decodeFile reads only what earlier versions wrote.
func decodeFile(data []byte) (map[string]*server, error) {
	var f file
	if err := strict(data, &f); err != nil {
		return nil, err
	}
	if f.Format != format {
		return nil, fmt.Errorf("it has format %d, and this program knows %d", f.Format, format)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, f.Servers); err != nil {
		return nil, err
	}
	if sha256.Sum256(compact.Bytes()) != f.Sum {
		return nil, errors.New("its content does not match its sum")
	}
	var servers map[string]*server
	if err := strict(compact.Bytes(), &servers); err != nil {
		return nil, err
	}
	again, err := json.Marshal(servers)
	if err != nil {
		return nil, err
	}
	if servers == nil || !bytes.Equal(again, compact.Bytes()) {
		return nil, errors.New("it is not as it would be written")
	}
	for key, sv := range servers {
		if sv == nil || checkKey("trust.Import", key) != nil {
			return nil, fmt.Errorf("the server %q is empty, or its key cannot be used", tool.Truncate(key))
		}
		if err := sv.check(key); err != nil {
			return nil, err
		}
	}
	return servers, nil
}
