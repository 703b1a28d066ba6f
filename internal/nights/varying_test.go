package nights_test

import (
	"regexp"
	"strings"
	"testing"
)

// varying are the parts of a printed line that a clock or chance decides, each with the word that stands for it when a line is compared
// with the page. Nothing else may differ. The index page lists them. A time before September 2026 is one of a story, and is compared:
// the objects and cutoffs of the nights are from that summer. Ids come before ages, since parts of them may look like ages.
var varying = []struct {
	what    string
	pattern *regexp.Regexp
	word    string
}{
	{"times of the clock", regexp.MustCompile(`\b(?:2026-(?:09|1[0-2])|20(?:2[7-9]|[3-9]\d)-\d\d)-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`), "TIME"},
	{"ids of versions", regexp.MustCompile(`(^|[ ,"])[A-Za-z0-9._-]{32}([ ,"]|$)`), "${1}ID${2}"},
	{"other ids that are made up, of deliveries, leases, wakes and requests", regexp.MustCompile(
		`\bd-[a-z2-7]{26}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b|\b[A-Z2-7]{26}\b|\b[0-9A-F]{16}\b`), "ID"},
	{"ages and times to go", regexp.MustCompile(`\b(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+s\b( ago\b)?|\b\d+d\d+h\b|\b\d+h\d+m\b|\b(?:\d+d|\d+h|\d+m)\b`), "AGE"},
	{"rates", regexp.MustCompile(`\b\d+(?:\.\d+)?/s\b`), "RATE"},
	{"places in the stream", regexp.MustCompile(`\bshardId-\d+-\d+|"\d{24}"|/stream/\d{4}-\d\d-\d\dT[\d:.]+`), "PLACE"},
	{"figures of time in log lines", regexp.MustCompile(`("(?:[a-z_]+_m?s|Timestamp|[A-Z][A-Za-z]*(?:Age|Latency))":)[0-9.e+-]+`), "${1}N"},
	{"ports", regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{"spaces that fill a column", regexp.MustCompile(` {2,}`), "  "},
}

// progressLine is printed each second while a run is followed, so that there are as many as the machine is slow.
var progressLine = regexp.MustCompile(`^TIME (?:pending|running),`)

// compared is what is compared of the printed lines. Where a long line is broken, the length of an age decides, too: what is indented
// belongs to the line before it.
func compared(printed []string) []string {
	var lines []string
	for _, line := range printed {
		for _, v := range varying {
			line = v.pattern.ReplaceAllString(line, v.word)
		}
		line = strings.TrimRight(line, " ")
		rest, indented := strings.CutPrefix(line, "  ")
		switch {
		case indented && len(lines) > 0:
			lines[len(lines)-1] += " " + rest
		case !progressLine.MatchString(line):
			lines = append(lines, line)
		}
	}
	return lines
}

func TestWhatIsComparedOfALine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"State       done since 2026-11-30T20:11:44Z (1s ago)":                                                      "State  done since TIME (AGE)",
		"expired_before 2026-08-30T00:00:00Z":                                                                       "expired_before 2026-08-30T00:00:00Z",
		"expires 2027-02-28T20:11:44Z (in 89d23h)":                                                                  "expires TIME (in AGE)",
		"Delivery    d-rhvm7excblhpgaz3tgfuqa5ujb":                                                                  "Delivery  ID",
		`"request_id":"e88bf99d-987d-4692-aeff-9da027768782"`:                                                       `"request_id":"ID"`,
		"Version     8TnAAR.jHA-12m-_QQ9tEt03rVt02af., 1 B":                                                         "Version  ID, 1 B",
		"From        delivery d-1, received":                                                                        "From  delivery d-1, received",
		"0 open, 1 failed, 0 recorded":                                                                              "0 open, 1 failed, 0 recorded",
		"Slices      3 in all, 3 in a row without progress":                                                         "Slices  3 in all, 3 in a row without progress",
		`"status":401,"age_s":12.5,"ack_latency_ms":1.9`:                                                            `"status":401,"age_s":N,"ack_latency_ms":N`,
		"Answer      401 rejected, at try 1":                                                                        "Answer  401 rejected, at try 1",
		"Version     8TnAAR.jHA_depUG_QQ9tEt03rVt02af, 1 B":                                                         "Version  ID, 1 B",
		"Body        sha256 5c7bd16f25e954d983e2b7b311cd3d3a014af4c5b49f33ea640f67a398b8385c":                       "Body  sha256 5c7bd16f25e954d983e2b7b311cd3d3a014af4c5b49f33ea640f67a398b8385c",
		"cleanup.run/r-1/000001-HOLS7Z3ODOXXRAUSLBMXAKZZXK/0001-000001-01-selection.jsonl.gz":                       "cleanup.run/r-1/000001-ID/0001-000001-01-selection.jsonl.gz",
		`"shardId":"shardId-00000001796070245826-00000001","startSequenceNumber":"100000000000000000000022"`:        `"shardId":"PLACE","startSequenceNumber":PLACE`,
		`table/custody-inbox/stream/2026-11-30T20:24:05.001"`:                                                       `table/custody-inboxPLACE"`,
		"RequestID: 000000000000001F, HostID: local/000000000000001F,":                                              "RequestID: ID, HostID: local/ID,",
		"http://127.0.0.1:41061/":                                                                                   "http://127.0.0.1:PORT/",
		"`custody resume --scope warehouse:wh-17` lifts it":                                                         "`custody resume --scope warehouse:wh-17` lifts it",
		"2026-11-30T20:11:45Z pending, 0 deleted, scan 1":                                                           "",
		"cleanup.run/r-5 is done: 40 versions deleted, 0 refused":                                                   "cleanup.run/r-5 is done: 40 versions deleted, 0 refused",
		"Next        it is parked until 2026-11-30T20:11:44Z (in\n            42m). It\n            waits\nYou can": "Next  it is parked until TIME (in AGE). It waits\nYou can",
		"  indented from the first line on":                                                                         "  indented from the first line on",
	} {
		if got := strings.Join(compared(strings.Split(line, "\n")), "\n"); got != want {
			t.Errorf("%s\n is compared as %s\n          want %s", line, got, want)
		}
	}
}
