package s3versions

import (
	"context"
	"errors"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3errors"
)

const codeAccessDenied = "AccessDenied"

// clockSkew is how far S3's clock may lie behind ours. Lambda's is kept within milliseconds; a minute is ample. A retention that
// has just ended by our clock may still be what S3 refused by.
const clockSkew = time.Minute

// What answers a question about a lock where there is none at all.
const (
	codeNoObjectLock = "InvalidRequest" // S3: "Bucket is missing Object Lock Configuration"
	codeNoSuchThing  = "NotImplemented" // a store that does not have Object Lock
)

// errNoObjectLock is a bucket without Object Lock: none of its versions is locked.
var errNoObjectLock = errors.New("the bucket has no Object Lock")

// explain asks the versions that S3 refused with AccessDenied for their locks. A refusal that the lock explains retains the version;
// one that nothing explains stays a refusal. Refusals are rare, so that locks are read for them alone, whatever the bucket.
func (d *deletion) explain(ctx context.Context) {
	fates := d.ledger.fates
	var refused []int
	for i, f := range fates {
		if f.Kind == retention.FateRefused && f.Code == codeAccessDenied && !d.vs[i].DeleteMarker {
			refused = append(refused, i)
			fates[i].Kind = retention.FateTransient // until it was asked: without that it is decided again
		}
	}
	err := d.each(ctx, len(refused), func(ctx context.Context, n int) error {
		return d.explainOne(ctx, d.vs[refused[n]], &fates[refused[n]])
	})
	if errors.Is(err, errNoObjectLock) {
		for _, i := range refused {
			fates[i] = retention.Fate{Kind: retention.FateRefused, Code: codeAccessDenied}
		}
	}
}

func (d *deletion) explainOne(ctx context.Context, v retention.Version, fate *retention.Fate) error {
	l, err := d.lock(ctx, d.bucket, v)
	switch {
	case s3errors.Code(err) == codeNoObjectLock || s3errors.Code(err) == codeNoSuchThing:
		return errNoObjectLock
	case isGone(err):
		*fate = retention.Fate{Kind: retention.FateAbsent}
	case err == nil && l.protects(d.began.Add(-clockSkew)):
		fate.Kind, fate.Reason = retention.FateLocked, l.reason()
	case !passing(err): // no lock, or a role that may not read it: nothing explains the refusal
		fate.Kind = retention.FateRefused
	}
	return nil
}

func passing(err error) bool {
	c := inbox.CategoryOf(err)
	return err != nil && (c == inbox.CategoryThrottled || c == inbox.CategoryUnavailable)
}
