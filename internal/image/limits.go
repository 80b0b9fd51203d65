package image

import "fmt"

// Bounds of what an image may take. Those that anything real comes near are in error messages.
const (
	maxLayers   = 1 << 10
	maxJSON     = 16 << 20 // bytes of a manifest or configuration, and of all together that an index leads to
	maxManifest = 1 << 12  // manifests that an index may lead to
	pathMax     = 4096
	nameMax     = 255
	maxLinks    = 40 // symbolic links in the path of one file
	// maxSparse is how long a file with holes may be that is opened: its zeros are gone through.
	maxSparse = 16 << 30
	// maxSteps is how many names are looked up when layers are joined: what anything real needs many times over.
	maxSteps = 1 << 27
)

// limits are the others, which tests change.
var limits = struct {
	// entries are files in all layers, text bytes of names, links and attributes in all layers.
	entries, text int64
	// What is compressed of an image may become unpacked bytes in any case, and ratio as many as it has: what
	// compresses better is made to fill disks.
	unpacked, ratio int64
	// cache is how many bytes a cache may have.
	cache int64
}{entries: 1 << 21, text: 256 << 20, unpacked: 4 << 30, ratio: 200, cache: 20 << 30}

// attributeSize is what an extended attribute takes besides its name and value, in bytes: a place in a map.
const attributeSize = 64

// maxUnpacked is how many bytes may come out of compressed data at most.
const maxUnpacked = 256 << 30

// unpackedLimit is how many bytes compressed data of n bytes may have.
func unpackedLimit(n int64) int64 { return min(maxUnpacked, limits.unpacked+n*limits.ratio) }

// A LimitError is an image that takes more than is allowed.
type LimitError struct {
	What  string
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("it has more than %d %s, the most that is read of an image", e.Limit, e.What)
}
