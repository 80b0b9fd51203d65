package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/cgemu/cgemu/internal/version"
)

// serve has a server on this host give away a release of the cgemu that is built here. The archive's checksum is
// returned.
func serve(t *testing.T) (url, sum string) {
	if here != targets[0] {
		t.Skip("programs run on " + targets[0].String() + " only")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "cgemu"), "./cmd/cgemu")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	program, err := os.ReadFile(filepath.Join(dir, "cgemu"))
	require.NoError(t, err)

	base := fmt.Sprintf("cgemu_%s_%s_%s", version.Next, runtime.GOOS, runtime.GOARCH)
	data := gzippedTar([]file{{base + "/cgemu", program, 0o755}, {base + "/man/", nil, 0o755}}, time.Unix(0, 0))
	sum = fmt.Sprintf("%x", sha256.Sum256(data))
	release := filepath.Join(dir, "download", "v"+version.Next)
	require.NoError(t, os.MkdirAll(release, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(release, base+".tar.gz"), data, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(release, "SHA256SUMS"), []byte("00  other\n"+sum+"  "+base+".tar.gz\n"), 0o644))
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, "download"))))
	t.Cleanup(server.Close)
	return server.URL, sum
}

// A workplace is a directory with a manifest, a baseline and a program, as CI checks it out.
func workplace(t *testing.T) string {
	dir := t.TempDir()
	for name, program := range map[string]string{"one": "dumps", "more": "guest"} { // another build of one program
		text, err := os.ReadFile("../testdata/" + program)
		require.NoError(t, err)
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "prog"), text, 0o755))
		manifest := "baseline = \"baseline\"\n[[benchmark]]\nname = \"b\"\nrun = [\"./prog\", \"a\"]\ndir = \"" + name + "\"\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".toml"), []byte(manifest), 0o644))
	}
	return dir
}

// run runs a script in a directory as CI does. It returns its status and what it printed.
func runScript(t *testing.T, dir, script string, env []string) (int, string) {
	cmd := exec.Command("bash", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append([]string{"HOME=" + dir}, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// An action is what action.yml says.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			ID, Run, Uses, If string
			Env               map[string]string
			Directory         string `yaml:"working-directory"`
		}
	}
}

// act does the action's steps as a runner does, but for the cache, which is empty. It returns the status of the last
// one, what was printed, and the files that the runner shows.
func act(t *testing.T, dir string, with map[string]string) (status int, printed string, summary, output string) {
	data, err := os.ReadFile("../action.yml")
	require.NoError(t, err)
	var a action
	require.NoError(t, yaml.Unmarshal(data, &a))
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	temp := t.TempDir()
	expand := func(text string) string {
		return regexp.MustCompile(`\$\{\{ *([\w.-]+) *\}\}`).ReplaceAllStringFunc(text, func(e string) string {
			name := strings.Trim(e, "${} ")
			if input, ok := strings.CutPrefix(name, "inputs."); ok {
				require.Contains(t, a.Inputs, input)
				if v, ok := with[input]; ok {
					return v
				}
				return a.Inputs[input].Default
			}
			value, ok := map[string]string{"github.action_path": root, "runner.temp": temp}[name]
			require.True(t, ok, "%s is nothing that a runner knows", e)
			return value
		})
	}
	path := os.Getenv("PATH")
	for _, step := range a.Runs.Steps {
		if step.Uses != "" {
			require.Contains(t, step.Uses, "actions/cache@")
			continue
		}
		env := []string{"PATH=" + path}
		for _, name := range []string{"GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH"} {
			env = append(env, name+"="+filepath.Join(temp, name))
		}
		for name, value := range step.Env {
			env = append(env, name+"="+expand(value))
		}
		status, out := runScript(t, filepath.Join(dir, expand(step.Directory)), step.Run, env)
		printed += out
		if more, err := os.ReadFile(filepath.Join(temp, "GITHUB_PATH")); err == nil {
			path = strings.TrimSpace(string(more)) + ":" + os.Getenv("PATH")
		}
		if status != 0 || step.ID == "check" {
			s, _ := os.ReadFile(filepath.Join(temp, "GITHUB_STEP_SUMMARY"))
			o, _ := os.ReadFile(filepath.Join(temp, "GITHUB_OUTPUT"))
			return status, printed, string(s), string(o)
		}
	}
	t.Fatal("there is no step check")
	return 0, "", "", ""
}

