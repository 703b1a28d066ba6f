package invariants

import (
	"net/http"
	"net/url"
	"time"
)

// Tag lets somebody set the tag custody-hold of the key's n-th version, counted from 1 over all that it ever had; "" takes it away.
// A version that is gone, and a delete marker, have no tags.
func (w *World) Tag(key string, n int, value string) {
	body := ""
	method := http.MethodDelete
	if value != "" {
		method = http.MethodPut
		body = "<Tagging><TagSet><Tag><Key>other</Key><Value>true</Value></Tag><Tag><Key>custody-hold</Key><Value>" + value +
			"</Value></Tag></TagSet></Tagging>"
	}
	w.mark(method, key, n, "tagging", func(v *versionBook) string {
		v.tagHold = value != "" && value != "false"
		return body
	})
}

// LockHold lets somebody place an Object Lock legal hold on the key's n-th version, or lift it. The world's bucket must have locks.
func (w *World) LockHold(key string, n int, on bool) {
	w.mark(http.MethodPut, key, n, "legal-hold", func(v *versionBook) string {
		v.legalHold = on
		return "<LegalHold><Status>" + map[bool]string{true: "ON", false: "OFF"}[on] + "</Status></LegalHold>"
	})
}

// LockUntil lets somebody retain the key's n-th version in governance mode, where that is no shorter than before. The world's bucket
// must have locks.
func (w *World) LockUntil(key string, n int, until time.Time) {
	w.mark(http.MethodPut, key, n, "retention", func(v *versionBook) string {
		if until = until.UTC().Truncate(time.Second); until.After(v.retainUntil) {
			v.retainUntil = until
		}
		return "<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>" + v.retainUntil.Format(time.RFC3339) + "</RetainUntilDate></Retention>"
	})
}

// mark enters the mark into the book of the version, which says how S3 is told.
func (w *World) mark(method, key string, n int, what string, enter func(*versionBook) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.observer.keys[key]
	if k == nil {
		return
	}
	for _, v := range k.versions {
		if v.n != n || v.marker {
			continue
		}
		a := w.s3(method, Bucket, key, url.Values{what: {""}, "versionId": {v.id}}.Encode(), enter(v))
		if !a.ok() {
			w.observer.violate("the %s of version %d of %q is refused: %s", what, n, key, a.body.String())
		}
	}
}
