package architecture_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A number in a text is believed at night. Each one that the docs give for a parameter is its default.
func TestDocsGiveTheDefaultsOfParameters(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	given := regexp.MustCompile("`([A-Z][A-Za-z]+)`\\s\\(([0-9][^)]*)\\)")
	before := regexp.MustCompile("\\b([0-9]+ [a-z]+)[a-z\\s]*\\(`([A-Z][A-Za-z]+)`\\)")
	for _, page := range pages(t) {
		for _, m := range before.FindAllStringSubmatch(readRoot(t, page), -1) {
			p, ok := tpl.Parameters[m[2]].(object)
			count, _, _ := strings.Cut(m[1], " ")
			if standard := fmt.Sprint(p["Default"]); ok && count != standard && !sameTime(m[1], standard) {
				t.Errorf("%s says %s (%s), and the template's default is %s", page, m[1], m[2], standard)
			}
		}
		for _, m := range given.FindAllStringSubmatch(readRoot(t, page), -1) {
			p, ok := tpl.Parameters[m[1]].(object)
			if !ok {
				continue // something else of that form, such as a category
			}
			standard := fmt.Sprint(p["Default"])
			if said := strings.Join(strings.Fields(m[2]), " "); said != standard && said != inWords(standard) {
				t.Errorf("%s says %s (%s), and the template's default is %s", page, m[1], said, standard)
			}
		}
	}
}

// sameTime compares "2 minutes" and "240 s" with a duration such as 2m and 240s.
func sameTime(said, duration string) bool {
	count, unit, _ := strings.Cut(said, " ")
	a, err := time.ParseDuration(count + unit[:1])
	b, other := time.ParseDuration(duration)
	return err == nil && other == nil && a == b
}

// inWords is a duration as people write it: 2h is 2 hours.
func inWords(duration string) string {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return duration
	}
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if n := d / unit.of; n*unit.of == d && n > 0 {
			return strings.TrimSuffix(fmt.Sprintf("%d %ss", n, unit.name), map[bool]string{true: "s"}[n == 1])
		}
	}
	return duration
}

// rhythm is how long an alarm takes to go off, as a text says it; 0 is what it does not say.
type rhythm struct{ toAlarm, periods, minutes, total int64 }

// The ways in which docs and descriptions say it.
var (
	someOf   = regexp.MustCompile(`(\w+) of (\w+) periods of (\w+) minutes`)
	inARow   = regexp.MustCompile(`(\w+) periods of (\w+) minutes in a row`)
	forSo    = regexp.MustCompile(`(?i)\bfor (\w+) minutes`)
	withinSo = regexp.MustCompile(`(?i)\bwithin (\w+) minutes`)
)

func rhythmsOf(t *testing.T, text string) []rhythm {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	var all []rhythm
	for _, m := range someOf.FindAllStringSubmatch(text, -1) {
		all = append(all, rhythm{number(t, m[1]), number(t, m[2]), number(t, m[3]), 0})
	}
	for _, m := range inARow.FindAllStringSubmatch(text, -1) {
		all = append(all, rhythm{number(t, m[1]), number(t, m[1]), number(t, m[2]), 0})
	}
	for _, m := range forSo.FindAllStringSubmatch(text, -1) {
		all = append(all, rhythm{total: number(t, m[1])})
	}
	for _, m := range withinSo.FindAllStringSubmatch(text, -1) {
		all = append(all, rhythm{1, 1, number(t, m[1]), 0})
	}
	return all
}

func number(t *testing.T, word string) int64 {
	t.Helper()
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return n
	}
	names := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	n := slices.Index(names, word)
	if n < 0 {
		t.Errorf("%q is no number that is known here", word)
	}
	return int64(n)
}

// fits compares with the alarm itself.
func (r rhythm) fits(a alarm) bool {
	if r.total != 0 {
		return a.toAlarm == a.periods && r.total == int64(a.periods)*a.minutes
	}
	return r == rhythm{int64(a.toAlarm), int64(a.periods), a.minutes, 0}
}

// What the docs, an alarm's own description and its parameter's say about its threshold and its periods is what it does.
func TestDocsGiveTheNumbersOfAlarms(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	stack := scenario{}.stack(t, tpl)
	sections := sectionsOf(t, "docs/operations.md", "Alarms")
	for _, id := range tpl.of("AWS::CloudWatch::Alarm") {
		a := stack.readAlarm(id)
		_, symptom, _ := strings.Cut(sections[id], "- **Symptom:** ")
		symptom, _, _ = strings.Cut(symptom, "\n- **")
		parameter := thresholdOf(tpl, id)
		for where, text := range map[string]string{
			"its symptom in docs/operations.md": symptom,
			"its description":                   text(tpl.properties(id)["AlarmDescription"]),
			"the description of " + parameter:   described(tpl, parameter),
		} {
			for _, r := range rhythmsOf(t, text) {
				if !r.fits(a) {
					t.Errorf("%s: %s says %+v, and it goes off at %d of %d periods of %d minutes", id, where, r, a.toAlarm, a.periods, a.minutes)
				}
			}
		}
		if a.periods > 1 && len(rhythmsOf(t, symptom)) == 0 {
			t.Errorf("%s: its symptom in docs/operations.md does not say for how long", id)
		}
		if parameter != "" && !strings.Contains(symptom, "`"+parameter+"` (") {
			t.Errorf("%s: its symptom in docs/operations.md does not name %s with its default", id, parameter)
		}
	}
}

// thresholdOf is the parameter that the alarm's threshold comes from, "" for a number of its own.
func thresholdOf(tpl template, id string) string {
	threshold := tpl.properties(id)["Threshold"]
	if arguments, ok := at(threshold, "Fn::FindInMap").([]any); ok {
		threshold = arguments[1]
	}
	name, _ := at(threshold, "Ref").(string)
	return name
}

// described is a parameter's description, "" without a parameter.
func described(tpl template, parameter string) string {
	description, _ := at(tpl.Parameters, parameter, "Description").(string)
	return description
}

// What to look at first is something that there is: a log group, the dashboard, a command of the tool or a function.
func TestAlarmsSayWhereToLookFirst(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for _, id := range tpl.of("AWS::CloudWatch::Alarm") {
		_, first, _ := strings.Cut(strings.Join(strings.Fields(text(tpl.properties(id)["AlarmDescription"])), " "), "Look first at")
		sentence, _, _ := strings.Cut(first, ". ")
		place := strings.Contains(sentence, "the dashboard") && tpl.Resources["Dashboard"] != nil ||
			regexp.MustCompile(`"custody [a-z]+ --stack \$\{AWS::StackName\}"`).MatchString(sentence)
		for _, m := range substitution.FindAllStringSubmatch(sentence, -1) {
			place = place || tpl.Resources[m[1]] != nil
		}
		if !place {
			t.Errorf("%s says to look first at %q, which is no place", id, sentence)
		}
	}
}
