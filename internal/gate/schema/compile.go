package schema

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"callgate/internal/gate/schema/diagnose"
	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
	"callgate/tool"
)

const patternHint = "patterns are Go's regular expressions (RE2): " +
	"no look-around, no back-references, no \\u escapes, no count above 1000"

// compileError says where a schema is wrong, and why.
func compileError(op string, err error, doc any) error {
	var (
		notValid *jsonschema.SchemaValidationError
		outside  *jsonschema.LoadURLError
		regex    *jsonschema.InvalidRegexError
		wrong    *jsonschema.ValidationError
	)
	switch {
	case errors.As(err, &notValid) && errors.As(notValid.Err, &wrong):
		where := pointer(notValid.URL)
		inner, _ := walk.At(doc, where)
		relocateNameErrors(wrong, inner)
		fields, more := diagnose.Explain(&jsonschema.Schema{}, diagnose.List(wrong), inner, diagnose.MaxNamed)
		for i := range fields {
			fields[i].Path = strings.TrimPrefix(phrase.Path(doc, where)+"."+fields[i].Path, ".")
		}
		message := diagnose.Sentence("the schema is not valid", fields, more)
		e := &tool.Error{Op: op, Kind: tool.Invalid, Fields: fields, Message: message}
		if strings.Contains(e.Message, "a regular expression") {
			e.Hint = patternHint
		}
		return e
	case errors.As(err, &outside):
		return compileLoadError(op, outside.URL, doc)
	case errors.As(err, &regex):
		return tool.Errorf(op, tool.Invalid, "the schema cannot be used: the pattern %q at %s is not understood: %s",
			phrase.Truncate(regex.Regex, 2*phrase.MaxGot), phrase.Truncate(local(regex.URL), phrase.MaxPath),
			phrase.Truncate(regex.Err.Error(), phrase.MaxWant)).
			WithHint(patternHint)
	default:
		text := phrase.Truncate(local(err.Error()), phrase.MaxWant)
		return tool.Errorf(op, tool.Invalid, "the schema cannot be used: %s", text)
	}
}

func compileLoadError(op, url string, doc any) error {
	if root, ok := doc.(map[string]any); ok {
		if dialect, _ := root["$schema"].(string); dialect != "" && strings.TrimSuffix(dialect, "#") == url {
			return tool.Errorf(op, tool.Invalid, "the schema is written in the dialect %q, which is not known",
				phrase.Truncate(dialect, phrase.MaxPath)).
				WithHint(`leave $schema out for 2020-12, or use "http://json-schema.org/draft-07/schema#"`)
		}
	}
	return tool.Errorf(op, tool.Invalid, "the schema refers to %q, which lies outside it and is never loaded",
		phrase.Truncate(local(url), phrase.MaxPath)).
		WithHint("put the definition under $defs and refer to it as #/$defs/name")
}

// propertyOf is a property of the object under a keyword.
type propertyOf struct{ keyword, name string }

// relocateNameErrors restores the locations of errors about property names in
// doc. The library stores such a location in memory that later errors overwrite
// (see propertyNamesRule), and its own meta-schemas report bad patterns this way.
// The original location of an error is lost, but the errors about one name under
// one keyword are all alike.
func relocateNameErrors(err *jsonschema.ValidationError, doc any) {
	errs := map[propertyOf][]*jsonschema.ValidationError{}
	var collect func(err *jsonschema.ValidationError)
	collect = func(err *jsonschema.ValidationError) {
		rule := pointer(err.SchemaURL)
		if k, ok := err.ErrorKind.(*kind.PropertyNames); ok && len(rule) > 1 {
			property := propertyOf{rule[len(rule)-2], k.Property}
			errs[property] = append(errs[property], err)
		}
		for _, cause := range err.Causes {
			collect(cause)
		}
	}
	collect(err)
	if len(errs) == 0 {
		return
	}
	eachProperty(doc, nil, func(property propertyOf, path []string) {
		if left := errs[property]; len(left) > 0 {
			left[0].InstanceLocation, errs[property] = path, left[1:]
		}
	})
}

// eachProperty calls found for each property of each object below the root, with
// the path of the object, in a fixed order.
func eachProperty(doc any, path []string, found func(property propertyOf, path []string)) {
	path = slices.Clip(path)
	switch doc := doc.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(doc)) {
			if len(path) > 0 {
				found(propertyOf{path[len(path)-1], name}, path)
			}
			eachProperty(doc[name], append(path, name), found)
		}
	case []any:
		for i, v := range doc {
			eachProperty(v, append(path, strconv.Itoa(i)), found)
		}
	}
}

// local removes the URL that schemas are compiled under from a location.
func local(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, base+"#", "#"), base, "")
}

// pointer splits the JSON pointer at the end of a location. A location without
// one means the whole document.
func pointer(location string) []string {
	_, fragment, _ := strings.Cut(location, "#")
	if !strings.HasPrefix(fragment, "/") {
		return nil
	}
	tokens := strings.Split(fragment[1:], "/")
	for i, token := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(unescape(token))
	}
	return tokens
}
