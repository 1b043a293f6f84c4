package embed

// LoadBuiltin is what Builtin does on its first call.
func LoadBuiltin() (*Static, error) { return loadBuiltin() }

// ReadTokenizer reads the tokenizer of a folder.
func ReadTokenizer(dir string) (string, error) { return readTokenizer(dir) }
