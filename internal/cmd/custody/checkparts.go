package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"custody/internal/command"
	"custody/internal/config"
	"custody/internal/deployed"
	"custody/internal/keyring"
	"custody/internal/operator"
	"custody/internal/producer"
	"custody/internal/retention"
	"custody/internal/s3report"
	"custody/internal/s3versions"
	"custody/internal/signature"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// localFunction is what the cleanup function is called where there is no stack: a local stack has it under its logical id.
const localFunction = "CleanupFunction"

const noCloudWatch = "there is no CloudWatch without a stack; --stack or " + stackVariable + " names one"

// parts puts a check together, of the stack's outputs or of the environment.
func (f *checkFlags) parts(s *session) (*operator.Check, error) {
	target, err := f.target()
	if err != nil {
		return nil, err
	}
	bucket, err := f.bucket()
	if err != nil {
		return nil, err
	}
	reportBucket, _, err := f.tables.stack.value("CUSTODY_REPORT_BUCKET", deployed.OutputReportBucket)
	if err != nil {
		return nil, err
	}
	scheme, err := f.scheme()
	if err != nil {
		return nil, err
	}
	age, err := f.minObjectAge()
	if err != nil {
		return nil, err
	}
	c := &operator.Check{Operator: s.Operator, MinObjectAge: age, Skip: f.skips(reportBucket), Stack: f.stackStage()}
	c.Senders = &checkSender{flags: f, connection: s.connection, scheme: scheme, url: target}
	objects := s.connection.objects()
	c.Bucket = func(ctx context.Context) (retention.Bucket, error) {
		return s3versions.New(objects, f.tables.stack.setting("CUSTODY_BUCKET_OWNER"), time.Now).Bucket(ctx, bucket)
	}
	c.Reports = s3report.New(objects, reportBucket, f.tables.stack.setting("CUSTODY_REPORT_BUCKET_OWNER"))
	canary := deployed.Canary{Objects: objects, Bucket: bucket, Function: localFunction, Lambda: lambda.NewFromConfig(s.connection.aws)}
	if stack := f.tables.stack.read; stack != nil {
		if canary.Function, err = stack.Output(deployed.OutputCleanupFunction); err != nil {
			return nil, err
		}
		c.Watchers = watch{deployed.Watch{Stack: stack.Name, Resources: cloudformation.NewFromConfig(s.connection.aws),
			Metrics: cloudwatch.NewFromConfig(s.connection.aws)}}
	}
	c.Canaries = canary
	return c, nil
}

// skips says for each stage that cannot be looked at why.
func (f *checkFlags) skips(reportBucket string) map[string]string {
	skip := map[string]string{}
	if f.tables.stack.read == nil {
		skip[operator.StageStack] = "no stack is named, so the names come from the environment; --stack or " + stackVariable + " names one"
		skip[operator.StageSweeper], skip[operator.StageAlarms] = noCloudWatch, noCloudWatch
		if os.Getenv("AWS_ENDPOINT_URL_LAMBDA") == "" {
			skip[operator.StageCanary] = "which function cleans up is not known without a stack; a local stack's env file names its Lambda"
		}
	}
	switch reportBucket {
	case config.NoReport:
		skip[operator.StageReport] = "no report is written: ReportBucket is none"
	case "":
		skip[operator.StageReport] = "which bucket has the report is not known: CUSTODY_REPORT_BUCKET names it"
	}
	if accepted, known := f.tables.stack.parameter("Commands"); known && !slices.Contains(strings.Split(accepted, ","), command.CleanupRun) {
		skip[operator.StageDelivery] = "the stack's Commands has no " + command.CleanupRun
	}
	return skip
}

func (f *checkFlags) target() (string, error) {
	if f.url != "" {
		return postable(f.url)
	}
	given, _, err := f.tables.stack.value(urlVariable, deployed.OutputURL)
	if err != nil {
		return "", err
	}
	return postable(given)
}

func (f *checkFlags) bucket() (string, error) {
	const variable = "CUSTODY_BUCKET"
	bucket, _, err := f.tables.stack.value(variable, deployed.OutputBucket)
	if err == nil && bucket == "" {
		err = usagef("which bucket? Give --stack, or set %s; a local stack's env file does: . ./local.env", variable)
	}
	return bucket, err
}

func (f *checkFlags) scheme() (signature.Scheme, error) {
	scheme, err := signature.Named(firstOf(f.tables.stack.setting(schemeVariable), signature.SchemeNames()[0]))
	if err != nil {
		return nil, usagef("%w; %s or the stack's SignatureScheme names it", err, schemeVariable)
	}
	return scheme, nil
}

