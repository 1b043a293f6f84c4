// Package check holds the files of deploy/ against what reads them: the parser of Compose, and the types of Kubernetes
// after kustomize has put the manifests together. It is a module of its own, because nothing that ships needs these.
package check

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// version is that of the program, as its source says it.
func version(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("../../internal/version/version.go")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^const Version = "(.*)"$`).FindSubmatch(source)
	if m == nil {
		t.Fatal("the source says no version")
	}
	return string(m[1])
}

// checkURL reports a database's URL that has a password in it, or does not say in which file that is.
func checkURL(t *testing.T, text, passfile string) {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, has := u.User.Password(); has || u.Query().Get("passfile") != passfile {
		t.Errorf("the database is %s", text)
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	options, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithInterpolation(true),
		cli.WithResolvedPaths(true), cli.WithConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if names := project.ServiceNames(); !slices.Equal(names, []string{"node1", "node2", "node3", "postgres"}) {
		t.Errorf("services %q", names)
	}
	kept := map[string]bool{}
	for name, s := range project.Services {
		for _, secret := range s.Secrets {
			if project.Secrets[secret.Source].File == "" {
				t.Errorf("%s: the secret %s is no file", name, secret.Source)
			}
		}
		if s.HealthCheck == nil || len(s.HealthCheck.Test) == 0 {
			t.Errorf("%s has no health check", name)
		}
		for _, v := range s.Volumes {
			if kept[v.Source] {
				t.Errorf("%s shares the volume %s with another", name, v.Source)
			}
			kept[v.Source] = true
		}
		if strings.HasPrefix(name, "node") {
			checkNode(t, name, s)
		}
	}
}

func checkNode(t *testing.T, name string, s types.ServiceConfig) {
	t.Helper()
	if s.Image != "localhost/callgate:"+version(t) || s.Hostname != name || !s.ReadOnly ||
		!slices.Equal(s.CapDrop, []string{"ALL"}) || s.DependsOn["postgres"].Condition != types.ServiceConditionHealthy {
		t.Errorf("%s: %+v", name, s)
	}
	checkURL(t, *s.Environment["CALLGATE_DATABASE"], "/run/secrets/pgpass")
	if !slices.Contains(s.Command, name+":7421") {
		t.Errorf("%s is not reached by the other nodes: %q", name, s.Command)
	}
	if len(s.PreStop) != 1 || s.StopGracePeriod == nil {
		t.Fatalf("%s is not drained before it is stopped: %+v", name, s.PreStop)
	}
	checkDrain(t, name, s.PreStop[0].Command, time.Duration(*s.StopGracePeriod))
	for _, port := range s.Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("%s is open to the network: %v", name, port)
		}
	}
}

// checkDrain reports a command that does not have a node drained, or that waits so long that the kernel is killed.
func checkDrain(t *testing.T, name string, command []string, grace time.Duration) {
	t.Helper()
	if len(command) != 4 || !slices.Equal(command[:3], []string{"/usr/bin/callgate", "drain", "--timeout"}) {
		t.Fatalf("%s is drained by %q", name, command)
	}
	waits, err := time.ParseDuration(command[3])
	if err != nil || waits+20*time.Second > grace {
		t.Errorf("%s waits for what runs %s, of %v that it has before it is killed: %v", name, command[3], grace, err)
	}
}

// rendered is what kubectl apply -k sends, each read strictly: an unknown field is an error.
func rendered(t *testing.T) []runtime.Object {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	text, err := all.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	var objects []runtime.Object
	for documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text))); ; {
		data := make([]byte, 1<<16)
		n, err := documents.Read(data)
		if err == io.EOF {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(data[:n], nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, data[:n])
		}
		objects = append(objects, object)
	}
}

func only[T runtime.Object](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	var found []T
	for _, o := range objects {
		if one, ok := o.(T); ok {
			found = append(found, one)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d of %T", len(found), *new(T))
	}
	return found[0]
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	objects := rendered(t)
	set := only[*appsv1.StatefulSet](t, objects)
	budget, policy := only[*policyv1.PodDisruptionBudget](t, objects), only[*networkingv1.NetworkPolicy](t, objects)
	config := only[*corev1.ConfigMap](t, objects)
	pod := set.Spec.Template
	services := map[string]*corev1.Service{}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			services[o.Name] = o
		case *corev1.Secret:
			t.Errorf("the secret %s is in a file", o.Name)
		}
	}
	if s := services[set.Spec.ServiceName]; s == nil || s.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("the set's service %s is not headless", set.Spec.ServiceName)
	}
	for name, labels := range map[string]map[string]string{
		"set": set.Spec.Selector.MatchLabels, "budget": budget.Spec.Selector.MatchLabels,
		"policy": policy.Spec.PodSelector.MatchLabels, "service": services["callgate"].Spec.Selector,
	} {
		for key, value := range labels {
			if pod.Labels[key] != value || len(labels) == 0 {
				t.Errorf("the %s does not select the pods: %v", name, labels)
			}
		}
	}
	if config.Data["callgate.yaml"] == "" {
		t.Error("there is no app file")
	}
	c := pod.Spec.Containers[0]
	if c.Image != "localhost/callgate:"+version(t) {
		t.Errorf("the image is %s", c.Image)
	}
	checkDrain(t, "the pod", c.Lifecycle.PreStop.Exec.Command,
		time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second)
	if !slices.ContainsFunc(services[set.Spec.ServiceName].Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == 7421 && p.TargetPort.StrVal == "nodes"
	}) {
		t.Error("the nodes do not reach each other")
	}
	checkMounts(t, set, c)
	checkProbes(t, c)
}

// checkMounts reports a volume that is not there, and a state that is not the node's own.
func checkMounts(t *testing.T, set *appsv1.StatefulSet, c corev1.Container) {
	t.Helper()
	has, own := map[string]bool{}, map[string]bool{}
	for _, v := range set.Spec.Template.Spec.Volumes {
		has[v.Name] = true
	}
	for _, v := range set.Spec.VolumeClaimTemplates {
		has[v.Name], own[v.Name] = true, true
	}
	for _, m := range c.VolumeMounts {
		if !has[m.Name] {
			t.Errorf("there is no volume %s", m.Name)
		}
		if m.MountPath == "/var/lib/callgate" && !own[m.Name] {
			t.Error("the state is not the node's own")
		}
	}
}

// checkProbes reports a probe that the kernel would refuse: it is asked over TLS, by a name that it has.
func checkProbes(t *testing.T, c corev1.Container) {
	t.Helper()
	for name, probe := range map[string]*corev1.Probe{
		"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe,
	} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Scheme != corev1.URISchemeHTTPS ||
			!slices.Equal(probe.HTTPGet.HTTPHeaders, []corev1.HTTPHeader{{Name: "Host", Value: "localhost"}}) {
			t.Errorf("the %s probe is %v", name, probe)
		}
	}
	s := c.SecurityContext
	if s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 {
		t.Errorf("the container may %v", s)
	}
}

// No file of deploy has a password, a key or a token in it.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`(?i)-----BEGIN|(password|token)[ \t]*[:=][ \t]*["']?[A-Za-z0-9+/]{6,}` +
		`|//[^/\s:@]+:[^@\s]+@`)
	err := filepath.WalkDir("..", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == "secrets" {
				return filepath.SkipDir // a person's own, which is not kept
			}
			return err
		}
		data, err := os.ReadFile(name)
		if found := secret.Find(data); found != nil && filepath.Ext(name) == ".yaml" {
			t.Errorf("%s has %s", name, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
