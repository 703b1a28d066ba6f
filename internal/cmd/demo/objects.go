package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"custody/internal/retention"
)

const warehouse = "wh-17"

// The sizes of the demo: enough that pages, keys and batches of 1,000 cross each other's borders.
const (
	photos   = 2100
	labels   = 1500
	disputed = 30
	young    = 12
	next     = 25 // of the neighbour, whose name begins like ours
	putters  = 16
)

// The locks of the demo: customs papers are kept for ten years, in the mode that a role with the right could bypass.
const (
	legalHold   = "legal hold"
	retention10 = "retention"
)

// object is one write to come: a version of a key, or a delete marker.
type object struct {
	key    string
	body   []byte
	typ    string
	marker bool
	young  bool
	tagged bool   // marked by an object tag, which keeps this version
	lock   string // of S3's Object Lock: legal hold or retention, "" for none
	kept   string // why the version must be there in the end, "" when it must go
}

// plan lists what is put, in the order of a key's versions. What must be kept is known here, by the demo's own word, and is
// compared with the bucket in the end.
func plan() []object {
	var objects []object
	add := func(key, kept string, body []byte, typ string, versions int, deleted bool) {
		for range versions {
			objects = append(objects, object{key: key, body: body, typ: typ, kept: kept})
		}
		if deleted {
			objects = append(objects, object{key: key, marker: true, kept: kept})
		}
	}
	for i := range photos {
		add(fmt.Sprintf("pod/%s/2026-06/%05d.jpg", warehouse, i), "", photo(i), "image/jpeg", 1+overwritten(i), i%9 == 0)
	}
	for i := range labels {
		kept := ""
		if i == 7 {
			kept = "legal_hold"
		}
		add(fmt.Sprintf("labels/%s/%05d.pdf", warehouse, i), kept, label(i), "application/pdf", 1+overwritten(i), i%11 == 7)
	}
	for i := range disputed {
		add(fmt.Sprintf("pod/%s/dispute-991/%02d.jpg", warehouse, i), "dispute_evidence", photo(i), "image/jpeg", 2, i%5 == 0)
	}
	// Of three versions the oldest is tagged: it stays, and so does the current one, which would else give way to it.
	evidence := object{key: fmt.Sprintf("pod/%s/2026-06/damage.jpg", warehouse), body: photo(1), typ: "image/jpeg"}
	oldest, newest := evidence, evidence
	oldest.tagged, oldest.kept, newest.kept = true, "tag", "current_over_kept"
	objects = append(objects, oldest, evidence, newest)
	objects = append(objects,
		object{key: fmt.Sprintf("pod/%s/2026-06/signed.jpg", warehouse), body: photo(2), typ: "image/jpeg", lock: legalHold, kept: "lock_legal_hold"},
		object{key: fmt.Sprintf("labels/%s/customs.pdf", warehouse), body: label(1), typ: "application/pdf", lock: retention10, kept: "lock_retention"})
	for i := range next {
		add(fmt.Sprintf("pod/%s0/2026-06/%05d.jpg", warehouse, i), "another warehouse", photo(i), "image/jpeg", 1, false)
	}
	return objects
}

func overwritten(i int) int {
	if i%4 == 0 {
		return 2
	}
	return 0
}

// younger are written behind the cutoff: some are new keys, some lie over expired versions that go from under them.
func younger() []object {
	var objects []object
	for i := range young {
		key := fmt.Sprintf("pod/%s/2026-09/%05d.jpg", warehouse, i)
		if i%2 == 0 {
			key = fmt.Sprintf("pod/%s/2026-06/%05d.jpg", warehouse, i)
		}
		objects = append(objects, object{key: key, body: photo(i), typ: "image/jpeg", young: true, kept: "younger than the cutoff"})
	}
	return objects
}

// photo is a small proof-of-delivery picture: a real JPEG, each another.
func photo(i int) []byte {
	img := image.NewGray(image.Rect(0, 0, 8, 8))
	for x := range 8 {
		for y := range 8 {
			img.SetGray(x, y, color.Gray{Y: uint8(i + 9*x + 5*y)}) //nolint:gosec // the wrap-around is the pattern
		}
	}
	var b bytes.Buffer
	_ = jpeg.Encode(&b, img, nil) // a buffer takes every write
	return b.Bytes()
}

// label is a shipping label: the least that readers of PDF take for one.
func label(i int) []byte {
	text := fmt.Sprintf("BT /F1 12 Tf 10 80 Td (parcel %05d) Tj ET", i)
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"+
		"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Contents 4 0 R>>endobj\n"+
		"4 0 obj<</Length %d>>stream\n%s\nendstream endobj\ntrailer<</Root 1 0 R>>\n", len(text), text)
}

// version is what a write left behind.
type version struct {
	key, id string
	kept    string
}

// put writes the objects, the versions of one key one after the other, and returns what they became.
func put(ctx context.Context, client *s3.Client, bucket string, objects []object) ([]version, error) {
	var mu sync.Mutex
	var written []version
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(putters)
	for _, versions := range byKey(objects) {
		group.Go(func() error {
			for _, o := range versions {
				id, err := putOne(ctx, client, bucket, o)
				if err != nil {
					return fmt.Errorf("put %s: %w", o.key, err)
				}
				mu.Lock()
				written = append(written, version{o.key, id, o.kept})
				mu.Unlock()
			}
			return nil
		})
	}
	return written, group.Wait()
}

func byKey(objects []object) map[string][]object {
	groups := map[string][]object{}
	for _, o := range objects {
		groups[o.key] = append(groups[o.key], o)
	}
	return groups
}

func putOne(ctx context.Context, client *s3.Client, bucket string, o object) (string, error) {
	if o.marker {
		out, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &o.key})
		if err != nil {
			return "", err
		}
		return aws.ToString(out.VersionId), nil
	}
	in := &s3.PutObjectInput{Bucket: &bucket, Key: &o.key, Body: bytes.NewReader(o.body), ContentType: &o.typ}
	if o.tagged {
		in.Tagging = aws.String(retention.TagKey + "=insurance")
	}
	if o.lock != "" {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32 // S3 takes no lock without one
	}
	switch o.lock {
	case legalHold:
		in.ObjectLockLegalHoldStatus = types.ObjectLockLegalHoldStatusOn
	case retention10:
		in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeGovernance, aws.Time(time.Now().AddDate(10, 0, 0))
	}
	out, err := client.PutObject(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.VersionId), nil
}

// clock is the time that S3 writes into LastModified.
type clock struct{ back atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(-time.Duration(c.back.Load())) }
func (c *clock) setBack(d time.Duration) { c.back.Store(int64(d)) }
