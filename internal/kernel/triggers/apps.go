package triggers

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/app"
	"callgate/internal/channel"
	"callgate/internal/document"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/task"
	"callgate/tool"
)

// The collections of documents: which apps run in the background, and what triggers
// remember.
const (
	collectionApps  = "background-apps"
	collectionState = "trigger-state"
)

// registration is an app that somebody started, as it is kept.
type registration struct {
	Workspace string    `json:"workspace"`
	AppFile   string    `json:"app_file"`
	App       string    `json:"app"`
	By        string    `json:"by,omitempty"`
	Since     time.Time `json:"since"`
}

func (r registration) key() string { return channel.HashID(r.AppFile, r.Workspace) }

// background is an app that runs in the background.
type background struct {
	registration
	problem string // why it does not run; "": it does
	stamp   string // of its file, when it was read
	app     *app.App
	accepts consent.Accepted // what a human accepted of the app when it was begun
	sources []*source
	stop    func() // ends its receivers, and waits for them
}

// source is one trigger of an app that runs.
type source struct {
	app.Trigger
	key  string
	hook *Hook // of a webhook

	mu      sync.Mutex
	address string // of a webhook that is listened for
	problem error
	events  int
	last    time.Time
}

func (s *source) report(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = err
}

func (s *source) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events++
	s.last = time.Now()
}

