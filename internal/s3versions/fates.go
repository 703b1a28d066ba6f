package s3versions

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
)

// ledger has one line for each version that was sent. It closes only when each has exactly one fate.
type ledger struct {
	fates   []retention.Fate
	entries []int // how often a line was written
}

func newLedger(n int) *ledger {
	return &ledger{fates: make([]retention.Fate, n), entries: make([]int, n)}
}

// enter writes a line. Different lines may be written at the same time.
func (l *ledger) enter(i int, f retention.Fate) {
	l.fates[i] = f
	l.entries[i]++
}

// close hands out the fates when sent = deleted + absent + locked + refused + transient holds, each version counted once.
func (l *ledger) close() ([]retention.Fate, error) {
	sum := map[retention.FateKind]int{}
	entered, repeated := 0, 0
	for i, n := range l.entries {
		switch n {
		case 0:
			continue
		case 1:
		default:
			repeated++
		}
		entered++
		sum[l.fates[i].Kind]++
	}
	if entered == len(l.fates) && repeated == 0 {
		return l.fates, nil
	}
	return nil, inbox.Failed(inbox.CategoryInternal, fmt.Errorf(
		"%d versions were sent and %d accounted for, %d of them more than once: %d deleted, %d absent, %d locked, %d refused, %d transient",
		len(l.fates), entered, repeated, sum[retention.FateDeleted], sum[retention.FateAbsent],
		sum[retention.FateLocked], sum[retention.FateRefused], sum[retention.FateTransient]))
}

type name struct{ key, id string }

// read enters what the answer says of each version that was sent. One that it does not mention is refused, not assumed to be
// gone. One that it mentions and that was not sent is an error: the answer is then not one to this request, or S3 has
// understood another key, and nothing follows from it for any version.
func (l *ledger) read(out *s3.DeleteObjectsOutput, vs []retention.Version, which []int) error {
	said := answered(out)
	sent := make(map[name]bool, len(which))
	for _, i := range which {
		n := name{vs[i].Key, vs[i].ID}
		fate, mentioned := said[n]
		if !mentioned {
			fate = retention.Fate{Kind: retention.FateRefused, Code: report.CodeNotMentioned}
		}
		sent[n] = true
		l.enter(i, fate)
	}
	for n := range said {
		if !sent[n] {
			return inbox.Failed(inbox.CategoryInternal, fmt.Errorf(
				"%d versions were sent and the answer names %d, one of them not sent: %q version %q", len(sent), len(said), n.key, n.id))
		}
	}
	return nil
}

// answered collects what an answer says. Where it names a version twice, what promises less counts.
func answered(out *s3.DeleteObjectsOutput) map[name]retention.Fate {
	said := make(map[name]retention.Fate, len(out.Deleted)+len(out.Errors))
	note := func(n name, f retention.Fate) {
		if before, twice := said[n]; !twice || doubtful(f.Kind) > doubtful(before.Kind) {
			said[n] = f
		}
	}
	for _, d := range out.Deleted {
		note(name{value(d.Key), value(d.VersionId)}, retention.Fate{Kind: retention.FateDeleted})
	}
	for _, e := range out.Errors {
		note(name{value(e.Key), value(e.VersionId)}, fateOf(value(e.Code)))
	}
	return said
}

// doubtful ranks fates by how little is sure. A version that is to be sent again will be told better the next time.
func doubtful(k retention.FateKind) int {
	switch k {
	case retention.FateDeleted:
		return 0
	case retention.FateAbsent:
		return 1
	case retention.FateTransient:
		return 3
	default:
		return 2
	}
}

// fateOf sorts the error codes that S3 gives for one version. Only those that S3 documents as passing are sent again.
func fateOf(code string) retention.Fate {
	switch code {
	case "SlowDown", "InternalError", "ServiceUnavailable":
		return retention.Fate{Kind: retention.FateTransient, Code: code}
	case "NoSuchVersion", "NoSuchKey":
		return retention.Fate{Kind: retention.FateAbsent}
	}
	return retention.Fate{Kind: retention.FateRefused, Code: code}
}
