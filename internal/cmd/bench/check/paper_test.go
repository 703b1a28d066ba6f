package check_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/retention"
)

// paperS3 speaks S3's protocol for a bucket on paper, as far as a slice asks, and keeps nothing: what memory grows is Custody's.
func paperS3(bucket *inprocess.Paper) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch operation := s3Operation(r); operation {
		case "ListObjectVersions":
			err = listPaper(w, r, bucket)
		case "DeleteObjects":
			err = deletePaper(w, r, bucket)
		case "GetBucketVersioning":
			_, err = io.WriteString(w, `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`)
		case "GetObjectLockConfiguration":
			w.WriteHeader(http.StatusNotFound)
			_, err = io.WriteString(w, `<Error><Code>ObjectLockConfigurationNotFoundError</Code></Error>`)
		case "PutObject":
			_, err = io.Copy(io.Discard, r.Body)
		default:
			err = fmt.Errorf("%s is not asked of a bucket on paper", operation)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotImplemented)
		}
	})
}

func listPaper(w http.ResponseWriter, r *http.Request, bucket *inprocess.Paper) error {
	q := r.URL.Query()
	page, err := bucket.Page(r.Context(), "", q.Get("prefix"), retention.Marker{Key: q.Get("key-marker"), VersionID: q.Get("version-id-marker")})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "<ListVersionsResult><EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated>", page.Next != retention.Marker{})
	if page.Next != (retention.Marker{}) {
		fmt.Fprintf(w, "<NextKeyMarker>%s</NextKeyMarker><NextVersionIdMarker>%s</NextVersionIdMarker>", page.Next.Key, page.Next.VersionID)
	}
	for _, v := range page.Versions {
		fmt.Fprintf(w, "<Version><Key>%s</Key><VersionId>%s</VersionId><IsLatest>%t</IsLatest><LastModified>%s</LastModified>"+
			`<ETag>"0cc175b9c0f1b6a831c399e269772661"</ETag><Size>%d</Size><StorageClass>STANDARD</StorageClass>`+
			"<Owner><ID>000000000000</ID></Owner></Version>",
			v.Key, v.ID, v.Currency == retention.Current, v.LastModified.UTC().Format(time.RFC3339), v.Size)
	}
	_, err = io.WriteString(w, "</ListVersionsResult>")
	return err
}

func deletePaper(w http.ResponseWriter, r *http.Request, bucket *inprocess.Paper) error {
	var in struct {
		Object []struct{ Key, VersionId string }
	}
	if err := xml.NewDecoder(r.Body).Decode(&in); err != nil {
		return err
	}
	if _, err := bucket.Delete(r.Context(), "", make([]retention.Version, len(in.Object)), time.Time{}); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("<DeleteResult>")
	for _, o := range in.Object {
		fmt.Fprintf(&b, "<Deleted><Key>%s</Key><VersionId>%s</VersionId></Deleted>", o.Key, o.VersionId)
	}
	b.WriteString("</DeleteResult>")
	_, err := io.WriteString(w, b.String())
	return err
}
