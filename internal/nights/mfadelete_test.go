package nights_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/inbox"
)

// mfaDelete: somebody has protected the bucket with MFA delete, and the first cleanups behind that fail.
func mfaDelete() night {
	gone := slices.Concat(numbered("pod/wh-17/2026-05/", 6), numbered("pod/wh-18/2026-06/", 4))
	young := numbered("pod/wh-17/2026-07/", 2)
	return night{
		arrange: func(t *testing.T, w *world) {
			w.put(t, "2026-06-10", gone...)
			w.put(t, "2026-07-20", young...)
			w.mfaDelete(t, types.MFADeleteEnabled)
			w.accepted(t, "d-1", "r-1", "2026-07-01T00:00:00Z")
			w.until(t, "r-1", "has failed", in(inbox.StateFailed))
			w.shell.types(t, "custody send --delivery-id d-2 --type cleanup.run --run-id r-2 --warehouse-id wh-18 --expired-before 2026-07-01T00:00:00Z")
			w.until(t, "r-2", "has failed", in(inbox.StateFailed))
		},
		events: map[string]func(*testing.T, *world){
			"the root user of the bucket's account switches MFA delete off": func(t *testing.T, w *world) {
				w.left(t, slices.Concat(gone, young)...)
				w.mfaDelete(t, types.MFADeleteDisabled)
			},
			"both runs are worked": func(t *testing.T, w *world) {
				w.until(t, "r-1", "is done", in(inbox.StateDone))
				w.until(t, "r-2", "is done", in(inbox.StateDone))
			},
		},
		after: func(t *testing.T, w *world) { w.left(t, slices.Clone(young)...) },
	}
}

// mfaDelete is what only the root user can do, with the code of a device.
func (w *world) mfaDelete(t *testing.T, status types.MFADelete) {
	t.Helper()
	_, err := w.stack.S3().PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String(w.stack.Setting("CUSTODY_BUCKET")), MFA: aws.String("arn:aws:iam::000000000000:mfa/root-account-mfa-device 123456"),
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled, MFADelete: status},
	})
	if err != nil {
		t.Fatal(err)
	}
}
