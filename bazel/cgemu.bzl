"""Tests that hold instruction counts, for Bazel.

A cgemu_test runs the benchmarks of a manifest (cgemu.toml) and fails if one goes beyond its limit. What it counts depends on its inputs only,
so that its result can be kept in a cache and computed elsewhere.
"""

_SCRIPT = """#!/bin/sh
# A copy of what the manifest names: links into Bazel's own directories would be other paths on every machine.
set -eu
work=$(mktemp -d "${{TEST_TMPDIR:-/tmp}}/cgemu.XXXXXX")
top=$PWD
cp -RL "{package}/." "$work/"
for f in {data}; do
    if [ ! -e "$work/$(basename "$f")" ]; then cp -L "$f" "$work/"; fi
done
report="--report=junit=${{XML_OUTPUT_FILE:-$work/report.xml}}"
if [ -n "${{TEST_TOTAL_SHARDS:-}}" ] && [ "$TEST_TOTAL_SHARDS" -gt 1 ]; then
    touch "$TEST_SHARD_STATUS_FILE"
    set -- "--shard=$((TEST_SHARD_INDEX + 1))/$TEST_TOTAL_SHARDS"
fi
cd "$work"
exec "$top/{cgemu}" check "$report" "$@" "{manifest}"
"""

def _cgemu_test_impl(ctx):
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, _SCRIPT.format(
        cgemu = ctx.executable.cgemu.short_path,
        manifest = ctx.file.manifest.basename,
        package = ctx.file.manifest.dirname or ".",
        data = " ".join(["'%s'" % f.short_path for f in ctx.files.data]),
    ), is_executable = True)
    files = [ctx.file.manifest, ctx.executable.cgemu] + ctx.files.baseline + ctx.files.data
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles(files = files))]

cgemu_test = rule(
    doc = "Runs cgemu check on a manifest.",
    implementation = _cgemu_test_impl,
    test = True,
    attrs = {
        "manifest": attr.label(
            doc = "The manifest. Its programs and inputs are found beside it.",
            allow_single_file = [".toml"],
            mandatory = True,
        ),
        "baseline": attr.label(
            doc = "The baseline, which `cgemu check --update` writes. Without it the test fails.",
            allow_files = True,
        ),
        "data": attr.label_list(
            doc = "What the benchmarks run and read: programs that Bazel builds, inputs.",
            allow_files = True,
        ),
        "cgemu": attr.label(
            doc = "The program cgemu.",
            allow_single_file = True,
            executable = True,
            cfg = "exec",
            mandatory = True,
        ),
    },
)
