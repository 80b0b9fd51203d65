#!/usr/bin/env bash
# Runs cgemu check as a step of a GitHub workflow: action.yml calls it. The report goes to the log, annotations to the lines that
# they are about, and a summary to the page of the run. Its status is that of cgemu check.
set -uo pipefail

options=(--report=text=-)
[ "$ANNOTATIONS" != true ] || options+=(--report=github=-)
summary=$(mktemp "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/cgemu.XXXXXX") # a path that programs of Windows know, too
trap 'rm -f "$summary"' EXIT
[ "$SUMMARY" != true ] || options+=("--report=markdown=$summary")
read -d '' -ra more <<<"$OPTIONS" || : # of all lines

cgemu check "${options[@]}" ${more[@]+"${more[@]}"} "$MANIFEST"
status=$?

[ "$SUMMARY" != true ] || cat "$summary" >>"$GITHUB_STEP_SUMMARY"
echo "status=$status" >>"$GITHUB_OUTPUT"
[ $status != 2 ] || echo "::error title=cgemu check::something could not be measured, or the manifest is wrong: see the log; cgemu doctor says what works on a runner"
exit $status
