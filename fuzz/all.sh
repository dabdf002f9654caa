#!/bin/bash
# all.sh OUT SECONDS PROCESSES [TARGET...]: runs fuzz targets at once, each in PROCESSES processes, for the given time.
#
# Without TARGET, runs all of them. Reads the targets from bin/ and their corpora from corpus/TARGET beside this script.
# Writes to the folder OUT: summary.txt with a line per target, and in the last line the number of executions of each;
# findings/TARGET with the inputs that crashed, hung or used too much memory, and the end of the log.
set -u
usage='usage: all.sh OUT SECONDS PROCESSES [TARGET...]'
out=${1:?$usage}
seconds=${2:?$usage}
processes=${3:?$usage}
shift 3
here=$(cd "$(dirname "$0")" && pwd)
targets=("$@")
[ $# -gt 0 ] || targets=(curves exr glb gltf hdr image mtl obj pbrt ply ron serialized xml)

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)" fuzz.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
# Each process uses one core and keeps its files in memory.
export RAYON_NUM_THREADS=1 TMPDIR=$work/tmp

fuzz() {
    local target=$1
    mkdir -p "$work/$target" "$out/findings/$target"
    nice -n 19 "$here/bin/$target" -fork="$processes" -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
        -artifact_prefix="$out/findings/$target/" "$work/$target" "$here/corpus/$target" \
        > "$work/$target.log" 2>&1
    # Its second line has the CPU times of this shell's children; a pipe would start another shell.
    times > "$work/$target.times"
}

for target in "${targets[@]}"; do
    # A separate shell, so that `times` reports this target alone.
    (fuzz "$target") &
done
wait

executions=
for target in "${targets[@]}"; do
    last=$(grep -a '^#[0-9]*: cov: ' "$work/$target.log" | tail -n 1)
    cores=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } }
        END { printf "%.1f", sum }' "$work/$target.times")
    found=$(find "$out/findings/$target" -type f | wc -l)
    tail -c 200000 "$work/$target.log" > "$out/findings/$target.log"
    # The most frequent messages of the findings.
    grep -a -E 'panicked at|ERROR: libFuzzer|^assertion' "$work/$target.log" | sort | uniq -c | sort -rn | head -n 40 \
        > "$out/findings/$target.messages"
    echo "$target: ${last:-no progress: $(tail -n 1 "$work/$target.log" | cut -c 1-200)};" \
        "$processes processes, $seconds s, $cores core-seconds, $found findings"
    count=${last%%:*}
    executions+=" $target ${count#\#},"
done > "$out/summary.txt"
echo "executions:${executions%,}" >> "$out/summary.txt"
cat "$out/summary.txt"
