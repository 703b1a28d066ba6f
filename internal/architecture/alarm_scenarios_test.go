package architecture_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/telemetry"
)

// scenario is something that goes on in an account, minute by minute, behind half an hour of quiet.
type scenario struct {
	minutes int
	act     func(a *account, minute int)
	given   map[string]string // parameters
	trips   []string          // the alarms that go off at some time; no other does at any
}

const (
	oldest, overdue   = "OldestOpenRunAgeAlarm", "OverdueReservationsAlarm"
	failedRuns        = "FailedRunsAlarm"
	webhookErrors     = "WebhookErrorsAlarm"
	unauthorized      = "UnauthorizedDeliveriesAlarm"
	stale             = "StaleTimestampsAlarm"
	conflicting       = "ConflictingDeliveriesAlarm"
	invalid           = "InvalidCommandsAlarm"
	streamAge         = "StreamAgeHighAlarm"
	functionErrors    = "FunctionErrorsAlarm"
	functionThrottles = "FunctionThrottlesAlarm"
	deadLetters       = "DeadLettersAlarm"
)

// forged spoils the signature; the key id stays.
func forged(headers map[string]string) {
	headers["x-delivery-signature"] = "sha256=" + strings.Repeat("0", 64)
}

// times does something so often in the first minute.
func times(n int, do func(a *account)) func(*account, int) {
	return func(a *account, minute int) {
		for range n {
			if minute == 0 {
				do(a)
			}
		}
	}
}

// every does something each minute.
func every(do func(a *account)) func(*account, int) { return func(a *account, _ int) { do(a) } }

func lateDelivery(a *account) {
	id := a.fresh()
	a.deliver(push{id: id, body: a.run(id), signed: a.now.Add(-10 * time.Minute)})
}

func forgedDelivery(a *account) {
	id := a.fresh()
	a.deliver(push{id: id, body: a.run(id), spoil: forged})
}

// earlyRun is a command that becomes due within the replay window.
func earlyRun(a *account) {
	id := a.fresh()
	body := strings.Replace(a.run(id), a.now.Add(-48*time.Hour).Format(time.RFC3339), a.now.Add(-24*time.Hour+time.Minute).Format(time.RFC3339), 1)
	a.deliver(push{id: id, body: body})
}

