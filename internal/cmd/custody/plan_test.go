package main_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
)

// planned is `plan` for the warehouse of these tests, up to yesterday; what is put is a day older.
func planned(more ...string) []string {
	return append([]string{"plan", "--type", "cleanup.run", "--warehouse-id", "wh-17", "--expired-before", ago(25 * time.Hour).UTC().Format(time.RFC3339)}, more...)
}

// newPlanned is a stack's stores with S3's clock two days behind. MinObjectAge is a day, so that nothing warns.
func newPlanned(t *testing.T) *buckets {
	t.Helper()
	return newBuckets(t, func() time.Time { return ago(48 * time.Hour) })
}

func (b *buckets) put(t *testing.T, key, tag string) string {
	t.Helper()
	in := &s3.PutObjectInput{Bucket: aws.String("objects"), Key: &key, Body: strings.NewReader("12345")}
	if tag != "" {
		in.Tagging = aws.String("custody-hold=" + tag)
	}
	out, err := b.s3.PutObject(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

func (b *buckets) mark(t *testing.T, key string) string {
	t.Helper()
	out, err := b.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("objects"), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	x := newPlanned(t)
	for _, key := range []string{"pod/wh-17/a", "pod/wh-17/a", "labels/wh-17/b", "pod/wh-170/other", "pod/wh-17/held"} {
		x.put(t, key, "")
	}
	x.put(t, "pod/wh-17/tagged", "case 4")
	x.mark(t, "pod/wh-17/a")
	x.does(t, hold("case-4", "--key", "pod/wh-17/held")...)
	want := `
Plan        cleanup.run of warehouse:wh-17; nothing was written
Selection   versions in bucket objects older than T, under
            pod/wh-17/
            labels/wh-17/
Decided     at T, by the holds of table holds, with tags
Versions    6: 4 would go, 2 stay

STATE     WHY         VERSIONS  MARKERS  BYTES  MEANS
would go  dry_run     4         1        15 B   expired and held by nothing: a run that deletes
                                                would have deleted it
stays     legal_hold  1         0        5 B    a legal hold in the holds table covers its key
stays     tag         1         0        5 B    its object tag custody-hold holds it

WOULD GO  STAYS  PREFIX
3         2      pod/wh-17/
1         0      labels/wh-17/
`
	if diff := cmp.Diff(strings.Split(strings.Trim(want, "\n"), "\n"), lines(x.does(t, planned()...))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.Lines(x.with("COLUMNS", "60").does(t, planned()...)) {
		if len([]rune(line)) > 61 {
			t.Errorf("a line of %d columns where there are 60: %s", len(line)-1, line)
		}
	}
	if text := x.does(t, planned("--check-tags", "false")...); !strings.Contains(text, "5 would go, 1 stays\n") || !strings.Contains(text, "without tags") {
		t.Errorf("without tags:\n%s", text)
	}
	if text := x.with("CUSTODY_WAREHOUSE_PREFIXES", "labels/{warehouse_id}/").does(t, planned()...); !strings.Contains(text, "Versions    1: 1 would go\n") {
		t.Errorf("of another prefix:\n%s", text)
	}
	if text := x.does(t, planned("--warehouse-prefixes", "x/{warehouse_id}/")...); !strings.Contains(text, "Versions    none\n") || strings.Contains(text, "MEANS") {
		t.Errorf("of nothing:\n%s", text)
	}
}

func TestPlanAsJSON(t *testing.T) {
	t.Parallel()
	x := newPlanned(t)
	older := x.put(t, "pod/wh-17/<a>", "")
	marker := x.mark(t, "pod/wh-17/<a>")
	held := x.put(t, "pod/wh-17/held/\x1b[2J\u009b", "")
	x.does(t, hold("case-4", "--prefix", "pod/wh-17/held/")...)
	text := x.run(t, planned("--json")...).stdout
	if i := unprintable(text); i >= 0 || !strings.Contains(text, "pod/wh-17/<a>") {
		t.Errorf("keys are not written as they are, or steer a terminal: %s", text)
	}
	got := objects(t, text)
	for _, o := range got {
		if modified, err := time.Parse(time.RFC3339, o["last_modified"].(string)); err != nil || time.Since(modified).Abs() > 49*time.Hour {
			t.Errorf("last_modified of %v: %v", o, err)
		}
		delete(o, "last_modified")
	}
	slices.SortFunc(got, func(a, b map[string]any) int {
		return strings.Compare(a["version_id"].(string), b["version_id"].(string))
	})
	want := []map[string]any{
		{"key": "pod/wh-17/<a>", "version_id": older, "size": 5.0, "delete_marker": false, "current": false, "decision": "delete"},
		{"key": "pod/wh-17/<a>", "version_id": marker, "size": 0.0, "delete_marker": true, "current": true, "decision": "delete"},
		{"key": "pod/wh-17/held/\x1b[2J\u009b", "version_id": held, "size": 5.0, "delete_marker": false, "current": true, "decision": "keep", "reason": "legal_hold"},
	}
	slices.SortFunc(want, func(a, b map[string]any) int {
		return strings.Compare(a["version_id"].(string), b["version_id"].(string))
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanOfAListing(t *testing.T) {
	t.Parallel()
	x := newPlanned(t)
	x.put(t, "search/4821/a", "")
	x.put(t, "search/4822/b", "")
	args := []string{"plan", "--type", "listing.expire", "--listing-id", "4821", "--expired-at", ago(time.Hour).UTC().Format(time.RFC3339)}
	text := x.does(t, args...)
	if !strings.Contains(text, "Plan        listing.expire of listing:4821") || !strings.Contains(text, "Versions    1: 1 would go\n") {
		t.Errorf("a listing is due at once:\n%s", text)
	}
	if got := x.does(t, append(args, "--generation", "7", "--listing-prefixes", "search/{listing_id}/b/")...); !strings.Contains(got, "Versions    none") {
		t.Errorf("of another prefix:\n%s", got)
	}
}

func TestPlanWarnsOfWhatARunWouldMeet(t *testing.T) {
	t.Parallel()
	x := newPlanned(t)
	x.put(t, "pod/wh-17/a", "")
	x.does(t, "stop", "--reason", "incident 7", "--by", "bob", "--scope", "warehouse:wh-17")
	a := x.run(t, planned()...)
	want := "custody: warning: the emergency brake is on for scope warehouse:wh-17, by bob since"
	if a.code != 0 || !strings.HasPrefix(a.stderr, want) || !strings.Contains(a.stderr, "nothing until it is lifted:\n  custody resume --scope warehouse:wh-17\n") ||
		!strings.Contains(a.stdout, "1 would go") {
		t.Errorf("under the brake: exit code %d, stderr %s, stdout\n%s", a.code, a.stderr, a.stdout)
	}
	x.does(t, "resume", "--scope", "warehouse:wh-17", "--yes")
	young := []string{"plan", "--type", "cleanup.run", "--warehouse-id", "wh-17", "--expired-before", ago(time.Hour).UTC().Format(time.RFC3339)}
	a = x.run(t, young...)
	if a.code != 0 || !strings.Contains(a.stderr, "custody: warning: a delivery with this time is not accepted before ") || !strings.Contains(a.stdout, "1 would go") {
		t.Errorf("a young cutoff: exit code %d, stderr %s, stdout\n%s", a.code, a.stderr, a.stdout)
	}
	fits(t, x.with("COLUMNS", "60").run(t, young...).stderr, 60)
	x.does(t, append(young, "--min-object-age", "1h")...)
	x.with("CUSTODY_MIN_OBJECT_AGE", "0s").does(t, young...)
}

func TestPlanWritesNothing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	x := newBucketsBehind(t, func() time.Time { return ago(48 * time.Hour) }, func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.Method)
			mu.Unlock()
			engine.ServeHTTP(w, r)
		})
	})
	x.put(t, "pod/wh-17/a", "")
	engine := x.env["AWS_ENDPOINT_URL_DYNAMODB"]
	reads, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if op := r.Header.Get("X-Amz-Target"); !strings.HasSuffix(op, ".Query") {
			t.Errorf("DynamoDB was asked %s", op)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		passOn(w, r, engine, body)
	}))
	by := x.with("AWS_ENDPOINT_URL_DYNAMODB", reads, "CUSTODY_TABLE", "", "CUSTODY_REPORT_BUCKET", "")
	if text := by.does(t, planned()...); !strings.Contains(text, "1 would go") {
		t.Errorf("planned:\n%s", text)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) == 0 || slices.ContainsFunc(asked, func(m string) bool { return m != http.MethodGet }) {
		t.Errorf("S3 was asked %v", asked)
	}
}

