#!/usr/bin/env bash
# Does training work on this machine, how fast, in how much memory? At most 10 minutes, one GPU, no network.
#
#     benchmarks/gpu_smoke.sh                 # on a GPU
#     CPU=1 benchmarks/gpu_smoke.sh           # the same path in small, on a CPU, in a few minutes
#     PYTHON=/path/to/python OUT=runs/smoke benchmarks/gpu_smoke.sh
#
# Trains the small policy that ships here, then a random-weight Qwen3 of 0.6 billion weights made on the spot; both with
# transformers' generation, the second also with vLLM if that is installed. Each is asked a few held-out tasks before
# and after. Ends with status 1 if any of it fails, and leaves OUT/*.json with the figures and OUT/*.log.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

PYTHON=${PYTHON:-python}
OUT=${OUT:-runs/gpu_smoke}
CPU=${CPU:-}
LIMIT=${LIMIT:-600} # seconds for all runs; one that is not done by then is ended, and counts as failed
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
options=(--gpu)
if [ -n "$CPU" ]; then
    export CUDA_VISIBLE_DEVICES=
    options=(--cpu)
elif ! "$PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    echo "error: torch sees no GPU here; try CPU=1 benchmarks/gpu_smoke.sh" >&2
    exit 1
fi

"$PYTHON" benchmarks/gpu_smoke.py versions "${options[@]}" || exit 1
runs=("small transformers" "random transformers")
if [ -z "$CPU" ] && "$PYTHON" -c 'import sys; from importlib.util import find_spec; sys.exit(find_spec("vllm") is None)'; then
    runs+=("random vllm")
else
    echo "vLLM is not installed or not asked for: its run is left out"
fi
mkdir -p "$OUT"
failed=0
for run in "${runs[@]}"; do
    read -r model backend <<<"$run"
    log="$OUT/$model-$backend.log"
    rm -rf "${OUT:?}/$model-$backend" "$OUT/$model-$backend.json" "$OUT/model"
    left=$((LIMIT - SECONDS))
    timeout "$((left > 0 ? left : 1))" "$PYTHON" benchmarks/gpu_smoke.py train --model "$model" --backend "$backend" --out "$OUT" \
        "${options[@]}" >"$log" 2>&1
    status=$?
    if [ "$status" -eq 0 ]; then
        "$PYTHON" benchmarks/gpu_smoke.py show "$OUT/$model-$backend.json"
    else
        failed=1
        echo "FAILED: $model, $backend (status $status; 124: not done in time); the end of $log:" >&2
        tail -n 25 "$log" >&2
    fi
done
exit "$failed"