func TestAction(t *testing.T) {
	url, sum := serve(t)
	dir := workplace(t)
	with := map[string]string{"releases": url, "manifest": "one.toml", "options": "--update\n  --jobs=2\n"}
	status, printed, _, output := act(t, dir, with)
	require.Zero(t, status, printed)
	require.Contains(t, printed, "wrote baseline")
	require.Equal(t, "status=0\n", output)

	with["options"] = ""
	status, printed, summary, _ := act(t, dir, with)
	require.Zero(t, status, printed)
	require.Contains(t, printed, "1 benchmark: 1 same")
	require.Contains(t, summary, "| b |")

	with["manifest"] = "more.toml"
	status, printed, summary, output = act(t, dir, with)
	require.Equal(t, 1, status, printed)
	require.Contains(t, printed, "b: regression: ")
	require.Contains(t, printed, "::error title=cgemu check")
	require.NotEmpty(t, summary)
	require.Equal(t, "status=1\n", output)

	with["summary"], with["annotations"], with["sha256"] = "false", "false", sum
	status, printed, summary, _ = act(t, dir, with)
	require.Equal(t, 1, status, printed)
	require.NotContains(t, printed, "::error")
	require.Empty(t, summary)

	with["manifest"] = "no.toml"
	status, printed, _, output = act(t, dir, with)
	require.Equal(t, 2, status, printed)
	require.Contains(t, printed, "something could not be measured")
	require.Equal(t, "status=2\n", output)
}

// TestWorkflow does the steps of the workflow that docs/tasks.md has for pull requests, for one that makes a program
// slower.
func TestWorkflow(t *testing.T) {
	if here != targets[0] {
		t.Skip("programs run on " + targets[0].String() + " only")
	}
	text, err := os.ReadFile("../docs/tasks.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "\n## GitHub\n\n")
	require.True(t, ok)
	source, _, _ := strings.Cut(rest, "\n\n")
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses, Run, If string
				With          map[string]any
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(source), &workflow), source)
	steps := workflow.Jobs["counts"].Steps
	require.Len(t, steps, 6)
	require.Equal(t, map[string]any{"fetch-depth": 0}, steps[0].With)

	dir, temp := workplace(t), t.TempDir()
	manifest, err := os.ReadFile(filepath.Join(dir, "one.toml"))
	require.NoError(t, err)
	prog := filepath.Join(dir, "one", "prog")
	slower, err := os.ReadFile(filepath.Join(dir, "more", "prog"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgemu.toml"), append([]byte("build = ['true']\n"), manifest...), 0o644))
	commit := "git add -A && git -c user.name=a -c user.email=a@b commit -qm x"
	env := []string{"PATH=" + os.Getenv("PATH")}
	status, out := runScript(t, dir, "git init -qb main && "+commit+" && git update-ref refs/remotes/origin/main HEAD && git checkout -qb topic", env)
	require.Zero(t, status, out)
	require.NoError(t, os.WriteFile(prog, slower, 0o755))
	status, out = runScript(t, dir, commit, env)
	require.Zero(t, status, out)

	// What the second step checks out is this repository, which the third one's Go builds.
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, strings.TrimPrefix(fmt.Sprint(steps[2].With["go-version-file"]), "cgemu/")))
	require.FileExists(t, filepath.Join(root, strings.TrimPrefix(fmt.Sprint(steps[2].With["cache-dependency-path"]), "cgemu/")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cgemu"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgemu", "Makefile"), []byte("build:\n\tcd '"+root+"' && CGO_ENABLED=0 go build -trimpath -o '$(CURDIR)/bin/cgemu' ./cmd/cgemu\n"), 0o644))
	env = append(env, "GITHUB_BASE_REF=main", "GITHUB_PATH="+temp+"/path", "GITHUB_STEP_SUMMARY="+temp+"/summary")
	env = append(env, goCaches(t)...)
	status, out = runScript(t, dir, steps[3].Run, env)
	require.Zero(t, status, out)
	bin, err := os.ReadFile(temp + "/path")
	require.NoError(t, err)
	env[0] = "PATH=" + strings.TrimSpace(string(bin)) + ":" + os.Getenv("PATH")
	status, out = runScript(t, dir, steps[4].Run, env)
	require.Equal(t, 1, status, out)
	require.Contains(t, out, "b: regression: ")
	require.Contains(t, out, "::error title=cgemu check")
	require.Equal(t, "always()", steps[5].If)
	status, out = runScript(t, dir, steps[5].Run, env)
	require.Zero(t, status, out)
	summary, err := os.ReadFile(temp + "/summary")
	require.NoError(t, err)
	require.Contains(t, string(summary), "| b |")
}

