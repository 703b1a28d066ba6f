// Command cleanup is the function that the inbox table's stream starts: each wake of a run is one slice of work. `custody check`
// calls it too, for one canary of its own.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/cleanup"
	"custody/internal/config"
	"custody/internal/dynamostore"
	"custody/internal/s3report"
	"custody/internal/s3versions"
	"custody/internal/telemetry"
)

func main() {
	tuneCollector(os.Getenv)
	settings, err := config.LoadCleanup(os.Environ())
	tel := telemetry.New(os.Stdout, settings.Stack, settings.LogLevel)
	if err != nil {
		tel.StartupError(err)
		os.Exit(1)
	}
	aws, err := awsconfig.LoadDefaultConfig(context.Background(),
		awsconfig.WithHTTPClient(s3versions.HTTPClient(settings.DeleteConcurrency)))
	if err != nil {
		tel.StartupError(err)
		os.Exit(1)
	}
	db := dynamodb.NewFromConfig(aws)
	objects := s3.NewFromConfig(aws, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil // an endpoint of one's own rarely has a host name for each bucket
	})
	worker := cleanup.New(
		dynamostore.New(db, settings.Table),
		dynamostore.NewHolds(db, settings.HoldsTable, tel.Logger()),
		s3versions.New(objects, settings.BucketOwner, time.Now).Batches(settings.DeleteConcurrency),
		cleanup.Settings{
			DeleteScopes: settings.DeleteScopes, CheckTags: settings.CheckTags, DeleteConcurrency: settings.DeleteConcurrency,
			SliceBudget: settings.SliceBudget, LeaseDuration: settings.LeaseDuration,
			ScanCeiling: settings.ScanCeiling, AttemptCeiling: settings.AttemptCeiling,
			Retention: time.Duration(settings.RetentionDays) * 24 * time.Hour,
		}, time.Now, rand.Text)
	if settings.ReportBucket != "" {
		worker.Reports = s3report.New(objects, settings.ReportBucket, settings.ReportBucketOwner)
	}
	lambda.Start(func(ctx context.Context, e event) (any, error) {
		if e.Canary != nil && len(e.Records) == 0 {
			c := worker.Canary(ctx, settings.Bucket, e.Canary.Key)
			tel.Canary(ctx, c)
			return c, nil
		}
		out, slices := worker.Handle(ctx, e.DynamoDBEvent)
		for _, s := range slices {
			tel.Slice(ctx, s)
		}
		return out, nil
	})
}

// event is one of the stream, or the question of a check after a deployment, which the stream never asks. The bucket is the
// stack's own.
type event struct {
	events.DynamoDBEvent
	Canary *struct {
		Key string `json:"key"`
	} `json:"canary"`
}
