package architecture_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// series is what CloudWatch has of one metric: one name with one set of dimensions. It is kept by the minute, which is how fine
// CloudWatch itself keeps it.
type series struct {
	unit    string
	minutes map[int64]point
}

type point struct {
	sum, maximum float64
	count        int
}

// metrics are the series of an account, by their whole names.
type metrics map[string]*series

// whole is the name of a series. Two metrics that differ in one dimension have nothing to do with each other.
func whole(namespace, name string, dimensions map[string]string) string {
	var pairs []string
	for _, dimension := range slices.Sorted(maps.Keys(dimensions)) {
		pairs = append(pairs, dimension+"="+dimensions[dimension])
	}
	return namespace + " " + name + " {" + strings.Join(pairs, ", ") + "}"
}

func (m metrics) add(name, unit string, at time.Time, value float64) error {
	s := m[name]
	if s == nil {
		s = &series{unit: unit, minutes: map[int64]point{}}
		m[name] = s
	}
	if s.unit != unit {
		return fmt.Errorf("%s comes in %s and in %s", name, s.unit, unit)
	}
	minute := at.Unix() / 60
	s.minutes[minute] = s.minutes[minute].and(point{value, value, 1})
	return nil
}

// and joins the values of two times.
func (p point) and(other point) point {
	switch {
	case p.count == 0:
		return other
	case other.count == 0:
		return p
	}
	return point{p.sum + other.sum, max(p.maximum, other.maximum), p.count + other.count}
}

// watched is one series of an alarm, and the statistic that makes a data point of a period.
type watched struct{ series, statistic, unit string }

// at is the data point of the period that ends with the given minute, nil where it is missing.
func (w watched) at(m metrics, end int64, minutes int64) *float64 {
	s := m[w.series]
	if s == nil || w.unit != "" && w.unit != s.unit { // an alarm that names a unit sees no other
		return nil
	}
	var all point
	for minute := end - minutes + 1; minute <= end; minute++ {
		all = all.and(s.minutes[minute])
	}
	switch {
	case all.count == 0:
		return nil
	case w.statistic == "Sum":
		return &all.sum
	}
	return &all.maximum
}

// alarm is an alarm of the template.
type alarm struct {
	id               string
	watches          map[string]watched // by id of the expression
	expression       formula
	minutes          int64 // of a period
	periods, toAlarm int
	comparison       string
	threshold        float64
	missingBreaches  bool
}

func (a alarm) breaches(v float64) bool {
	if a.comparison == "GreaterThanThreshold" {
		return v > a.threshold
	}
	return v >= a.threshold // GreaterThanOrEqualToThreshold
}

// further is how many periods beyond the evaluated ones CloudWatch looks back for data points, by the examples of the CloudWatch
// User Guide, "Configuring how CloudWatch alarms treat missing data".
const further = 2

// goesOff evaluates the alarm at the end of a minute, as the same page describes it: the newest data points that there are, up to
// the number of periods; only where there are fewer is a missing one filled in by the alarm's rule, as seldom as possible.
func (a alarm) goesOff(m metrics, minute int64) bool {
	found, breaching := 0, 0
	for back := range int64(a.periods + further) {
		points := map[string]*float64{}
		for id, w := range a.watches {
			points[id] = w.at(m, minute-back*a.minutes, a.minutes)
		}
		if v := a.expression(points); v != nil && found < a.periods {
			found++
			if a.breaches(*v) {
				breaching++
			}
		}
	}
	if a.missingBreaches {
		breaching += a.periods - found
	}
	return breaching >= a.toAlarm
}

// readAlarm reads an alarm of a rendered stack.
func (r rendered) readAlarm(id string) alarm {
	r.t.Helper()
	p := r.value(r.tpl.properties(id)).(object)
	a := alarm{id: id, watches: map[string]watched{}, periods: p["EvaluationPeriods"].(int), comparison: text(p["ComparisonOperator"])}
	a.toAlarm = a.periods
	if n, given := p["DatapointsToAlarm"].(int); given {
		a.toAlarm = n
	}
	if _, err := fmt.Sscan(text(p["Threshold"]), &a.threshold); err != nil {
		r.t.Fatalf("%s: threshold %v: %v", id, p["Threshold"], err)
	}
	switch rule := text(p["TreatMissingData"]); rule {
	case "breaching", "notBreaching":
		a.missingBreaches = rule == "breaching"
	default:
		r.t.Fatalf("%s treats missing data as %s, which is not known here", id, rule)
	}
	if !slices.Contains([]string{"GreaterThanThreshold", "GreaterThanOrEqualToThreshold"}, a.comparison) {
		r.t.Fatalf("%s compares by %s, which is not known here", id, a.comparison)
	}
	expression := "alone"
	if p["MetricName"] != nil {
		r.watch(&a, expression, p, text(p["Statistic"]), p["Period"])
	}
	for _, query := range list(p["Metrics"]) {
		if stat := at(query, "MetricStat"); stat != nil {
			r.watch(&a, text(at(query, "Id")), at(stat, "Metric").(object), text(at(stat, "Stat")), at(stat, "Period"))
		} else {
			expression = text(at(query, "Expression"))
		}
		if returned := at(query, "ReturnData") != false; returned != (at(query, "Expression") != nil) {
			r.t.Fatalf("%s: the expression, and nothing else, must be what the alarm looks at", id)
		}
	}
	var err error
	if a.expression, err = readFormula(expression); err != nil {
		r.t.Fatalf("%s: %v", id, err)
	}
	return a
}