func TestWhatAPlanNeedsIsNamed(t *testing.T) {
	t.Parallel()
	x := newPlanned(t)
	x.put(t, "pod/wh-17/a", "")
	if _, err := x.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("never")}); err != nil {
		t.Fatal(err)
	}
	x.with("CUSTODY_BUCKET", "").refuses(t, 2, "which bucket to clean? Give --stack or --bucket, or set CUSTODY_BUCKET", planned()...)
	x.with("CUSTODY_HOLDS_TABLE", "").refuses(t, 2, "which table? Give --stack or --holds-table, or set CUSTODY_HOLDS_TABLE", planned()...)
	x.with("CUSTODY_HOLDS_TABLE", "nowhere").refuses(t, 1, "there is no table nowhere in region us-east-1; --holds-table or CUSTODY_HOLDS_TABLE names it", planned()...)
	x.with("CUSTODY_CHECK_TAGS", "maybe").refuses(t, 2, "--check-tags: CUSTODY_CHECK_TAGS", planned()...)
	x.with("CUSTODY_BUCKET_OWNER", "123456789012").refuses(t, 1, "bucket objects does not belong to account 123456789012; --bucket-owner, CUSTODY_BUCKET_OWNER or the stack names that account", planned()...)
	for _, test := range []struct {
		code int
		want string
		args []string
	}{
		{1, "the plan is not complete: there is no bucket nowhere; --bucket or CUSTODY_BUCKET names it", planned("--bucket", "nowhere")},
		{1, "the plan is not complete: a run would fail like this: versioning_off: the versioning of bucket never was never enabled; read docs/operations.md#versioning_off",
			planned("--bucket", "never")},
		{2, "--warehouse-prefixes: CUSTODY_WAREHOUSE_PREFIXES", planned("--warehouse-prefixes", "pod/")},
		{2, "which command? Give --type, one of cleanup.run, listing.expire, with its fields", []string{"plan"}},
		{2, "a plan is for a command that selects objects: cleanup.run, listing.expire", []string{"plan", "--type", "reservation.expire"}},
		{2, "--expired-before must be an RFC 3339 time", []string{"plan", "--type", "cleanup.run", "--warehouse-id", "wh-17"}},
		{2, "--listing-id must be left out of cleanup.run", planned("--listing-id", "4821")},
		{2, "takes no argument", planned("wh-17")},
	} {
		x.refuses(t, test.code, test.want, test.args...)
	}
	x.with("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS", "1").refuses(t, 1,
		"no answer from S3 at http://127.0.0.1:1, which AWS_ENDPOINT_URL_S3 names", planned()...)
}

