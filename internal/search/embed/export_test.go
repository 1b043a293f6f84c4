package embed

// LoadBuiltin is what Builtin does on its first call.
func LoadBuiltin() (*Static, error) { return newStatic(builtinID, builtinModel, builtinTokenizer) }
