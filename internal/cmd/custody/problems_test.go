package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custody/internal/inbox"
)

// commands are one call of each command that asks a stack, by the table that it cannot do without.
func commands() map[string][][]string {
	return map[string][][]string{
		"inbox": {{"runs"}, {"show", "r-1"}, {"retry", "r-1"}, {"release", "r-1"}, {"dismiss", "r-1", "--reason", "x"}},
		"holds": {{"hold", "list"}, {"hold", "list", "--scope", "*"}, {"hold", "remove", "a", "--scope", "*", "--yes"}, {"stop", "--reason", "x"}, {"resume", "--yes"},
			{"hold", "add", "a", "--scope", "*", "--key", "k", "--reason", "other"}},
	}
}

// flagOf and variableOf name a table.
func flagOf(table string) string {
	return map[string]string{"inbox": "--table", "holds": "--holds-table"}[table]
}
func variableOf(table string) string {
	return map[string]string{"inbox": "CUSTODY_TABLE", "holds": "CUSTODY_HOLDS_TABLE"}[table]
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	for kind, calls := range commands() {
		for _, args := range calls {
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				t.Parallel()
				variable, flag := variableOf(kind), flagOf(kind)
				x.with(variable, "").refuses(t, 2, fmt.Sprintf("which table? Give --stack or %s, or set %s; a local stack's env file does: . ./local.env", flag, variable), args...)
				x.with(variable, "no spaces").refuses(t, 2, flag+": "+variable, args...)
				x.with("AWS_REGION", "").refuses(t, 1, "no AWS region: set AWS_REGION, or AWS_PROFILE to a profile that has one", args...)
				x.with("AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", "").refuses(t, 1,
					"no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", args...)
				x.with(variable, "nowhere").refuses(t, 1, fmt.Sprintf("there is no table nowhere in region us-east-1; %s or %s names it, "+
					"AWS_REGION and AWS_PROFILE say where", flag, variable), args...)
			})
		}
	}
}

func TestTheFlagGoesBeforeTheVariable(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	other := x.with("CUSTODY_TABLE", "nowhere", "CUSTODY_HOLDS_TABLE", "nowhere")
	if got := other.does(t, "runs", "--table", "inbox"); !strings.Contains(got, "1 failed") {
		t.Errorf("runs:\n%s", got)
	}
	if got := other.does(t, "show", "r-1", "--table", "inbox", "--holds-table", "holds"); !strings.Contains(got, "none in force") {
		t.Errorf("show:\n%s", got)
	}
	if got := other.does(t, "hold", "list", "--holds-table", "holds"); got != "no holds\n" {
		t.Errorf("hold list:\n%s", got)
	}
}

func TestAProfileOfTheAWSConfigurationIsUsed(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	config := filepath.Join(t.TempDir(), "config")
	content := "[profile here]\nregion = us-east-1\naws_access_key_id = test\naws_secret_access_key = test\n"
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	by := x.with("AWS_REGION", "", "AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", "", "AWS_CONFIG_FILE", config)
	by.with("AWS_PROFILE", "here").does(t, "runs")
	by.with("AWS_PROFILE", "elsewhere").refuses(t, 1, `AWS_PROFILE names the profile "elsewhere", which the AWS configuration does not have`, "runs")
}

func TestAnotherTableThanMeant(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	swapped := x.with("CUSTODY_TABLE", "holds", "CUSTODY_HOLDS_TABLE", "inbox")
	swapped.refuses(t, 1, "table holds has not the keys or the index of this kind of table; --table or CUSTODY_TABLE names it", "show", "r-1")
	swapped.refuses(t, 1, "table holds has not the keys or the index of this kind of table", "runs")
	swapped.refuses(t, 1, "table inbox has not the keys or the index of this kind of table; --holds-table or CUSTODY_HOLDS_TABLE names it", "resume")
}