func (r rendered) watch(a *alarm, id string, metric object, statistic string, period any) {
	r.t.Helper()
	minutes := int64(period.(int) / 60)
	if a.minutes != 0 && a.minutes != minutes || minutes == 0 {
		r.t.Fatalf("%s has periods of several lengths, or of less than a minute", a.id)
	}
	if statistic != "Sum" && statistic != "Maximum" {
		r.t.Fatalf("%s takes the %s, which is not known here", a.id, statistic)
	}
	a.minutes = minutes
	dimensions := map[string]string{}
	for _, d := range list(metric["Dimensions"]) {
		dimensions[text(at(d, "Name"))] = text(at(d, "Value"))
	}
	w := watched{whole(text(metric["Namespace"]), text(metric["MetricName"]), dimensions), statistic, ""}
	if unit, named := metric["Unit"].(string); named {
		w.unit = unit
	}
	a.watches[id] = w
}

// The examples are those of the CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data": five periods, the
// newest last, X breaching, 0 not, - missing.
func TestAlarmsAreEvaluatedAsDocumented(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		points                  string
		toAlarm                 int
		breaching, notBreaching bool
	}{
		"3 of 3: enough without what is missing": {"0-X-X", 3, false, false},
		"3 of 3: one good one is enough":         {"----0", 3, false, false},
		"3 of 3: nothing":                        {"-----", 3, true, false},
		"3 of 3: three bad ones":                 {"0XX-X", 3, true, true},
		"3 of 3: one bad one":                    {"--X--", 3, true, false},
		"2 of 3: enough without what is missing": {"0-X-X", 2, true, true},
		"2 of 3: two of the newest three":        {"00X0X", 2, true, true},
		"2 of 3: one is missing":                 {"0-X--", 2, true, false},
		"2 of 3: two are missing behind a good":  {"----0", 2, true, false},
		"2 of 3: two are missing behind a bad":   {"----X", 2, true, false},
		"2 of 3: an old one does not count":      {"XX000", 2, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := metrics{}
			start := time.Unix(0, 0)
			for i, sign := range test.points {
				value := map[rune]float64{'X': 11, '0': 10}[sign]
				if sign != '-' {
					if err := m.add("m", "Count", start.Add(time.Duration(i)*5*time.Minute), value); err != nil {
						t.Fatal(err)
					}
				}
			}
			expression, err := readFormula("alone")
			if err != nil {
				t.Fatal(err)
			}
			for missingBreaches, want := range map[bool]bool{true: test.breaching, false: test.notBreaching} {
				a := alarm{watches: map[string]watched{"alone": {"m", "Maximum", ""}}, expression: expression, minutes: 5, periods: 3,
					toAlarm: test.toAlarm, comparison: "GreaterThanThreshold", threshold: 10, missingBreaches: missingBreaches}
				if got := a.goesOff(m, 24); got != want {
					t.Errorf("missing breaches %t: goes off %t, want %t", missingBreaches, got, want)
				}
			}
		})
	}
}

func TestDataPointsOfAPeriod(t *testing.T) {
	t.Parallel()
	m := metrics{}
	for minute, value := range map[int]float64{3: 100, 4: 2, 6: 5, 8: 3, 9: 100} {
		if err := m.add("m", "Count", time.Unix(int64(minute)*60+30, 0), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.add("below", "Count", time.Unix(60, 0), -4); err != nil {
		t.Fatal(err)
	}
	if err := m.add("m", "Seconds", time.Unix(60, 0), 1); err == nil {
		t.Error("a second unit of one series is taken")
	}
	for name, test := range map[string]struct {
		watched watched
		end     int64
		want    string
	}{
		"the sum of five minutes":              {watched{"m", "Sum", ""}, 8, "10"},
		"the maximum of five minutes":          {watched{"m", "Maximum", ""}, 8, "5"},
		"a maximum below zero":                 {watched{"below", "Maximum", ""}, 3, "-4"},
		"nothing in five minutes":              {watched{"m", "Sum", ""}, 20, "missing"},
		"no such series":                       {watched{"n", "Sum", ""}, 8, "missing"},
		"the unit that it has":                 {watched{"m", "Sum", "Count"}, 8, "10"},
		"a unit that it does not have is none": {watched{"m", "Sum", "Seconds"}, 8, "missing"},
	} {
		got := "missing"
		if v := test.watched.at(m, test.end, 5); v != nil {
			got = fmt.Sprint(*v)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
