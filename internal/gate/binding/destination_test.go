package binding_test

import (
	"fmt"
	"strings"
	"testing"

	"callgate/internal/gate/binding"
	"callgate/tool"
)

// The parameters of foreign tools that say where data goes are known by their names.
func TestDestinationEffects(t *testing.T) {
	t.Parallel()
	for properties, want := range map[string]string{
		`"url":{"type":"string"}`:                                "host:{url|host}",
		`"imageUrl":{"type":"string"}`:                           "host:{imageUrl|host}",
		`"webhook_url":{"type":"string"},"id":{"type":"string"}`: "host:{webhook_url|host}",
		`"URIs":{"type":"array","items":{"type":"string"}}`:      "host:{URIs|host}",
		`"callback":{}`: "host:{callback|host}",
		`"host":{"type":"string"},"port":{"type":"integer"}`:                "to:{host}",
		`"hostName":{"type":["string","null"]}`:                             "to:{hostName}",
		`"hostname":{"type":["string","null"]}`:                             "to:{hostname}",
		`"recipients":{"type":"array"},"endpoint":{"type":"string"}`:        "to:{endpoint} to:{recipients}",
		`"to":{"type":"string"},"subject":{"type":"string"}`:                "to:{to}",
		`"to":{"type":"string"},"from":{"type":"string"}`:                   "",
		`"to":{"type":"string","format":"date"}`:                            "",
		`"to":{"type":"integer"}`:                                           "",
		`"url_count":{"type":"integer"}`:                                    "",
		`"host":{"enum":["a","b"]}`:                                         "",
		`"path":{"type":"string"},"curl":{"type":"string"},"tos":{}`:        "",
		`"url":{"type":"string"},"Url":{"type":"string"}`:                   "",
		`"city":{"type":"string"},"address":{"type":"string"},"ghost":true`: "",
	} {
		var got []string
		for _, e := range binding.DestinationEffects([]byte(`{"properties":{`+properties+`}}`), tool.IS) {
			if param, ok := binding.DestinationParam(e); !ok || !strings.Contains(e.Resource, "{"+param) {
				t.Errorf("%s declares %s, which nobody reads as a destination", properties, e.Resource)
			}
			got = append(got, e.Resource)
		}
		if fmt.Sprint(strings.Join(got, " ")) != want {
			t.Errorf("%s: %q, want %q", properties, got, want)
		}
	}
}
