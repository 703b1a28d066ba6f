// Command bareloop is what people write who need no more: list a page of versions, delete it, several pages at once. It reads no
// holds, writes no checkpoint, makes no report, and looks at nothing afterwards. The benchmarks hold Custody against it.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

func main() {
	var l loop
	flag.StringVar(&l.bucket, "bucket", "", "the bucket")
	flag.StringVar(&l.prefix, "prefix", "", "what to delete below, with its slash")
	flag.IntVar(&l.deletes, "deletes", 4, "pages that are deleted at once")
	flag.IntVar(&l.tags, "tags", 0, "tag reads at once, before a page is deleted; 0 reads none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := l.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bareloop:", err)
		os.Exit(1)
	}
}

type loop struct {
	bucket, prefix string
	deletes, tags  int

	client *s3.Client
	slots  chan struct{}
}

func (l *loop) run(ctx context.Context) error {
	// Everything is as the SDK has it, but for the pool: with two idle connections each request beyond them would dial anew.
	config, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithHTTPClient(
		awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = 64 })))
	if err != nil {
		return err
	}
	l.client = s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	l.slots = make(chan struct{}, l.tags)

	group, ctx := errgroup.WithContext(ctx)
	pages := make(chan page, l.deletes)
	group.Go(func() error {
		defer close(pages)
		return l.list(ctx, pages)
	})
	for range l.deletes {
		group.Go(func() error {
			for p := range pages {
				if err := l.work(ctx, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// page is one page of the listing. Delete markers have no tags.
type page struct{ versions, markers []types.ObjectIdentifier }

func (l *loop) list(ctx context.Context, pages chan<- page) error {
	list := s3.NewListObjectVersionsPaginator(l.client, &s3.ListObjectVersionsInput{Bucket: &l.bucket, Prefix: &l.prefix})
	for list.HasMorePages() {
		found, err := list.NextPage(ctx)
		if err != nil {
			return err
		}
		var p page
		for _, v := range found.Versions {
			p.versions = append(p.versions, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range found.DeleteMarkers {
			p.markers = append(p.markers, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		select {
		case pages <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (l *loop) work(ctx context.Context, p page) error {
	if err := l.readTags(ctx, p); err != nil {
		return err
	}
	return l.delete(ctx, p)
}

// readTags reads the tags of each version of the page, as many at once over all pages as there are slots.
func (l *loop) readTags(ctx context.Context, p page) error {
	if l.tags == 0 {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, v := range p.versions {
		l.slots <- struct{}{}
		group.Go(func() error {
			defer func() { <-l.slots }()
			_, err := l.client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: &l.bucket, Key: v.Key, VersionId: v.VersionId})
			return err
		})
	}
	return group.Wait()
}

func (l *loop) delete(ctx context.Context, p page) error {
	all := slices.Concat(p.versions, p.markers)
	if len(all) == 0 {
		return nil
	}
	out, err := l.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &l.bucket, Delete: &types.Delete{Objects: all}})
	if err != nil {
		return err
	}
	if len(out.Errors) > 0 {
		return fmt.Errorf("%d versions were refused, the first with %s", len(out.Errors), aws.ToString(out.Errors[0].Code))
	}
	return nil
}
