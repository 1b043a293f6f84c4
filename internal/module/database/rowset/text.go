package rowset

import (
	"encoding/json"
	"strings"
)

// Text writes a row, as [Writer.Scan] gives it, for those who search it: a line for each value
// that says something. Bytes do not.
func Text(names []string, cells []any) string {
	var lines []string
	for i, cell := range cells {
		if m, ok := cell.(map[string]any); ok && m["base64"] != nil {
			continue
		}
		if text := strings.TrimSpace(Plain(cell)); text != "" && i < len(names) {
			lines = append(lines, names[i]+": "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// Plain writes one value of a row: a text as it is, bytes in base64, NULL as nothing.
func Plain(cell any) string {
	switch cell := cell.(type) {
	case nil:
		return ""
	case string:
		return cell
	case map[string]any:
		if text, ok := cell["base64"].(string); ok && cell["bytes"] != nil {
			return text
		}
	}
	data, _ := json.Marshal(cell) // it came from JSON
	return string(data)
}
