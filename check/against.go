package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// RunBuild runs the manifest's build command in its directory, with all that it says going to log.
func (m *Manifest) RunBuild(ctx context.Context, log io.Writer) error {
	if len(m.Build) == 0 {
		return errors.New(`the manifest has no build command (build = ["make"])`)
	}
	cmd := exec.CommandContext(ctx, m.Build[0], m.Build[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.Dir, log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build in %s: %s: %w", m.Dir, strings.Join(m.Build, " "), err)
	}
	return nil
}

// Base is the commit from which this revision of the manifest's git repository has parted from another one, which is
// what a change of it is compared with: of a revision that is older, it is that.
func (m *Manifest) Base(ctx context.Context, revision string) (commit string, err error) {
	if _, err := m.git(ctx, "rev-parse", "--git-dir"); err != nil {
		return "", fmt.Errorf("another revision is one of a git repository that the manifest is in, and there is none: %w", err)
	}
	if _, err := m.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}"); err != nil {
		hint := ""
		if !strings.HasPrefix(revision, "origin/") {
			hint = "; is it origin/" + revision + "?"
		}
		return "", fmt.Errorf("git knows no revision %s here%s (a clone may lack it: fetch-depth: 0 on GitHub, GIT_DEPTH: 0 on GitLab)", revision, hint)
	}
	if commit, err = m.git(ctx, "merge-base", "HEAD", revision); err != nil {
		return "", fmt.Errorf("a clone that is not whole does not know where HEAD and %s have parted: fetch-depth: 0 on GitHub, GIT_DEPTH: 0 on GitLab", revision)
	}
	return commit, nil
}

// IsHead reports whether a commit is the one that is checked out.
func (m *Manifest) IsHead(ctx context.Context, commit string) bool {
	head, err := m.git(ctx, "rev-parse", "HEAD")
	return err == nil && head == commit
}

// At returns the same benchmarks in a commit of the git repository that the manifest is in: in a worktree of its own,
// built by the manifest's command if it has one. What that says goes to log. remove removes the worktree.
func (m *Manifest) At(ctx context.Context, commit string, log io.Writer) (other *Manifest, remove func() error, err error) {
	prefix, err := m.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, nil, err
	}
	tmp, err := os.MkdirTemp("", "cgemu-check-")
	if err != nil {
		return nil, nil, err
	}
	tree := filepath.Join(tmp, "tree")
	remove = func() error {
		_, err := m.git(context.WithoutCancel(ctx), "worktree", "remove", "--force", tree)
		return errors.Join(err, os.RemoveAll(tmp))
	}
	if _, err := m.git(ctx, "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(tmp))
	}
	at := *m
	at.Dir, at.imageDir = filepath.Join(tree, prefix), m.Dir // the images of today's manifest
	if len(at.Build) > 0 {
		if err := at.RunBuild(ctx, log); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("in %.12s: %w", commit, err), remove())
		}
	}
	return &at, remove, nil
}

// git runs git in the manifest's directory, and returns what it says.
func (m *Manifest) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.Dir, &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], m.Dir, err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(out.String()), nil
}
