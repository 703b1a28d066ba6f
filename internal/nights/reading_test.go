package nights_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAPageIsReadAsItStands(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		lines   string
		kind    partKind
		n       int
		problem string
	}{
		"prose is a part for each line":              {"# A heading\n", prose, 1, ""},
		"a terminal goes to its end":                 {"```console\n$ custody runs\n0 open\n```\nprose", terminal, 4, ""},
		"a terminal without an end":                  {"```console\n$ custody runs\n0 open", terminal, 3, "not closed"},
		"a terminal in which something is only said": {"```console\n0 open\n```", terminal, 3, "begins with"},
		"a terminal in which nothing is":             {"```console\n```", terminal, 2, "nothing is typed"},
		"an alarm has its quotation":                 {"<!-- alarm on: FailedRunsAlarm -->\n> **a**\n>\n> b\n\nprose", alarmOn, 4, ""},
		"an alarm that is off has none":              {"<!-- alarm off: FailedRunsAlarm -->\n> said", alarmOff, 1, ""},
		"the world does something":                   {"<!-- world: a worker dies -->", event, 1, ""},
		"a comment that is no directive":             {"<!-- wrold: a worker dies -->", prose, 1, "no directive"},
		"a block of another language is prose":       {"```json\n{}\n```", prose, 1, ""},
	} {
		var p part
		n, err := p.read(strings.Split(test.lines, "\n"))
		said := ""
		if err != nil {
			said = err.Error()
		}
		if p.kind != test.kind && err == nil || n != test.n || (said == "") != (test.problem == "") || !strings.Contains(said, test.problem) {
			t.Errorf("%s: kind %d, %d lines, %q; want kind %d, %d lines, %q", sentence, p.kind, n, said, test.kind, test.n, test.problem)
		}
	}
}

func TestATerminalIsWrittenAsItWasRead(t *testing.T) {
	t.Parallel()
	lines := []string{"```console", "$ custody runs", "0 open", "", "$ f() {", ">   custody show r-1", "> }", "$ f \\", ">   --json", "{}", "```"}
	entries, err := entriesOf(lines[1 : len(lines)-1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines, terminalLines(entries)); diff != "" {
		t.Error(diff)
	}
	if got := entries[1].command; got != "f() {\n  custody show r-1\n}" {
		t.Errorf("the second command is %q", got)
	}
}

func TestWhenAnAlarmIsOn(t *testing.T) {
	t.Parallel()
	start := time.Unix(1796000000, 0)
	of := func(values ...float64) []datum {
		data := []datum{{"m", start.Add(-time.Second), 100}, {"another", start, 100}}
		for _, v := range values {
			data = append(data, datum{"m", start, v})
		}
		return data
	}
	greatest := alarm{metric: "m", statistic: "Maximum", divisor: 1, threshold: 3}
	sum := alarm{metric: "m", statistic: "Sum", divisor: 1, threshold: 3, orEqual: true}
	thousandth := alarm{metric: "m", statistic: "Maximum", divisor: 1000, threshold: 3}
	heartbeat := alarm{metric: "m", statistic: "Maximum", divisor: 1, threshold: 3, silenceBreaches: true}
	for sentence, test := range map[string]struct {
		alarm alarm
		data  []datum
		want  bool
	}{
		"the greatest is above":                       {greatest, of(1, 4, 2), true},
		"the greatest is the threshold":               {greatest, of(1, 3, 2), false},
		"the sum is the threshold, which is too much": {sum, of(1, 2), true},
		"the sum is below":                            {sum, of(1, 1), false},
		"a thousandth of it is above":                 {thousandth, of(3001), true},
		"a thousandth of it is not":                   {thousandth, of(2999), false},
		"silence is well":                             {greatest, of(), false},
		"silence is the alarm":                        {heartbeat, of(), true},
		"a figure ends the silence":                   {heartbeat, of(0), false},
	} {
		if got := test.alarm.on(test.alarm.figure(test.data, start)); got != test.want {
			t.Errorf("%s: on is %t", sentence, got)
		}
	}
}

// What is read of the template is what the alarms' own tests hold (internal/architecture); here a few of them, as the template has them.
func TestTheAlarmsOfTheTemplate(t *testing.T) {
	t.Parallel()
	all := alarms(t)
	const ofStack = ` {"Stack":"custody"}`
	for name, want := range map[string]alarm{
		"OldestOpenRunAgeAlarm": {metric: "Custody OldestOpenRunAge" + ofStack, statistic: "Maximum", divisor: 1, threshold: 7200, silenceBreaches: true},
		"FailedRunsAlarm":       {metric: "Custody FailedRuns" + ofStack, statistic: "Maximum", divisor: 1},
		"UnauthorizedDeliveriesAlarm": {metric: `Custody Deliveries {"Outcome":"rejected","Stack":"custody","Status":"401"}`, statistic: "Sum",
			divisor: 1, threshold: 25, orEqual: true},
		"StreamAgeHighAlarm": {metric: `AWS/Lambda IteratorAge {"FunctionName":"CleanupFunction"}`, statistic: "Maximum", divisor: 1000, threshold: 3600},
	} {
		got := all[name]
		if got.description == "" || strings.Contains(got.description, "${") {
			t.Errorf("%s is described as %q", name, got.description)
		}
		got.name, got.description = "", ""
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(alarm{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
