package nights_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"custody/internal/localaws"
)

// alarm is an alarm of the template, with the template's defaults: what it looks at, and when it is on. How many periods it takes, and
// when within them it goes off, is held by the tests of the template (internal/architecture); here each of its periods is taken to be
// like the stretch of the night that is looked at.
type alarm struct {
	name, description string
	metric            string // namespace, name and dimensions
	statistic         string
	divisor           float64 // of the figure, in an expression such as "milliseconds / 1000"
	threshold         float64
	orEqual           bool // the threshold itself is too much
	silenceBreaches   bool
}

// figure is the data point of a stretch of time; there is none without a datum.
type figure struct {
	value float64
	data  int
}

func (a alarm) figure(data []datum, from time.Time) figure {
	var f figure
	for _, d := range data {
		switch {
		case d.metric != a.metric || d.at.Before(from):
			continue
		case a.statistic == "Sum":
			f.value += d.value / a.divisor
		default:
			f.value = max(f.value, d.value/a.divisor)
		}
		f.data++
	}
	return f
}

// on reports whether the alarm is on in periods with this figure.
func (a alarm) on(f figure) bool {
	if f.data == 0 {
		return a.silenceBreaches
	}
	return f.value > a.threshold || a.orEqual && f.value == a.threshold
}

// datum is one value of a metric.
type datum struct {
	metric string
	at     time.Time
	value  float64
}

// metricName is a metric's whole name. Two that differ in one dimension have nothing to do with each other.
func metricName(namespace, name string, dimensions map[string]string) string {
	text, _ := json.Marshal(dimensions) // by their names; texts always marshal
	return namespace + " " + name + " " + string(text)
}

// data are the values that the functions have published so far in their log lines, in the embedded metric format, and those of AWS.
func (w *world) data(t *testing.T) []datum {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	data := append([]datum(nil), w.published...)
	for _, line := range w.logged {
		var members map[string]any
		var embedded struct {
			AWS struct {
				Timestamp         int64
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name string }
				}
			} `json:"_aws"`
		}
		if json.Unmarshal([]byte(line.text), &members) != nil || json.Unmarshal([]byte(line.text), &embedded) != nil {
			continue // a line of the runtime's, such as that of a panic
		}
		for _, d := range embedded.AWS.CloudWatchMetrics {
			for _, set := range d.Dimensions {
				dimensions := map[string]string{}
				for _, name := range set {
					dimensions[name] = fmt.Sprint(members[name])
				}
				for _, metric := range d.Metrics {
					value, ok := members[metric.Name].(float64)
					if !ok {
						t.Fatalf("%s has no figure in %s", metric.Name, line.text)
					}
					data = append(data, datum{metricName(d.Namespace, metric.Name, dimensions), time.UnixMilli(embedded.AWS.Timestamp), value})
				}
			}
		}
	}
	return data
}

// publish is a value of one of AWS's own metrics.
func (w *world) publish(namespace, name string, dimensions map[string]string, value float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.published = append(w.published, datum{metricName(namespace, name, dimensions), time.Now(), value})
}

// silence is how long nothing must come before it counts as silence: the schedule could have had its turn several times.
const silence = 3 * localaws.SweepEvery

// goesOn waits until the alarm is on, by what was published from then on.
func (w *world) goesOn(t *testing.T, a alarm, from time.Time) {
	t.Helper()
	soon(t, a.name+" is on", func() bool {
		f := a.figure(w.data(t), from)
		return a.on(f) && (f.data > 0 || time.Since(from) >= silence)
	})
}

// goesOff waits until the alarm is off. An alarm that looks at the greatest figure sees that which was published from now on, and the
// functions publish it all the time; a sum is that of what came since the world last did something.
func (w *world) goesOff(t *testing.T, a alarm, last time.Time) {
	t.Helper()
	from, needs := time.Now(), 1
	if a.statistic == "Sum" {
		from, needs = last, 0
	}
	soon(t, a.name+" is off", func() bool {
		f := a.figure(w.data(t), from)
		return !a.on(f) && f.data >= needs
	})
}

// quotation is how a page shows an alarm, in lines as long as the page's own.
func (a alarm) quotation() alarmText {
	const width = 130
	lines, line := alarmText{"> **" + a.name + "**", ">"}, ">"
	for _, word := range strings.Fields(a.description) {
		if len(line)+1+len(word) > width {
			lines, line = append(lines, line), ">"
		}
		line += " " + word
	}
	return append(lines, line)
}

// template is what is read of template.yaml.
type template struct {
	Parameters map[string]struct {
		Default string `yaml:"Default"`
	} `yaml:"Parameters"`
	Mappings  map[string]map[string]map[string]string `yaml:"Mappings"`
	Resources map[string]struct {
		Type       string    `yaml:"Type"`
		Properties yaml.Node `yaml:"Properties"`
	} `yaml:"Resources"`
}

