package main

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/check"
)

// A shard is the part of the benchmarks that one machine of several runs: the index-th of count, from 0 on.
type shard struct{ index, count int }

// shardVariables are what systems that start several machines tell each: which it is, counted from first on, and how
// many there are, if they tell that.
var shardVariables = []struct {
	index, count string
	first        int
}{
	{"CI_NODE_INDEX", "CI_NODE_TOTAL", 1}, // GitLab: parallel
	{"CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0},
	{"BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0},
	{"JOB_COMPLETION_INDEX", "", 0}, // Kubernetes: an Indexed Job
}

// parseShard reads the value of --shard: I/N from 1 on, auto, or auto/N where the number of machines is in no variable.
func parseShard(value string, getenv func(string) string) (shard, error) {
	which, of, _ := strings.Cut(value, "/")
	first := 1
	if which == "auto" {
		for _, v := range shardVariables {
			if i := getenv(v.index); i != "" {
				which, first, of = i, v.first, cmp.Or(of, getenv(v.count))
				break
			}
		}
		if which == "auto" {
			return shard{}, fmt.Errorf("--shard=%s: no variable of a CI or of Kubernetes says which part this is; give I/N", value)
		}
		if of == "" {
			return shard{}, fmt.Errorf("--shard=%s: no variable says how many parts there are; give auto/N", value)
		}
	}
	index, err1 := strconv.Atoi(which)
	count, err2 := strconv.Atoi(of)
	if index -= first; err1 != nil || err2 != nil || index < 0 || index >= count {
		return shard{}, fmt.Errorf("--shard=%s: part %q of %q; I/N with I from %d to N is expected", value, which, of, first)
	}
	return shard{index, count}, nil
}

// of returns the part of list: every count-th, so that benchmarks that belong together are spread.
func (s shard) of(list []*check.Benchmark) (out []*check.Benchmark) {
	for i := s.index; i < len(list); i += s.count {
		out = append(out, list[i])
	}
	return out
}

// mergeReports joins the reports of all parts.
func mergeReports(m *check.Manifest, names []string) (*check.Report, error) {
	var reports []*check.Report
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		r, err := check.ReadJSON(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		reports = append(reports, r)
	}
	return m.Merge(reports...)
}
