package phrase

import "strings"

// Format names a format and shows a sample value.
func Format(format string) string {
	article := "a "
	if strings.ContainsAny(format[:min(1, len(format))], "aei") {
		article = "an "
	}
	if format == "regex" {
		return "a regular expression"
	}
	if sample := Sample(format); sample != "" {
		return article + format + " such as " + sample
	}
	return article + Truncate(format, MaxGot)
}

// Sample returns a realistic value of a format, or "".
func Sample(format string) string {
	switch format {
	case "date-time":
		return "2026-01-31T09:00:00Z"
	case "date":
		return "2026-01-31"
	case "time":
		return "09:00:00Z"
	case "duration":
		return "PT30M"
	case "period":
		return "2026-01-31T09:00:00Z/PT30M"
	case "email", "idn-email":
		return "name@example.com"
	case "hostname", "idn-hostname":
		return "example.com"
	case "ipv4":
		return "192.0.2.1"
	case "ipv6":
		return "2001:db8::1"
	case "uri", "iri":
		return "https://example.com"
	case "uri-reference", "iri-reference":
		return "/path"
	case "uri-template":
		return "https://example.com/{id}"
	case "uuid":
		return "123e4567-e89b-42d3-a456-426614174000"
	case "json-pointer":
		return "/items/0"
	case "relative-json-pointer":
		return "0/items"
	case "semver":
		return "1.2.3"
	case "regex":
		return "^[a-z]+$"
	default:
		return ""
	}
}
