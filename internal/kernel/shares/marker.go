package shares

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/tool"
)

// MarkerName is the file that tells a shared folder from every other. The first node that is given the folder makes it.
const MarkerName = ".callgate-share"

const idLength = 32

// readMarker returns the ID of a shared folder, and makes it if there is none.
func readMarker(folder string) (string, error) {
	const op = "shares.Open"
	path := filepath.Join(folder, MarkerName)
	for range 3 {
		data, err := os.ReadFile(path)
		switch {
		case err == nil:
			id := strings.TrimSpace(string(data))
			if !isID(id) {
				return "", tool.Errorf(op, tool.Invalid, "%s has not the ID of a shared folder in it", path).
					WithHint("give it back what it had; if no node uses the folder, remove the file, and it is made anew")
			}
			return id, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", unusable(folder, err)
		}
		if err := makeMarker(folder, path); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", unusable(folder, err)
		}
	}
	return "", tool.Errorf(op, tool.Unavailable, "%s comes and goes", path).WithHint("see what else changes that folder")
}

func unusable(folder string, err error) error {
	return &tool.Error{
		Op: "shares.Open", Kind: tool.Unavailable, Err: err,
		Message: "the shared folder " + folder + " cannot be used: " + err.Error(),
		Hint:    "see that it is mounted, and that this user may write in it",
	}
}

// makeMarker makes the file whole or not at all: of two nodes that make it at once, the first does.
func makeMarker(folder, path string) error {
	var random [idLength / 2]byte
	_, _ = rand.Read(random[:]) // it never fails
	own, err := os.CreateTemp(folder, MarkerName+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(own.Name()) }()
	_, err = own.WriteString(hex.EncodeToString(random[:]) + "\n")
	if err == nil {
		err = own.Chmod(0o644)
	}
	if err == nil {
		err = own.Sync()
	}
	if closed := own.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Link(own.Name(), path)
	}
	return err
}

func isID(id string) bool {
	_, err := hex.DecodeString(id)
	return err == nil && len(id) == idLength
}
