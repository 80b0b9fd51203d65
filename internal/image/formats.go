package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A found image is one of an archive.
type found struct {
	config Config
	layers []layerRef
}

// A layerRef is where a layer is in the archive, and the digest of it as it is decompressed.
type layerRef struct {
	name   string
	diffID v1.Hash
}

// find finds the image that tag means, which may be "" if there is only one.
func find(from archive, tag string) (*found, error) {
	switch {
	case from.has(dockerManifest):
		return findDocker(from, tag)
	case from.has(ociIndex):
		return findOCI(from, tag)
	}
	return nil, errors.New("it is a directory, and no OCI layout: it has no index.json. A root directory that is unpacked is for --root")
}

// A dockerImage is an element of manifest.json.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// findDocker finds an image in what docker save wrote.
func findDocker(from archive, tag string) (*found, error) {
	b, err := text(from, dockerManifest)
	if err != nil {
		return nil, err
	}
	var all []dockerImage
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", dockerManifest, err)
	}
	names := make([]string, len(all))
	var fit []dockerImage
	for i, x := range all {
		names[i] = strings.Join(x.RepoTags, ", ")
		if tag == "" || slices.ContainsFunc(x.RepoTags, func(s string) bool { return tagMatches(s, tag) }) {
			fit = append(fit, x)
		}
	}
	if len(fit) != 1 {
		return nil, wrongTag(tag, names, len(fit))
	}
	b, err = text(from, fit[0].Config)
	if err != nil {
		return nil, err
	}
	return configured(b, fit[0].Layers)
}

// tagMatches reports whether an image called name is meant by tag: the repository's host, and that its tag is latest,
// need not be said.
func tagMatches(name, tag string) bool {
	whole, asked := "/"+withTag(name), withTag(tag)
	return strings.HasSuffix(whole, "/"+asked) || strings.HasSuffix(name, ":"+tag)
}

// withTag is a name with its tag.
func withTag(name string) string {
	if strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		return name
	}
	return name + ":latest"
}

// wrongTag is the error if tag means fit images, and not one.
func wrongTag(tag string, names []string, fit int) error {
	for i, n := range names {
		if n == "" {
			names[i] = "one without a name"
		}
	}
	slices.Sort(names)
	list := strings.Join(slices.Compact(names), "; ")
	switch {
	case len(names) == 0:
		return errors.New("there is no image in it")
	case tag == "":
		return fmt.Errorf("there are %d images in it: say FILE:TAG for one of %s", fit, list)
	case fit == 0:
		return fmt.Errorf("there is no image %q in it, but %s", tag, list)
	}
	return fmt.Errorf("there are %d images %q in it, of %s", fit, tag, list)
}

// configured is the image with a configuration, whose layers are in the files named.
func configured(config []byte, layers []string) (*found, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil {
		return nil, fmt.Errorf("its configuration: %w", err)
	}
	if is := c.Platform(); is != nil && (is.OS != platform.OS || is.Architecture != platform.Architecture) {
		return nil, wrongPlatform(is.String())
	}
	if len(c.RootFS.DiffIDs) != len(layers) {
		return nil, fmt.Errorf("its configuration has %d layers, and its manifest %d", len(c.RootFS.DiffIDs), len(layers))
	}
	out := &found{config: Config{c.Config.Env, c.Config.Entrypoint, c.Config.Cmd, c.Config.WorkingDir, c.Config.User}}
	for i, name := range layers {
		if err := sha256Only(c.RootFS.DiffIDs[i]); err != nil {
			return nil, err
		}
		out.layers = append(out.layers, layerRef{name, c.RootFS.DiffIDs[i]})
	}
	return out, nil
}

func wrongPlatform(is string) error {
	return fmt.Errorf("it is for %s, and cgemu runs programs for %s: pull it with --platform=%[2]s", is, platform)
}

// sha256Only refuses digests that cannot be checked.
func sha256Only(h v1.Hash) error {
	if h.Algorithm != "sha256" || len(h.Hex) != hex.EncodedLen(sha256.Size) {
		return fmt.Errorf("a digest %q: only sha256 is known", h)
	}
	return nil
}

