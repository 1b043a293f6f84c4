package llmtool

import (
	"cmp"
	"slices"
	"strings"

	"callgate/tool"
)

// checkVariants reports the first mistake of the variants.
func (d Definition) checkVariants() error {
	const op = "llmtool.Define"
	seen := map[string]bool{}
	defaults := 0
	for _, v := range d.Variants {
		switch {
		case v.ID == "":
			return tool.Errorf(op, tool.Invalid, "the tool %s has a variant without an id", d.ID)
		case seen[v.ID]:
			return tool.Errorf(op, tool.Invalid, "the tool %s has two variants %s", d.ID, v.ID)
		case len(v.OutputSchema) > 0 && !isObject(v.OutputSchema):
			return tool.Errorf(op, tool.Invalid, "the tool %s: the output schema of its variant %s is no JSON object",
				d.ID, v.ID)
		}
		for _, name := range v.Models {
			if _, _, err := SplitModel(name); err != nil {
				return err
			}
		}
		seen[v.ID] = true
		if v.Default {
			defaults++
		}
	}
	if defaults > 1 {
		return tool.Errorf(op, tool.Invalid, "the tool %s has %d default variants", d.ID, defaults).
			WithHint("let one of them be the default")
	}
	return nil
}

// For returns the definition as it is for one model and one mode: with the fields of the variant
// that fits best, whose id it returns too. Among the variants of the mode, or those of no mode, or
// all where there are none of these, the one that names the model comes first, then the one that names its
// provider, then one whose Match fits, then the default, then the first that names nobody. Where
// none fits, the definition's own prompt is used; if it has none, that is an error.
func (d Definition) For(target Target, mode string) (Definition, string, error) {
	if len(d.Variants) == 0 {
		return d, "", nil
	}
	v, ok := d.choose(target, mode)
	if !ok {
		if strings.TrimSpace(d.UserTemplate) != "" {
			return d, "", nil
		}
		ids := make([]string, len(d.Variants))
		for i, v := range d.Variants {
			ids[i] = v.ID
		}
		return d, "", tool.Errorf("llmtool.For", tool.Invalid, "the tool %s has no variant for %s; it has %s",
			d.ID, target.Name(), strings.Join(ids, ", ")).WithHint("make one of them the default")
	}
	d.SystemPrompt = cmp.Or(v.SystemPrompt, d.SystemPrompt)
	d.UserTemplate = cmp.Or(v.UserTemplate, d.UserTemplate)
	if len(v.OutputExample) > 0 {
		d.OutputExample = v.OutputExample
	}
	if len(v.OutputSchema) > 0 {
		d.OutputSchema = v.OutputSchema
	}
	if v.ResolveMaxTokens != nil {
		d.ResolveMaxTokens = v.ResolveMaxTokens
	}
	return d, v.ID, nil
}

// choose picks a variant.
func (d Definition) choose(target Target, mode string) (Variant, bool) {
	among := d.Variants
	for _, ofMode := range []func(Variant) bool{
		func(v Variant) bool { return slices.Contains(v.Modes, mode) },
		func(v Variant) bool { return len(v.Modes) == 0 },
	} {
		if slices.ContainsFunc(among, ofMode) {
			among = slices.DeleteFunc(slices.Clone(among), func(v Variant) bool { return !ofMode(v) })
			break
		}
	}
	name := target.Name()
	for _, fits := range []func(Variant) bool{
		func(v Variant) bool { return slices.Contains(v.Models, name) },
		func(v Variant) bool { return slices.Contains(v.Providers, target.Provider) },
		func(v Variant) bool {
			return slices.ContainsFunc(v.Match, func(part string) bool { return part != "" && strings.Contains(name, part) })
		},
		func(v Variant) bool { return v.Default },
		func(v Variant) bool { return len(v.Models)+len(v.Providers)+len(v.Match) == 0 },
	} {
		if i := slices.IndexFunc(among, fits); i >= 0 {
			return among[i], true
		}
	}
	if i := slices.IndexFunc(d.Variants, func(v Variant) bool { return v.Default }); i >= 0 {
		return d.Variants[i], true
	}
	return Variant{}, false
}