// Start has an app run in the background, also after the kernel is started again. An app
// that runs is read anew.
func (t *Triggers) Start(ctx context.Context, workspace, file, by string) (App, error) {
	const op = "triggers.Start"
	workspace, file, err := t.opt.Apps.Workdir(ctx, workspace, file, true)
	if err != nil {
		return App{}, err
	}
	loaded, err := t.opt.Apps.Load(ctx, workspace, file)
	if err != nil {
		return App{}, err
	}
	switch {
	case loaded.App == nil || loaded.AppFile() == "":
		return App{}, tool.Errorf(op, tool.NotFound, "there is no app file here").
			WithHint("write a callgate.yaml with runtime.mode: background and runtime.triggers")
	case loaded.App.Runtime.Mode != app.Background:
		return App{}, tool.Errorf(op, tool.Invalid, "%s does not run in the background", loaded.AppFile()).
			WithHint("write runtime.mode: background in it, and runtime.triggers")
	}
	if err := accepted(loaded); err != nil {
		return App{}, err
	}
	r := registration{
		Workspace: loaded.Workspace, AppFile: loaded.AppFile(), App: loaded.AppID(), By: by, Since: time.Now().UTC(),
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	data, err := json.Marshal(r)
	if err != nil {
		return App{}, err
	}
	if err := t.put(ctx, collectionApps, r.key(), data); err != nil {
		return App{}, err
	}
	if t.serves() {
		t.activate(ctx, r)
		t.listen()
	}
	return t.describe(r), nil
}

// accepted returns why an app may not run by itself: a human has not accepted one of its
// triggers, or a channel.
func accepted(l *apps.Loaded) error {
	const op = "triggers.Start"
	for _, tr := range l.App.Runtime.Triggers {
		if err := l.Accepted.Check(op, consent.Trigger(l.App, tr)); err != nil {
			return err
		}
	}
	for _, ch := range l.App.Runtime.Channels {
		if err := l.Accepted.Check(op, consent.Channel(l.App, ch)); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends an app that runs in the background. Turns that run go on to their end; events
// that wait are dead letters.
func (t *Triggers) Stop(ctx context.Context, workspace, file string) (App, error) {
	t.changing.Lock()
	defer t.changing.Unlock()
	list, err := t.registered(ctx)
	if err != nil {
		return App{}, err
	}
	i := slices.IndexFunc(list, func(r registration) bool {
		return (file == "" || r.AppFile == file) && (r.Workspace == workspace || file != "" && r.AppFile == file)
	})
	if i < 0 {
		return App{}, tool.Errorf("triggers.Stop", tool.NotFound, "no app of this folder runs in the background").
			WithHint("callgate app running lists those that do")
	}
	r := list[i]
	doc, err := t.opt.Documents.Get(ctx, collectionApps, r.key())
	if err != nil {
		return App{}, err
	}
	change := document.Change{Collection: collectionApps, Key: r.key(), If: doc.Version}
	if _, err := t.opt.Documents.Write(ctx, change); err != nil {
		return App{}, err
	}
	t.deactivate(r.key())
	t.listen()
	return App{registration: r}, nil
}

// Run serves: it has the apps run that were started, by this kernel or an earlier one.
func (t *Triggers) Run(l Listener) {
	t.mu.Lock()
	t.listener = l
	t.mu.Unlock()
	t.opt.Go(func(ctx context.Context) {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			t.look(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// lookEvery is how often the files of background apps and what a human accepts of them are
// looked at, and apps that could not run are tried again.
const lookEvery = 5 * time.Second

func (t *Triggers) serves() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listener != nil
}

// Look has every app run, at once, as its file says and a human accepts it now: it ends
// what was taken back.
func (t *Triggers) Look() {
	done := make(chan struct{})
	if t.serves() && t.opt.Go(func(ctx context.Context) {
		defer close(done)
		t.look(ctx)
	}) {
		<-done
	}
}

// look has every app that was started run as its file says and a human accepts it now.
func (t *Triggers) look(ctx context.Context) {
	t.changing.Lock()
	defer t.changing.Unlock()
	list, err := t.registered(ctx)
	if err != nil {
		if ctx.Err() == nil {
			t.opt.Log.Error("background apps cannot be looked up", "error", err)
		}
		return
	}
	changed := false
	for _, r := range list {
		t.mu.Lock()
		b := t.apps[r.key()]
		t.mu.Unlock()
		if b != nil && b.problem == "" && b.stamp == stamp(r.AppFile) && b.accepts.Equal(t.opt.Consents.Of(b.app)) {
			continue
		}
		t.activate(ctx, r)
		changed = true
	}
	if changed {
		t.listen()
	}
}

// stamp changes with a file.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	return info.ModTime().Format(time.RFC3339Nano) + " " + info.Mode().String()
}

// activate has an app run as its file says now, in the place of what ran of it.
func (t *Triggers) activate(ctx context.Context, r registration) {
	b := &background{registration: r, stamp: stamp(r.AppFile), stop: func() {}}
	loaded, err := t.opt.Apps.Load(ctx, r.Workspace, r.AppFile)
	if err == nil && loaded.App.Runtime.Mode != app.Background {
		err = tool.Errorf("triggers", tool.Invalid, "its file does not say runtime.mode: background any more")
	}
	if err == nil {
		err = accepted(loaded)
	}
	t.deactivate(r.key())
	if err != nil {
		b.problem = err.Error()
		t.opt.Log.Warn("an app does not run in the background", "app", r.AppFile, "error", err)
	} else {
		b.app, b.accepts = loaded.App, loaded.Accepted
		t.begin(b, loaded)
	}
	t.mu.Lock()
	t.apps[r.key()] = b
	t.mu.Unlock()
}

// deactivate ends the receivers of an app.
func (t *Triggers) deactivate(key string) {
	t.mu.Lock()
	b := t.apps[key]
	delete(t.apps, key)
	t.mu.Unlock()
	if b != nil {
		b.stop()
	}
}

// begin starts the receivers of an app, and makes its webhooks.
func (t *Triggers) begin(b *background, l *apps.Loaded) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	b.stop = func() {
		cancel()
		all.Wait()
	}
	for _, tr := range l.App.Runtime.Triggers {
		s := &source{Trigger: tr, key: b.key() + "/" + tr.Name}
		b.sources = append(b.sources, s)
		keep := func(within context.Context, e channel.Event, window time.Duration) (string, bool, error) {
			id, fresh, err := t.accept(within, b.registration, tr.Name, e, window)
			if fresh {
				s.count()
			}
			return id, fresh, err
		}
		if tr.Webhook.Path != "" {
			s.hook = &Hook{Key: s.key, App: b.App, Trigger: tr, Accept: keep, Secret: func() (string, error) {
				return t.secret(tr.Credential)
			}}
			continue
		}
		receiver, done, err := t.receiver(s, l)
		if err != nil {
			s.report(err)
			continue
		}
		all.Add(1)
		began := t.opt.Go(func(kernel context.Context) {
			defer all.Done()
			defer done()
			defer context.AfterFunc(kernel, cancel)()
			err := receiver.Receive(ctx, func(e channel.Event) error {
				_, _, err := keep(ctx, e, 0)
				return err
			})
			s.report(err)
		})
		if !began {
			done()
			all.Done()
		}
	}
}

// listen has the webhooks of all apps listened for.
func (t *Triggers) listen() {
	t.mu.Lock()
	listener := t.listener
	var hooks []Hook
	byKey := map[string]*source{}
	for _, key := range sortedKeys(t.apps) {
		for _, s := range t.apps[key].sources {
			if s.hook != nil {
				hooks = append(hooks, *s.hook)
				byKey[s.key] = s
			}
		}
	}
	t.mu.Unlock()
	if listener == nil {
		return
	}
	heard := listener.Listen(hooks)
	for key, s := range byKey {
		s.mu.Lock()
		s.problem, s.address = heard[key].Err, heard[key].Address
		s.mu.Unlock()
	}
}

func sortedKeys(apps map[string]*background) []string {
	var keys []string
	for key := range apps {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(apps[a].AppFile, apps[b].AppFile) })
	return keys
}

// asker is on whose behalf the turns of an app run.
func (t *Triggers) asker(r registration) task.Asker {
	return task.Asker{
		Principal: tool.Principal{User: t.opt.User, App: r.App}, Workspace: r.Workspace, AppFile: r.AppFile,
	}
}
