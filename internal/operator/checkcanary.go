package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"custody/internal/inbox"
	"custody/internal/report"
)

// canaryKey is the check's own canary.
func (c *Check) canaryKey() string { return inbox.CanaryFolder + c.canaryName() }

func (c *Check) canaryName() string { return "canary-" + c.ID }

// canary proves that the cleanup function's own role may delete: two versions and a delete marker, by version id.
func (c *Check) canary(ctx context.Context) (string, error) {
	if keeps, err := c.Canaries.DefaultRetention(ctx); err != nil {
		return "", err
	} else if keeps != "" {
		return "", skip("the bucket's Object Lock keeps every new version for %s: a canary could be deleted by nobody", keeps)
	}
	put, err := c.Canaries.Put(ctx, c.canaryKey())
	if err != nil && len(put) == 0 {
		return "", err
	}
	// What was put has to go, also where not all of it could be put.
	answer, invoked := c.Canaries.Invoke(ctx, c.canaryKey())
	if err == nil && invoked == nil {
		err = judge(answer, put)
	}
	err = errors.Join(err, invoked)
	left, listed := c.Canaries.Left(ctx, c.canaryKey())
	switch {
	case listed != nil:
		return "", errors.Join(err, listed)
	case len(left) > 0:
		return "", c.leftOver(err, left)
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("%s: %d versions, the last a delete marker, were deleted by version id with the cleanup function's role", c.canaryKey(), len(put)), nil
}

// judge compares what the function says with what was put.
func judge(answer inbox.Canary, put []string) error {
	switch answer.Outcome {
	case inbox.CanaryDone:
	case inbox.CanaryKept:
		return fmt.Errorf("the cleanup function keeps it: %s", fates(answer))
	case inbox.CanaryFailed:
		return fmt.Errorf("the cleanup function says %s", advisedText(answer.Category, answer.Problem))
	case inbox.CanaryRefused:
		return fmt.Errorf("the cleanup function refuses it: %s", answer.Problem)
	default:
		return fmt.Errorf("the cleanup function answers %s, which this version does not know", answer.Outcome)
	}
	var went []string
	for _, v := range answer.Versions {
		went = append(went, v.ID)
	}
	if !sameIDs(put, went) {
		return fmt.Errorf("the cleanup function deleted %d versions, and %d others were put: its Bucket is another one", len(went), len(put))
	}
	return nil
}

func fates(answer inbox.Canary) string {
	var words []string
	for _, v := range answer.Versions {
		words = append(words, strings.TrimSpace(fmt.Sprintf("version %s %s %s", v.ID, v.Fate, v.Detail)))
	}
	return strings.Join(words, ", ")
}

func sameIDs(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// leftOver names what is to be removed by hand: no later check looks at it.
func (c *Check) leftOver(why error, left []string) error {
	if why == nil {
		why = errors.New("the cleanup function says that it is gone, and it is not")
	}
	return fmt.Errorf("%w; %s is still there: `aws s3api delete-object --key %s --version-id ID` with the bucket's name removes it, for ID %s",
		why, c.canaryKey(), c.canaryKey(), strings.Join(left, ", "))
}

// report looks for the canary in the audit trail. The dry run has left none: nothing lies below its prefixes.
func (c *Check) report(ctx context.Context) (string, error) {
	h := report.NewHistory(inbox.CanaryType, c.canaryName(), nil)
	objects := 0
	for object, err := range c.Reports.Read(ctx, inbox.CanaryType, c.canaryName()) {
		if err == nil {
			err = h.Add(object.Name, object.Data)
		}
		if err != nil {
			return "", advised(err)
		}
		objects++
	}
	gone := 0
	for v := range h.Versions() {
		if v.Fate == report.FateDeleted || v.Fate == report.FateAbsent {
			gone++
		}
	}
	if gone == 0 {
		return "", fmt.Errorf("of the canary, which was deleted, there is no word in %d objects: the cleanup function's ReportBucket is another one, or none", objects)
	}
	return fmt.Sprintf("%d objects say of %d versions of the canary that they were selected, and then deleted", objects, gone), nil
}
