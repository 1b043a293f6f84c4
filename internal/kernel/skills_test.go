package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/skills"
	"callgate/tool"
)

// skillFolders is a machine with skills in all places.
type skillFolders struct{ home, config, workspace string }

func makeSkill(t *testing.T, dir, text string) {
	t.Helper()
	name := filepath.Base(dir)
	kerneltest.Write(t, filepath.Join(dir, "SKILL.md"), "---\nname: "+name+"\ndescription: about "+name+"\n---\n"+text+"\n")
}

func openSkillFolders(t *testing.T, app string) (*kernel.Kernel, skillFolders) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	f := skillFolders{filepath.Join(base, "home"), filepath.Join(base, "config"), filepath.Join(base, "work")}
	makeSkill(t, filepath.Join(f.home, ".claude", "skills", "deploy"), "From home.")
	makeSkill(t, filepath.Join(f.home, ".agents", "skills", "notes"), "Take notes.")
	makeSkill(t, filepath.Join(f.config, "skills", "tone"), "The user's own.")
	makeSkill(t, filepath.Join(f.workspace, ".claude", "skills", "deploy"), "From the project.")
	makeSkill(t, filepath.Join(f.workspace, "skills", "tone"), "The app's.")
	kerneltest.Write(t, filepath.Join(f.workspace, "callgate.yaml"), app)
	k := kerneltest.OpenWith(t, kernel.Config{
		State: kerneltest.StateDir(t), UserFile: filepath.Join(f.config, "callgate.yaml"), Home: f.home,
	})
	return k, f
}

const skillApp = "app: {app_id: a}\ndev:\n  skills: [{command: tone, path: skills/tone}]\n"

// states lists skills as name, source and state.
func states(t *testing.T, k *kernel.Kernel, s *session.Session) string {
	t.Helper()
	var all []string
	for _, one := range k.Skills.List(s) {
		all = append(all, one.Command+" "+string(one.Source)+" "+string(one.State))
	}
	return strings.Join(all, ", ")
}

func acceptSkill(t *testing.T, k *kernel.Kernel, s *session.Session, name string, from skills.Source) {
	t.Helper()
	found, err := k.Skills.Finder.Find(s.Loaded().Place(), skills.Name{Command: name, Source: from})
	kerneltest.OK(t, err)
	kerneltest.OK(t, k.Skills.Accept(kerneltest.Human(t, k), s, skills.Name{Command: name, Source: from}, found.Digest, "ada"))
}

// Skills of all places are listed and used in their order, each after a human accepted it
// as it is.
func TestSkillsOfAllPlaces(t *testing.T) {
	t.Parallel()
	k, f := openSkillFolders(t, skillApp)
	s := kerneltest.OpenSession(t, k, f.workspace)
	want := "tone user off, tone app new, deploy project new, deploy home new, notes home new, tool-builder callgate new"
	if got := states(t, k, s); got != want {
		t.Errorf("got %s", got)
	}
	if r := kerneltest.Call(t, s, "use_skill", `{"command":"deploy"}`); r.Status == tool.Success {
		t.Error("a skill that nobody accepted is read")
	}
	acceptSkill(t, k, s, "deploy", skills.Home)
	acceptSkill(t, k, s, "deploy", skills.Project)
	acceptSkill(t, k, s, "tool-builder", "")
	s = kerneltest.OpenAccepted(t, k, f.workspace)
	want = "tone user off, tone app accepted, deploy project accepted, deploy home shadowed, notes home new, tool-builder callgate accepted"
	if got := states(t, k, s); got != want {
		t.Errorf("got %s", got)
	}
	if all := strings.Join(s.Warnings(), "\n"); !strings.Contains(all, "is not used, because that of") {
		t.Errorf("warnings %s", all)
	}
	if r := kerneltest.Call(t, s, "use_skill", `{"command":"deploy"}`); r.Status != tool.Success ||
		!strings.Contains(r.Content[0].Text, "From the project.") {
		t.Errorf("%+v", r)
	}
	// A changed folder asks again, and a word that is taken back counts at once.
	makeSkill(t, filepath.Join(f.workspace, ".claude", "skills", "deploy"), "Obey me.")
	other := kerneltest.OpenSession(t, k, f.workspace)
	if got := states(t, k, other); !strings.Contains(got, "deploy project changed, deploy home accepted") {
		t.Errorf("got %s", got)
	}
	if r := kerneltest.Call(t, other, "use_skill", `{"command":"deploy"}`); !strings.Contains(r.Content[0].Text, "From home.") {
		t.Errorf("%+v", r)
	}
	kerneltest.OK(t, k.Skills.Revoke(kerneltest.Human(t, k), other, skills.Name{Command: "deploy", Source: skills.Home}, "ada"))
	if r := kerneltest.Call(t, other, "use_skill", `{"command":"deploy"}`); r.Status == tool.Success {
		t.Error("a skill that was revoked is read")
	}
}

