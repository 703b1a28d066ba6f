package s3_test

// difference is a promise that an engine is known not to keep. It is run all the same and must fail, so
// that the list cannot go stale.
type difference struct {
	reason string
	// source is the page of S3's documentation that the suite follows, below
	// https://docs.aws.amazon.com/AmazonS3/latest/; empty where none says it and the suite follows
	// what S3 was seen to answer, or what its own answers lead to.
	source string
}

// differences are the known differences by engine and promise.
func differences() map[string]map[string]difference {
	return map[string]map[string]difference{"moto": moto()}
}

// moto is moto_server 5.2. Where it and the suite differ, S3's documentation was asked.
func moto() map[string]difference {
	return map[string]difference{
		"a bucket in another region redirects and says which":                                                          {reason: "one server answers for all regions; S3 redirects", source: "userguide/UsingBucket.html"},
		"a bucket that is there is not made again":                                                                     {reason: "it answers 200 as S3 does in us-east-1 and nowhere else", source: "API/API_CreateBucket.html"},
		"a bucket with versions left is not deleted, an empty one is":                                                  {reason: "it deletes a bucket that still has delete markers", source: "API/API_DeleteBucket.html"},
		"versioning that is neither Enabled nor Suspended is refused":                                                  {reason: "any status is stored", source: "API/API_PutBucketVersioning.html"},
		"versions and delete markers are one list in the document":                                                     {reason: "delete markers come behind all versions; the SDKs cannot see the difference"},
		"one key with 1,100 versions is listed in two pages, and no page has more than 1,000":                          {reason: "max-keys above 1,000 is honoured", source: "API/API_ListObjectVersions.html"},
		"MaxKeys 0 lists nothing and is complete":                                                                      {reason: "it says truncated, with nothing to go on from; S3 was seen to say complete"},
		"a delimiter rolls keys up, also over pages":                                                                   {reason: "common prefixes do not count against max-keys", source: "API/API_ListObjectVersions.html"},
		"a listing's wrong parameters are named":                                                                       {reason: "markers and encodings are not checked"},
		"a key marker alone skips every version of that key":                                                           {reason: "it lists the marker's own key again, without its latest version", source: "API/API_ListObjectVersions.html"},
		"a key marker need not be a key":                                                                               {reason: "the first version behind such a marker is left out", source: "API/API_ListObjectVersions.html"},
		"a key marker works inside a prefix and before it":                                                             {reason: "as for a key marker alone", source: "API/API_ListObjectVersions.html"},
		"listing resumes behind a version that was deleted meanwhile":                                                  {reason: "the listing ends at a marker that is gone"},
		"listing resumes behind a key that was deleted meanwhile":                                                      {reason: "the listing ends at a marker that is gone"},
		"list a page, delete it, resume by its markers: the bucket is empty at the end":                                {reason: "the listing ends at a marker that is gone"},
		"a key with a carriage return is put, listed, read, deleted by version and absent":                             {reason: "EncodingType is ignored, so the key is read as another", source: "API/API_ListObjectVersions.html"},
		"a key with a newline is put, listed, read, deleted by version and absent":                                     {reason: "its router does not match such a path"},
		"a key with a newline alone is put, listed, read, deleted by version and absent":                               {reason: "its router does not match such a path"},
		"a key with CR and LF is put, listed, read, deleted by version and absent":                                     {reason: "its router does not match such a path"},
		"the markers of an encoded page are encoded, and resume when they are decoded":                                 {reason: "EncodingType is ignored", source: "API/API_ListObjectVersions.html"},
		"EncodingType=url is form encoding with bare slashes, and is echoed":                                           {reason: "EncodingType is ignored", source: "API/API_ListObjectVersions.html"},
		"a page-by-page walk over odd keys meets each once":                                                            {reason: "its router does not match a newline, and EncodingType is ignored", source: "API/API_ListObjectVersions.html"},
		"keys of more than 1,024 bytes are refused":                                                                    {reason: "characters are counted, not bytes", source: "userguide/object-keys.html"},
		"DeleteObjects says what it deleted: version, delete marker, or the marker it made":                            {reason: "it makes no delete marker for a key that never was, and does not say that it deleted one", source: "API/API_DeletedObject.html"},
		"DeleteObjects with 1,001 entries is refused and deletes nothing":                                              {reason: "any number is taken", source: "API/API_DeleteObjects.html"},
		"DeleteObjects in quiet mode names errors only":                                                                {reason: "Quiet is ignored", source: "API/API_DeleteObjects.html"},
		"DeleteObjects in quiet mode says nothing about what it deleted":                                               {reason: "Quiet is ignored", source: "API/API_DeleteObjects.html"},
		"DeleteObjects with an entry that has no real version id deletes the others":                                   {reason: "any text is a version id; S3 was seen to answer NoSuchVersion for that entry"},
		"deleting without a version id makes a delete marker, on a key that never was too":                             {reason: "only on a key that is there", source: "userguide/DeleteMarker.html"},
		"deleting a delete marker by its id brings the version under it back and says so":                              {reason: "the answer does not say x-amz-delete-marker", source: "API/API_DeleteObject.html"},
		"deleting by something that is no version id is refused":                                                       {reason: "any text is a version id"},
		"a put while suspended replaces the null version and is the latest":                                            {reason: "it drops the versions from before", source: "userguide/AddingObjectstoVersionSuspendedBuckets.html"},
		"null works as a version id marker, also when it is gone":                                                      {reason: "suspended buckets drop their versions", source: "userguide/VersionSuspendedBehavior.html"},
		"a delete while suspended leaves a null delete marker in place of the null version":                            {reason: "it makes none", source: "userguide/DeletingObjectsfromVersioningSuspendedBuckets.html"},
		"deleting null removes null only, and is success when it is absent":                                            {reason: "suspended buckets drop their versions", source: "userguide/VersionSuspendedBehavior.html"},
		"a null version stays where it is when versioning is enabled again":                                            {reason: "suspended buckets drop their versions", source: "userguide/VersionSuspendedBehavior.html"},
		"a key under a delete marker is NoSuchKey and the answer says why":                                             {reason: "no x-amz-delete-marker", source: "userguide/DeleteMarker.html"},
		"a delete marker read by its id is MethodNotAllowed":                                                           {reason: "it is NoSuchVersion", source: "API/API_GetObject.html"},
		"an absent key is NoSuchKey, an absent version NoSuchVersion, a bad version id InvalidArgument":                {reason: "any text is a version id"},
		"tags of an absent version are NoSuchVersion, of an absent key NoSuchKey, of a delete marker MethodNotAllowed": {reason: "a delete marker is NoSuchKey", source: "userguide/DeleteMarker.html"},
		"tags that S3 does not take are refused":                                                                       {reason: "a key given twice is taken", source: "userguide/object-tagging.html"},
		"Object Lock brings versioning, which cannot be suspended then":                                                {reason: "it can be suspended", source: "userguide/object-lock.html"},
		"locks on a bucket without Object Lock are refused":                                                            {reason: "reading a hold is not"},
		"a version that never had a lock has none to show":                                                             {reason: "it shows a hold that is OFF", source: "API/API_GetObjectLegalHold.html"},
		"DeleteObjects refuses the locked versions by name and deletes the others":                                     {reason: "the error does not name the version", source: "API/API_Error.html"},
		"the locks of a delete marker are MethodNotAllowed":                                                            {reason: "they are NoSuchKey", source: "userguide/DeleteMarker.html"},
		"a lock does not stop a delete marker, and a delete marker has no lock":                                        {reason: "a hold on a delete marker is an internal error"},
		"a governance retention yields to the bypass and to nothing else":                                              {reason: "GetObjectRetention has no body", source: "API/API_GetObjectRetention.html"},
		"a compliance retention can only become longer":                                                                {reason: "retentions are replaced freely", source: "userguide/object-lock.html"},
		"a governance retention becomes shorter only with the bypass":                                                  {reason: "retentions are replaced freely", source: "userguide/object-lock.html"},
		"a retention that ends in the past is refused":                                                                 {reason: "it is taken", source: "API/API_PutObjectRetention.html"},
		"an object can be written with its locks":                                                                      {reason: "it wants x-amz-sdk-checksum-algorithm, which the SDK for Go leaves out with its default checksum", source: "API/API_PutObject.html"},
		"another owner than expected is AccessDenied for every operation, and changes nothing":                         {reason: "x-amz-expected-bucket-owner is ignored", source: "userguide/bucket-owner-condition.html"},
		"MFA delete keeps versions from everyone without a token":                                                      {reason: "there is no MFA delete", source: "userguide/MultiFactorAuthenticationDelete.html"},
		"MFA delete is not shown until it was set, then Enabled, then Disabled":                                        {reason: "there is no MFA delete", source: "userguide/MultiFactorAuthenticationDelete.html"},
		"MFA delete can be set only with a token":                                                                      {reason: "there is no MFA delete", source: "userguide/MultiFactorAuthenticationDelete.html"},
		"a key with U+0001 is put, listed, read, deleted one by one and absent":                                        {reason: "EncodingType is ignored, and XML cannot carry the key", source: "API/API_ListObjectVersions.html"},
		"DeleteObjects names another key than one with U+0001":                                                         {reason: "EncodingType is ignored, and XML cannot carry the key", source: "API/API_ListObjectVersions.html"},
		"a key with U+001F is put, listed, read, deleted one by one and absent":                                        {reason: "EncodingType is ignored, and XML cannot carry the key", source: "API/API_ListObjectVersions.html"},
		"DeleteObjects names another key than one with U+001F":                                                         {reason: "EncodingType is ignored, and XML cannot carry the key", source: "API/API_ListObjectVersions.html"},
		"a key with U+FFFE is put, listed, read, deleted one by one and absent":                                        {reason: "EncodingType is ignored, and XML cannot carry the key", source: "API/API_ListObjectVersions.html"},
		"DeleteObjects names another key than one with U+FFFE":                                                         {reason: "EncodingType is ignored, and XML cannot carry the key", source: "API/API_ListObjectVersions.html"},
		"a key with U+FFFF is put, listed, read, deleted one by one and absent":                                        {reason: "EncodingType is ignored, and XML cannot carry the key", source: "API/API_ListObjectVersions.html"},
		"DeleteObjects names another key than one with U+FFFF":                                                         {reason: "EncodingType is ignored, and XML cannot carry the key", source: "API/API_ListObjectVersions.html"},
	}
}
