package hook_test

import (
	"errors"
	"strings"
	"testing"

	"callgate/internal/hook"
	"callgate/tool"
)

// A place stands where its value is a word, never where a program reads it as code.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`gofmt -l {{tool.path}}`,
		`sort -o {{tool.path}} {{tool.path}}`,
		`echo "lines: $(wc -l < {{tool.path}})"`,
		`echo -e "changed {{tool.path}}"`,
		`wc -c {{tool.path}}`,
		`test -e {{tool.path}} && cat {{tool.path}}`,
		`[ -e "{{tool.path}}" ] || exit 0`,
		`[[ {{tool.path}} == *.go ]] && gofmt -w {{tool.path}}`,
		`grep -q -e {{tool.path}} list.txt`,
		`case {{tool.path}} in *.go) exit 2;; esac`,
		`f={{tool.path}}; npx prettier --write "$f"`,
		`bash -c 'prettier "$1"' _ {{tool.path}}`,
		`sh -c 'cat "$1" | wc -l' sh "{{tool.path}}"`,
		`python3 -c 'import sys; print(sys.argv[1])' {{tool.path}}`,
		`python3 check.py {{tool.path}}`,
		`bash ./check.sh {{tool.path}}`,
		`awk '{print $1}' {{tool.path}}`,
		`sed -n '1p' {{tool.path}}`,
		`jq -r .name {{tool.path}}`,
		`timeout 5 npx eslint {{tool.path}}`,
		`for f in {{tool.path}}; do cat "$f"; done`,
		`python3 - {{tool.path}} <<'EOF'` + "\nprint(1)\nEOF\n",
	} {
		if _, err := hook.CompileCommand(line, hook.Env(hook.ToolEnd)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{
		`bash -c "prettier {{tool.path}}"`,
		`bash -c 'cd sub && prettier {{tool.path}}'`,
		`bash -c {{tool.path}}`,
		`/bin/bash -lc "x {{tool.path}}"`,
		`bash -e -c "x {{tool.path}}"`,
		`timeout 5 sh -c "x {{tool.path}}"`,
		`sudo bash -c "x {{tool.path}}"`,
		`docker exec box sh -c {{tool.path}}`,
		`eval prettier {{tool.path}}`,
		`f={{tool.path}}; eval "prettier $f"`,
		`f={{tool.path}}; g="a $f"; sh -c "$g"`,
		`sh -c "$(echo {{tool.path}})"`,
		`ssh host cat {{tool.path}}`,
		`ls | xargs -I% cp % {{tool.path}}`,
		`find . -exec sh -c "x {{tool.path}}" ';'`,
		`python3 -c "print('{{tool.path}}')"`,
		`node -e "console.log('{{tool.path}}')"`,
		`node --eval="x('{{tool.path}}')"`,
		`perl -pe "s/x/{{tool.path}}/" a`,
		`ruby -e {{tool.path}}`,
		`awk "/{{tool.path}}/" a`,
		`sed "s/x/{{tool.path}}/" a`,
		`psql -c "select '{{tool.path}}'"`,
		`env -S "x {{tool.path}}"`,
		`trap "rm {{tool.path}}" EXIT`,
		`{{tool.path}} --check`,
		`bash {{tool.path}}`,
		`. {{tool.path}}`,
		`echo "x {{tool.path}}" | sh`,
		"bash <<EOF\nprettier {{tool.path}}\nEOF\n",
		`echo $(({{tool.path}} + 1))`,
		`[[ {{tool.path}} -eq 1 ]]`,
		`echo "${a[{{tool.path}}]}"`,
		`printf -v {{tool.path}} x`,
		`declare {{tool.path}}`,
		`for f in {{tool.path}}; do sh -c "x $f"; done`,
		`echo {{tool.path}} "`,
	} {
		_, err := hook.CompileCommand(line, hook.Env(hook.ToolEnd))
		var e *tool.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, "pass it as an argument") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
