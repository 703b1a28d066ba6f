// Package report owns the audit trail of a run: what was selected and what became of it. It says how the lines and the names
// of the report objects look, writes and reads them, and folds the objects of a run into one decision per version.
//
// An object is gzip over JSON lines: a header first, then one line per version. A selection object is written before the
// delete request of its batch, an outcome object after S3's answer; both belong to one try. A dry run writes selections alone.
// Names carry lease token, scan, batch and try, so that no rerun overwrites what a dead worker wrote.
//
// Where objects are kept is an adapter's matter. This package reads no clock and no network and imports the standard library
// only.
package report
