package image

// SetLimits sets how many files an image may have, how many bytes it may become without compressing well, and how many
// bytes of text it may have. It returns what sets them back.
func SetLimits(entries, unpacked, text int64) func() {
	was := limits
	limits.entries, limits.unpacked, limits.text, limits.ratio = entries, unpacked, text, 1
	return func() { limits = was }
}

// SetCacheSize sets how large a cache may become.
func SetCacheSize(n int64) func() {
	was := limits
	limits.cache = n
	return func() { limits = was }
}