func TestPlanTakesTheSettingsOfTheStack(t *testing.T) {
	t.Parallel()
	x := newPlanned(t)
	x.put(t, "of/wh-17/a", "case 4")
	x.put(t, "pod/wh-17/b", "")
	a, y := newAccount(t)
	a.change(func() {
		a.stacks["custody"] = &stackOf{status: "UPDATE_COMPLETE", outputs: map[string]string{"Table": "inbox", "HoldsTable": "holds", "Bucket": "objects", "Version": "0.1.0"},
			parameters: map[string]string{"WarehousePrefixes": "of/{warehouse_id}/", "CheckTags": "false", "MinObjectAge": "1h", "BucketOwner": "000000000000"}}
	})
	for name, value := range y.env {
		x.env[name] = value
	}
	young := []string{"plan", "--type", "cleanup.run", "--warehouse-id", "wh-17", "--expired-before", ago(2 * time.Hour).UTC().Format(time.RFC3339)}
	stranger := x.with("CUSTODY_BUCKET", "nowhere", "CUSTODY_HOLDS_TABLE", "nowhere", "CUSTODY_CHECK_TAGS", "true", "CUSTODY_BUCKET_OWNER", "123456789012")
	text := stranger.does(t, append(young, "--stack", "custody")...)
	if !strings.Contains(text, "of/wh-17/") || !strings.Contains(text, "Versions    1: 1 would go") || !strings.Contains(text, "without tags") {
		t.Errorf("by the stack:\n%s", text)
	}
	text = x.with("CUSTODY_STACK_NAME", "custody", "CUSTODY_CHECK_TAGS", "true", "CUSTODY_BUCKET", "").does(t, append(young, "--warehouse-prefixes", "pod/{warehouse_id}/")...)
	if !strings.Contains(text, "pod/wh-17/") || !strings.Contains(text, "with tags") {
		t.Errorf("by the stack that a variable names, which goes behind flags and other variables:\n%s", text)
	}
}