// alarms are those of the template.
func alarms(t *testing.T) map[string]alarm {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var tpl template
	if err := yaml.Unmarshal(text, &tpl); err != nil {
		t.Fatal(err)
	}
	all := map[string]alarm{}
	for id, resource := range tpl.Resources {
		if resource.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		if a, ok := tpl.alarm(t, id, resource.Properties); ok {
			all[id] = a
		}
	}
	return all
}

// alarm reads one that looks at one metric. Others no night has; one that is asked for in spite of that is not found.
func (tpl template) alarm(t *testing.T, id string, properties yaml.Node) (alarm, bool) {
	t.Helper()
	var p alarmProperties
	if err := properties.Decode(&p); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	a := alarm{name: id, description: tpl.text(t, &p.AlarmDescription), statistic: p.Statistic, divisor: 1,
		orEqual: p.ComparisonOperator == "GreaterThanOrEqualToThreshold", silenceBreaches: p.TreatMissingData == "breaching"}
	var err error
	if a.threshold, err = strconv.ParseFloat(tpl.text(t, &p.Threshold), 64); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	if len(p.Metrics) == 0 {
		a.metric = tpl.metric(t, p.metricProperties)
		return a, true
	}
	if len(p.Metrics) != 2 || p.Metrics[1].MetricStat == nil {
		return alarm{}, false
	}
	stat := p.Metrics[1].MetricStat
	a.metric, a.statistic = tpl.metric(t, stat.Metric), stat.Stat
	_, err = fmt.Sscanf(p.Metrics[0].Expression, "milliseconds / %g", &a.divisor)
	return a, err == nil
}

// alarmProperties are those of an alarm as far as they are read.
type alarmProperties struct {
	AlarmDescription   yaml.Node `yaml:"AlarmDescription"`
	metricProperties   `yaml:",inline"`
	Statistic          string    `yaml:"Statistic"`
	ComparisonOperator string    `yaml:"ComparisonOperator"`
	Threshold          yaml.Node `yaml:"Threshold"`
	TreatMissingData   string    `yaml:"TreatMissingData"`
	Metrics            []struct {
		Expression string `yaml:"Expression"`
		MetricStat *struct {
			Stat   string           `yaml:"Stat"`
			Metric metricProperties `yaml:"Metric"`
		} `yaml:"MetricStat"`
	} `yaml:"Metrics"`
}

type metricProperties struct {
	Namespace  string `yaml:"Namespace"`
	MetricName string `yaml:"MetricName"`
	Dimensions []struct {
		Name  string    `yaml:"Name"`
		Value yaml.Node `yaml:"Value"`
	} `yaml:"Dimensions"`
}

func (tpl template) metric(t *testing.T, p metricProperties) string {
	t.Helper()
	dimensions := map[string]string{}
	for _, d := range p.Dimensions {
		dimensions[d.Name] = tpl.text(t, &d.Value)
	}
	return metricName(p.Namespace, p.MetricName, dimensions)
}

var reference = regexp.MustCompile(`\$\{([A-Za-z:.]+)\}`)

// text is a value as CloudFormation makes it, with the defaults of the parameters.
func (tpl template) text(t *testing.T, value *yaml.Node) string {
	t.Helper()
	switch value.Tag {
	case "!Ref", "!GetAtt":
		return tpl.refer(t, value.Value)
	case "!Sub":
		return reference.ReplaceAllStringFunc(value.Value, func(m string) string { return tpl.refer(t, strings.Trim(m, "${}")) })
	case "!FindInMap":
		return tpl.Mappings[tpl.text(t, value.Content[0])][tpl.text(t, value.Content[1])][tpl.text(t, value.Content[2])]
	case "!!str", "!!int", "!!float":
		return value.Value
	}
	t.Fatalf("%s is not known here", value.Tag)
	return ""
}

// refer is what a name stands for: the stack, a parameter's default, a log group by its name, or another resource by its logical id.
func (tpl template) refer(t *testing.T, name string) string {
	t.Helper()
	if name == "AWS::StackName" {
		return stackName
	}
	if p, ok := tpl.Parameters[name]; ok {
		return p.Default
	}
	id, _, _ := strings.Cut(name, ".")
	resource, ok := tpl.Resources[id]
	if !ok {
		t.Fatalf("the template has no %s", name)
	}
	var p struct {
		LogGroupName yaml.Node `yaml:"LogGroupName"`
	}
	if resource.Type == "AWS::Logs::LogGroup" && resource.Properties.Decode(&p) == nil {
		return tpl.text(t, &p.LogGroupName)
	}
	return id
}