func scenarios() map[string]scenario {
	const day = 24 * 60
	return map[string]scenario{
		"a day without a request":                                  {minutes: day, act: every(func(*account) {})},
		"a day without a request, in a stack of cleanup.run alone": {minutes: day, act: every(func(*account) {}), given: map[string]string{"Commands": "cleanup.run"}},
		"a day on which everything heals by itself":                {minutes: day, act: usualDay},
		"a run that takes almost as long as is allowed":            {minutes: 118, act: times(1, (*account).accept)},
		"a run that nobody works":                                  {minutes: 180, act: times(1, (*account).accept), trips: []string{oldest}},
		"the sweeper is dead":                                      {minutes: 60, act: every(func(a *account) { a.sweeperDead = true }), trips: []string{oldest, overdue}},
		"the sweeper is dead, in a stack without reservations": {minutes: 60, act: every(func(a *account) { a.sweeperDead = true }),
			given: map[string]string{"Commands": "cleanup.run"}, trips: []string{oldest}},
		"the sweeper does not start": {minutes: 60, act: every(func(a *account) { a.sweeperDead = true; a.invoked("SweeperFunction", true) }),
			trips: []string{oldest, overdue, functionErrors}},
		"the index cannot be read": {minutes: 60, act: every(func(a *account) { a.table.down.reads = true }), trips: []string{oldest, overdue}},
		"claims fail":              {minutes: 30, act: func(a *account, _ int) { a.table.down.claims = true; tryDelivery(a) }, trips: []string{webhookErrors}},
		"the whole table is gone": {minutes: 60, act: func(a *account, _ int) {
			a.table.down.claims, a.table.down.reads = true, true
			tryDelivery(a)
		}, trips: []string{webhookErrors, oldest, overdue}},
		"the secret cannot be read":          {minutes: 30, act: func(a *account, _ int) { a.noKey = true; tryDelivery(a) }, trips: []string{webhookErrors}},
		"a producer that always sends early": {minutes: 30, act: every(earlyRun), trips: []string{webhookErrors}},
		"one of twenty answers is a 5xx":     {minutes: 60, act: func(a *account, _ int) { mixed(a, 19) }},
		"one of nineteen answers is a 5xx":   {minutes: 60, act: func(a *account, _ int) { mixed(a, 18) }, trips: []string{webhookErrors}},
		"claims fail for five minutes":       {minutes: 60, act: func(a *account, minute int) { a.table.down.claims = minute < 5; tryDelivery(a); a.work() }},
		"a signature storm":                  {minutes: 20, act: times(25, forgedDelivery), trips: []string{unauthorized}},
		"some forged signatures":             {minutes: 20, act: times(24, forgedDelivery)},
		"a storm of requests without headers": {minutes: 20, act: times(100, func(a *account) {
			a.deliver(push{id: a.fresh(), body: "{}", spoil: func(h map[string]string) { clear(h) }})
		})},
		"a sender with a wrong clock":    {minutes: 20, act: times(5, lateDelivery), trips: []string{stale}},
		"some late deliveries":           {minutes: 20, act: times(4, lateDelivery)},
		"captured requests are repeated": {minutes: 20, act: times(30, lateDelivery), trips: []string{stale, unauthorized}},
		"an id stands for two commands": {minutes: 20, act: times(1, func(a *account) {
			a.deliver(push{id: "d-1", body: a.run("r-1")})
			a.work()
			a.deliver(push{id: "d-1", body: a.run("r-2")})
		}), trips: []string{conflicting}},
		"a command that is none": {minutes: 20, act: times(1, func(a *account) { a.deliver(push{id: "d-1", body: `{"type":"cleanup.everything"}`}) }), trips: []string{invalid}},
		"a run that S3 refuses":  {minutes: 20, act: times(1, func(a *account) { a.denied = true; a.accept(); a.work() }), trips: []string{failedRuns}},
		"a run that kills its worker each time": {minutes: 110, act: func(a *account, minute int) {
			if minute == 0 {
				a.accept()
			}
			a.crash()
		}, trips: []string{failedRuns, functionErrors}},
		"a backlog":                            {minutes: 30, act: every(func(a *account) { a.sliced(61*time.Minute, false) }), trips: []string{streamAge}},
		"a backlog that is allowed":            {minutes: 30, act: every(func(a *account) { a.sliced(60*time.Minute, false) })},
		"the cleanup does not start":           {minutes: 20, act: every(func(a *account) { a.sliced(time.Minute, true) }), trips: []string{functionErrors}},
		"the webhook crashes twice, apart":     {minutes: 30, act: func(a *account, minute int) { failAt(a, "WebhookFunction", minute, 0, 7) }, trips: []string{functionErrors}},
		"the webhook crashes once":             {minutes: 30, act: func(a *account, minute int) { failAt(a, "WebhookFunction", minute, 0) }},
		"the webhook's concurrency is used up": {minutes: 20, act: every(func(a *account) { a.aws("AWS/Lambda Throttles", "WebhookFunction", 1) }), trips: []string{functionThrottles}},
		"the sweeper is throttled":             {minutes: 20, act: every(func(a *account) { a.aws("AWS/Lambda Throttles", "SweeperFunction", 1) }), trips: []string{functionThrottles}},
		"one throttled slice":                  {minutes: 20, act: times(1, func(a *account) { a.aws("AWS/Lambda Throttles", "CleanupFunction", 1) })},
		"a record is given up": {minutes: 20, act: every(func(a *account) {
			a.aws("AWS/SQS ApproximateNumberOfMessagesVisible", "DeadLetterQueue", 1)
		}), trips: []string{deadLetters}},
		"a reservation that nobody expires": {minutes: 40, act: times(1, func(a *account) { a.reserve("v-1", inbox.ReservationHeld, 0) }), trips: []string{overdue}},
		"a reservation that expires just in time": {minutes: 40, act: func(a *account, minute int) {
			switch minute {
			case 0:
				a.reserve("v-1", inbox.ReservationHeld, 0)
			case 15:
				a.reserve("v-1", inbox.ReservationExpired, 0)
			}
		}},
		"a reservation that was paid for": {minutes: 40, act: times(1, func(a *account) { a.reserve("v-1", "paid", time.Hour) })},
	}
}

// tryDelivery sends a delivery whatever the answer.
func tryDelivery(a *account) {
	id := a.fresh()
	a.deliver(push{id: id, body: a.run(id)})
}

// mixed sends one delivery that comes too early, and so many copies of one that was accepted.
func mixed(a *account, good int) {
	earlyRun(a)
	for range good {
		a.deliver(push{id: "d-copied", body: copied})
	}
	a.work()
}

// copied is a command that is due on every day of these scenarios.
const copied = `{"run_id":"r-copied","warehouse_id":"wh-17","expired_before":"2026-01-01T00:00:00Z"}`

func failAt(a *account, function string, minute int, when ...int) {
	if slices.Contains(when, minute) {
		a.invoked(function, true)
	}
}

