package embed

import (
	"crypto/sha256"
	_ "embed" // for the model
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/klauspost/compress/zstd"

	"callgate/tool"
)

// scheme is the version of the computation. It must change whenever the same
// files give other vectors.
const scheme = "static1"

// The files of a model, and their largest sizes.
const (
	modelFile     = "model.safetensors"
	tokenizerFile = "tokenizer.json"
	configFile    = "config.json"
	packedSuffix  = ".zst" // of a tokenizer.json that is compressed

	maxModel     = 1<<31 - 1
	maxTokenizer = 256 << 20
	maxConfig    = 1 << 20
)

// Open reads a model from a folder into memory. Numbers keep the types that they
// have in the file.
func Open(dir string) (*Static, error) {
	model, err := readWhole(dir, modelFile, maxModel)
	if err != nil {
		return nil, err
	}
	tokenizer, err := readTokenizer(dir)
	if err != nil {
		return nil, err
	}
	config, err := readWhole(dir, configFile, maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := checkConfig(config); err != nil {
		return nil, err
	}
	return newStatic(contentID(model, tokenizer, config), model, tokenizer)
}

// readTokenizer reads the tokenizer of a folder, which may be compressed.
func readTokenizer(dir string) (string, error) {
	text, err := readWhole(dir, tokenizerFile, maxTokenizer)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	packed, packedErr := readWhole(dir, tokenizerFile+packedSuffix, maxTokenizer)
	if packedErr != nil {
		return "", err // about the name that a folder usually has
	}
	return unpack([]byte(packed))
}

// unpack decompresses a tokenizer.
func unpack(packed []byte) (string, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxTokenizer))
	if err != nil {
		return "", tool.Errorf(op, tool.Internal, "the model's tokenizer cannot be decompressed: %w", err)
	}
	defer d.Close()
	text, err := d.DecodeAll(packed, nil)
	if err != nil {
		name := tokenizerFile + packedSuffix
		return "", tool.Errorf(op, tool.Invalid, "the model's %s cannot be decompressed: %w", name, err).
			WithHint("it is damaged, or holds more than %d bytes: fetch it again", maxTokenizer)
	}
	return unsafe.String(unsafe.SliceData(text), len(text)), nil // nothing else holds the bytes, and a copy is 4 MB
}

// readWhole reads a file of a model's folder.
func readWhole(dir, name string, maxSize int64) (string, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if err != nil {
		return "", unreadable(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", unreadable(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return "", tool.Errorf(op, tool.Invalid, "%s is not a file of at most %d bytes", path, maxSize)
	}
	var text strings.Builder
	text.Grow(int(info.Size()))
	if _, err := io.Copy(&text, io.LimitReader(f, info.Size())); err != nil {
		return "", unreadable(err)
	}
	return text.String(), nil
}

func unreadable(err error) error {
	kind := tool.Failed
	if errors.Is(err, fs.ErrNotExist) {
		kind = tool.NotFound
	}
	return tool.Errorf(op, kind, "the model cannot be read: %w", err).
		WithHint("its folder must hold %s and %s", modelFile, tokenizerFile)
}

// checkConfig refuses a config that is not valid. No key of it, normalize
// included, changes the direction of a vector.
func checkConfig(config string) error {
	if config == "" {
		return nil
	}
	var c struct {
		Normalize *bool `json:"normalize"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return tool.Errorf(op, tool.Invalid, "the model's %s cannot be read: %w", configFile, err)
	}
	return nil
}

// contentID is the ID of a model: a hash of its files.
func contentID(model, tokenizer, config string) string {
	h := sha256.New()
	for _, part := range []string{model, tokenizer, config} {
		sum := sha256.New()
		io.WriteString(sum, part)
		h.Write(sum.Sum(nil))
	}
	return scheme + "-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// The files of the built-in model. The rows stay in the program's file: the
// system reads the pages that are used and may drop them again, and no row is
// ever on the heap.
var (
	//go:embed multilingual/model.safetensors
	builtinModel string
	//go:embed multilingual/tokenizer.json.zst
	builtinTokenizer []byte
)

// builtinID is the content ID of the built-in model. It is a constant because
// hashing the files would read 26 MB at every start. A test compares the two.
const builtinID = "static1-50e1ad08f086653d1e4988d0481a3aa4"

var builtin = sync.OnceValues(loadBuiltin)

func loadBuiltin() (*Static, error) {
	tokenizer, err := unpack(builtinTokenizer)
	if err != nil {
		return nil, err
	}
	return newStatic(builtinID, builtinModel, tokenizer)
}

// Builtin is the built-in model. The first call loads it, which takes some tens
// of milliseconds.
func Builtin() (*Static, error) { return builtin() }