// The holds can be read at first and not any more when a batch is decided: it is the table that is named then, and no bucket.
func TestAPlanNamesTheTableThatFailsInTheMiddle(t *testing.T) {
	t.Parallel()
	x := newPlanned(t)
	x.put(t, "pod/wh-17/a", "")
	engine := x.env["AWS_ENDPOINT_URL_DYNAMODB"]
	var asked atomic.Int32
	url, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if n == 4 { // is asked at the same time, and broken off when the other one has failed
			_, _ = io.Copy(io.Discard, r.Body) // else nobody notices that
			<-r.Context().Done()
			return
		}
		if n > 2 { // the rows of the scope and those for all, which the warnings are made of
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb#AccessDeniedException","message":"m"}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		passOn(w, r, engine, body)
	}))
	x.with("AWS_ENDPOINT_URL_DYNAMODB", url, "AWS_MAX_ATTEMPTS", "1").refuses(t, 1,
		"the plan is not complete: the AWS credentials may not do this with table holds; AWS_PROFILE chooses others: holds of warehouse:wh-17", planned()...)
}

// What a dry run of the very command selects is what was planned, on the whole local stack.
func TestAPlanIsWhatADryRunSelects(t *testing.T) {
	t.Parallel()
	w := startWhole(t, map[string]string{"CUSTODY_DELETE_SCOPES": ""})
	for _, key := range []string{"pod/wh-17/a", "pod/wh-17/a", "pod/wh-17/held", "labels/wh-17/b"} {
		w.put(t, key)
	}
	bucket := w.env["CUSTODY_BUCKET"]
	if _, err := w.stack.S3().PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: &bucket, Key: aws.String("labels/wh-17/b"),
		Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("custody-hold"), Value: aws.String("yes")}}}}); err != nil {
		t.Fatal(err)
	}
	w.does(t, hold("case-4", "--key", "pod/wh-17/held")...)
	before := w.does(t, "plan", "--type", "cleanup.run", "--warehouse-id", "wh-17", "--expired-before", ago(24*time.Hour).UTC().Format(time.RFC3339), "--min-object-age", "1s", "--json")
	w.deliver(t, "d-1", "r-1")
	w.until(t, "r-1", in("done"))
	decisions := func(text string) map[string]any {
		all := map[string]any{}
		for _, o := range objects(t, text) {
			all[o["key"].(string)+" "+o["version_id"].(string)] = []any{o["decision"], o["reason"]}
		}
		return all
	}
	want := decisions(before)
	if len(want) != 4 {
		t.Errorf("planned were %v", want)
	}
	if diff := cmp.Diff(want, decisions(w.does(t, "report", "r-1", "--json"))); diff != "" {
		t.Errorf("(-plan +report of the dry run):\n%s", diff)
	}
	w.says(t, []string{"report", "r-1"}, "Mode        dry run: nothing was deleted", "Versions    4: 2 would go, 2 stay")
}