// A stack that does not answer, or does not let one in.
func TestNoAnswerIsSaidInWords(t *testing.T) {
	t.Parallel()
	says := func(code string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb#%s","message":"as AWS says it"}`, code)
		})
	}
	hangUp := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for sentence, test := range map[string]struct {
		handler http.Handler
		want    string
	}{
		"not allowed":         {says("AccessDeniedException"), "the AWS credentials may not do this with table inbox; AWS_PROFILE chooses others"},
		"unknown credentials": {says("UnrecognizedClientException"), "AWS does not take the credentials; AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY choose others"},
		"expired credentials": {says("ExpiredTokenException"), "AWS does not take the credentials"},
		"something else":      {says("ItemCollectionSizeLimitExceededException"), "as AWS says it"},
		"nobody there":        {hangUp, "which AWS_ENDPOINT_URL_DYNAMODB names; is that stack still there?"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, test.handler)
			x := tool{map[string]string{
				"AWS_ENDPOINT_URL_DYNAMODB": url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
				"CUSTODY_TABLE": "inbox", "CUSTODY_HOLDS_TABLE": "holds", "AWS_MAX_ATTEMPTS": "1",
			}}
			x.refuses(t, 1, test.want, "runs")
		})
	}
}

// Reads are answered; of writes, which are made, the answer is lost.
func TestAWriteWhoseFateIsUnknownIsSaidToBe(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	engine := x.env["AWS_ENDPOINT_URL_DYNAMODB"]
	url, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), r.Method, engine, r.Body)
		if err != nil {
			panic(err)
		}
		request.Header = r.Header
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer answer.Body.Close()
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		body := make([]byte, 1<<16)
		for {
			n, err := answer.Body.Read(body)
			_, _ = w.Write(body[:n])
			if err != nil {
				return
			}
		}
	}))
	lossy := x.with("AWS_ENDPOINT_URL_DYNAMODB", url, "AWS_MAX_ATTEMPTS", "1")
	lossy.refuses(t, 1, "whether it was done is not known: `custody show cleanup.run/r-1` tells", "retry", "r-1")
	lossy.refuses(t, 1, "whether it was done is not known: `custody hold list` tells", "stop", "--reason", "x")
	if got := x.does(t, "show", "r-1"); !strings.Contains(got, "pending") || !strings.Contains(got, "Brake       ON") {
		t.Errorf("they were done, but custody show says\n%s", got)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	x := tool{}
	for _, path := range [][]string{{"runs"}, {"show"}, {"retry"}, {"release"}, {"dismiss"}, {"hold", "add"}, {"hold", "remove"}, {"hold", "list"}, {"stop"}, {"resume"},
		{"report"}, {"plan"}, {"sign"}, {"send"}} {
		help := x.does(t, append(path, "--help")...)
		for _, part := range []string{"Exit codes: 0 ", "Examples:\n  custody " + strings.Join(path, " "), "--json", "Usage:\n  custody " + strings.Join(path, " ")} {
			if !strings.Contains(help, part) {
				t.Errorf("%v: no %q in\n%s", path, part, help)
			}
		}
		for line := range strings.Lines(help) {
			if len(line) > 121 {
				t.Errorf("%v: a line of %d columns: %s", path, len(line), line)
			}
		}
	}
	for line := range strings.Lines(x.does(t, "--help")) {
		if len(line) > 121 {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}
	if help := x.does(t, "--help"); !strings.Contains(help, "  4  refused: the run's state") || !strings.Contains(help, "  3  not found") {
		t.Errorf("the exit codes are not documented:\n%s", help)
	}
}

// A command that is nearly one is named, and a time that has another form is explained.
func TestAMisspelledCommandLineSaysWhatIsMeant(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	for want, args := range map[string][]string{
		"custody has no command \"run\"; is `custody runs` meant?":                                           {"run"},
		"custody has no command \"rnus\"; is `custody runs` meant?":                                          {"rnus"},
		"custody hold has no command \"lst\"; is `custody hold list` meant?":                                 {"hold", "lst"},
		"custody takes no argument, and there is no command \"nonsense\"; `custody --help` lists what there": {"nonsense"},
		"custody runs takes no argument, and there is no command \"r-1\"; `custody runs --help`":             {"runs", "r-1"},
		`"2d" for "--older-than" flag: time: unknown unit "d" in duration "2d"; a time is given in hours`:    {"runs", "--older-than", "2d"},
		`"soon" for "--every" flag: time: invalid duration "soon"; a time is given in hours, minutes and`:    {"runs", "--every", "soon"},
		"unknown flag: --nonsense; `custody runs --help` lists the flags":                                    {"runs", "--nonsense"},
	} {
		x.refuses(t, 2, want, args...)
	}
}