// A layoutFinder finds an image in an OCI layout.
type layoutFinder struct {
	from archive
	// fit are the manifests for our platform, others are the platforms of the rest.
	fit    []v1.Descriptor
	others []string
	// seen and read are how many manifests were met, and how many bytes of JSON were read.
	seen int
	read int64
}

// refName is the annotation that has an image's tag.
const refName = "org.opencontainers.image.ref.name"

// findOCI finds an image in an OCI layout.
func findOCI(from archive, tag string) (*found, error) {
	b, err := text(from, ociIndex)
	if err != nil {
		return nil, err
	}
	top, err := v1.ParseIndexManifest(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ociIndex, err)
	}
	f := &layoutFinder{from: from}
	var names []string
	var asked []v1.Descriptor
	for _, d := range top.Manifests {
		name := d.Annotations[refName]
		if full := d.Annotations["io.containerd.image.name"]; full != "" {
			name = full
		}
		names = append(names, name)
		if tag == "" || tagMatches(name, tag) || name == tag {
			asked = append(asked, d)
		}
	}
	if tag != "" && len(asked) == 0 {
		return nil, wrongTag(tag, names, 0)
	}
	if err := f.collect(asked, 0); err != nil {
		return nil, err
	}
	f.fit = slices.CompactFunc(f.fit, func(a, b v1.Descriptor) bool { return a.Digest == b.Digest })
	switch {
	case len(f.fit) == 0 && len(f.others) > 0:
		slices.Sort(f.others)
		return nil, wrongPlatform(strings.Join(slices.Compact(f.others), ", "))
	case len(f.fit) != 1:
		return nil, wrongTag(tag, names, len(f.fit))
	}
	return f.image(f.fit[0])
}

// collect finds the manifests that descriptors lead to, over other indexes.
func (f *layoutFinder) collect(list []v1.Descriptor, depth int) error {
	for _, d := range list {
		if f.seen++; f.seen > maxManifest || depth > 8 {
			return &LimitError{"manifests", maxManifest}
		}
		switch p := d.Platform; {
		case d.MediaType.IsIndex():
			b, err := f.blob(d.Digest)
			if err != nil {
				return err
			}
			index, err := v1.ParseIndexManifest(bytes.NewReader(b))
			if err != nil {
				return fmt.Errorf("index %s: %w", d.Digest, err)
			}
			if err := f.collect(index.Manifests, depth+1); err != nil {
				return err
			}
		case p != nil && p.OS == "unknown": // what is said of an image, and none itself
		case p != nil && (p.OS != platform.OS || p.Architecture != platform.Architecture):
			f.others = append(f.others, p.String())
		default:
			f.fit = append(f.fit, d)
		}
	}
	return nil
}

// image reads a manifest.
func (f *layoutFinder) image(d v1.Descriptor) (*found, error) {
	b, err := f.blob(d.Digest)
	if err != nil {
		return nil, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", d.Digest, err)
	}
	config, err := f.blob(m.Config.Digest)
	if err != nil {
		return nil, err
	}
	var layers []string
	for _, l := range m.Layers {
		if err := sha256Only(l.Digest); err != nil {
			return nil, err
		}
		layers = append(layers, blobName(l.Digest))
	}
	return configured(config, layers)
}

func blobName(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// blob reads a short part by its digest.
func (f *layoutFinder) blob(h v1.Hash) ([]byte, error) {
	if err := sha256Only(h); err != nil {
		return nil, err
	}
	b, err := text(f.from, blobName(h))
	if err != nil {
		return nil, err
	}
	if f.read += int64(len(b)); f.read > maxJSON {
		return nil, &LimitError{"bytes of JSON", maxJSON}
	}
	sum := sha256.New()
	sum.Write(b)
	if err := checkDigest(sum, &h); err != nil {
		return nil, fmt.Errorf("%s: %w", blobName(h), err)
	}
	return b, nil
}
