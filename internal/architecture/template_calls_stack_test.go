package architecture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/command"
	"custody/internal/config"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
	"custody/internal/producer"
	"custody/internal/signature"
)

// yesterday is the cutoff of every run; S3's clock is a day behind it, so that everything has expired.
func yesterday() time.Time { return time.Now().Add(-24 * time.Hour).UTC().Truncate(time.Second) }

// played is a local stack whose functions' requests are noted.
type played struct {
	*localaws.Stack
	t      *testing.T
	record *record
}

func play(t *testing.T, built string, settings map[string]string) played {
	t.Helper()
	p := played{t: t, record: newRecord()}
	stack, err := localaws.Start(t.Context(), localaws.Options{
		Functions: built, Settings: settings, WrapDynamoDB: p.record.wrap, WrapS3: p.record.wrap,
		Now: func() time.Time { return time.Now().Add(-48 * time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Stack = stack
	return p
}

// end stops the stack: what it noted changes no more.
func (p played) end() *record {
	p.t.Helper()
	if err := p.Close(); err != nil {
		p.t.Error(err)
	}
	return p.record
}

func (p played) bucket() string { return p.Setting("CUSTODY_BUCKET") }

// put writes a version of an object and returns its id.
func (p played) put(key, tags string) string {
	p.t.Helper()
	in := &s3.PutObjectInput{Bucket: aws.String(p.bucket()), Key: &key, Body: strings.NewReader("x")}
	if tags != "" {
		in.Tagging = &tags
	}
	out, err := p.S3().PutObject(p.t.Context(), in)
	if err != nil {
		p.t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

func (p played) legalHold(key, version string) {
	_, err := p.S3().PutObjectLegalHold(p.t.Context(), &s3.PutObjectLegalHoldInput{Bucket: aws.String(p.bucket()), Key: &key, VersionId: &version,
		LegalHold: &s3types.ObjectLockLegalHold{Status: s3types.ObjectLockLegalHoldStatusOn}})
	if err != nil {
		p.t.Error(err)
	}
}

func (p played) remove(key, version string) {
	_, err := p.S3().DeleteObject(p.t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(p.bucket()), Key: &key, VersionId: &version})
	if err != nil {
		p.t.Error(err)
	}
}

func (p played) versioning(status s3types.BucketVersioningStatus) {
	p.t.Helper()
	_, err := p.S3().PutBucketVersioning(p.t.Context(), &s3.PutBucketVersioningInput{Bucket: aws.String(p.bucket()),
		VersioningConfiguration: &s3types.VersioningConfiguration{Status: status}})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p played) reserve(id string, deadline time.Time) {
	p.t.Helper()
	_, err := p.DynamoDB().PutItem(p.t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(p.Setting("CUSTODY_RESERVATIONS_TABLE")), Item: map[string]ddb.AttributeValue{
			"reservation_id": &ddb.AttributeValueMemberS{Value: id}, "status": &ddb.AttributeValueMemberS{Value: inbox.ReservationHeld},
			"expires_at": &ddb.AttributeValueMemberN{Value: fmt.Sprint(deadline.UnixMilli())},
		},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p played) store() *dynamostore.Store {
	return dynamostore.New(p.DynamoDB(), p.Setting("CUSTODY_TABLE"))
}

// claim writes a pending run without a wake, as one is whose record was lost.
func (p played) claim(key string, attempts int) {
	p.t.Helper()
	received := time.Now().Add(-time.Hour)
	run := inbox.NewRun(inbox.RunKey{Type: command.CleanupRun, Key: key}, "warehouse:"+key,
		inbox.Selection{Bucket: p.bucket(), Prefixes: []string{"pod/" + key + "/"}, Cutoff: yesterday()}, key, "d-"+key, received)
	run.State, run.Open, run.Attempts = inbox.StatePending, inbox.StatePending.OpenIndex(), attempts
	delivery := inbox.Delivery{ID: "d-" + key, CommandType: command.CleanupRun, RunKey: key, BodySHA256: key, Outcome: inbox.OutcomeAccepted,
		ReceivedAt: received, TTL: time.Now().Add(time.Hour).Unix()}
	if there, err := p.store().Claim(p.t.Context(), inbox.Claim{Delivery: delivery, Run: run}); err != nil || there != nil {
		p.t.Fatalf("claim %s: %+v, %v", key, there, err)
	}
}

// ends waits until a run has ended, in the state that is meant. The test's own deadline bounds it.
func (p played) ends(key string, want inbox.State) {
	p.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		run, err := p.store().Run(p.t.Context(), inbox.RunKey{Type: command.CleanupRun, Key: key})
		if err != nil {
			p.t.Fatal(err)
		}
		if run != nil && !run.EndedAt.IsZero() {
			if run.State != want {
				p.t.Errorf("run %s is %s, want %s: %+v", key, run.State, want, run.LastError)
			}
			return
		}
		select {
		case <-tick.C:
		case <-p.t.Context().Done():
			p.t.Fatalf("run %s did not end: %+v", key, run)
		}
	}
}

func (p played) payload(kind string, values map[string]string) []byte {
	p.t.Helper()
	body, err := producer.Payload(kind, values)
	if err != nil {
		p.t.Fatal(err)
	}
	return body
}

func (p played) cleanupRun(run, warehouse string) []byte {
	return p.payload(command.CleanupRun, map[string]string{"run_id": run, "warehouse_id": warehouse,
		"expired_before": yesterday().Format(time.RFC3339)})
}

func (p played) reservationExpire(id string, deadline time.Time) []byte {
	return p.payload(command.ReservationExpire, map[string]string{"reservationId": id, "titleId": "t-1", "expiresAt": deadline.Format(time.RFC3339)})
}

// deliver sends a signed delivery.
func (p played) deliver(url, id string, body []byte, want string) {
	p.t.Helper()
	scheme, err := signature.Named(signature.SchemeTimestamped)
	if err != nil {
		p.t.Fatal(err)
	}
	keyID, key := p.SigningKey()
	headers, err := producer.Signer{Scheme: scheme, Key: signature.NewKey(keyID, key, time.Time{})}.Headers(producer.Delivery{ID: id, Body: body}, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Custody-Outcome")); got != want {
		p.t.Errorf("delivery %s is answered %s, want %s", id, got, want)
	}
}

// webhookWithSecret is the URL of a further webhook that has its keys from Secrets Manager, as the template's has.
func (p played) webhookWithSecret(built string) string {
	p.t.Helper()
	id, key := p.SigningKey()
	keyring, err := json.Marshal(map[string]string{id: key})
	if err != nil {
		p.t.Fatal(err)
	}
	secrets := httptest.NewServer(p.record.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(map[string]string{"ARN": secretARN, "Name": "custody/keys", "SecretString": string(keyring)})
	})))
	p.t.Cleanup(secrets.Close)
	env := map[string]string{"AWS_SDK_UA_APP_ID": "webhook", "AWS_ENDPOINT_URL_SECRETS_MANAGER": secrets.URL}
	for _, setting := range config.For(config.FunctionWebhook) {
		if value := p.Setting(setting.Name); value != "" && !setting.Secret {
			env[setting.Name] = value
		}
	}
	env["CUSTODY_SIGNING_SECRET"] = secretARN
	for _, pair := range p.Env() {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			env[name] = value
		}
	}
	function, err := lambda.NewFunction(lambda.Config{Name: "webhook-with-secret", Binary: filepath.Join(built, "webhook", "bootstrap"),
		Environment: env, Timeout: 10 * time.Second, Memory: 256})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(function.Close)
	if err := function.Warm(context.WithoutCancel(p.t.Context())); err != nil {
		p.t.Fatal(err)
	}
	front := httptest.NewServer(lambda.NewURL(function, nil))
	p.t.Cleanup(front.Close)
	return front.URL + "/"
}
