#!/bin/bash
# all.sh SECONDS: runs all fuzz targets at once, on all cores, for the given time.
#
# Reads the targets from bin/ and their corpora from corpus/KIND beside this script (or from $BIN and $CORPUS). Writes to
# $OUT (default: out/): summary.txt with a line per target; findings.tar.xz with the inputs that crashed, hung or used too
# much memory; corpora.tar.xz with the grown corpora.
set -u
seconds=${1:?usage: all.sh SECONDS}
here=$(cd "$(dirname "$0")" && pwd)
bin=${BIN:-$here/bin}
corpus=${CORPUS:-$here/corpus}
out=${OUT:-$here/out}
kinds=(exr glb gltf hdr image mtl obj pbrt ply ron serialized xml)

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)" fuzz.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
# Each process uses one core and keeps its files in memory.
export RAYON_NUM_THREADS=1 TMPDIR=$work/tmp
jobs=$(($(nproc) / ${#kinds[@]}))
[ "$jobs" -ge 1 ] || jobs=1

fuzz() {
    local kind=$1
    mkdir -p "$work/corpora/$kind" "$work/findings/$kind"
    nice -n 19 "$bin/$kind" -fork="$jobs" -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
        -artifact_prefix="$work/findings/$kind/" "$work/corpora/$kind" "$corpus/$kind" \
        > "$work/$kind.log" 2>&1
    # Its second line has the CPU times of this shell's children; a pipe would start another shell.
    times > "$work/$kind.times"
}

for kind in "${kinds[@]}"; do
    # A separate shell, so that `times` reports this target alone.
    (fuzz "$kind") &
done
wait

for kind in "${kinds[@]}"; do
    last=$(grep -a '^#[0-9]*: cov: ' "$work/$kind.log" | tail -n 1)
    cores=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } } END { printf "%.1f", sum }' \
        "$work/$kind.times")
    found=$(find "$work/findings/$kind" -type f | wc -l)
    echo "$kind: ${last:-no progress: $(tail -n 1 "$work/$kind.log" | cut -c 1-200)}; $jobs jobs, $seconds s, $cores core-seconds, $found findings"
    # The most frequent messages of the findings.
    grep -a -E 'panicked at|ERROR: libFuzzer|^assertion' "$work/$kind.log" | sort | uniq -c | sort -rn | head -n 40 \
        > "$work/findings/$kind.messages"
    tail -c 200000 "$work/$kind.log" > "$work/findings/$kind.log"
done | tee "$out/summary.txt"
tar -C "$work" -cJf "$out/findings.tar.xz" findings
tar -C "$work" -cJf "$out/corpora.tar.xz" corpora
