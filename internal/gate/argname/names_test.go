package argname_test

import (
	"errors"
	"slices"
	"testing"

	"callgate/tool"
)

// Names that no tool has here lead a model to the tool that does the same: the share of
// names for which the error suggests it.
func TestUnknownNamesAreSuggested(t *testing.T) {
	t.Parallel()
	v := view(t)
	right, all := 0, 0
	for want, names := range map[string][]string{
		"filesystem.read":  {"ReadManyFiles", "read_many_files", "file_reader", "get_file_contents", "FileRead", "read_text"},
		"filesystem.write": {"writeToFile", "write_to_file", "create_new_file", "save_text_file", "FileWrite", "fs_write"},
		"filesystem.edit":  {"edit_existing_file", "string_replace", "FileEdit", "edit_block", "insert_edit_into_file"},
		"filesystem.grep":  {"codebase_search", "text_search", "search_in_files", "regex_search", "find_in_files"},
		"filesystem.glob":  {"find_path", "search_file_names", "find_files_by_name"},
		"filesystem.list":  {"list_directory_contents", "directory_list", "list_folder", "directory_tree"},
		"shell.bash":       {"bash_command", "terminal_command", "run_bash", "execute_shell", "run_tests", "runCommand"},
	} {
		for _, name := range names {
			found, err := v.Resolve(name, nil)
			var unknown *tool.Error
			all++
			switch {
			case err == nil && found.ID.Dotted() == want, errors.As(err, &unknown) && slices.Contains(unknown.Similar, want):
				right++
			default:
				t.Logf("%s: %v, %v; want %s", name, found, err, want)
			}
		}
	}
	if right < all-4 {
		t.Errorf("%d of %d names lead to the right tool", right, all)
	}
	t.Logf("%d of %d", right, all)
	var nothing *tool.Error
	if _, err := v.Resolve("frobnicate_quux", nil); !errors.As(err, &nothing) || len(nothing.Similar) > 0 {
		t.Errorf("suggested for nonsense: %v", err)
	}
}