// usualDay has of everything as much as a person need not hear of.
func usualDay(a *account, minute int) {
	switch minute % 60 {
	case 0:
		a.accept()
		a.deliver(push{id: "d-copied", body: copied})
		a.deliver(push{id: "d-copied", body: copied})
	case 5, 6, 7:
		forgedDelivery(a)
		a.deliver(push{id: a.fresh(), body: "{}", spoil: func(h map[string]string) { clear(h) }})
	case 12:
		lateDelivery(a)
	case 20:
		earlyRun(a)
		a.reserve(a.fresh(), inbox.ReservationHeld, 0)
	case 30:
		for id := range a.table.held {
			a.reserve(id, inbox.ReservationExpired, 0)
		}
		a.invoked("CleanupFunction", true)
		a.aws("AWS/Lambda Throttles", "CleanupFunction", 1)
	case 59: // runs wait for an hour behind a large one
		a.work()
		a.sliced(59*time.Minute, false)
	}
}

// quiet is how long each scenario is preceded by nothing, so that no alarm sees the beginning of the world.
const quiet = 30

func TestAlarmsGoOffInTheirScenariosAndInNoOther(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, s.stack(t, tpl))
			alarms, gone := a.alarms(), map[string]bool{}
			for minute := range quiet + s.minutes {
				a.now = a.now.Add(time.Minute)
				if minute >= quiet {
					s.act(a, minute-quiet)
				}
				a.minute()
				if minute < quiet-1 {
					continue
				}
				for _, alarm := range alarms {
					if alarm.goesOff(a.metrics, a.now.Unix()/60) && !gone[alarm.id] {
						gone[alarm.id] = true
						t.Logf("%s goes off after %d minutes", alarm.id, minute-quiet+1)
					}
				}
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(s.trips)), slices.Sorted(maps.Keys(gone))); diff != "" {
				t.Errorf("alarms that go off (-want +got):\n%s", diff)
			}
		})
	}
}

// stack is one that takes every command and deletes, with the scenario's own parameters.
func (s scenario) stack(t *testing.T, tpl template) rendered {
	given := map[string]string{"Bucket": "pods", "Commands": strings.Join(command.Types(), ","), "DeleteScopes": "*"}
	maps.Copy(given, s.given)
	return rendered{t, tpl, given, map[string]string{"ReportsBucket": "reports"}}
}

func TestEveryAlarmHasAScenario(t *testing.T) {
	t.Parallel()
	tripped := map[string]bool{}
	for _, s := range scenarios() {
		for _, id := range s.trips {
			tripped[id] = true
		}
	}
	if diff := cmp.Diff(readTemplate(t).of("AWS::CloudWatch::Alarm"), slices.Sorted(maps.Keys(tripped))); diff != "" {
		t.Errorf("alarms (-template +scenarios):\n%s", diff)
	}
}

// Of Custody's own metrics, an alarm watches one that the functions publish, to the last value of a dimension, and in the unit in which
// its threshold is meant; of AWS's, one that is documented. Where silence is the alarm, a day without a request is not silent.
func TestAlarmsWatchWhatIsPublished(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	units, still := map[string]string{}, map[string]string{}
	for name, s := range scenarios() {
		a := open(t, s.stack(t, tpl))
		for minute := range min(s.minutes, 120) {
			a.now = a.now.Add(time.Minute)
			s.act(a, minute)
			a.minute()
		}
		maps.Copy(units, a.published())
		if name == "a day without a request" {
			still = a.published()
		}
	}
	want := map[string]telemetry.Unit{"OldestOpenRunAge": telemetry.UnitSeconds, "OldestOverdueReservationAge": telemetry.UnitSeconds,
		"IteratorAge": telemetry.UnitMilliseconds} // the others are counts
	stack := scenario{}.stack(t, tpl)
	for _, id := range tpl.of("AWS::CloudWatch::Alarm") {
		a := stack.readAlarm(id)
		for _, w := range a.watches {
			unit, published := units[w.series]
			if !published {
				t.Errorf("%s watches %s, which nothing publishes; there is:\n%s", id, w.series, strings.Join(slices.Sorted(maps.Keys(units)), "\n"))
				continue
			}
			meant := telemetry.UnitCount
			if special, ok := want[strings.Fields(w.series)[1]]; ok {
				meant = special
			}
			if unit != string(meant) {
				t.Errorf("%s watches %s, which is published in %s and meant in %s", id, w.series, unit, meant)
			}
			if _, there := still[w.series]; a.missingBreaches && !there {
				t.Errorf("%s goes off at silence, and %s is silent on a day without a request", id, w.series)
			}
		}
	}
}