// minObjectAge is the stack's. Where it is not known, the template's default is as long as any that it could be meant with.
func (f *checkFlags) minObjectAge() (time.Duration, error) {
	const variable = "CUSTODY_MIN_OBJECT_AGE"
	setting, _ := config.Lookup(variable)
	text := firstOf(f.tables.stack.setting(variable), setting.Default)
	age, err := time.ParseDuration(text)
	if err != nil {
		return 0, usagef("%s is %q, must be a duration such as 24h", variable, text)
	}
	return age, nil
}

// checkSender is the producer of a check.
type checkSender struct {
	flags      *checkFlags
	connection *connection
	scheme     signature.Scheme
	url        string
	key        signature.Key
}

// Key implements operator's senders.
func (s *checkSender) Key(ctx context.Context) (string, error) {
	stack := s.flags.tables.stack.read
	if s.flags.keyFile == "" && stack != nil && (s.flags.tables.stack.given != "" || os.Getenv(keyVariable) == "") {
		return s.keyOfSecret(ctx)
	}
	flags := deliveryFlags{keyFile: s.flags.keyFile}
	var warnings strings.Builder
	key, err := flags.key(&warnings)
	if err == nil {
		err = s.scheme.CheckKey(key)
	}
	if err != nil {
		return "", fmt.Errorf("the signing key (%s): %w", flags.keySource(), err)
	}
	s.key = key
	return strings.TrimSpace("from " + flags.keySource() + withID(key) + strings.TrimPrefix(warnings.String(), "custody: warning: ")), nil
}

func withID(k signature.Key) string {
	if k.ID() == "" {
		return ""
	}
	return ", id " + k.ID()
}

// keyOfSecret takes the first key that is in force, as the webhook would take any.
func (s *checkSender) keyOfSecret(ctx context.Context) (string, error) {
	name, err := s.flags.tables.stack.read.Output(deployed.OutputSigningSecret)
	if err != nil {
		return "", err
	}
	secret := keyring.NewSecret(secretsmanager.NewFromConfig(s.connection.aws), name, s.scheme, nil)
	keys, err := secret.Active(ctx, "", time.Now())
	if len(keys) == 0 {
		if err == nil {
			err = errors.New("it has no key that is in force: every delivery is answered 503")
		}
		return "", fmt.Errorf("secret %s: %w; reading it needs secretsmanager:GetSecretValue, and --key-file does without", name, err)
	}
	s.key = keys[0]
	words := fmt.Sprintf("%d in force in secret %s%s", len(keys), name, withID(keys[0]))
	if err != nil {
		return "", fmt.Errorf("%s, but: %w", words, err)
	}
	return words, nil
}

const (
	checkTries    = 4 // a function that is started for the first time may need a second one
	checkPatience = 15 * time.Second
)

func (s *checkSender) sender(tries int, change func([]byte) []byte) producer.Sender {
	return producer.Sender{Signer: producer.Signer{Scheme: s.scheme, Key: s.key}, URL: s.url, Tries: tries, Within: time.Minute,
		Patience: checkPatience, Change: change}
}

// Send implements operator's senders.
func (s *checkSender) Send(ctx context.Context, id string, body []byte) (operator.CheckAnswer, error) {
	return answered(s.sender(checkTries, nil).Send(ctx, producer.Delivery{ID: id, Body: body}))
}

// Forge implements operator's senders. One space more in front of the body is the same JSON, and other bytes than were signed.
func (s *checkSender) Forge(ctx context.Context, id string, body []byte) (operator.CheckAnswer, error) {
	forgery := s.sender(1, func(body []byte) []byte { return append([]byte(" "), body...) })
	return answered(forgery.Send(ctx, producer.Delivery{ID: id, Body: body}))
}

func answered(r producer.Result, err error) (operator.CheckAnswer, error) {
	switch {
	case err != nil:
		return operator.CheckAnswer{}, err
	case r.Err != nil:
		return operator.CheckAnswer{}, fmt.Errorf("no answer: %w", r.Err)
	}
	means := r.Means + "; " + r.Do
	if off := clock(r.Try); off != "" {
		means += "; " + off
	}
	return operator.CheckAnswer{Status: r.Status, Outcome: r.Outcome, Means: means}, nil
}

// watch is deployed's view in operator's words.
type watch struct{ deployed.Watch }

// Alarms implements operator's watchers.
func (w watch) Alarms(ctx context.Context) ([]operator.Alarm, error) {
	found, err := w.Watch.Alarms(ctx)
	all := make([]operator.Alarm, len(found))
	for i, a := range found {
		all[i] = operator.Alarm{Name: a.Name, State: string(a.State), Reason: a.Reason}
	}
	return all, err
}
