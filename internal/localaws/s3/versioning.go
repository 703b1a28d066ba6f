package s3

import "net/http"

// States of a bucket's versioning and of its MFA delete.
const (
	enabled   = "Enabled"
	suspended = "Suspended"
	disabled  = "Disabled"
)

// getVersioning answers without a Status while versioning was never enabled: that is how such a bucket
// is told from a suspended one.
func (e *Engine) getVersioning(c *call) (reply, error) {
	d := newDocument()
	err := e.view(c, func(b *bucket) error {
		d.root("VersioningConfiguration")
		if b.versioning != "" {
			d.text("Status", b.versioning)
		}
		if b.mfaDelete != "" {
			d.text("MfaDelete", b.mfaDelete)
		}
		d.close("VersioningConfiguration")
		return nil
	})
	return xmlReply(d), err
}

type versioningConfiguration struct {
	XMLName   struct{} `xml:"VersioningConfiguration"`
	Status    string
	MfaDelete string
	Unknown   unknown `xml:",any"`
}

func (e *Engine) putVersioning(c *call) (reply, error) {
	var in versioningConfiguration
	if err := parse(c.payload.data, &in); err != nil {
		return reply{}, err
	}
	if err := in.check(); err != nil {
		return reply{}, err
	}
	return reply{}, e.change(c, func(b *bucket) error {
		if (in.MfaDelete != "" || b.mfaDelete == enabled) && c.header("X-Amz-Mfa") == "" {
			return accessDenied("Mfa Authentication must be used for this request")
		}
		if b.lock.enabled && in.Status != enabled {
			return fail(http.StatusConflict, "InvalidBucketState",
				"An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.")
		}
		b.versioning = in.Status
		if in.MfaDelete != "" {
			b.mfaDelete = in.MfaDelete
		}
		return nil
	})
}

// check refuses what is neither Enabled nor Suspended: nothing leads back to "never enabled".
func (v versioningConfiguration) check() error {
	if err := v.Unknown.refuse("VersioningConfiguration"); err != nil {
		return err
	}
	if v.Status != enabled && v.Status != suspended {
		return fail(http.StatusBadRequest, "IllegalVersioningConfigurationException",
			"The Versioning element must be specified: Status must be Enabled or Suspended")
	}
	if v.MfaDelete != "" && v.MfaDelete != enabled && v.MfaDelete != disabled {
		return malformedXML()
	}
	return nil
}

// checkMFA refuses to remove a version by id from a bucket with MFA delete. The engine takes any token:
// it has no device to ask.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/MultiFactorAuthenticationDelete.html
func (b *bucket) checkMFA(c *call) error {
	if b.mfaDelete != enabled || c.header("X-Amz-Mfa") != "" {
		return nil
	}
	return accessDenied("Mfa Authentication must be used for this request")
}
