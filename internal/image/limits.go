package image

import "fmt"

// Bounds of what an image may take. Those that anything real comes near are in error messages.
const (
	maxEntries  = 1 << 21 // files in all layers
	maxText     = 1 << 30 // bytes of names, links and attributes in all layers
	maxLayers   = 1 << 10
	maxJSON     = 16 << 20 // bytes of a manifest, or of a configuration
	maxManifest = 1 << 12  // manifests that an index may lead to
	pathMax     = 4096
	nameMax     = 255
	maxLinks    = 40 // symbolic links in the path of one file
	// maxSparse is how long a file with holes may be that is opened: its zeros are gone through.
	maxSparse = 16 << 30
)

// Bounds of what comes out of compressed data of n bytes: what compresses better than that is made to fill disks.
const (
	maxUnpacked  = 256 << 30
	freeUnpacked = 4 << 30
	maxRatio     = 200
)

// unpackedLimit is how many bytes compressed data of n bytes may have.
func unpackedLimit(n int64) int64 { return min(maxUnpacked, freeUnpacked+n*maxRatio) }

// A LimitError is an image that takes more than is allowed.
type LimitError struct {
	What  string
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("it has more than %d %s, the most that is read of an image", e.Limit, e.What)
}
