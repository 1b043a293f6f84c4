package limits

import (
	"encoding/json"
	"fmt"
)

// What a schema may be. The compiler's work grows with the square of its
// subschemas, and each of them holds its own location.
const (
	maxSchemaBytes = 4 << 20
	maxSchemaDepth = 200
	maxSubschemas  = 10_000
)

// ReadSchema reads the text of a schema. The weight is how many subschemas it
// may hold.
func ReadSchema(raw json.RawMessage) (doc any, weight int, err error) {
	if len(raw) > maxSchemaBytes {
		return nil, 0, fmt.Errorf("it is longer than %d bytes", maxSchemaBytes)
	}
	if doc, _, err = Decode(raw); err != nil {
		return nil, 0, err
	}
	err = countSubschemas(doc, 0, &weight)
	return doc, weight, err
}

// countSubschemas counts what may be a subschema.
func countSubschemas(doc any, depth int, weight *int) error {
	switch doc := doc.(type) {
	case map[string]any:
		*weight++
		for _, v := range doc {
			if err := countSubschemas(v, depth+1, weight); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range doc {
			if err := countSubschemas(v, depth+1, weight); err != nil {
				return err
			}
		}
	case bool:
		*weight++
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("it is nested more than %d levels deep", maxSchemaDepth)
	}
	if *weight > maxSubschemas {
		return fmt.Errorf("it holds more than %d subschemas", maxSubschemas)
	}
	return nil
}
