package limits

import (
	"encoding/json"
	"fmt"
)

// The limits of a schema. The compiler's work grows with the square of the number
// of subschemas, and each of them holds its own location.
const (
	maxSchemaBytes = 4 << 20
	maxSchemaDepth = 200
	maxSubschemas  = 10_000
)

// ReadSchema decodes the text of a schema. The weight is an upper bound of the
// number of its subschemas.
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

// countSubschemas counts the values that may be subschemas.
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