// goCaches are the variables that say where the go command keeps what it has: scripts have another home.
func goCaches(t *testing.T) (env []string) {
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

// TestInstall has nothing be installed of which the checksum is another.
func TestInstall(t *testing.T) {
	url, sum := serve(t)
	script, err := filepath.Abs("ci/install.sh")
	require.NoError(t, err)
	for _, tt := range []struct {
		version, sum, url string
		status            int
		want              string
	}{
		{version.Next, "", url, 0, "cgemu " + version.Next},
		{"v" + version.Next, sum, url, 0, "cgemu " + version.Next},
		{version.Next, strings.Repeat("0", 64), url, 1, "expected " + strings.Repeat("0", 64) + ": nothing was installed"},
		{"0.0.1", "", url, 1, "install.sh: cannot download " + url + "/v0.0.1/cgemu_0.0.1_linux_amd64.tar.gz"},
	} {
		dir := t.TempDir()
		status, out := runScript(t, dir, fmt.Sprintf("'%s' %s inside", script, tt.version), []string{
			"PATH=" + os.Getenv("PATH"), "CGEMU_RELEASES=" + tt.url, "CGEMU_SHA256=" + tt.sum,
		})
		require.Equal(t, tt.status, status, out)
		require.Contains(t, out, tt.want)
		_, err := os.Stat(filepath.Join(dir, "inside", "cgemu"))
		require.Equal(t, tt.status == 0, err == nil)
	}
}

// TestInstallElsewhere has the script take each archive of a release that a machine with bash can unpack, and put the
// program into place. uname(1) is told to say what it says there.
func TestInstallElsewhere(t *testing.T) {
	script, err := filepath.Abs("ci/install.sh")
	require.NoError(t, err)
	names := map[string][2]string{ // what uname -s and -m say
		"linux/amd64": {"Linux", "x86_64"}, "linux/arm64": {"Linux", "aarch64"}, "darwin/arm64": {"Darwin", "arm64"}, "darwin/amd64": {"Darwin", "x86_64"},
		"windows/amd64": {"MINGW64_NT-10.0-20348", "x86_64"}, "windows/arm64": {"MSYS_NT-10.0-26100", "aarch64"}, "freebsd/amd64": {"FreeBSD", "amd64"},
	}
	for _, at := range targets {
		out := t.TempDir()
		r := &release{Version: version.Next, Out: out, Time: time.Unix(0, 0), Files: []file{{"man/man1/cgemu.1", nil, 0o644}}}
		binaries := map[target][]byte{}
		for _, other := range targets {
			binaries[other] = []byte("#!/bin/sh\necho this is " + other.String() + "\n")
		}
		require.NoError(t, r.archives(binaries))
		release := filepath.Join(out, "v"+version.Next)
		require.NoError(t, os.Mkdir(release, 0o755))
		archives, err := filepath.Glob(filepath.Join(out, "cgemu_*"))
		require.NoError(t, err)
		require.Len(t, archives, len(targets))
		var sums strings.Builder
		for _, name := range archives {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), filepath.Base(name))
			require.NoError(t, os.Rename(name, filepath.Join(release, filepath.Base(name))))
		}
		require.NoError(t, os.WriteFile(filepath.Join(release, "SHA256SUMS"), []byte(sums.String()), 0o644))
		server := httptest.NewServer(http.FileServer(http.Dir(out)))
		t.Cleanup(server.Close)

		dir := t.TempDir()
		uname := fmt.Sprintf("#!/bin/sh\n[ $1 = -s ] && echo %s || echo %s\n", names[at.String()][0], names[at.String()][1])
		require.NoError(t, os.WriteFile(filepath.Join(dir, "uname"), []byte(uname), 0o755))
		status, said := runScript(t, dir, "'"+script+"' "+version.Next+" 'in a directory'", []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CGEMU_RELEASES=" + server.URL})
		require.Zero(t, status, said)
		require.Equal(t, "this is "+at.String()+"\n", said)
		require.FileExists(t, filepath.Join(dir, "in a directory", "man", "man1", "cgemu.1"))
	}
}

// TestGitLab does the script of GitLab's job.
func TestGitLab(t *testing.T) {
	url, _ := serve(t)
	data, err := os.ReadFile("gitlab/cgemu.yml")
	require.NoError(t, err)
	var jobs map[string]struct {
		Variables map[string]string
		Script    []string
		Artifacts struct{ Reports map[string]string }
	}
	require.NoError(t, yaml.Unmarshal(data, &jobs))
	job := jobs[".cgemu-check"]
	dir := workplace(t)
	do := func(manifest, options, sum string) (int, string) {
		env := []string{"PATH=" + os.Getenv("PATH")}
		job.Variables["CGEMU_RELEASES"], job.Variables["CGEMU_MANIFEST"] = url, manifest
		job.Variables["CGEMU_OPTIONS"], job.Variables["CGEMU_SHA256"] = options, sum
		for name, value := range job.Variables {
			env = append(env, name+"="+value)
		}
		return runScript(t, dir, strings.Join(job.Script, "\n"), env)
	}
	status, out := do("one.toml", "--update", "")
	require.Zero(t, status, out)
	status, out = do("more.toml", "", "")
	require.Equal(t, 1, status, out)
	require.Contains(t, out, "b: regression: ")
	for _, report := range job.Artifacts.Reports {
		text, err := os.ReadFile(filepath.Join(dir, report))
		require.NoError(t, err)
		require.Contains(t, string(text), "Ir")
	}
	status, out = do("one.toml", "", strings.Repeat("0", 64))
	require.Equal(t, 1, status, out)
	require.Contains(t, out, "cgemu_"+version.Next+"_linux_amd64.tar.gz: FAILED")
}
