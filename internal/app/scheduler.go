package app

import (
	"callgate/internal/app/node"
	"callgate/internal/schedule"
)

// Scheduler is what an app says of calls that its agents have made later.
type Scheduler struct {
	MaxJobs  int    // how many of the app's schedules wait at once
	Timezone string // in which times are read that name no zone; "": UTC
}

// DefaultMaxJobs is how many schedules of an app wait at once, unless it says
// otherwise.
const DefaultMaxJobs = 500

// maxJobs is the most that an app file may say.
const maxJobs = 100_000

// scheduler reads true, false, or the settings of what is on then.
func (b *runtimeBlock) scheduler(e node.Entry) {
	on := e.IsMapping()
	if !on {
		b.Boolean(&on, "write true, or settings: {max_jobs: 500, timezone: Europe/Berlin}")(e)
	}
	if !on {
		return
	}
	s := Scheduler{MaxJobs: DefaultMaxJobs}
	if e.IsMapping() {
		b.Mapping(levelScheduler, e, map[string]node.Read{
			"max_jobs": b.Number(&s.MaxJobs, 1, maxJobs, "write how many schedules of this app may wait at once, such as 500"),
			"timezone": b.timezone(&s.Timezone),
		})
	}
	b.runtime.Scheduler = &s
}

// timezone reads the name of a time zone.
func (b *runtimeBlock) timezone(to *string) node.Read {
	return func(e node.Entry) {
		name, ok := b.Text(e)
		if !ok {
			return
		}
		zone, err := schedule.Zone(name)
		if err != nil {
			b.Fail(e.At, "name it as in Europe/Berlin or America/New_York, or write UTC",
				"%s is %s, and there is no such time zone", e.Path, node.Quote(name))
			return
		}
		*to = zone.String()
	}
}

// The parts of the kernel that an app turns on. A control tool with such a feature
// is shown where the app has it.
const (
	FeatureScheduler = "scheduler"
	FeatureWatchers  = "watchers"
	FeatureAgents    = "agents"
)

// Features are the parts of the kernel that the app file turns on. Skills are not
// among them: those of the user and the project come to them, once they are accepted.
func (a *App) Features() []string {
	var on []string
	if a.Runtime.Scheduler != nil {
		on = append(on, FeatureScheduler)
	}
	if a.Runtime.Watchers {
		on = append(on, FeatureWatchers)
	}
	if a.GivesAgents("") {
		on = append(on, FeatureAgents)
	}
	return on
}