// The user's own skill is used in the place of the app's where the app allows it.
func TestUserSkillShadowsTheApps(t *testing.T) {
	t.Parallel()
	k, f := openSkillFolders(t, skillApp+"  allow_user_skills: true\n")
	s := kerneltest.OpenAccepted(t, k, f.workspace)
	if r := kerneltest.Call(t, s, "use_skill", `{"command":"tone"}`); !strings.Contains(r.Content[0].Text, "The app's.") {
		t.Errorf("%+v", r)
	}
	acceptSkill(t, k, s, "tone", skills.User)
	s = kerneltest.OpenSession(t, k, f.workspace)
	if r := kerneltest.Call(t, s, "use_skill", `{"command":"tone"}`); !strings.Contains(r.Content[0].Text, "The user's own.") {
		t.Errorf("%+v", r)
	}
}

// Without any app file, skills that a human accepted are there too.
func TestSkillsWithoutAnApp(t *testing.T) {
	t.Parallel()
	k, f := openSkillFolders(t, skillApp)
	bare := filepath.Join(filepath.Dir(f.workspace), "bare")
	kerneltest.OK(t, os.MkdirAll(bare, 0o755))
	s := kerneltest.OpenSession(t, k, bare)
	acceptSkill(t, k, s, "notes", skills.Home)
	s = kerneltest.OpenSession(t, k, bare)
	if r := kerneltest.Call(t, s, "use_skill", `{"command":"/Notes"}`); r.Status != tool.Success {
		t.Errorf("%+v", r)
	}
}

// A project's folder does not lead elsewhere, and only a human accepts.
func TestHostileSkillFolders(t *testing.T) {
	t.Parallel()
	k, f := openSkillFolders(t, skillApp)
	secret := filepath.Join(filepath.Dir(f.workspace), "secret")
	makeSkill(t, secret, "A secret.")
	if err := os.Symlink(secret, filepath.Join(f.workspace, ".claude", "skills", "secret")); err != nil {
		t.Skip(err)
	}
	kerneltest.OK(t, os.Symlink(filepath.Dir(secret), filepath.Join(f.workspace, ".agents")))
	s := kerneltest.OpenSession(t, k, f.workspace)
	got := states(t, k, s)
	if !strings.Contains(got, "secret project broken") || strings.Contains(got, "secret project new") {
		t.Errorf("got %s", got)
	}
	who := kerneltest.Human(t, k)
	who.Key = "wrong"
	found, err := k.Skills.Finder.Find(s.Loaded().Place(), skills.Name{Command: "notes"})
	kerneltest.OK(t, err)
	if err := k.Skills.Accept(who, s, skills.Name{Command: "notes"}, found.Digest, ""); err == nil {
		t.Error("somebody without a human's key accepted a skill")
	}
	if err := k.Skills.Accept(kerneltest.Human(t, k), s, skills.Name{Command: "notes"}, "old", ""); tool.KindOf(err) != tool.Conflict {
		t.Errorf("another skill than was shown: %v", err)
	}
}

// A script of a skill is run by a call as any other: the sandbox may read the skill's
// folder, and may not write it.
func TestScriptOfASkill(t *testing.T) {
	t.Parallel()
	k, f := openSkillFolders(t, "app: {app_id: a}\ntools:\n  modules: {shell: {}}\n  capabilities: {default_policy: auto}\n")
	dir := filepath.Join(f.home, ".agents", "skills", "notes")
	kerneltest.Write(t, filepath.Join(dir, "scripts", "count.sh"), "echo counted; echo bad > \"$(dirname \"$0\")/made\"\n")
	s := kerneltest.OpenAccepted(t, k, f.workspace)
	acceptSkill(t, k, s, "notes", skills.Home)
	s = kerneltest.OpenSession(t, k, f.workspace)
	r := kerneltest.Call(t, s, "shell.bash", `{"command":"bash `+filepath.Join(dir, "scripts", "count.sh")+`"}`)
	if tool.KindOf(r.Err()) == tool.Unavailable {
		t.Skip(r.Summary)
	}
	if len(r.Content) == 0 || !strings.Contains(r.Content[0].Text, "counted") {
		t.Errorf("the script did not run: %s %+v", r.Summary, r.Content)
	}
	if _, err := os.Stat(filepath.Join(dir, "scripts", "made")); err == nil {
		t.Error("a script wrote into its skill")
	}
}
