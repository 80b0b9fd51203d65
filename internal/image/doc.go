// Package image reads root file systems out of files: container images, as docker save, podman save and skopeo write
// them, OCI layouts, and tar archives of a root directory.
//
// Nothing is unpacked. A layer is a tar archive; what it has is listed once, with where in the archive contents are,
// and the lists of all layers make a tree, whose contents are read when somebody asks for them. A layer that is
// compressed is written to a cache first, which is where lists are kept, too.
//
// Archives may come from anywhere. What is in one leads nowhere but into its own tree; how much it can take of memory,
// disk and time is bounded (limits.go).
package image
